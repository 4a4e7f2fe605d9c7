"""`propense study` and `propense datasets`, run as a user runs them."""

import csv
import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from pyarrow import parquet
from rich.console import Console

from command import call
from conftest import data_home
from propense.cli import _progress
from propense.cli._progress import ProgressBar
from propense.study import Ledger, Record, RunProgress, Study

PLAN = """
datasets = ["wdbc"]
mechanisms = ["S1"]
frequencies = [0.3, 0.5]
methods = ["oracle", "naive", "pglin"]
repeats = 2
"""


def propense(*arguments, cwd, **environment):
    return call(*arguments, cwd=cwd, **{"COLUMNS": "120", "PROPENSE_DATA": str(cwd / "home"), **environment})


def propense_process(*arguments, cwd, code=None):
    """The same in its own process, for workers and for the search of modules."""
    return subprocess.run(
        [sys.executable, *(["-c", code] if code else ["-m", "propense"]), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "120", "PROPENSE_DATA": str(cwd / "home")},
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder in which a small plan has been run."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "plan.toml").write_text(PLAN)
    result = propense("study", "run", "plan.toml", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "12 of 12 records, 0 failed" in result.stderr
    return folder


@pytest.mark.slow
def test_a_finished_study_has_nothing_to_resume(done):
    assert (done / "plan.ledger").exists()
    again = propense("study", "run", "plan.toml", cwd=done)
    assert again.returncode == 0
    assert "12 of 12 records" in again.stderr


@pytest.mark.slow
def test_records_are_exported(done):
    rows = list(csv.DictReader(io.StringIO(propense("study", "export", "plan.toml", cwd=done).stdout)))
    assert len(rows) == 12
    assert {"dataset", "mechanism", "frequency", "method", "repeat", "balanced_accuracy"} <= set(rows[0])
    assert all(0 <= float(row["balanced_accuracy"]) <= 1 for row in rows)
    propense("study", "export", "plan.toml", "--out", "records.csv", cwd=done)
    assert len((done / "records.csv").read_text().splitlines()) == 13
    propense("study", "export", "plan.toml", "--format", "parquet", "--out", "records.parquet", cwd=done)
    table = parquet.read_table(done / "records.parquet").to_pylist()
    assert [f"{row['balanced_accuracy']:.12f}" for row in table] == [
        f"{float(row['balanced_accuracy']):.12f}" for row in rows
    ]
    wrong = propense("study", "export", "plan.toml", "--format", "parquet", cwd=done)
    assert "Error: --format parquet: use csv, or parquet with --out FILE." in wrong.stderr


@pytest.mark.slow
def test_our_results_are_compared_with_the_published(done):
    result = propense("study", "compare", "plan.toml", "--format", "csv", cwd=done)
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(rows) == 6
    wanted = ["dataset", "mechanism", "frequency", "method", "mean", "sd", "published_mean", "published_sd"]
    assert list(rows[0]) == wanted
    oracle = next(row for row in rows if (row["method"], row["frequency"]) == ("oracle", "0.5"))
    assert oracle["published_mean"] == "0.971"
    table = propense("study", "compare", "plan.toml", cwd=done).stdout
    assert "mean |difference|" in table
    assert "The largest differences" in table


@pytest.mark.slow
def test_tables_are_printed_and_written(done):
    shown = propense("study", "table", "plan.toml", "--of", "pglin", cwd=done).stdout
    assert "average rank" in shown
    assert "Wins/losses/draws of pglin" in shown
    propense("study", "table", "plan.toml", "--of", "pglin", "--format", "latex", "--out", "t.tex", cwd=done)
    assert r"\begin{tabular}{lccc}" in (done / "t.tex").read_text()
    assert "From 12 of 12 records." in shown
    seconds = propense("study", "table", "plan.toml", "--score", "seconds", "--format", "csv", cwd=done).stdout
    assert "Seconds, S1, c = 0.3" in seconds
    assert "average rank" not in seconds
    wrong = propense("study", "table", "plan.toml", "--format", "word", cwd=done)
    assert "Error: --format word: use table or markdown or latex or csv." in wrong.stderr


@pytest.mark.slow
def test_status_shows_what_is_done_and_what_failed(done, tmp_path):
    assert "12 of 12 records" in propense("study", "status", "plan.toml", cwd=done).stdout
    plan = PLAN.replace('"pglin"', '{ class = "propense.PGLin", parameters = { ridge = -1.0 } }')
    (tmp_path / "broken.toml").write_text(plan)
    result = propense("study", "run", "broken.toml", cwd=tmp_path)
    assert result.returncode == 1
    assert "12 of 12 records, 4 failed" in result.stderr
    status = propense("study", "status", "broken.toml", cwd=tmp_path).stdout
    assert "InvalidOption: PGLin(ridge=-1.0)" in status


@pytest.mark.slow
def test_an_estimator_next_to_the_plan_is_found(tmp_path):
    """From another folder, which is not on Python's path, by workers too."""
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "mine.py").write_text("from propense import Naive\n\n\nclass Mine(Naive):\n    pass\n")
    plan = PLAN.replace('"oracle", "naive", "pglin"', '{ class = "mine.Mine" }').replace("0.3, ", "")
    (tmp_path / "plans" / "plan.toml").write_text(plan)
    where = ("plans/plan.toml", "--ledger", "other.db")
    result = propense_process("study", "run", *where, "--jobs", "2", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "other.db").exists()
    assert "2 of 2 records, 0 failed" in result.stderr


# One process for all commands: an import that a command makes is seen, whichever it is.
EVERY = """
import sys
from propense.cli import main
for command in ("status", "table", "compare", "report", "export"):
    sys.argv = ["propense", "study", command, "../plan.toml"]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, command
"""


@pytest.mark.slow
def test_a_plan_is_read_without_running_any_of_it(tmp_path):
    """Neither what it names nor what lies next to it."""
    for module in ("mine", "matplotlib", "csv", "secrets"):
        (tmp_path / f"{module}.py").write_text("from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n")
    methods = (
        '"naive", "mine.Mine", { class = "mine.Other" }, { class = "os.system", parameters = { command = "touch x" } }'
    )
    (tmp_path / "plan.toml").write_text(PLAN.replace('"oracle", "naive", "pglin"', methods))
    study = Study.from_toml(tmp_path / "plan.toml")
    with Ledger(tmp_path / "plan.ledger") as ledger:
        for cell in study.cells():
            ledger.write(cell, Record(balanced_accuracy=0.5, seconds=1.0))
    (tmp_path / "elsewhere").mkdir()
    result = propense_process(cwd=tmp_path / "elsewhere", code=EVERY)
    assert result.returncode == 0, result.stderr
    assert not [*tmp_path.rglob("*.ran"), *tmp_path.rglob("x")]


def test_a_log_shows_the_progress(monkeypatch):
    """A bar on a terminal; a line every half minute in a log."""
    seconds = iter([0.0, 0.0, *range(10, 100, 10)])
    monkeypatch.setattr(_progress, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    log = io.StringIO()
    progress = ProgressBar(Console(file=log), 103)
    with progress.bar:
        progress.on_start(RunProgress(total=103, done=3, failed=1))
        for error in (None, None, "ValueError", None, None, None):
            progress.on_record(None, Record(error=error))
    # rich before 14.3 ends with an empty line.
    assert log.getvalue().rstrip("\n").split("\n") == [
        "6 of 103 records, 0.1/s, 16 min left, 2 failed",
        "9 of 103 records, 0.1/s, 16 min left, 2 failed",
    ]


ERRORS = [
    (["study", "run", "wrong.toml"], "Error: wrong.toml: unknown key 'colour'"),
    (["study", "run", "far.toml"], "heart. Set PROPENSE_DATA to the folder that holds them, or download"),
    (["study", "compare", "plan.toml", "--format", "word"], "Error: --format word: use table or csv."),
    (["study", "compare", "plan.toml", "--out", "x.csv"], "Error: --out x.csv: a table cannot be written"),
    (["study", "status", "plan.toml"], "Error: There is no ledger plan.ledger yet"),
    (
        ["study", "table", "plan.toml", "--of", "svm"],
        "--of svm: the plan has no such method. Its methods: oracle, naive",
    ),
    (["study", "table", "plan.toml", "--score", "size"], "--score size: there is no such score. The scores: balanced_"),
    (["study", "run", "plan.toml", "--again", "svm"], "--again svm: the plan has no such method"),
    (["datasets", "describe", "iris"], "Error: There is no data set 'iris'"),
    (["datasets", "fetch", "iris"], "Error: There is no data set 'iris'"),
]


@pytest.mark.parametrize(("command", "words"), ERRORS, ids=lambda value: " ".join(value)[:30])
def test_errors_are_one_line(tmp_path, command, words):
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "wrong.toml").write_text(PLAN + "colour = 3\n")
    (tmp_path / "far.toml").write_text(PLAN.replace('"wdbc"', '"wdbc", "heart"'))
    result = propense(*command, cwd=tmp_path)
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_data_sets_are_listed_and_described(tmp_path):
    listed = propense("datasets", "list", cwd=tmp_path).stdout
    assert "isolet" in listed
    assert listed.count(" no ") >= 19
    if data_home() is not None:
        listed = propense("datasets", "list", cwd=tmp_path, PROPENSE_DATA=str(data_home())).stdout
        paper, _, natural = listed.partition("Labels and classes")
        assert paper.count(" yes ") == 19
        assert natural.count(" yes ") == 2 * (data_home() / "natural" / "nhanes.csv.gz").is_file()
    described = propense("datasets", "describe", "musk", cwd=tmp_path).stdout
    for words in ("6598, 1017 positive: musk", "OpenML 1116", "CC BY 4.0", "D. Chapman, A. Jain"):
        assert words in described
    fetched = propense("datasets", "fetch", "wdbc", cwd=tmp_path)
    assert "wdbc: scikit-learn" in fetched.stderr


@pytest.mark.slow
def test_a_ledger_without_records_of_the_plan_and_a_missing_folder_are_errors(done, tmp_path):
    other = PLAN.replace("repeats = 2", "repeats = 2\nseed = 9")
    (tmp_path / "other.toml").write_text(other)
    for command in ("table", "compare", "export", "report"):
        result = propense("study", command, "other.toml", "--ledger", str(done / "plan.ledger"), cwd=tmp_path)
        assert result.returncode == 2
        assert "There is no record of other.toml in" in result.stderr
    for command, name in (("export", "x.csv"), ("report", "x.html")):
        result = propense("study", command, "plan.toml", "--out", f"nowhere/{name}", cwd=done)
        assert result.returncode == 2
        assert f"--out nowhere/{name}: there is no folder nowhere" in result.stderr


@pytest.mark.parametrize("command", ["export", "table", "compare", "report"])
def test_neither_plan_nor_ledger_is_overwritten(tmp_path, command):
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "plan.ledger").write_bytes(b"x" * 600)
    form = {"table": ["--format", "csv"], "compare": ["--format", "csv"]}.get(command, [])
    for name in ("plan.toml", "plan.ledger"):
        status, _, err = propense("study", command, "plan.toml", *form, "--out", name, cwd=tmp_path)
        assert (status, "is also read" in err) == (2, True)
    assert (tmp_path / "plan.toml").read_text() == PLAN
