"""`propense compare`, run as a user runs it, also with wrong input."""

import html
import json
import re

import pyarrow as pa
import pytest
from pyarrow import csv

from browser import SIZES, asked_of_the_network, needs_browser, seen_in_browser
from clinic import make_clinic
from command import call
from propense.tables import TableFile, compare_table

ASKED = ("t.csv", "--label", "reported", "--id", "patient", "--methods", "pu-linear,pglin,oracle,naive")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    csv.write_csv(make_clinic()[0], folder / "t.csv")
    return folder


def test_the_table_and_the_words_are_printed(folder):
    ended = call("compare", *ASKED, cwd=folder, COLUMNS="200")
    assert (ended.returncode, ended.stderr) == (0, "")
    found = compare_table(
        TableFile(folder / "t.csv").read(), "reported", id="patient", methods=["pu-linear", "pglin", "oracle", "naive"]
    )
    for line in str(found).splitlines():
        assert line in ended.stdout
    assert f"{found.results[0].share * 600:,.0f} ({found.results[0].share:.0%})" in ended.stdout
    assert "no answer, see below" in ended.stdout


def test_json_has_every_method_and_its_reason(folder):
    ended = call("compare", *ASKED, "--top", 30, "--json", cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
    assert [each["name"] for each in found["methods"]] == ["pu-linear", "pglin", "oracle", "naive"]
    assert [each["failure"] is None for each in found["methods"]] == [True, True, False, True]
    assert found["methods"][0]["share"]["low"] is not None
    assert found["methods"][1]["share"]["low"] is None
    assert found["top"] == 30
    assert found["overlap"][0][2] is None


@pytest.mark.slow
def test_the_page_and_the_figure_are_written_and_repeatable(folder):
    ended = call("compare", *ASKED, "--report", "c.html", "--figure", "c.svg", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    page = (folder / "c.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "How many positives?" in page
    assert "What each method assumes" in page
    assert asked_of_the_network(page) == []
    assert "<svg" in (folder / "c.svg").read_text(encoding="utf-8")
    (toml,) = re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)
    (folder / "compare.toml").write_text(html.unescape(toml))
    again = call("compare", "--config", "compare.toml", cwd=folder)
    assert again.stdout == ended.stdout


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_into_a_window(folder, tmp_path, size):
    assert call("compare", *ASKED, "--report", "w.html", cwd=folder).returncode == 0
    page = (folder / "w.html").read_text(encoding="utf-8")
    seen = seen_in_browser(page, tmp_path, size, "return {tables: document.querySelectorAll('table').length};")
    assert seen == {"problems": [], "wide": False, "tables": 4}


def test_nothing_that_a_name_holds_acts_on_the_page(tmp_path):
    table = make_clinic()[0]
    csv.write_csv(table.rename_columns([*table.column_names[:-1], "<b>$x_1</b>"]), tmp_path / "<i>.csv")
    asked = "<i>.csv", "--label", "<b>$x_1</b>", "--id", "patient", "--methods", "pglin,pu-linear", "--report", "c.html"
    ended = call("compare", *asked, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "<i>" not in page


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--methods", "jermm"), "There is no method 'jermm'"),
        (("--figure", "c.doc"), "--figure c.doc: the name must end in .svg, .png, .pdf."),
        (("--report", "t.csv"), "is also read"),
        (("--figure", "same.svg", "--report", "same.svg"), "are the same file"),
        (("--label", "reportd"), "has no column 'reportd' (--label)"),
        (("--drop", "agee"), "has no column 'agee' (--drop)"),
        (("--propensity-features", "agee"), "The propensity feature 'agee' is not a feature"),
        (("--prior", "x"), "--prior x: pass a share"),
        (("--jobs", "0"), "--jobs 0 is not a number of fits"),
    ],
)
def test_wrong_options_are_one_line(folder, more, words):
    ended = call("compare", "t.csv", "--label", "reported", "--id", "patient", *more, cwd=folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_no_answer_at_all_is_a_failure(folder):
    ended = call("compare", "t.csv", "--label", "reported", "--id", "patient", "--methods", "oracle", cwd=folder)
    assert ended.returncode == 1
    assert "No method gave an estimate" in ended.stdout


def test_a_table_is_read_as_fit_reads_it(folder):
    table = make_clinic()[0]
    csv.write_csv(pa.concat_tables([table, table]), folder / "twice.csv")
    asked = ("compare", "twice.csv", *ASKED[1:-1], "pu-linear,naive")
    refused = call(*asked, cwd=folder)
    assert refused.returncode == 2
    assert "--duplicates 'drop'" in refused.stderr
    ended = call(*asked, "--duplicates", "drop", "--json", cwd=folder)
    once = call("compare", "t.csv", *asked[2:], "--json", cwd=folder)
    found, expected = json.loads(ended.stdout), json.loads(once.stdout)
    assert found["methods"][0]["share"] == expected["methods"][0]["share"]
    assert (found["rows"], found["rows_of_table"]) == (600, 600)
    assert "600 rows repeat an earlier row" in found["notes"][0]
