"""Workbooks: cells keep their types, texts never become formulas, and hostile files give one clear error."""

import datetime as dt
import io
import re
import tracemalloc
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from propense.errors import InvalidOption, InvalidTable
from propense.tables import TableFile, TableWriter
from propense.tables.formats import excel_files, excel_writer, sheet

openpyxl = pytest.importorskip("openpyxl")


def book(path, *sheets, edit=None, **titled):
    """A workbook of sheets, which are lists of rows."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in {**{f"Sheet{number}": rows for number, rows in enumerate(sheets, 1)}, **titled}.items():
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
    if edit:
        edit(made)
    made.save(path)
    return path


def replaced(path, part, change):
    """The workbook with another text in one of its parts."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts.get(part, b"").decode()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
SHEET = "xl/worksheets/sheet1.xml"


def test_cells_keep_their_types(tmp_path):
    day, moment = dt.date(2020, 12, 31), dt.datetime(2021, 5, 1, 12, 30, 15)
    rows = [
        ["id", "n", "x", "day", "moment", "clock", "took", "smoker", "mixed", "text\nof two lines", "never"],
        ["007", 1, 1.5, day, moment, dt.time(13, 45), dt.timedelta(hours=30), True, 5, "é_x0041_", None],
        ["p2", None, 2, day, day, dt.time(0, 0, 1), dt.timedelta(minutes=1), False, "n/a", " b ", None],
        ["p3", 3, None, None, None, None, None, None, 1.234, None, None],
    ]
    found = TableFile(book(tmp_path / "t.xlsx", rows)).read()
    assert dict(zip(found.column_names, map(str, found.schema.types), strict=True)) == {
        "id": "string",
        "n": "int64",
        "x": "double",
        "day": "date32[day]",
        "moment": "timestamp[us]",
        "clock": "time64[us]",
        "took": "duration[us]",
        "smoker": "bool",
        "mixed": "string",
        "text of two lines": "string",
        "never": "null",
    }
    assert found.column("moment").to_pylist() == [moment, dt.datetime(2020, 12, 31), None]
    assert found.column("took").to_pylist() == [dt.timedelta(hours=30), dt.timedelta(minutes=1), None]
    assert found.column("clock").to_pylist() == [dt.time(13, 45), dt.time(0, 0, 1), None]
    # Numbers among texts are text, and 1.234 cannot be taken for 1234.
    assert found.column("mixed").to_pylist() == ["5", "n/a", "1.2340"]
    assert found.column("day").to_pylist() == [day, day, None]


def test_dates_agree_with_openpyxl_in_both_calendars(tmp_path):
    days = [dt.date(*each) for each in ((1900, 1, 1), (1900, 2, 28), (1900, 3, 1), (1999, 12, 31), (9999, 12, 31))]
    for start in (openpyxl.utils.datetime.WINDOWS_EPOCH, openpyxl.utils.datetime.MAC_EPOCH):
        shown = days if start.year < 1904 else days[3:]
        made = openpyxl.Workbook()
        made.epoch = start
        for value in ["d", *shown]:
            made.active.append([value])
        made.save(tmp_path / "t.xlsx")
        assert TableFile(tmp_path / "t.xlsx").read().column("d").to_pylist() == shown


def test_formats_that_are_not_dates_are_numbers(tmp_path):
    codes = ['0.0" days"', "[Red]0.00", "#,##0.00 €", '"d"0', "0.00E+00", "General", "0\\d", "[$-407]#,##0"]
    dates = ["dd/mm/yyyy", "[$-409]mmm d, yyyy;@", "yyyy-mm-dd hh:mm", "m/d/yy"]

    def edit(made):
        for place, code in enumerate(codes + dates, 1):
            made.worksheets[0].cell(2, place).number_format = code

    rows = [[f"c{i}" for i in range(12)], [45_000.25] * 12]
    found = TableFile(book(tmp_path / "t.xlsx", rows, edit=edit)).read().to_pylist()[0]
    assert [type(value) for value in found.values()] == [float] * 8 + [dt.datetime] * 4


def test_empty_rows_and_columns_around_a_table_do_not_count(tmp_path):
    rows = [[], [None, "a", "b", None], [None, 1, 2], [], [None, 3, None], [None, None, None], []]
    assert TableFile(book(tmp_path / "t.xlsx", rows)).read().to_pydict() == {"a": [1, 3], "b": [2, None]}


