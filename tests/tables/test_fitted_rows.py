"""Rows of a fit are recognised when they are scored, by their ids or by their values."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from sklearn.linear_model import LogisticRegression

from propense import load, save
from propense.tables import TableFile, fit_table, fitted_rows, score_file
from propense.tables.fitted_rows import are_among, hash_ids, hash_rows, hash_values, remember, remember_scores
from propense.tables.model import scores_of

pytestmark = pytest.mark.usefixtures("few_simulations")


def test_hashes_are_equal_where_the_rows_are(rng):
    matrix = rng.integers(0, 3, size=(2000, 4)).astype(float)
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    _, places = np.unique(np.nan_to_num(matrix, nan=9.0), axis=0, return_inverse=True)
    _, hashed = np.unique(hash_values(matrix), return_inverse=True)
    pairs = set(zip(places.ravel().tolist(), hashed.ravel().tolist(), strict=True))
    assert len(pairs) == len(set(places.ravel().tolist())) == len(set(hashed.ravel().tolist()))
    np.testing.assert_array_equal(hash_values(np.array([[0.0, -0.0]])), hash_values(np.array([[-0.0, 0.0]])))
    # A cell is missing whatever the bits of its NaN, which differ between libraries.
    np.testing.assert_array_equal(hash_values(np.array([[1.0, -np.nan]])), hash_values(np.array([[1.0, np.nan]])))
    assert hash_values(np.array([[0.0, 1.0]])) != hash_values(np.array([[1.0, 0.0]]))


def test_hashes_do_not_collide(rng):
    assert len(np.unique(hash_values(rng.normal(size=(100_000, 2))))) == 100_000
    assert len(np.unique(hash_ids([f"p{i}" for i in range(50_000)]))) == 50_000


def test_hashes_stay_the_same():
    """Model files hold them."""
    assert hash_values(np.array([[1.0, np.nan]])).tolist() == [4493248804476289314]
    assert hash_ids(["p1"]).tolist() == [-7940245846511773976]


def test_a_row_without_an_id_is_not_recognised():
    known = remember(np.zeros((3, 1)), np.array(["a", "", "b"], dtype=object))
    assert are_among(known, hash_ids(["b", "", "c"])).tolist() == [True, False, False]
    assert are_among(np.empty(0, dtype=np.int64), hash_ids(["b"])).tolist() == [False]


def test_too_many_rows_are_not_remembered(monkeypatch):
    monkeypatch.setattr(fitted_rows, "_MOST", 2)
    assert remember(np.zeros((3, 1)), None) is None


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_rows_of_the_fit_are_counted_when_they_are_scored(clinic, tmp_path, named):
    """Whatever the format of the table, after a round trip through a file, in another order, among other rows."""
    half = clinic.slice(0, 300)
    table, id = (half, "patient") if named else (half.drop_columns(["patient"]), None)
    save(fit_table(table, "reported", id=id, method="pglin").model, tmp_path / "m.propense")
    model = load(tmp_path / "m.propense")
    mixed = clinic.take(np.random.default_rng(0).permutation(600))
    csv.write_csv(mixed, tmp_path / "t.csv")
    parquet.write_table(mixed, tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        assert score_file(model, TableFile(tmp_path / name), tmp_path / "o.csv").fitted == 300


def test_other_values_under_the_same_id_are_a_row_of_the_fit(clinic, tmp_path):
    model = fit_table(clinic, "reported", id="patient", method="pglin").model
    older = clinic.set_column(1, "age", pa.array(np.array(clinic.column("age")) + 1))
    parquet.write_table(older, tmp_path / "t.parquet")
    assert score_file(model, TableFile(tmp_path / "t.parquet"), tmp_path / "o.csv").fitted == 600
    parquet.write_table(older.drop_columns(["patient"]), tmp_path / "t.parquet")
    assert score_file(model, TableFile(tmp_path / "t.parquet"), tmp_path / "o.csv").fitted is None


def test_scores_of_rows_with_the_same_hash_are_averaged():
    matrix, odds = np.array([[1.0], [2.0], [1.0], [1.0]]), np.array([[1.0, 2.0], [5.0, 6.0], [3.0, 6.0], [7.0, 8.0]])
    held = remember_scores(matrix, None, odds)
    here, found = held.find(hash_values(np.array([[2.0], [3.0], [1.0]])))
    assert here.tolist() == [True, False, True]
    np.testing.assert_allclose(found, [[5.0, 6.0], [11 / 3, 16 / 3]], rtol=1e-6)
    # With ids they are different rows, and a row without an id is none.
    ids = np.array(["a", "b", "c", ""], dtype=object)
    held = remember_scores(matrix, ids, odds)
    here, found = held.find(hash_rows(matrix, ids))
    assert here.tolist() == [True, True, True, False]
    np.testing.assert_allclose(found, odds[:3])


def test_the_hash_of_a_row_depends_on_its_id_and_on_each_value():
    ids, matrix = np.array(["a", "b"], dtype=object), np.array([[1.0, 2.0], [1.0, 2.0]])
    hashes = hash_rows(matrix, ids)
    assert hashes[0] != hashes[1]
    assert (hash_rows(matrix * [1.0, 2.0], ids) != hashes).all()
    np.testing.assert_array_equal(hash_rows(matrix, None), hash_values(matrix))
    # Model files hold them.
    assert hash_rows(np.array([[1.0, np.nan]]), np.array(["p1"], dtype=object)).tolist() == [1895938230613268548]


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_rows_of_the_fit_keep_the_scores_of_models_that_have_not_seen_them(clinic, tmp_path, named):
    """From a file, in another format and order, among rows that are new or have changed."""
    table, id = (clinic, "patient") if named else (clinic.drop_columns(["patient"]), None)
    parameters = {"learners": [LogisticRegression()]}
    found = fit_table(table.slice(0, 400), "reported", id=id, parameters=parameters, scar_test=False)
    save(found.model, tmp_path / "m.propense")
    model = load(tmp_path / "m.propense")
    older = np.array(table.column("age")) + np.where(np.arange(600) < 100, 1, 0)
    table = table.set_column(table.column_names.index("age"), "age", pa.array(older))
    scores, plain = model.score(table), scores_of(model.estimator, model.features(table))
    rows, others = slice(100, 400), np.r_[0:100, 400:600]
    for name in ("posterior", "propensity", "hidden", "hidden_range"):
        one, other, kept = (getattr(each, name) for each in (scores, plain, found.scores))
        np.testing.assert_allclose(one[rows], kept[rows], rtol=1e-5)
        np.testing.assert_array_equal(one[others], other[others])
        assert np.abs(one[rows] - other[rows]).max() > 1e-4
    order = np.random.default_rng(0).permutation(600)
    csv.write_csv(table.take(order), tmp_path / "t.csv")
    done = score_file(model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv")
    assert (done.fitted, done.held_out) == (400 if named else 300, 300)
    written = np.array(TableFile(tmp_path / "o.csv").read().column("hidden").to_pylist(), dtype=float)
    np.testing.assert_allclose(written, scores.hidden[order], rtol=1e-12)
    # A table without the ids has no row that can be recognised.
    if named:
        np.testing.assert_array_equal(model.score(table.drop_columns(["patient"])).hidden, plain.hidden)


def test_a_method_that_has_seen_the_rows_keeps_no_scores_of_them(clinic):
    assert fit_table(clinic, "reported", id="patient", method="pglin").model.held_out is None
