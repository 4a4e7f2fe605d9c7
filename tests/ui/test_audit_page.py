"""Verdicts on the page: saved at once, row by row, whatever tab they come from; used as the command uses them."""

import csv
import io
import json

import pytest

from command import call
from local_page import Person
from propense.ui.marks import Marks

JSON = {"Accept": "application/json"}


@pytest.fixture
def audit(person, copied):
    """The address of an audit of eight rows."""
    page = person.post(f"/job/{copied}/audits", size=8)
    assert page.status == 200, page.error
    assert page.text.count('class="card row"') == 8
    return f"/job/{copied}/audits/1"


def mark(person, audit, row, verdict, seen=""):
    return json.loads(person.post(f"{audit}/marks", headers=JSON, row=row, verdict=verdict, seen=seen).body)


def verdicts(person, audit):
    rows = list(csv.DictReader(io.StringIO(person.get(f"{audit}/files/check").text)))
    return [row["verdict"] for row in rows]


def test_two_tabs_lose_no_verdict(server, audit):
    one, other = Person(server), Person(server)
    assert mark(one, audit, 0, "yes") == {"verdict": "yes", "marked": 1, "conflict": False}
    assert mark(other, audit, 1, "no")["marked"] == 2
    # The other tab still shows row 0 as open, and says something else: nothing is changed, and it is told.
    assert mark(other, audit, 0, "no") == {"verdict": "yes", "marked": 2, "conflict": True}
    assert mark(other, audit, 0, "no", seen="yes")["verdict"] == "no"
    # The same verdict from both is no conflict.
    assert not mark(one, audit, 1, "no")["conflict"]
    assert verdicts(one, audit) == ["no", "no", *[""] * 6]


def test_a_form_without_scripts_marks_and_comes_back_to_its_row(person, audit):
    answer = person.post(f"{audit}/marks", follow=False, row=3, verdict="?", seen="")
    assert answer.headers["location"] == f"{audit}?page=1#row-3"
    page = person.get(audit)
    assert 'data-row="3" data-verdict="?"' in page.text
    assert "3 earlier rows are not marked" in page.words
    conflict = person.post(f"{audit}/marks", row=3, verdict="yes", seen="no")
    assert conflict.status == 409
    assert "was marked undecided in another tab" in conflict.error
    person.post(f"{audit}/marks", row=3, verdict="", seen="?")
    assert set(verdicts(person, audit)) == {""}


@pytest.mark.parametrize(
    "fields", [{"row": 8}, {"row": "-1"}, {"row": "x"}, {"row": "٣"}, {"verdict": "maybe"}, {"seen": "x"}]
)
def test_a_mark_that_makes_no_sense_is_refused(person, audit, fields):
    answer = person.post(f"{audit}/marks", **{"row": 0, "verdict": "yes", "seen": "", **fields})
    assert answer.status == 400
    assert set(verdicts(person, audit)) == {""}


def test_a_reviewer_sees_neither_the_label_nor_chances(person, audit):
    page = person.get(audit).words
    assert "region" in page
    for telling in ("reported", "hidden", "posterior", "audit_stratum", "audit_weight"):
        assert telling not in page


@pytest.mark.slow
def test_the_page_says_what_the_command_says_of_the_same_verdicts(person, copied, audit, work, tmp_path):
    assert person.post(f"{audit}/use").status == 409
    for row in range(6):
        mark(person, audit, row, "yes" if row % 2 else "no")
    person.post(f"{audit}/use")
    assert person.wait(audit)["state"] == "done", person.get(audit).error
    page = person.get(audit)
    (tmp_path / "check.csv").write_bytes(person.get(f"{audit}/files/check").body)
    job = work / copied
    ended = call(
        *("audit", "read", "check.csv", "--table", job / "table.csv", "--model", job / "results" / "model.propense"),
        *("--save", "corrected.propense"),
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    # The last two lines are about the file of the model, and what to type next.
    for line in ended.stdout.splitlines()[:-2]:
        assert " ".join(line.split()) in " ".join(page.words.split())
    assert person.get(f"{audit}/files/corrected").body == (tmp_path / "corrected.propense").read_bytes()
    result = person.get(f"/job/{copied}")
    assert "checked rows, not on a model." in result.words
    assert "corrected model" in result.words
    # A mark that is changed afterwards is not in what was found, and the page says so.
    mark(person, audit, 6, "yes")
    assert "Verdicts were changed since. Use them again" in person.get(audit).words
    # More rows are drawn with the corrected model, and do not hold those that have a verdict.
    more = person.post(f"/job/{copied}/audits", size=5)
    assert more.status == 200, more.error
    before = {
        row["patient"] for row in csv.DictReader((tmp_path / "check.csv").read_text().splitlines()) if row["verdict"]
    }
    new = csv.DictReader(io.StringIO(person.get(f"/job/{copied}/audits/2/files/check").text))
    assert not before & {row["patient"] for row in new}
    assert person.post(f"{audit}/marks", row=0, verdict="yes", seen="no").status == 409


@pytest.mark.slow
def test_only_positive_marks_and_open_rows_are_no_riddle_here(person, audit):
    for row in (0, 5):
        mark(person, audit, row, "yes")
    person.post(f"{audit}/use")
    assert person.wait(audit)["state"] == "done", person.get(audit).error
    assert "8 rows were drawn: 2 positive, 0 negative, 0 cannot say, 6 open." in person.get(audit).words


def test_more_rows_are_drawn_only_after_the_verdicts_were_used(person, copied, audit):
    answer = person.post(f"/job/{copied}/audits", size=5)
    assert answer.status == 409
    assert "Use the verdicts of the last audit" in answer.error


@pytest.mark.parametrize("size", ["0", "-5", "many", "1e9", "", "٣"])
def test_a_size_that_makes_no_sense_is_said_on_the_page(person, copied, size):
    answer = person.post(f"/job/{copied}/audits", size=size)
    assert answer.status == 400
    assert "is not a whole number from 1 to 5,000" in answer.error


def test_a_line_that_was_cut_off_costs_only_itself(tmp_path):
    marks = Marks(tmp_path / "marks.jsonl", 4)
    assert marks.read() == ["", "", "", ""]
    marks.mark(0, "yes", "")
    with (tmp_path / "marks.jsonl").open("ab") as file:
        file.write(b'[1, "n')
    marks.mark(2, "no", "")
    for line in (b"\xff\xfe\n", b'[9, "yes"]\n', b'[3, "maybe"]\n', b"{}\n", b"[[1], 2, 3]\n", b'["0", "no"]\n'):
        with (tmp_path / "marks.jsonl").open("ab") as file:
            file.write(line)
    assert marks.read() == ["yes", "", "no", ""]