def test_sheets_are_chosen_by_name(tmp_path):
    path = book(tmp_path / "t.xlsx", Patients=[["a"], [1]], Notes=[["b"], [2]], Empty=[])
    with pytest.raises(InvalidOption, match=r"t\.xlsx has 2 sheets: 'Patients', 'Notes'\. .*: sheet='Patients'$"):
        TableFile(path)
    source = TableFile(path, sheet="notes")
    assert (source.columns, source.sheet) == (["b"], "Notes")
    assert TableFile(path, expected=source.spelling).columns == ["b"]
    with pytest.raises(InvalidTable, match=r"has no sheet 'x'\. Its sheets: 'Patients', 'Notes', 'Empty'"):
        TableFile(path, sheet="x")
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(InvalidOption, match=r"sheet='x' is for Excel workbooks, and .*t\.csv is not one"):
        TableFile(tmp_path / "t.csv", sheet="x")

    path = book(tmp_path / "n.xlsx", Notes=[["Export of May"]], Patients=[["a", "b"], [1, 2]])
    with pytest.raises(InvalidOption, match=r"sheet='Patients'$"):
        TableFile(path)

    def hide(made):
        made["Notes"].sheet_state = "hidden"

    path = book(tmp_path / "h.xlsx", Patients=[["a"], [1]], Notes=[["b"], [2]], edit=hide)
    assert TableFile(path).columns == ["a"]


def test_the_only_sheet_with_the_label_is_taken(tmp_path):
    path = book(tmp_path / "t.xlsx", Notes=[["read me"], ["about x"]], Patients=[["x", "told"], [1, "yes"]])
    found = TableFile(path, holding=["told"])
    assert (found.columns, found.sheet, found.sheet_found) == (["x", "told"], "Patients", True)
    # One that is named wins, and where two have the column, nobody but the user can choose.
    assert TableFile(path, sheet="Notes", holding=["told"]).columns == ["read me"]
    both = book(tmp_path / "two.xlsx", Old=[["x", "told"], [1, "yes"]], New=[["x", "told"], [2, "yes"]])
    for columns in (["told"], ["other"]):
        with pytest.raises(InvalidOption, match="has 2 sheets: 'Old', 'New'"):
            TableFile(both, holding=columns)


def test_the_values_of_formulas_are_read_and_those_never_calculated_are_an_error(tmp_path):
    path = book(tmp_path / "t.xlsx", [["a", "b"], [1, "=A2*2"], [2, "=A3*2"]])
    with pytest.raises(InvalidTable, match=r"sheet 'Sheet1', cell B2 holds a formula without a value: .* save it"):
        TableFile(path)
    number = iter("24")
    replaced(path, SHEET, lambda text: re.sub(r"<v ?/>|<v></v>", lambda _: f"<v>{next(number)}</v>", text))
    assert TableFile(path).read().to_pydict() == {"a": [1, 2], "b": [2, 4]}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [["Report of 2024"], ["a", "b"], [1, 2]],
            r"column B has cells \('b' in row 2\) but no name\. .*undo merged",
        ),
        ([["a", None, "c"], [1, 2, 3]], r"column B has cells but no name"),
        ([["a", "b"], [1, 2], [1, 2, "a remark"]], r"column C has cells \('a remark' in row 3\) but no name"),
        ([["a", "a"], [1, 2]], r"t\.xlsx has two columns called 'a'"),
        ([["a", "b"]], r"t\.xlsx has no rows"),
        ([], r"sheet 'Sheet1' is empty: its first row"),
    ],
)
def test_a_sheet_that_is_not_a_table_is_an_error_on_one_line(tmp_path, rows, words):
    with pytest.raises(InvalidTable, match=words):
        TableFile(book(tmp_path / "t.xlsx", rows)).read()


def share_texts(path, *texts):
    """Let the cells of a workbook refer to shared texts, as Excel writes them; openpyxl writes each into its cell."""
    listed = f'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{"".join(texts)}</sst>'
    link = '<Relationship Id="rS" Type="http://x/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
    replaced(path, "xl/_rels/workbook.xml.rels", lambda text: text.replace("</Relationships>", link))
    replaced(path, "xl/sharedStrings.xml", lambda _: listed)
    number = iter(range(99))
    cell = re.compile('t="inlineStr"><is><t>[^<]*</t></is>')
    replaced(path, SHEET, lambda text: cell.sub(lambda _: f't="s"><v>{next(number)}</v>', text))


def test_shared_and_rich_texts_are_read_as_they_are_shown(tmp_path):
    path = book(tmp_path / "t.xlsx", [["a"], ["x"], ["y"]])
    rich = "<si><r><t>one </t></r><r><rPr><b/></rPr><t>two_x000B_</t></r><rPh sb='0' eb='1'><t>not</t></rPh></si>"
    share_texts(path, "<si><t>a</t></si>", rich, '<si><t xml:space="preserve"> y </t></si>')
    assert TableFile(path).read().to_pydict() == {"a": ["one two\x0b", " y "]}


