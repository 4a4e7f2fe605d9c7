"""A folder of Parquet files: one table, fitted in memory or with Dask."""

import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from propense.errors import InvalidTable, NoLabelledInstances
from propense.tables import FitOptions, TableFolder, fit_folder, fit_table

dask = pytest.importorskip("dask")

OPTIONS = FitOptions("reported", id="patient", method="pglin")
pytestmark = pytest.mark.usefixtures("few_simulations")


@pytest.fixture
def folder(tmp_path, clinic):
    """The clinic's table in three files, one with two row groups and one empty, and other files."""
    home = tmp_path / "clinic"
    (home / "later").mkdir(parents=True)
    parquet.write_table(clinic.slice(0, 250), home / "a.parquet", row_group_size=200)
    parquet.write_table(clinic.slice(250, 0), home / "b.parquet")
    parquet.write_table(clinic.slice(250), home / "later" / "c.parquet")
    (home / "_metadata").mkdir()
    parquet.write_table(clinic.slice(0, 5), home / "_metadata" / "x.parquet")
    (home / "notes.txt").write_text("no table")
    return home


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


def test_the_pieces_are_the_table(folder, clinic):
    pieces = TableFolder(folder)
    assert [(piece.path.name, piece.group, piece.first_row, piece.rows) for piece in pieces.pieces] == [
        ("a.parquet", 0, 0, 200),
        ("a.parquet", 1, 200, 50),
        ("c.parquet", 0, 0, 350),
    ]
    assert pieces.rows == 600
    assert pieces.read().equals(clinic.combine_chunks())


def test_batches_are_the_table_with_types_that_hold_every_file(tmp_path, clinic, monkeypatch):
    age, region = (clinic.column_names.index(name) for name in ("age", "region"))
    first, second = clinic, clinic.slice(100, 120).set_column(age, "age", clinic["age"].slice(100, 120).cast("float64"))
    # Each file has categories of its own.
    first, second = (each.set_column(region, "region", each["region"].dictionary_encode()) for each in (first, second))
    parquet.write_table(first, tmp_path / "a.parquet")
    parquet.write_table(second.select(clinic.column_names[::-1]), tmp_path / "b.parquet")
    pieces = TableFolder(tmp_path)
    whole = pieces.read()
    monkeypatch.setattr("propense.tables.folder.ROWS", 70)
    batches = list(pieces.batches())
    assert max(batch.num_rows for batch in batches) == 70
    assert pa.Table.from_batches(batches).to_pylist() == whole.to_pylist()
    assert {batch.schema for batch in batches} == {whole.schema}
    assert whole.schema.field("age").type == pa.float64()
    assert whole.num_rows == 720


def test_a_folder_that_cannot_be_read_is_an_error(folder, monkeypatch):
    scan = os.scandir

    def refuse(path):
        if str(path).endswith("later"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    # The superuser, who may run this test, may read every folder.
    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InvalidTable, match="later cannot be read: Permission denied"):
        TableFolder(folder)


def test_every_row_is_equally_likely_to_be_drawn(folder):
    pieces = TableFolder(folder)
    counts = np.zeros(600)
    for seed in range(200):
        drawn = pieces.draw(60, seed)
        assert [len(part) == len(set(part.tolist())) for part in drawn] == [True] * 3
        for part, start in zip(drawn, pieces.starts(), strict=True):
            counts[part + start] += 1
    assert counts.sum() == 200 * 60
    # Binomial(200, 1/10) for every row.
    assert counts.mean() == 20
    assert counts.var() == pytest.approx(18, rel=0.25)
    assert np.concatenate(pieces.draw(10**6, 0)).size == 600


@pytest.mark.slow
def test_a_fit_in_pieces_equals_the_fit_of_the_table(folder, clinic):
    whole = fit_table(clinic, "reported", id="patient", method="pglin")
    found = fit_folder(TableFolder(folder), OPTIONS)
    np.testing.assert_allclose(found.estimator.label_coef_, whole.estimator.label_coef_, atol=1e-6)
    assert found.estimator.prior_ == pytest.approx(whole.estimator.prior_, abs=1e-7)
    assert found.counts.rows == 600
    assert found.counts.hidden == pytest.approx(whole.counts.hidden, abs=1e-4)
    assert (found.counts.labelled, found.counts.positive) == (whole.counts.labelled, whole.counts.positive)
    assert found.counts.naive_positive == whole.counts.naive_positive
    np.testing.assert_allclose(found.scores.hidden, whole.scores.hidden, atol=1e-6)
    assert found.ids.tolist() == whole.ids.tolist()
    assert found.notes == whole.notes


@pytest.mark.slow
def test_the_preparation_uses_a_sample_and_the_fit_all_rows(folder, clinic):
    whole = fit_table(clinic, "reported", id="patient", method="pglin")
    found = fit_folder(TableFolder(folder), FitOptions("reported", drop=["patient"], method="pglin"), sample=300)
    assert len(found.labelled) == 300
    assert found.counts.rows == 600
    assert found.counts.labelled == whole.counts.labelled
    # Medians and scales come from 300 rows, the fit from 600.
    assert found.estimator.prior_ == pytest.approx(whole.estimator.prior_, abs=0.02)
    assert any("a random sample of 300 rows" in note for note in found.notes)
    # Rows are named by their number in the whole table, from 1.
    first = int(found.ids[0]) - 1
    assert found.matrix[0, 0] == clinic.column("age")[first].as_py()
    np.testing.assert_allclose(found.model.score(clinic.slice(first, 1)).hidden, found.scores.hidden[:1], rtol=1e-12)


def test_a_folder_that_is_not_a_table_is_an_error(folder, tmp_path, clinic):
    with pytest.raises(InvalidTable, match="there is no such folder"):
        TableFolder(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidTable, match=r"contains no Parquet file"):
        TableFolder(tmp_path / "empty")
    with pytest.raises(InvalidTable, match="neither a folder of Parquet files nor a Parquet file"):
        TableFolder(folder / "notes.txt")
    with pytest.raises(InvalidTable, match=r"b\.parquet has no rows"):
        TableFolder(folder / "b.parquet")
    parquet.write_table(clinic.drop_columns("bmi"), folder / "d.parquet")
    with pytest.raises(InvalidTable, match=r"d\.parquet has no column 'bmi', but .*a\.parquet has"):
        TableFolder(folder)
    (folder / "d.parquet").write_bytes(b"PAR1 torn")
    with pytest.raises(InvalidTable, match=r"d\.parquet cannot be read as parquet"):
        TableFolder(folder)


def test_errors_in_cells_and_labels_name_the_file(folder, clinic):
    with pytest.raises(InvalidTable, match=r"no column 'told' \(label=\)"):
        fit_folder(TableFolder(folder), FitOptions("told"))
    words = pa.array(["?"] * 10)
    odd = clinic.slice(0, 10).set_column(clinic.column_names.index("age"), "age", words)
    parquet.write_table(odd, folder / "z.parquet")
    with pytest.raises(InvalidTable, match=r"z\.parquet, column 'age', holds string, but in .*a\.parquet it"):
        TableFolder(folder)
    (folder / "z.parquet").unlink()
    nobody = clinic.set_column(clinic.column_names.index("reported"), "reported", pa.array(["no"] * 600))
    for file in folder.rglob("?.parquet"):
        file.unlink()
    parquet.write_table(nobody, folder / "a.parquet")
    with pytest.raises(NoLabelledInstances, match="has no labelled row"):
        fit_folder(TableFolder(folder), OPTIONS)
