"""Columns of every Arrow type, as label, id or feature and in tables to score: used, or refused with their name."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import feather, parquet

from propense.errors import InvalidTable, PropenseError
from propense.tables import FitOptions, TableFile, TableFolder, fit_folder, fit_table, score_file

N = 60
BITS = [i % 2 for i in range(N)]
PAIRS = [b"\xff" if bit else b"n" for bit in BITS]
# Arrays that no conversion makes numbers or text.
UNUSABLE = {
    "binary": pa.array(PAIRS),
    "large binary": pa.array(PAIRS, pa.large_binary()),
    "binary view": pa.array(PAIRS, pa.binary_view()),
    "bytes": pa.array(PAIRS, pa.binary(1)),
    "list": pa.array([[bit] for bit in BITS]),
    "fixed list": pa.array([[bit] for bit in BITS], pa.list_(pa.int64(), 1)),
    "struct": pa.array([{"a": bit} for bit in BITS]),
    "map": pa.array([[("k", bit)] for bit in BITS], pa.map_(pa.string(), pa.int64())),
    "run-end encoded": pc.run_end_encode(pa.array(BITS)),
    "union": pa.UnionArray.from_sparse(pa.array(BITS, pa.int8()), [pa.array(BITS), pa.array(list(map(str, BITS)))]),
    "interval": pa.array([pa.MonthDayNano([bit, 0, 0]) for bit in BITS]),
    "timezone": pa.array(BITS).cast(pa.timestamp("s", "Nowhere/City")),
    "not UTF-8": pa.array(PAIRS).view(pa.string()),
}
OPTIONS = FitOptions("lab", id="id", method="pglin", scar_test=False)
pytestmark = pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "id": [f"p{i}" for i in range(N)],
            "age": rng.integers(18, 80, N),
            "sex": rng.choice(["f", "m"], N),
            "lab": np.where(rng.random(N) < 0.4, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def model(table):
    return fit_table(table, OPTIONS).model


def with_cells(table, column, cells):
    return table.set_column(table.column_names.index(column), column, cells)


@pytest.mark.slow
@pytest.mark.parametrize("kind", UNUSABLE)
@pytest.mark.parametrize("column", ["id", "age", "sex", "lab"])
def test_a_column_that_cannot_be_read_is_refused_by_name_in_a_fit(table, column, kind):
    with pytest.raises(InvalidTable, match=f"the table, column {column!r} holds ") as caught:
        fit_table(with_cells(table, column, UNUSABLE[kind]), OPTIONS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", UNUSABLE)
@pytest.mark.parametrize("column", ["age", "sex", "lab"])
def test_a_column_that_cannot_be_read_is_refused_in_a_table_to_score(table, model, column, kind, tmp_path):
    feather.write_feather(with_cells(table, column, UNUSABLE[kind]), tmp_path / "t.arrow", "uncompressed")
    with pytest.raises(InvalidTable, match=rf"t\.arrow(, column {column!r} holds| cannot be read as arrow:) "):
        score_file(model, TableFile(tmp_path / "t.arrow"), tmp_path / "o.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["t.arrow"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", UNUSABLE)
@pytest.mark.parametrize("out", ["o.csv", "o.parquet", "o.arrow"])
def test_a_column_that_is_only_copied_is_written_or_refused(table, model, kind, out, tmp_path):
    feather.write_feather(table.append_column("more", UNUSABLE[kind]), tmp_path / "t.arrow", "uncompressed")
    for top in (None, 5):
        try:
            done = score_file(model, TableFile(tmp_path / "t.arrow"), tmp_path / out, top=top)
        except PropenseError:
            assert not (tmp_path / out).exists()
        else:
            assert done.listed == (top or N)
            (tmp_path / out).unlink()


@pytest.mark.slow
@pytest.mark.parametrize("kind", UNUSABLE)
@pytest.mark.parametrize("column", ["id", "age", "sex", "lab"])
def test_dask_refuses_the_same_columns(table, column, kind, tmp_path):
    dask = pytest.importorskip("dask")
    try:
        parquet.write_table(with_cells(table, column, UNUSABLE[kind]), tmp_path / "t.parquet", row_group_size=25)
    except pa.ArrowException:
        pytest.skip("Parquet has no such type")
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(InvalidTable, match=rf"t\.parquet(, column {column!r} holds|.* cannot be read)"),
    ):
        fit_folder(TableFolder(tmp_path / "t.parquet"), OPTIONS)


def test_dask_looks_at_the_types_before_it_starts(table, tmp_path, monkeypatch):
    dask = pytest.importorskip("dask")
    parquet.write_table(with_cells(table, "lab", UNUSABLE["list"]), tmp_path / "t.parquet")
    monkeypatch.setattr(dask, "compute", lambda *_: pytest.fail("the workers were asked"))
    with pytest.raises(InvalidTable, match="column 'lab' holds list"):
        fit_folder(TableFolder(tmp_path / "t.parquet"), OPTIONS)


def test_a_column_left_out_may_hold_anything(table, tmp_path):
    dask = pytest.importorskip("dask")
    # pyarrow before 21 writes no views to Parquet.
    odd = table.append_column("more", UNUSABLE["binary" if int(pa.__version__.split(".")[0]) < 21 else "binary view"])
    options = FitOptions("lab", id="id", method="pglin", scar_test=False, drop=["more"])
    parquet.write_table(odd, tmp_path / "t.parquet")
    with dask.config.set(scheduler="synchronous"):
        found = fit_folder(TableFolder(tmp_path / "t.parquet"), options)
    np.testing.assert_allclose(found.scores.hidden, fit_table(odd, options).scores.hidden, rtol=1e-6)


def test_rows_with_text_views_are_listed(table, model, tmp_path):
    views = with_cells(table, "sex", table.column("sex").cast(pa.string_view()))
    feather.write_feather(views, tmp_path / "t.arrow", "uncompressed")
    feather.write_feather(table, tmp_path / "plain.arrow", "uncompressed")
    for name in ("t", "plain"):
        score_file(model, TableFile(tmp_path / f"{name}.arrow"), tmp_path / f"{name}.csv", top=7)
    assert (tmp_path / "t.csv").read_text() == (tmp_path / "plain.csv").read_text()


@pytest.mark.parametrize("column", ["id", "lab"])
def test_texts_and_numbers_of_any_type_are_read(table, column):
    plain = fit_table(table, OPTIONS)
    for kind in (pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int8(), pa.string())):
        found = fit_table(with_cells(table, column, table.column(column).cast(kind)), OPTIONS)
        np.testing.assert_array_equal(found.labelled, plain.labelled)
        np.testing.assert_array_equal(found.ids, plain.ids)


@pytest.mark.parametrize("column", ["id", "sex", "lab"])
def test_a_category_that_would_fill_the_memory_as_text_is_refused(table, model, tmp_path, column):
    """A Parquet file of 3 kB asked for 60 GB: one text of a million letters in 60 000 rows."""
    long = table.take(np.arange(5_000) % N)
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(5_000), pa.int8()), pa.array(["x" * 20_000]))
    odd = with_cells(long, column, words)
    message = f"column {column!r} holds dictionary.* that cannot be read: its categories, .* take 95 MB. Convert it"
    with pytest.raises(InvalidTable, match=message):
        fit_table(odd, OPTIONS)
    if column != "id":
        feather.write_feather(odd, tmp_path / "t.arrow", "zstd")
        with pytest.raises(InvalidTable, match=message):
            score_file(model, TableFile(tmp_path / "t.arrow"), tmp_path / "out.arrow")
        assert [path.name for path in tmp_path.iterdir()] == ["t.arrow"]
