"""The kind of a column does not depend on the file format, and cells are encoded by that kind."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propense.errors import InvalidOption, InvalidTable
from propense.tables.cells import (
    as_booleans,
    as_levels,
    as_numbers,
    as_text,
    first_refused,
    normalise_decimals,
    with_points,
)
from propense.tables.missing_words import words_for_missing
from propense.tables.schema import MISSING, OTHER, Column, Reading, Schema, infer_schema


def encode_cells(column, cells, where, first_row):
    table = pa.table([cells], names=[column.name])
    schema = Schema((column,))
    return schema.encode(schema.read(table, where, first_row))[:, 0]


def column_of(cells, **options):
    table = pa.table({"x": cells})
    schema, _ = infer_schema(table, ["x"], "t.csv", **options)
    return (schema.columns[0] if schema.columns else None), table


def notes_on(cells, **options):
    return infer_schema(pa.table({"x": cells}), ["x"], "t.csv", **options)[1]


NUMBERS = st.one_of(st.none(), st.floats(-1e9, 1e9), st.integers(-(2**40), 2**40).map(float))


@pytest.mark.slow
@given(st.lists(NUMBERS, min_size=1, max_size=30).filter(any))
def test_numbers_are_the_same_as_text_and_as_numbers(values):
    text = pa.array(["" if value is None else repr(value) for value in values])
    np.testing.assert_array_equal(as_numbers(text), as_numbers(pa.array(values, pa.float64())))
    assert column_of(text)[0] == column_of(pa.array(values, pa.float64()))[0] == Column("x", "number")


@pytest.mark.slow
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
    (["2020-01-01", "2021-02-30"], "column 'x' holds dates, but row 2 cannot be read: '2021-02-30' is not a day of"),
    (["31/12/2020", "12/31/2020"], "column 'x' holds dates, but row 2 .* '31/12/2020' has its day first and '12/31/20"),
    (["1/2/2020", "3/4/2020"], "column 'x' holds dates, but row 1 .* may have its day or its month first.*dates='dmy'"),
    (["2020-12-31", "31.12.2020"], "column 'x' holds dates, but row 2 .* in more than one form, such as '2020-12-31'"),
    (["31.12.20", "1.2.21"], "column 'x' holds dates, but row 1 .* have years of two digits"),
    (["2020-12-31", "2020-12-30", "soon"], "column 'x' holds dates, but row 3 .* but 'soon' is not one"),
    ([f"{i} days" for i in range(12)] + ["?!"], "column 'x' holds durations, but row 13 cannot be read: '\\?!' is not"),
    ([[1], [2]], "column 'x' holds list<.*>: not numbers, text or true/false"),
]


@pytest.mark.parametrize(
    ("cells", "words"),
    REFUSED,
    ids=["no date", "two orders", "no order", "two forms", "two digits", "a word", "no duration", "lists"],
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
    assert normalise_decimals(table, ["x"], None) is table


def test_commas_separate_thousands_where_the_decimal_sign_is_a_point():
    cells = pa.array(["1,234.5", "12,000", "7", "1,5", "$ 3,000", None])
    assert with_points(cells, ".").to_pylist() == ["1234.5", "12000", "7", "1,5", "$ 3000", None]
    table = normalise_decimals(pa.table({"x": ["1,500", "20,000.5"]}), ["x"], ".")
    assert infer_schema(table, ["x"], "t.csv", reading=Reading(points=True))[0].columns[0].kind == "number"


SUSPECT = [
    (["12"] * 30 + ["#DIV/0!"], "most cells look like numbers, but '#DIV/0!' in row 31 is not one"),
    (["76,2", "80,1", "75,9"], "most cells look like numbers, but '76,2' in row 1"),
    (["1,5 mg", "20,25 mg"], "most cells look like numbers, but '1,5 mg' in row 1"),
    (["1.500 kg", "2.000 kg", "900 kg"], "'1.500' may have a decimal point or a separator of thousands"),
    (["1,500", "20,000"], "most cells look like numbers"),
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
    assert column_of(["1.549", "900"], reading=Reading(points=True))[0].kind == "number"


def test_types_of_other_formats_are_read_or_errors():
    assert column_of(pa.array(np.array([1.5, 2.5], dtype=np.float16)))[0].kind == "number"
    assert encode_cells(Column("x", "truth"), pa.nulls(2), "t", 0).tolist() == pytest.approx([np.nan] * 2, nan_ok=True)
    for cells in (pa.array([b"ab", b"cd"], pa.binary(2)), pa.array([b"x"], pa.large_binary())):
        with pytest.raises(InvalidTable, match="not numbers, text or true/false"):
            column_of(cells)


WRITTEN = {
    "d.m.y": ["31.12.2020", "1.2.2021 06:00"],
    "d/m/y": ["31/12/2020", "01/02/2021 6:00 AM"],
    "m/d/y": ["12/31/2020", "2/1/2021 06:00:00"],
    "d-m-y": ["31-12-2020", "1-2-2021 06:00"],
    "y/m/d": ["2020/12/31", "2021/02/01 06:00"],
    "d month y": ["31 Dec 2020", "1. Februar 2021 06:00"],
    "month d y": ["December 31, 2020", "Feb 1, 2021 06:00"],
    "": ["2020-12-31", "2021-02-01T07:00:00+01:00"],
}


@pytest.mark.parametrize(("form", "words"), WRITTEN.items(), ids=WRITTEN)
def test_dates_of_every_usual_form_are_read(form, words):
    column, table = column_of([*words, None])
    assert column == Column("x", "date", form=form)
    np.testing.assert_array_equal(encode_cells(column, table.column("x"), "t.csv", 0), [18627, 18659.25, np.nan])
    # Dates of another table may have their type, or the usual form.
    typed = pa.array([18627, None], pa.date32())
    np.testing.assert_array_equal(encode_cells(column, typed, "t.csv", 0), [18627, np.nan])
    np.testing.assert_array_equal(encode_cells(column, pa.array(["2020-12-31"]), "t.csv", 0), [18627])


def test_the_order_of_dates_can_be_given():
    cells = ["01/02/2020", "03/04/2020"]
    for order, days in (("dmy", [18293, 18355]), ("mdy", [18263, 18325])):
        column, table = column_of(cells, reading=Reading(dates=order))
        np.testing.assert_array_equal(encode_cells(column, table.column("x"), "t.csv", 0), days)
    # What the cells show counts more.
    assert column_of(["31/12/2020", "1/2/2020"], reading=Reading(dates="mdy"))[0].form == "d/m/y"


DURATIONS = [
    (["3 days", "1 day", None], [3, 1, np.nan]),
    (["36:00:00", "00:30", ""], [1.5, 1 / 48, np.nan]),
    (["1h 30m", "45 min", "90s"], [0.0625, 0.03125, 90 / 86400]),
    (["P1DT12H", "PT6H", "P1W"], [1.5, 0.25, 7]),
    (["1 days 12:00:00", "0 days 06:00:00", "-1 days +12:00:00"], [1.5, 0.25, -0.5]),
    (["2 Wochen", "1 Tag 12 Std.", "1 Jahr"], [14, 1.5, 365.25]),
    (pa.array([43_200, None, -86_400], pa.duration("s")), [0.5, np.nan, -1]),
    (pa.array([43_200, None, 0], pa.time32("s")), [0.5, np.nan, 0]),
    (pa.array([21_600 * 10**6, None, 0], pa.time64("us")), [0.25, np.nan, 0]),
]


@pytest.mark.parametrize(("cells", "days"), DURATIONS, ids=[str(case[0][0]) for case in DURATIONS])
def test_durations_are_days(cells, days):
    column, table = column_of(cells)
    assert column == Column("x", "duration")
    np.testing.assert_allclose(encode_cells(column, table.column("x"), "t.csv", 0), days, rtol=1e-9)
    with pytest.raises(InvalidTable, match="row 1: 'long' is not a duration"):
        encode_cells(column, pa.array(["long"]), "t.csv", 0)


def test_words_among_a_few_durations_are_a_category():
    assert column_of(["1 week", "2 weeks", "never"] * 10)[0].kind == "category"
    # Metres, not minutes.
    assert column_of(["5 m", "7 m"])[0].form == "unit:m"


MEASURES = [
    (["25.3 kg/m2", "31 kg/m²", ""], "unit:kg/m2", [25.3, 31, np.nan]),
    (["72 kg", "80Kg", "65"], "unit:kg", [72, 80, 65]),
    (["12 %", "7.5%"], "unit:%", [12, 7.5]),
    (["€ 1 200", "€ 300.50", "€-7"], "unit:€", [1200, 300.5, -7]),
    (["1 200", "12 000 000"], "unit:", [1200, 12e6]),
    (["<5", "7", "> 100"], "limits unit:", [5, 7, 100]),
    (["~3 mg/l", "<0.5 mg/l", "8 mg/l"], "limits unit:mg/l", [3, 0.5, 8]),
    (["3 rooms", "1 room", "2 rooms"], "unit:rooms", [3, 1, 2]),
]


@pytest.mark.parametrize(("cells", "form", "numbers"), MEASURES, ids=[case[0][0] for case in MEASURES])
def test_numbers_with_one_unit_are_numbers(cells, form, numbers):
    column, table = column_of(cells)
    assert (column.kind, column.form.lower()) == ("number", form)
    np.testing.assert_array_equal(encode_cells(column, table.column("x"), "t.csv", 0), numbers)


def test_numbers_in_another_unit_are_refused_later():
    column, _ = column_of(["72 kg", "80 kg"])
    with pytest.raises(InvalidTable, match="row 2: '150 lb' is not a number in kg"):
        encode_cells(column, pa.array(["70 kg", "150 lb"]), "t.csv", 0)
    np.testing.assert_array_equal(encode_cells(column, pa.array([70.0, 80.5]), "t.csv", 0), [70, 80.5])
    with pytest.raises(InvalidTable, match="row 1: '<5 kg' is not a number in kg"):
        encode_cells(column, pa.array(["<5 kg"]), "t.csv", 0)
    share, _ = column_of(["12 %", "7 %"])
    with pytest.raises(InvalidTable, match=r"row 1: '0\.12' is not a number in %"):
        encode_cells(share, pa.array(["0.12"]), "t.csv", 0)


def test_two_units_in_a_column_are_an_error_with_their_counts():
    with pytest.raises(InvalidTable, match=r"column 'x' holds numbers in different units \(3 kg, 1 lb\)"):
        column_of(["72 kg", "80 kg", "75 kg", "150 lb"])
    with pytest.raises(InvalidTable, match=r"different units \(2 %, 1 without a unit\)"):
        column_of(["12 %", "7 %", "0.12"])
    # Names are not units.
    assert column_of(["1 child", "2 adults", "3 dogs"] * 9, categorical=["x"])[0].kind == "category"


def test_limits_and_bare_numbers_are_noted():
    assert notes_on(["<5", "7", "<5"]) == [
        "The column 'x' has 2 cells with a limit or a rough value, such as '<5'. They were read as the number itself."
    ]
    assert notes_on(["72 kg", "80 kg", "65"]) == [
        "The column 'x' has 1 cell without a unit, taken to be in kg as well."
    ]


def test_decimal_commas_are_read_with_a_unit():
    table = normalise_decimals(pa.table({"x": ["1,5 mg", "1.200,25 mg"]}), ["x"], ",")
    schema, _ = infer_schema(table, ["x"], "t.csv", reading=Reading(points=True))
    np.testing.assert_array_equal(schema.encode(schema.read(table, "t.csv"))[:, 0], [1.5, 1200.25])


def test_words_for_missing_can_be_added_and_switched_off():
    cells = ["none", "mild", "severe", "none"] * 10
    assert MISSING in column_of(cells)[0].levels
    assert column_of(cells, reading=Reading(words_for_missing((), usual=False)))[0].levels == ("none", "mild", "severe")
    reading = Reading(words_for_missing(["Unknown", "-99"]))
    for numbers in (["1", "unknown", "-99", "NA"], pa.array([1.0, np.nan, -99.0, None])):
        schema, _ = infer_schema(pa.table({"x": numbers}), ["x"], "t.csv", reading=reading)
        out = schema.encode(schema.read(pa.table({"x": numbers}), "t.csv"))[:, 0]
        np.testing.assert_array_equal(out, [1, np.nan, np.nan, np.nan])
    for wrong in ("NA", [1], ["x"] * 101):
        with pytest.raises(InvalidOption, match="is not a list of at most 100 words"):
            words_for_missing(wrong)


def test_free_text_and_names_are_left_out_with_a_note():
    notes = notes_on([f"name {i}" for i in range(40)])
    assert notes == [
        "The column 'x' has a different text in every row and was left out. Pass id='x' if it names the rows."
    ]
    remarks = [f"pain in {i}" for i in range(40)] + ["none given"] * 5
    assert "holds 41 different texts, most of them once, and was left out" in notes_on(remarks)[0]
    with pytest.raises(InvalidTable, match=r"holds 41 different texts.*not a category"):
        column_of(remarks, categorical=["x"])


def test_all_problems_of_the_columns_are_in_one_error():
    table = pa.table({"a": ["1,5", "2,5"], "b": ["1 kg", "1 lb"], "c": [[1], [2]], "d": ["1", "2"]})
    with pytest.raises(InvalidTable) as caught:
        infer_schema(table, ["a", "b", "c", "d"], "t.csv")
    words = str(caught.value)
    assert words.startswith("t.csv has 3 problems: (1) column 'a': most cells look like numbers")
    assert "(2) column 'b' holds numbers in different units" in words
    assert "(3) column 'c' holds list" in words
    many = pa.table({f"x{j}": ["1,5", "2,5"] for j in range(30)})
    with pytest.raises(InvalidTable, match=r"has 30 problems.*\(10\) column 'x9'.* And 20 more\.") as caught:
        infer_schema(many, many.column_names, "t.csv")
    assert "\n" not in str(caught.value)
    assert "x10" not in str(caught.value)


def test_large_strings_take_decimal_commas_and_units():
    cells = pa.array(["1,5 kg", "x", None], pa.large_string())
    assert with_points(cells).to_pylist() == ["1.5 kg", "x", None]
    for kind in (pa.large_string(), pa.string_view()):
        column, table = column_of(pa.array(["72 kg", "80 kg"]).cast(kind))
        np.testing.assert_array_equal(encode_cells(column, table.column("x"), "t.csv", 0), [72, 80])


def test_words_among_numbers_may_be_missing_cells_and_a_sign_that_is_given_is_not_asked_for():
    cells = pa.array(["1,5", "2,5", "k.A.", "3,5", "4,5", "offen"])
    with pytest.raises(InvalidTable, match=r"give the decimal sign .* Pass missing=\['k.A.', 'offen'\] if that means"):
        column_of(cells)
    pointed = with_points(cells)
    with pytest.raises(
        InvalidTable, match=r"'k.A.' in row 3 is not one. .* Pass missing=\['k.A.', 'offen'\]"
    ) as caught:
        column_of(pointed, reading=Reading(points=True))
    assert "decimal" not in str(caught.value)
    column, _ = column_of(pointed, reading=Reading(words_for_missing(["k.A.", "offen"]), points=True))
    assert column.kind == "number"
    # Many different words are not a sign for a missing cell.
    many = pa.array([*map(str, range(9)), "a", "b", "c", "d"])
    with pytest.raises(InvalidTable, match=r"if the values are names\.$"):
        column_of(many)
