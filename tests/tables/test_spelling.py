"""How a table is written: the model remembers it, a table that differs is recognised, and nothing is misread."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from propense.errors import InvalidTable
from propense.tables import TableFile, TableWriter, bound_table, fit_table, list_rows, score_file, write_list
from propense.tables.spelling import DecimalSign, Spelling, find_sign, with_sign

pytestmark = pytest.mark.usefixtures("few_simulations")


def text_of(table, sign):
    """The table as text, with a decimal sign."""
    cells = {
        name: ["" if cell is None else str(cell).replace(".", sign) for cell in table.column(name).to_pylist()]
        for name in table.column_names
    }
    return pa.table(cells)


@pytest.fixture(scope="module")
def models(clinic):
    """Models of the same table, written with points, with commas, and as numbers."""
    asked = {"id": "patient", "learners": "linear", "scar_test": False}
    return {
        ".": fit_table(text_of(clinic, "."), "reported", **asked),
        ",": fit_table(text_of(clinic, ","), "reported", decimal=",", **asked),
        None: fit_table(clinic, "reported", **asked),
    }


def test_the_model_remembers_the_decimal_sign(models):
    assert {sign: found.model.spelling.decimal for sign, found in models.items()} == {".": ".", ",": ",", None: None}


@pytest.mark.parametrize("fitted", [".", ",", None])
@pytest.mark.parametrize("written", [".", ","])
def test_a_table_is_scored_the_same_however_its_numbers_are_written(tmp_path, clinic, models, fitted, written):
    found = models[fitted]
    with TableWriter(tmp_path / "t.csv") as writer:
        writer.write(text_of(clinic, written))
    done = score_file(found.model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv")
    back = TableFile(tmp_path / "o.csv").read()
    hidden = [float(cell.replace(",", ".")) for cell in back.column("hidden").to_pylist()]
    # What models that have not seen a row say of it is kept with seven digits.
    np.testing.assert_allclose(hidden, found.scores.hidden, rtol=1e-6)
    # A comma in a file separated by commas is in quotation marks; the sign is that of the table.
    assert any(written in cell for cell in back.column("hidden").to_pylist())
    assert done.decimal == (written if fitted not in (None, written) else None)
    table = TableFile(tmp_path / "t.csv").read()
    np.testing.assert_allclose(found.model.score(table).hidden, found.scores.hidden, rtol=1e-6)
    assert str(found.model.drift(table)) == "The rows are spread like those of the fit."
    same = bound_table(found.model, table).high.tolist()
    assert same == bound_table(found.model, clinic if fitted is None else text_of(clinic, fitted)).high.tolist()


# What a column holds, what the model remembers, and the numbers that are read, or words of the error.
CASES = [
    (["1,5", "1.234"], ",", [1.5, 1234.0]),
    (["1,5", "1.234"], ".", [1.5, 1234.0]),
    (["1.5", "1,234"], ",", [1.5, 1234.0]),
    (["1.5", "1.234"], ",", [1.5, 1.234]),
    (["1.234", "900"], ".", [1.234, 900.0]),
    (["1.234", "900"], ",", "'1.234' may be 1234 or 1.234, and no other number shows which"),
    (["1.234", "900"], None, "'1.234' may be 1234 or 1.234"),
    (["1,234", "900"], ",", [1.234, 900.0]),
    (["1,234", "900"], ".", "'1,234' may be 1234 or 1.234"),
    (["1,234", "900"], None, "'1,234' may be 1234 or 1.234"),
    (["1.234.567", "900"], None, [1234567.0, 900.0]),
    (["1.234.567", "1.234"], ".", ["1.234.567", 1.234]),
    (["1,5", "1.5"], None, "column 'x' holds '1.5', but other numbers have decimal commas"),
    (["0.234", "NA"], ",", [0.234, np.nan]),
    ([" 7 ", "8"], ",", [7.0, 8.0]),
    (["1.234", "2,5 kg"], ".", [1.234, "2,5 kg"]),
]


@pytest.mark.parametrize(("cells", "remembered", "expected"), CASES)
def test_a_number_is_never_read_as_a_thousand_times_another(cells, remembered, expected):
    sign = DecimalSign(None, remembered, ["x"], "t.csv")
    if isinstance(expected, str):
        with pytest.raises(InvalidTable, match=expected) as caught:
            sign.points(pa.table({"x": cells}), ["x"])
        assert "decimal=','" in str(caught.value)
        return
    read = sign.points(pa.table({"x": cells}), ["x"]).column("x").to_pylist()
    for cell, value in zip(read, expected, strict=True):
        # What is not a number stays as it is, and reading it is an error.
        if isinstance(value, str):
            assert cell == value
        else:
            np.testing.assert_equal(np.nan if cell == "NA" else float(cell), value)


def test_a_sign_that_is_given_wins():
    table = pa.table({"x": ["1.234", "900"]})
    for given, value in ((",", "1234"), (".", "1.234")):
        for remembered in (None, ".", ","):
            assert DecimalSign(given, remembered, ["x"], "t").points(table, ["x"])["x"][0].as_py() == value


def test_every_batch_is_looked_at():
    """A sign that shows late must not contradict what was read before."""
    sign = DecimalSign(None, ".", ["x", "y"], "t.csv")
    sign.points(pa.table({"x": ["1.5"], "y": ["7"]}), ["x", "y"])
    assert sign.sign == "."
    with pytest.raises(InvalidTable, match="column 'y' holds '7,5', but other numbers have decimal points"):
        sign.points(pa.table({"x": ["2.25"], "y": ["7,5"]}), ["x", "y"])


def test_numbers_by_type_need_no_sign():
    table = pa.table({"x": [1.234, 5.0], "c": pa.array(["1.234", "2"]).dictionary_encode()})
    assert DecimalSign(None, ",", ["x"], "t").points(table, ["x"]).equals(table)
    assert find_sign(table, ["x"]) is None
    assert find_sign(pa.table({"x": ["7", "1.0"]}), ["x"]) == "."
    assert find_sign(pa.table({"x": ["7"]}), ["x"], ",") == ","


def test_only_numbers_get_decimal_commas():
    table = pa.table({"a": [0.5, None, 1e-300], "b": [1, 2, 3], "c": ["0.5", "x.y", None], "d": [True, None, False]})
    written = with_sign(table, ",").to_pydict()
    assert written == {**table.to_pydict(), "a": ["0,5", None, "1e-300"]}
    assert with_sign(table, ".") is table


@pytest.mark.parametrize("sign", [".", ","])
def test_a_list_has_the_decimal_sign_of_its_table(tmp_path, clinic, models, sign):
    table = text_of(clinic, sign)
    with TableWriter(tmp_path / "t.csv", separator=";") as writer:
        writer.write(table)
    source = TableFile(tmp_path / "t.csv")
    review = list_rows(models[sign], 20)
    write_list(review, source.read(), source, tmp_path / "l.csv", decimal=models[sign].model.spelling.decimal)
    cells = TableFile(tmp_path / "l.csv").read().column("hidden").to_pylist()
    if any(cells):
        assert all(sign in cell for cell in cells if cell not in ("", "0", "1"))


def test_without_a_number_semicolons_show_the_sign(tmp_path):
    """A spreadsheet that writes semicolons takes 9.25 for a month."""
    (tmp_path / "t.csv").write_text("a;b\n1;2\n")
    for separator, shown in ((";", "0,25"), (",", "0.25")):
        (tmp_path / "t.csv").write_text(f"a{separator}b\n1{separator}2\n")
        with TableWriter.like(tmp_path / "o.csv", TableFile(tmp_path / "t.csv")) as writer:
            writer.write(pa.table({"p": [0.25]}))
        assert shown in (tmp_path / "o.csv").read_text()


def test_a_model_takes_what_a_fit_takes(tmp_path, clinic, models):
    """A file with decimal commas, or a frame of pandas; the drift reads it alike."""
    model, expected = models[","].model, models[None].model.score(clinic).hidden
    with TableWriter(tmp_path / "t.csv") as writer:
        writer.write(text_of(clinic, ","))
    for table in (tmp_path / "t.csv", str(tmp_path / "t.csv"), clinic.to_pandas()):
        np.testing.assert_allclose(model.score(table).hidden, expected, rtol=1e-9)
        assert not model.drift(table).lines
    with pytest.raises(InvalidTable, match=r"the table is a list\. Pass an Arrow table, a data frame"):
        model.score([1, 2])


def test_an_old_model_knows_nothing_of_the_spelling(models):
    assert replace(models[None].model).spelling == Spelling()


def test_numbers_with_a_unit_show_the_decimal_sign_too():
    def sign(remembered):
        return DecimalSign(None, remembered, ["w"], "t", ["w"])

    kilos = pa.table({"w": ["72,5 kg", "1.300,25 kg"]})
    assert sign(".").points(kilos, ["w"]).column("w").to_pylist() == ["72.5 kg", "1300.25 kg"]
    with pytest.raises(InvalidTable, match=r"t, column 'w': '1.234' may be 1234 or 1.234"):
        sign(",").points(pa.table({"w": ["1.234 kg"]}), ["w"])
    with pytest.raises(InvalidTable, match="other numbers have decimal commas"):
        sign(None).points(pa.table({"w": ["72,5 kg", "72.25 kg"]}), ["w"])


def test_a_file_that_is_fitted_by_its_name_is_remembered_as_it_is_written(tmp_path, clinic):
    text = text_of(clinic, ".").to_pandas().replace({"sex": {"f": "weiblich", "m": "männlich"}})
    text.to_csv(tmp_path / "t.csv", index=False, encoding="utf-16")
    found = fit_table(tmp_path / "t.csv", "reported", id="patient", learners="linear", scar_test=False)
    assert found.model.spelling == Spelling(".", "utf-16")
