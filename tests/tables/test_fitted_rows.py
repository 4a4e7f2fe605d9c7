"""Rows of a fit are recognised when they are scored, by their ids or by their values."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from propense import load, save
from propense.tables import TableFile, fit_table, fitted_rows, score_file
from propense.tables.fitted_rows import are_among, hash_ids, hash_values, remember

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