def test_names_of_elements_may_have_a_prefix(tmp_path):
    path = book(tmp_path / "t.xlsx", [["a"], [1], ["x"]])

    def prefixed(text):
        named = re.sub(r"<(/?)(\w)", r"<\1x:\2", text)
        return named.replace("xmlns=", "xmlns:x=")

    for part in (SHEET, "xl/workbook.xml", "xl/styles.xml"):
        replaced(path, part, prefixed)
    assert TableFile(path).read().to_pydict() == {"a": ["1", "x"]}


def hostile(path, name):
    sound = book(path, [["a", "b"], [1, "x"], [2, "y"]])
    if name == "broken XML":
        replaced(sound, SHEET, lambda text: text.replace("</row>", "", 1))
    elif name == "entities":
        laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
        replaced(sound, SHEET, lambda text: laughs + text[text.index("<worksheet") :])
    elif name == "no such text":
        share_texts(sound, "<si><t>a</t></si>")
    elif name == "no number":
        replaced(sound, SHEET, lambda text: text.replace("<v>1</v></c><c", "<v>one</v></c><c"))
    elif name == "bomb":
        replaced(sound, SHEET, lambda text: text.replace("</sheetData>", "<row/>" * 10_000_000 + "</sheetData>"))
    elif name == "empty rows":
        replaced(sound, SHEET, lambda text: text.replace("</sheetData>", "<row/>" * 1_100 + "</sheetData>"))
    elif name == "far cells":
        row = "".join(f'<row r="{n}"><c r="A{n}"><v>1</v></c></row>' for n in range(4, 2_000))
        head = '<c r="XFD1" t="inlineStr"><is><t>z</t></is></c></row>'
        replaced(
            sound, SHEET, lambda text: text.replace("</row>", head, 1).replace("</sheetData>", row + "</sheetData>")
        )
    elif name == "not a workbook":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.txt", "hello")
    elif name == "not an archive":
        path.write_bytes(b"hello")
    elif name == "half":
        path.write_bytes(path.read_bytes()[:-500])
    elif name == "password":
        path.write_bytes(
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "EncryptedPackage".encode("utf-16-le") + bytes(600)
        )
    elif name == "old Excel":
        path.write_bytes(OLE + bytes(2000))
    return path


