"""Tables from pipes and into pipes, in every format, and what the model remembers of them."""

import io
import json
import os
import subprocess
import sys
from unittest import mock

import pyarrow as pa
import pytest
from pyarrow import csv

from command import call
from propense.tables import TableFile, TableWriter

FIT = ("--label", "reported", "--id", "patient", "--learners", "linear", "--no-scar-test")


class Pipe(io.TextIOWrapper):
    """Standard input or output with bytes below the text."""

    def __init__(self, data=b""):
        super().__init__(io.BytesIO(data), encoding="utf-8")


def piped(data, *arguments, cwd):
    with mock.patch.object(sys, "stdin", Pipe(data)):
        return call(*arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, clinic):
    """The clinic's table in every format, and a model of it."""
    folder = tmp_path_factory.mktemp("clinic")
    for name in ("t.csv", "t.csv.gz", "t.csv.xz", "t.jsonl", "t.xlsx", "t.parquet", "t.arrow"):
        with TableWriter(folder / name) as writer:
            writer.write(clinic)
    ended = call("fit", "t.csv", *FIT, "--model", "m.propense", cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    call("score", "t.csv", "--model", "m.propense", "--out", "scored.csv", cwd=folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.xz", "t.jsonl", "t.xlsx", "t.parquet", "t.arrow"])
def test_a_table_from_a_pipe_is_the_same_table(folder, name):
    ended = piped((folder / name).read_bytes(), "fit", "-", *FIT, cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    said = ended.stdout.replace("standard input", name).splitlines()
    expected = call("fit", name, *FIT, cwd=folder).stdout.splitlines()
    # The advice of an audit names the file.
    assert said == [line for line in expected if "audit draw" not in line]


def test_json_calls_a_table_as_the_words_do(folder):
    asked = ("fit", "-", *FIT, "--json")
    assert json.loads(piped((folder / "t.csv").read_bytes(), *asked, cwd=folder).stdout)["table"] == "standard input"
    refused = call("fit", "t.csv", *FIT, "--list", "-", "--json", cwd=folder)
    assert refused.returncode == 2
    assert "--json and - both need standard output" in refused.stderr


def test_scores_go_to_standard_output_and_words_to_standard_error(folder):
    ended = piped((folder / "t.csv").read_bytes(), "score", "-", "--model", "m.propense", "--out", "-", cwd=folder)
    assert ended.returncode == 0
    assert ended.stdout == (folder / "scored.csv").read_text()
    assert ended.stderr.startswith("600 rows: ")
    assert "Wrote standard output" in ended.stderr
    assert not list(folder.glob("-*"))


@pytest.mark.parametrize("format", ["csv", "jsonl", "tsv"])
def test_the_format_of_standard_output_is_asked_for(folder, format):
    ended = call("score", "t.parquet", "--model", "m.propense", "--out", "-", "--format", format, cwd=folder)
    assert ended.returncode == 0
    (folder / f"piped.{format}").write_text(ended.stdout)
    assert TableFile(folder / f"piped.{format}").read().num_rows == 600


def test_lists_and_draws_go_to_standard_output_too(folder):
    ended = call("fit", "t.csv", *FIT, "--list", "-", "--top", 7, cwd=folder)
    assert ended.returncode == 0
    assert ended.stdout.startswith('"patient"')
    assert len(ended.stdout.splitlines()) == 8
    assert "How many rows may be positive?" in ended.stderr
    drawn = call("audit", "draw", "t.csv", "--model", "m.propense", "--out", "-", "--size", 9, cwd=folder)
    assert len(drawn.stdout.splitlines()) == 10


def test_only_tables_go_to_standard_output(folder):
    for option in ("--model", "--report"):
        ended = call("fit", "t.csv", *FIT, option, "-", cwd=folder)
        assert ended.stderr == f"Error: {option} -: only tables go to standard output. Give the name of a file.\n"


@pytest.mark.slow
def test_a_reader_that_has_gone_ends_the_command_quietly(folder):
    code = "from propense.cli import main; main()"
    command = f'"{sys.executable}" -c "{code}" score t.csv --model m.propense --out - | head -1'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        command, shell=True, capture_output=True, cwd=folder, env=environment, timeout=60, check=False
    )
    assert ended.stdout.decode().startswith('"patient"')
    assert b"Traceback" not in ended.stderr


def test_nothing_piped_is_an_error(folder):
    with mock.patch.object(sys, "stdin", mock.Mock(isatty=lambda: True)):
        ended = call("fit", "-", *FIT, cwd=folder)
    assert ended.stderr.startswith("Error: The table - is standard input, and nothing is piped into it.")
    empty = piped(b"", "fit", "-", *FIT, cwd=folder)
    assert empty.stderr == (
        "Error: standard input is empty: the first line must contain the column names. "
        "Check that it is the right file.\n"
    )
    wrong = piped(b"a,b\n1,2\n3\n", "fit", "-", *FIT, cwd=folder)
    assert wrong.stderr.startswith("Error: standard input")


def test_a_name_that_shows_no_format_needs_one(folder):
    (folder / "export.txt").write_bytes((folder / "t.csv").read_bytes())
    ended = call("fit", "export.txt", *FIT, cwd=folder)
    assert "pass --format 'csv' or so" in ended.stderr
    assert call("fit", "export.txt", *FIT, "--format", "csv", cwd=folder).returncode == 0
    ended = call("fit", "export.txt", *FIT, "--format", "word", cwd=folder)
    assert ended.stderr == "Error: --format 'word' is not one of csv, tsv, jsonl, xlsx, parquet, arrow.\n"


def test_a_german_table_needs_its_flags_once(tmp_path, clinic):
    """Decimal commas, cp1252 and a word for positive are said or found at fit, and remembered."""
    cells = {
        "Größe": [str(each).replace(".", ",") for each in clinic.column("age").to_pylist()],
        "Gewicht": [str(each).replace(".", ",") for each in clinic.column("bmi").to_pylist()],
        "Ort": [("Köln", "Zürich", "München")[number % 3] for number in range(600)],
        "Befund": ["krank" if each == "yes" else "offen" for each in clinic.column("reported").to_pylist()],
        "Nr": clinic.column("patient").to_pylist(),
    }
    options = csv.WriteOptions(delimiter=";", quoting_style="needed")
    csv.write_csv(pa.table(cells), tmp_path / "utf8.csv", options)
    text = (tmp_path / "utf8.csv").read_text(encoding="utf-8")
    (tmp_path / "t.csv").write_text(text, encoding="cp1252")
    asked = ("--label", "Befund", "--positive", "krank", "--id", "Nr", "--decimal", ",", *FIT[4:])
    ended = call("fit", "t.csv", *asked, "--model", "m.propense", "--list", "l.csv", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Note: t.csv was read as cp1252. If its letters are wrong, pass --encoding." in ended.stdout
    ended = call("score", "t.csv", "--model", "m.propense", "--out", "o.csv", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "was read as cp1252" in ended.stdout
    written = TableFile(tmp_path / "o.csv")
    # UTF-8, with the semicolons and commas of the table.
    assert (written.encoding, written.separator) == ("utf-8", ";")
    found = written.read()
    assert set(found.column("Ort").to_pylist()) == {"Köln", "Zürich", "München"}
    assert not any("." in cell for cell in found.column("hidden").to_pylist())
    for command in (("bounds", "t.csv"), ("audit", "draw", "t.csv", "--out", "c.csv", "--size", 30)):
        ended = call(*command, "--model", "m.propense", cwd=tmp_path)
        assert (ended.returncode, ended.stderr) == (0, "")
    # Reviewers write the words of the label.
    drawn = TableFile(tmp_path / "c.csv").read()
    verdicts = ["krank" if number % 2 else "offen" for number in range(30)]
    csv.write_csv(drawn.set_column(1, "verdict", pa.array(verdicts)), tmp_path / "filled.csv")
    ended = call("audit", "read", "filled.csv", "--table", "t.csv", "--model", "m.propense", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    # The same table with points is recognised.
    points = {name: [cell.replace(",", ".") for cell in column] for name, column in cells.items()}
    csv.write_csv(pa.table(points), tmp_path / "p.csv")
    ended = call("score", "p.csv", "--model", "m.propense", "--out", "p.jsonl", cwd=tmp_path)
    assert "Note: The numbers of this table have decimal points, those of the fit had commas." in ended.stdout
    hidden = [float(cell.replace(",", ".")) for cell in found.column("hidden").to_pylist()]
    assert TableFile(tmp_path / "p.jsonl").read().column("hidden").to_pylist() == pytest.approx(hidden)


@pytest.mark.slow
def test_a_workbook_goes_from_fit_to_verdicts(folder, tmp_path, clinic):
    """Excel in, Excel out, also for reviewers, who add a sheet of remarks."""
    openpyxl = pytest.importorskip("openpyxl")
    table = tmp_path / "t.xlsx"
    table.write_bytes((folder / "t.xlsx").read_bytes())
    ended = call("fit", table, *FIT, "--model", "m.propense", "--list", "l.xlsx", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    for command in (
        ("score", table, "--out", "o.xlsx", "--top", 5),
        ("audit", "draw", table, "--out", "c.xlsx", "--size", 40),
    ):
        ended = call(*command, "--model", "m.propense", cwd=tmp_path)
        assert (ended.returncode, ended.stderr) == (0, "")
    assert TableFile(tmp_path / "o.xlsx").read().num_rows == 5
    book = openpyxl.load_workbook(tmp_path / "c.xlsx")
    for number, row in enumerate(book.active.iter_rows(min_row=2)):
        row[1].value = "yes" if number % 3 else "no"
    book.create_sheet("remarks").append(["by", "me"])
    book.save(tmp_path / "c.xlsx")
    ended = call("audit", "read", "c.xlsx", "--table", table, "--model", "m.propense", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    ended = call("fit", "c.xlsx", *FIT, cwd=tmp_path)
    assert (
        "Error: c.xlsx has 2 sheets: 'table', 'remarks'. Pass the one that holds the table: --sheet 'table'"
        in ended.stderr
    )
