"""Tables that can be read in more than one way: the page asks how, in words and fields of its own."""

import io
import re

import pytest

from clinic import make_clinic
from local_page import Person
from propense.model_files import load
from propense.ui.words import CHOICES, FIELDS, in_fields

NAMES = ["patient", "age", "sex", "bmi", "smoker", "region", "reported"]
PATIENT, REPORTED = 0, 6


def rows():
    return [NAMES, *(list(each.values()) for each in make_clinic(80)[0].to_pylist())]


def workbook(**sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for name, lines in sheets.items():
        sheet = book.create_sheet(name)
        for line in lines:
            sheet.append(line)
    book.save(out)
    return out.getvalue()


def text(encoding, word):
    lines = [",".join(NAMES), *(f"p{i},{i},{word},{i % 7},true,north,{'yes' if i < 30 else ''}" for i in range(80))]
    return "\n".join(lines).encode(encoding)


@pytest.mark.slow
def test_a_workbook_with_several_sheets_is_asked_about_and_read_from_the_one_that_is_chosen(person, work, tmp_path):
    job = person.job_of(person.upload("clinic.xlsx", workbook(Notes=[["what"], ["made in May"]], Patients=rows())))
    page = person.get(f"/job/{job}/columns")
    assert page.error == "clinic.xlsx has 2 sheets. Choose the one that holds the table."
    assert re.findall(r'<option value="\d">(\w+)</option>', page.text) == ["Notes", "Patients"]
    assert str(work) not in page.text
    answer = person.post(f"/job/{job}/reading", sheet=1)
    assert "80 rows, 7 columns." in answer.words
    assert "Read from the sheet 'Patients', one of 2." in answer.words
    # The other sheet is a way back, and what goes on with the model knows the sheet.
    assert "1 rows, 1 columns" in person.post(f"/job/{job}/reading", sheet=0).words
    person.post(f"/job/{job}/reading", sheet=1)
    fields = {"label": REPORTED, "id": PATIENT, "learners": "linear", "scar_test": "no", "top": 10}
    assert person.post(f"/job/{job}/columns", **fields).status == 200
    assert person.wait(f"/job/{job}")["state"] == "done"
    (tmp_path / "m.propense").write_bytes(person.get(f"/job/{job}/files/model").body)
    assert load(tmp_path / "m.propense").spelling.sheet == "Patients"
    other = person.post(f"/job/{job}/reading", follow=False, sheet=0).headers["location"].split("/")[2]
    assert other != job
    assert "result" in person.get(f"/job/{job}").words.lower()
    for each in (job, other):
        person.post(f"/job/{each}/delete")


def test_a_sheet_that_is_no_table_is_one_line_and_another_can_be_chosen(person):
    merged = [["Report of May"], ["name", "age"], ["a", 1]]
    job = person.job_of(person.upload("t.xlsx", workbook(First=merged, Second=rows())))
    answer = person.post(f"/job/{job}/reading", sheet=0)
    assert answer.status == 400
    assert "column B has cells" in answer.error
    assert "80 rows" in person.post(f"/job/{job}/reading", sheet=1).words
    assert person.post(f"/job/{job}/reading", sheet="9").status == 400
    person.post(f"/job/{job}/delete")


def test_letters_that_cannot_be_told_are_asked_about_and_read_as_is_chosen(person):
    job = person.job_of(person.upload("t.csv", text("shift_jis", "日本")))
    page = person.get(f"/job/{job}/columns")
    assert "is not UTF-8" in page.error
    assert "set “Encoding” to" in page.error
    assert "encoding=" not in page.error
    assert person.post(f"/job/{job}/reading", encoding="").status == 400
    assert person.post(f"/job/{job}/reading", encoding="rot13").status == 400
    assert person.post(f"/job/{job}/reading", encoding="utf-8").status == 400
    answer = person.post(f"/job/{job}/reading", encoding="shift_jis")
    assert "日本" in answer.words
    assert "Japanese (shift_jis)" in answer.words
    person.post(f"/job/{job}/delete")


def test_letters_that_were_found_are_said_and_can_be_read_in_another_way(person):
    job = person.job_of(person.upload("t.csv", text("cp1252", "Müller")))
    page = person.get(f"/job/{job}/columns")
    assert "Müller" in page.words
    assert "Western European (Windows, cp1252)" in page.words
    assert "Mόller" in person.post(f"/job/{job}/reading", encoding="cp1253").words
    assert "Müller" in person.post(f"/job/{job}/reading", encoding="").words
    person.post(f"/job/{job}/delete")


def test_a_plain_table_is_not_asked_about(person, table):
    job = person.job_of(person.upload("clinic.csv", table))
    assert "Read it in another way" not in person.get(f"/job/{job}/columns").words
    person.post(f"/job/{job}/delete")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("t.xls", "Open it in Excel or LibreOffice and save it as .xlsx."),
        ("t.doc", "the name must end with .csv, .tsv"),
    ],
)
def test_another_kind_of_file_is_refused_with_what_to_do(person, name, words):
    answer = person.upload(name, b"x")
    assert answer.status == 400
    assert words in answer.error
    assert "format=" not in answer.error


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "no cell shows which; pass dates='dmy' or dates='mdy'.",
            "no cell shows which; set “Dates such as 01/02/2020” to “Day first” or “Dates such as 01/02/2020” to "
            "“Month first”.",
        ),
        ("Pass duplicates='drop' to fit", "Set “Equal rows” to “Use each once” to fit"),
        (
            "If it is a value, pass missing_words=False.",
            "If it is a value, set “Usual words for a missing cell” to “No”.",
        ),
        ("The word 'x' of missing= is in no column.", "The word 'x' of “Words for a missing cell” is in no column."),
        ("or keep=['n'] if it", "or “Learn from it in any case” 'n' if it"),
        ("pass encoding='cp1252' or another", "set “Encoding” to 'cp1252' or another"),
        ("pass drop=['keep'] now", "set “Leave out” to 'keep' now"),
    ],
)
def test_options_are_named_as_the_page_names_them(message, words):
    assert in_fields(message) == words


