"""The kind of a column does not depend on the file format, and cells are encoded by that kind."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propense.errors import InvalidTable
from propense.tables.cells import (
    as_booleans,
    as_levels,
    as_numbers,
    as_text,
    first_refused,
    normalise_decimals,
    with_points,
)
from propense.tables.schema import MISSING, OTHER, Column, Schema, infer_schema


def encode_cells(column, cells, where, first_row):
    table = pa.table([cells], names=[column.name])
    schema = Schema((column,))
    return schema.encode(schema.read(table, where, first_row))[:, 0]


def column_of(cells, **options):
    table = pa.table({"x": cells})
    schema, empty = infer_schema(table, ["x"], "t.csv", **options)
    return (None if empty else schema.columns[0]), table


NUMBERS = st.one_of(st.none(), st.floats(-1e9, 1e9), st.integers(-(2**40), 2**40).map(float))


@given(st.lists(NUMBERS, min_size=1, max_size=30).filter(any))
def test_numbers_are_the_same_as_text_and_as_numbers(values):
    text = pa.array(["" if value is None else repr(value) for value in values])
    np.testing.assert_array_equal(as_numbers(text), as_numbers(pa.array(values, pa.float64())))
    assert column_of(text)[0] == column_of(pa.array(values, pa.float64()))[0] == Column("x", "number")


@pytest.mark.parametrize("word", ["", " ", "NA", "n/a", "#N/A", "NaN", "null", "None", "<NA>", "-", ".", "?"])
def test_words_for_missing_are_missing(word):
    column, table = column_of(["1", word, "2"])
    assert column.kind == "number"
    np.testing.assert_array_equal(encode_cells(column, table.column("x"), "t.csv", 0), [1, np.nan, 2])


def test_true_and_false_are_recognised_in_any_case():
    for cells in (["True", "false", ""], [True, False, None]):
        column, table = column_of(cells)
        assert column.kind == "truth"
        np.testing.assert_array_equal(encode_cells(column, table.column("x"), "t.csv", 0), [1, 0, np.nan])
    assert column_of(["true", "no"] * 5)[0].kind == "category"
    assert column_of(["0", "1"])[0].kind == "number"


def test_levels_come_by_frequency_and_rare_ones_are_other():
    cells = ["b"] * 20 + ["a"] * 30 + ["c"] * 4 + [None] * 2 + ["d"] * 5
    column, _ = column_of(cells)
    assert column.levels == ("a", "b", "d", OTHER, MISSING)
    np.testing.assert_array_equal(
        encode_cells(column, pa.chunked_array([["a", "d", "c", "never seen", "", None]]), "t.csv", 0),
        [0, 2, 3, 3, 4, 4],
    )
    plain, _ = column_of(["a", "b"] * 5)
    np.testing.assert_array_equal(encode_cells(plain, pa.chunked_array([["b", "new", None]]), "t.csv", 0), [1, -1, -1])


def test_numbers_can_be_made_categories():
    assert column_of([1, 2] * 5, categorical=["x"])[0].levels == ("1", "2")
    assert column_of([1.0, 2.0, None] * 5, categorical=["x"])[0].levels == ("1", "2", MISSING)
    assert column_of(pa.array(["1", "2"] * 5).dictionary_encode())[0].levels == ("1", "2")


DATES = {
    "text": (["2020-02-29", "", "1969-12-31"], [18321, np.nan, -1]),
    "text with times": (["2020-02-29 12:00", "NA", "2020-02-29T06:00:00.000"], [18321.5, np.nan, 18321.25]),
    "text with zones": (["2020-02-29T12:00:00Z", None, "2020-02-29T12:00+06:00"], [18321.5, np.nan, 18321.25]),
    "days": (pa.array([18321, None, -1], pa.date32()), [18321, np.nan, -1]),
    "milliseconds": (pa.array([18321 * 86_400_000, None, 0], pa.date64()), [18321, np.nan, 0]),
    "moments": (pa.array([43_200, None, -86_400], pa.timestamp("s")), [0.5, np.nan, -1]),
    "moments in a zone": (pa.array([43_200 * 10**9, None, 0], pa.timestamp("ns", "Asia/Tokyo")), [0.5, np.nan, 0]),
}


@pytest.mark.parametrize(("cells", "expected"), DATES.values(), ids=DATES)
def test_dates_are_days_since_1970(cells, expected):
    column, table = column_of(cells)
    assert column == Column("x", "date")
    np.testing.assert_array_equal(encode_cells(column, table.column("x"), "t.csv", 0), expected)
    # Of a table to score that has them in another form.
    for other in (pa.nulls(3), pa.array(["", "NA", ""]), pa.array([None] * 3, pa.date32())):
        assert np.isnan(encode_cells(column, other, "t.csv", 0)).all()
    with pytest.raises(InvalidTable, match=r"t\.csv, column 'x', row 12: 'soon' is not a date"):
        encode_cells(column, pa.chunked_array([["2020-01-01", "soon"]]), "t.csv", 10)
    with pytest.raises(InvalidTable, match=r"t\.csv, column 'x', row 1: '18321' is not a date"):
        encode_cells(column, pa.chunked_array([[18321, 2]]), "t.csv", 0)


def test_dates_can_be_made_categories():
    assert column_of(["2020-01-01", "2021-01-01"] * 5, categorical=["x"])[0].kind == "category"
    assert column_of(pa.array(["2020-01-01", "2021-01-01"] * 5).dictionary_encode())[0].kind == "category"


def test_an_empty_column_is_left_out():
    assert column_of(["", None, "NA"])[0] is None
    assert column_of(pa.array([None, None], pa.null()))[0] is None


REFUSED = [
    (["2020-01-01", "2021-02-30"], "column 'x' holds dates or times such as '2021-02-30', in row 2"),
    (["01.02.2023", "3.4.1999"], "column 'x' holds dates or times such as '01.02.2023'"),
    (["12/31/2020", "1/2/2021 10:00"], "column 'x' holds dates or times such as '12/31/2020'"),
    (pa.array([1, 2], pa.time32("s")), "column 'x' holds dates or times such as '00:00:01'"),
    (pa.array([None, 2], pa.duration("s")), "column 'x' holds dates or times such as '2', in row 2"),
    ([[1], [2]], "column 'x' holds list<.*>: not numbers, text or true/false"),
    ([f"name {i}" for i in range(40)], "column 'x' holds 40 different texts, most of them once"),
]


@pytest.mark.parametrize(
    ("cells", "words"),
    REFUSED,
    ids=["no date", "dates with points", "dates with strokes", "times", "durations", "lists", "names"],
)
def test_columns_that_cannot_be_features_are_errors_that_name_drop(cells, words):
    with pytest.raises(InvalidTable, match=rf"t\.csv, {words}.*drop=\['x'\]"):
        column_of(cells)


def test_an_error_names_the_row_of_a_cell():
    column = Column("age", "number")
    cells = ["1"] * 700 + ["", "old"] + ["2"] * 300
    with pytest.raises(InvalidTable, match=r"new\.csv, column 'age', row 1702: 'old' is not a number"):
        encode_cells(column, pa.chunked_array([cells]), "new.csv", 1000)
    with pytest.raises(InvalidTable, match=r"column 'age', row 2: inf is too large"):
        encode_cells(column, pa.chunked_array([["1", "inf"]]), "new.csv", 0)
    with pytest.raises(InvalidTable, match=r"row 1: 1e\+200 is too large"):
        encode_cells(column, pa.chunked_array([["1e200", "1"]]), "new.csv", 0)
    with pytest.raises(InvalidTable, match=r"row 2: 'maybe' is not true or false"):
        encode_cells(Column("smoker", "truth"), pa.chunked_array([["true", "maybe"]]), "new.csv", 0)


@given(st.lists(st.sampled_from(["1", "", "x", "2.5"]), min_size=1, max_size=40).filter(lambda cells: "x" in cells))
def test_the_first_refused_cell_is_the_first(cells):
    assert first_refused(pa.array(cells), as_numbers) == (cells.index("x"), "x")


def test_text_is_trimmed_and_whole_numbers_are_whole():
    assert as_booleans(pa.array([1, 0])) is None
    assert as_text(pa.array([" a ", "NA", "007"])).to_pylist() == ["a", None, "007"]
    assert as_levels(pa.array(["50667.0", "50667", "1.50", None])).to_pylist() == ["50667", "50667", "1.50", None]
    assert as_levels(pa.array([50667.0, None])).to_pylist() == ["50667", None]


def test_decimal_commas_become_points():
    cells = pa.array(["1.234,5", "76,2", "900", "-1.000", "", "x, y", "1.2.3"])
    assert with_points(cells).to_pylist() == ["1234.5", "76.2", "900", "-1000", "", "x, y", "1.2.3"]
    np.testing.assert_array_equal(as_numbers(with_points(pa.array(["1.234,5", "76,2", ""]))), [1234.5, 76.2, np.nan])
    table = pa.table({"id": ["1.234"], "x": ["2.000,5"]})
    assert normalise_decimals(table, ["x"], ",").to_pydict() == {"id": ["1.234"], "x": ["2000.5"]}
    assert normalise_decimals(table, ["x"], None) is normalise_decimals(table, ["x"], ".") is table


SUSPECT = [
    (["12"] * 30 + ["#DIV/0!"], "most cells look like numbers, but '#DIV/0!' in row 31 is not one"),
    (["76,2", "80,1", "75,9"], "most cells look like numbers, but '76,2' in row 1"),
    (["76 kg", "80 kg"], "most cells look like numbers"),
    (["1,500", "20,000"], "most cells look like numbers"),
    (["19%", "7 %"], "most cells look like numbers"),
    (["1.549", "12.300", "900"], "'1.549' may have a decimal point or a separator of thousands"),
]


@pytest.mark.parametrize(("cells", "words"), SUSPECT, ids=[case[0][0] for case in SUSPECT])
def test_columns_that_are_nearly_numbers_are_not_categories(cells, words):
    with pytest.raises(InvalidTable, match=rf"t\.csv, column 'x': {re.escape(words)}.*decimal=','.*=\['x'\]"):
        column_of(cells)
    assert column_of(cells, categorical=["x"])[0].kind == "category"


def test_fractions_that_cannot_be_thousands_are_numbers():
    for cells in (["1.549", "0.25", "900"], ["1.549", "2.341"], ["0.125", "3"], ["1e3", "2"]):
        assert column_of(cells)[0].kind == "number"
    assert column_of(["1.549", "900"], points=True)[0].kind == "number"


def test_types_of_other_formats_are_read_or_errors():
    assert column_of(pa.array(np.array([1.5, 2.5], dtype=np.float16)))[0].kind == "number"
    assert encode_cells(Column("x", "truth"), pa.nulls(2), "t", 0).tolist() == pytest.approx([np.nan] * 2, nan_ok=True)
    for cells in (pa.array([b"ab", b"cd"], pa.binary(2)), pa.array([b"x"], pa.large_binary())):
        with pytest.raises(InvalidTable, match="not numbers, text or true/false"):
            column_of(cells)