HOSTILE = {
    "broken XML": r"cannot be read as xlsx: xl/worksheets/sheet1\.xml is damaged \(mismatched tag",
    "entities": "it defines entities, which workbooks do not have",
    "no such text": "a cell refers to text 1, and there are 1",
    "no number": "could not convert string to float: 'one'",
    "bomb": r"unpacks to more than \d+ MB, 100 times its size",
    "empty rows": "it has more than 1,000 rows, which sheets do not have",
    "far cells": "has far more cells than its .* bytes could fill",
    "not a workbook": "it holds no workbook",
    "not an archive": "cannot be read as xlsx: File is not a zip file",
    "half": "cannot be read as xlsx: File is not a zip file",
    "password": "is protected by a password. Open it, and save it without one",
    "old Excel": r"is an \.xls file of old Excel, .* save it as \.xlsx",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_workbook_is_one_error_in_little_memory(tmp_path, monkeypatch, name):
    path = hostile(tmp_path / "t.xlsx", name)
    # Limits that are reached sooner.
    monkeypatch.setattr(sheet, "_ROWS", 1000 if name == "empty rows" else 1 << 20)
    monkeypatch.setattr(excel_files, "_CELLS", 1 << 17)
    tracemalloc.start()
    with pytest.raises(InvalidTable, match=HOSTILE[name]) as caught:
        TableFile(path).read()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert peak < 100 << 20


def test_links_to_other_workbooks_are_not_followed(tmp_path):
    path = book(tmp_path / "t.xlsx", [["a"], [1]])
    link = '<Relationship Id="rX" Type="t/sharedStrings" Target="file:///etc/passwd" TargetMode="External"/>'
    link += "</Relationships>"
    replaced(path, "xl/_rels/workbook.xml.rels", lambda text: text.replace("</Relationships>", link))
    assert TableFile(path).read().to_pydict() == {"a": [1]}


@pytest.mark.parametrize("suffix", [".xls", ".xlsb", ".ods"])
def test_other_spreadsheets_are_an_error_with_the_way_out(tmp_path, suffix):
    (tmp_path / f"t{suffix}").write_bytes(b"x")
    with pytest.raises(InvalidTable, match=rf"t\{suffix}: \{suffix} files are not read\. .*save it as \.xlsx"):
        TableFile(tmp_path / f"t{suffix}")


def test_what_is_written_is_text_where_it_was_text_and_never_a_formula(tmp_path):
    texts = ["=1+1", "+1", "@x", "#N/A", "007", "a\x0bb", "_x000B_", "é", "", "x" * 32_767, "TRUE", "2020-12-31"]
    table = pa.table(
        {
            "text": texts,
            "x": [0.1, float("nan"), float("inf"), *[1.0] * 9],
            "id": [10**17, 5, *[0] * 10],
            "day": pa.array([dt.date(2020, 1, 2), dt.date(1800, 1, 1), *[None] * 10]),
            "moment": pa.array([dt.datetime(2020, 1, 2, 3, 4, 5), *[None] * 11], pa.timestamp("us", "UTC")),
            "yes": [True, False, *[None] * 10],
        }
    )
    with TableWriter(tmp_path / "o.xlsx") as writer:
        writer.write(table)
    kinds = [cell.data_type for cell in next(openpyxl.load_workbook(tmp_path / "o.xlsx").active.iter_cols())]
    assert set(kinds) <= {"s", "inlineStr", "n"}
    assert "f" not in kinds
    back = TableFile(tmp_path / "o.xlsx").read()
    assert back.column("text").to_pylist() == [text or None for text in texts]
    assert back.column("x").to_pylist()[:3] == ["0.1", None, "inf"]
    assert back.column("id").to_pylist()[:2] == [str(10**17), "5"]
    assert back.column("day").to_pylist()[:2] == ["2020-01-02", "1800-01-01"]
    assert back.column("moment").to_pylist()[0].startswith("2020-01-02 03:04:05")
    assert back.column("yes").to_pylist()[:2] == [True, False]


def test_numbers_of_a_csv_file_are_numbers_in_a_workbook(tmp_path):
    table = pa.table({"x": ["1,5", "1.234,5", "NA", "7", "007"], "code": ["1", "2", "3", "4", "5"]})
    with TableWriter(tmp_path / "o.xlsx", numbers=["x"], decimal=",") as writer:
        writer.write(table)
    sheet = openpyxl.load_workbook(tmp_path / "o.xlsx").active
    assert [row[0] for row in sheet.iter_rows(min_row=2, values_only=True)] == [1.5, 1234.5, "NA", 7, "007"]
    assert [row[1] for row in sheet.iter_rows(min_row=2, values_only=True)] == ["1", "2", "3", "4", "5"]


def test_the_limits_of_a_sheet_are_an_error_and_leave_nothing_behind(tmp_path, monkeypatch):
    made = []
    create = openpyxl.worksheet._writer.create_temporary_file
    monkeypatch.setattr(openpyxl.worksheet._writer, "create_temporary_file", lambda: made.append(create()) or made[-1])
    table = pa.table({"a": ["x" * 40_000]})
    words = r"column 'a', row 1: a cell of a sheet holds 32,767 characters, .* 40,000"
    with pytest.raises(InvalidTable, match=words), TableWriter(tmp_path / "o.xlsx") as writer:
        writer.write(table)
    monkeypatch.setattr(excel_writer, "_ROWS", 3)
    with TableWriter(tmp_path / "o.xlsx") as writer:
        writer.write(pa.table({"a": [1, 2]}))
        with pytest.raises(
            InvalidTable, match=r"o\.xlsx: a sheet holds 3 rows, the names included, and these are more"
        ):
            writer.write(pa.table({"a": [3]}))
    assert TableFile(tmp_path / "o.xlsx").read().num_rows == 2
    monkeypatch.setattr(excel_writer, "_COLUMNS", 1)
    words = "a sheet holds 1 columns, and the table has 2"
    with pytest.raises(InvalidTable, match=words), TableWriter(tmp_path / "p.xlsx") as writer:
        writer.write(pa.table({"a": [1], "b": [2]}))
    assert made
    assert not [name for name in made if Path(name).exists()]


def test_pandas_reads_what_is_written(tmp_path):
    pandas = pytest.importorskip("pandas")
    with TableWriter(tmp_path / "o.xlsx") as writer:
        writer.write(pa.table({"a": [1, 2], "b": ["x", "=y"], "c": [0.25, None]}))
    frame = pandas.read_excel(io.BytesIO((tmp_path / "o.xlsx").read_bytes()))
    assert frame["b"].tolist() == ["x", "=y"]
    assert frame["c"][0] == 0.25