def test_every_field_and_choice_that_messages_name_is_on_the_page(person, table):
    job = person.job_of(person.upload("clinic.csv", table))
    page = person.get(f"/job/{job}/columns").words + person.get(f"/job/{job}/reading").words
    offered = [*FIELDS.values(), *(words for each in CHOICES.values() for words in each.values())]
    # Sheets are offered where there are several; verdicts on the page of an audit.
    assert [
        words for words in offered if words.lower() not in page.lower() and words not in ("Sheet", "Negative")
    ] == []
    person.post(f"/job/{job}/delete")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "asked", "field", "value"),
    [
        (lambda row, i: f"{row},0{i % 9 + 1}/0{i % 8 + 1}/2020", "“Day first”", "dates", "dmy"),
    ],
    ids=["dates"],
)
def test_what_a_fit_asks_for_can_be_chosen_on_the_page(person, lines, asked, field, value):
    body = [f"{i % 40 * 7 % 13},{i % 40 % 3},{'yes' if i % 40 < 20 else ''}" for i in range(80)]
    data = "\n".join(["a,b,l,last", *(lines(row, i) for i, row in enumerate(body))]).encode()
    job = person.job_of(person.upload("t.csv", data))
    fields = {"label": 2, "learners": "linear", "scar_test": "no"}
    person.post(f"/job/{job}/columns", **fields)
    assert person.wait(f"/job/{job}")["state"] == "failed"
    page = person.get(f"/job/{job}/columns")
    assert asked in page.error
    assert f"{field}=" not in page.error
    assert "<details open>" in page.text
    person.post(f"/job/{job}/columns", **fields, **{field: value})
    assert person.wait(f"/job/{job}")["state"] == "done"
    assert re.search(rf'<option value="{value}" selected', person.get(f"/job/{job}/columns").text)
    person.post(f"/job/{job}/delete")


def test_options_of_the_command_line_are_not_on_the_page_of_a_result(person, fitted):
    assert not re.search(r"(?<!\w)--\w|\w=['\[]", Person.get(person, f"/job/{fitted}").words)
