"""A command that is told to end removes its unfinished files, and says by its exit status which signal it was."""

import os
import signal
import subprocess
import sys
import time

import pytest
from pyarrow import csv

from command import call
from propense import save
from propense.tables import fit_table

# The real command, which says when it writes its first batch and never finishes it. It sleeps in short turns: a signal
# that the system hands to another thread is seen when the main thread is back in Python.
SLOW = """
import os, signal, time
from pathlib import Path
from propense.cli import main
from propense.tables import scoring
def wait():
    print("writing", flush=True)
    while True:
        time.sleep(0.1)
def write(self, rows):
    {before}
    wait()
scoring.TableWriter.write = write
main()
"""
PLAN = """
datasets = ["wdbc"]
mechanisms = ["S1"]
frequencies = [0.5]
methods = ["naive", "stopped.Mine"]
repeats = 2
"""
# Waits until it may go on.
MINE = """
import time
from pathlib import Path
from propense import Naive
class Mine(Naive):
    def fit(self, X, y):
        Path("waiting").touch()
        while not Path("go").exists():
            time.sleep(0.1)
        return super().fit(X, y)
"""
# Seconds after which a command is stuck.
GIVE_UP = 600
pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, clinic):
    folder = tmp_path_factory.mktemp("signals")
    csv.write_csv(clinic, folder / "clinic.csv")
    save(fit_table(clinic, "reported", id="patient", method="naive", scar_test=False).model, folder / "m.propense")
    return folder


def start(inputs, out, before="pass", hangup=signal.SIG_DFL):
    arguments = ["score", inputs / "clinic.csv", "--model", inputs / "m.propense", "--out", out]
    return subprocess.Popen(
        [sys.executable, "-c", SLOW.format(before=before), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that are run under nohup ignore it, and so would the command.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, hangup),
    )


def end(process, *numbers):
    """Send signals as soon as the command writes; its standard error."""
    try:
        assert process.stdout.readline() == "writing\n", process.stderr.read()
        for number in numbers:
            process.send_signal(number)
        return process.communicate(timeout=GIVE_UP)[1]
    finally:
        process.kill()
        process.communicate()


CAUGHT = """
    try:
        wait()
    except BaseException:
        pass
"""
DESTROYED = """
    class Held:
        def __del__(self):
            wait()
    Held()
"""


@pytest.mark.parametrize(
    ("number", "before"),
    [
        pytest.param(signal.SIGHUP, "pass", id="SIGHUP"),
        pytest.param(signal.SIGINT, "pass", id="SIGINT"),
        # An interrupt that gets lost is repeated.
        pytest.param(signal.SIGTERM, CAUGHT, id="caught"),
        pytest.param(signal.SIGTERM, DESTROYED, id="in a destructor"),
    ],
)
def test_a_signal_leaves_no_partial_files(number, before, inputs, tmp_path):
    out = tmp_path / "o.csv"
    out.write_text("before")
    process = start(inputs, out, before=f"assert [*Path({str(tmp_path)!r}).glob('.partial-*')]\n    {before}")
    err = end(process, number)
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    assert [each.name for each in tmp_path.iterdir()] == ["o.csv"]
    assert out.read_text() == "before"


def test_a_second_signal_does_not_stop_the_cleaning_up(inputs, tmp_path):
    process = start(inputs, tmp_path / "o.csv")
    end(process, signal.SIGHUP, signal.SIGTERM)
    assert process.returncode in (128 + signal.SIGHUP, 128 + signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []


def test_a_signal_during_the_cleaning_up_does_not_stop_it(inputs, tmp_path):
    """Neither another one nor the same, which is repeated."""
    before = f"""
    usual, repeated = signal.getsignal(signal.SIGALRM), []
    signal.signal(signal.SIGALRM, lambda *about: (repeated.append(about), usual(*about)))
    try:
        wait()
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        while len(repeated) < 2:
            time.sleep(0.01)
        Path({str(tmp_path / "done")!r}).touch()
"""
    process = start(inputs, tmp_path / "o.csv", before=before)
    end(process, signal.SIGINT)
    assert process.returncode == 128 + signal.SIGINT
    assert [each.name for each in tmp_path.iterdir()] == ["done"]


def test_a_signal_that_is_ignored_stays_ignored(inputs, tmp_path):
    before = "signal.raise_signal(signal.SIGHUP); raise SystemExit(7)"
    process = start(inputs, tmp_path / "o.csv", before=before, hangup=signal.SIG_IGN)
    process.communicate(timeout=GIVE_UP)
    assert process.returncode == 7


def test_a_forked_worker_dies_of_the_signal(inputs, tmp_path):
    """As soon as it works: what comes before is Python's."""
    fork = "working, works = os.pipe(); pid = os.fork(); pid or (os.write(works, b'1'), wait()); os.read(working, 1)"
    fork += "; os.kill(pid, signal.SIGTERM); raise SystemExit(os.waitpid(pid, 0)[1])"
    process = start(inputs, tmp_path / "o.csv", before=fork)
    process.communicate(timeout=GIVE_UP)
    assert process.returncode == signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_study_that_is_stopped_says_so_records_no_failure_and_resumes(number, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "stopped.py").write_text(MINE)
    process = subprocess.Popen(
        [sys.executable, "-m", "propense", "study", "run", "plan.toml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "waiting").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=GIVE_UP)
    assert process.returncode == 128 + number, err
    assert "Stopped. The records so far are kept" in err
    assert "Traceback" not in err
    status = call("study", "status", "plan.toml", cwd=tmp_path)
    assert status.returncode == 0, status.stderr
    assert "failed" in status.stdout
    assert "Interrupt" not in status.stdout
    assert [cell.strip() for cell in status.stdout.splitlines()[-2].split("│")[3:4]] == ["0"]
    (tmp_path / "go").touch()
    resumed = call("study", "run", "plan.toml", cwd=tmp_path)
    assert "4 of 4 records, 0 failed" in resumed.stderr
