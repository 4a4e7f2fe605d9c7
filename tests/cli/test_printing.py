"""What came from outside is printed, and does nothing to the terminal."""

import os
import pty
import subprocess
import sys
import unicodedata

import pyarrow as pa
import pytest
from pyarrow import parquet
from rich.table import Table

import propense
from command import call
from propense.cli._console import Console
from propense.cli._printing import harmless

# Colours, the title of the window, the eight-bit form of an escape, right-to-left text, a forged line; rich's markup.
EVIL = "\x1b[31m\x1b]0;title\x07\x9b2J\u202e\nForged"
MARKUP = "[bold]x[/y]:smile:"
pytestmark = pytest.mark.usefixtures("few_simulations")


def acts(text):
    """The characters, other than line breaks, that a terminal obeys."""
    return {each for each in text if unicodedata.category(each) == "Cc" and each != "\n"} | (set(text) & {"\u202e"})


def test_control_characters_are_spelt_out():
    assert harmless(EVIL) == r"\x1b[31m\x1b]0;title\x07\x9b2J\u202e\nForged"
    assert harmless(MARKUP + " naïve Łódź 日本 ≤ 5") == MARKUP + " naïve Łódź 日本 ≤ 5"


def test_tables_and_lines_of_the_console_show_text_as_it_is(capsys):
    table = Table(title=EVIL + MARKUP)
    table.add_column(EVIL + MARKUP)
    table.add_row(EVIL + MARKUP)
    console = Console()
    console.print(table, soft_wrap=True)
    console.print(EVIL + MARKUP, soft_wrap=True)
    shown = capsys.readouterr().out
    assert not acts(shown)
    assert shown.count(harmless(EVIL) + MARKUP) == 4


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, clinic):
    """A table and a model with hostile names, levels, labels and file names."""
    folder = tmp_path_factory.mktemp("hostile")
    levels = {name: pa.array([f"{cell}{EVIL}{MARKUP}" for cell in clinic[name].to_pylist()]) for name in ["sex"]}
    label = pa.array([f"yes{EVIL}" if cell == "yes" else None for cell in clinic["reported"].to_pylist()])
    names = {"age": f"age{EVIL}{MARKUP}", "sex": f"sex{EVIL}", "reported": f"label{EVIL}"}
    columns = {
        names.get(name, name): levels.get(name, label if name == "reported" else clinic[name])
        for name in clinic.column_names
    }
    # A file name cannot contain a slash.
    table = folder / f"t{EVIL}.parquet"
    parquet.write_table(pa.table(columns), table)
    status, out, err = call(
        *("fit", table, "--label", names["reported"], "--id", "patient", "--learners", "linear"),
        *("--model", folder / f"m{EVIL}.propense", "--list", folder / f"l{EVIL}.csv"),
    )
    assert (status, err) == (0, "")
    return folder, table, out


def test_fit_score_and_inspect_print_hostile_names_harmlessly(hostile, tmp_path):
    folder, table, fitted = hostile
    model = folder / f"m{EVIL}.propense"
    inspected = call("inspect", model)
    scored = call("score", table, "--model", model, "--out", tmp_path / f"o{EVIL}.csv")
    assert (inspected.returncode, scored.returncode) == (0, 0), scored.stderr
    for shown in (fitted, inspected.stdout, scored.stdout):
        assert not acts(shown)
        assert not any(line.startswith("Forged") for line in shown.splitlines())
        assert r"\x1b[31m" in shown
    assert MARKUP in fitted
    # What is written for programs keeps the names.
    assert f"sex{EVIL}" in propense.load(model).schema.names


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", f"none{EVIL}.csv", "--label", "y"),
        ("fit", "a.csv", f"b{EVIL}.csv", "--label", "y"),
        ("inspect", f"none{EVIL}.propense"),
        ("study", "run", f"none{EVIL}.toml"),
        ("study", f"run{EVIL}"),
    ],
)
def test_errors_quote_hostile_names_harmlessly(arguments, tmp_path):
    status, _, err = call(*arguments, cwd=tmp_path, NO_COLOR="1", TERM="dumb")
    assert status == 2
    assert not acts(err)


@pytest.mark.parametrize("home", ["/x/[/x]", f"/x/{EVIL}"])
def test_the_data_home_is_shown_as_it_is(home):
    status, out, err = call("datasets", "list", PROPENSE_DATA=home, COLUMNS="200")
    assert (status, err) == (0, "")
    assert not acts(out)
    assert harmless(home) in out


def test_records_on_a_terminal_are_harmless_and_in_a_pipe_unchanged(tmp_path):
    code = f"from propense.cli._study import _write_csv; _write_csv([{{'error': {EVIL!r}}}], None)"
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, timeout=60, check=True)
    assert piped.stdout.decode() == f'error\n"{EVIL}"\n'
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stdout=theirs, env=environment, timeout=60, check=True)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    os.close(theirs)
    assert not acts(shown.replace("\r", ""))
    assert r"\x1b[31m" in shown
