"""A command that is told to end removes its unfinished files, and says by its exit status which signal it was."""

import os
import signal
import subprocess
import sys
import time

import pytest
from pyarrow import csv

from propense import save
from propense.tables import fit_table

# The real command, which never finishes its first batch. It sleeps in short turns: a signal that the system hands to
# another thread is seen when the main thread is back in Python.
SLOW = """
import time
from propense.cli import main
from propense.tables import scoring
def wait():
    for _ in range(600):
        time.sleep(0.1)
def write(self, rows):
    {before}
    wait()
scoring.TableWriter.write = write
main()
"""
PLAN = 'datasets = ["wdbc"]\nmechanisms = ["S1"]\nfrequencies = [0.5]\nmethods = ["lbe"]\nrepeats = 500\n'
pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, clinic):
    folder = tmp_path_factory.mktemp("signals")
    csv.write_csv(clinic, folder / "clinic.csv")
    save(fit_table(clinic, "reported", id="patient", method="naive", scar_test=False).model, folder / "m.propense")
    return folder


def start(inputs, out, before="pass", **options):
    arguments = ["score", inputs / "clinic.csv", "--model", inputs / "m.propense", "--out", out]
    return subprocess.Popen(
        [sys.executable, "-c", SLOW.format(before=before), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that are run under nohup ignore it, and so would the command.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        **options,
    )


def wait_for(condition, process):
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        if condition():
            return
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.kill()
    pytest.fail("waited in vain")


def end(process, number):
    process.send_signal(number)
    try:
        return process.communicate(timeout=30)
    finally:
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_partial_files(number, inputs, tmp_path):
    out = tmp_path / "o.csv"
    out.write_text("before")
    process = start(inputs, out)
    wait_for(lambda: list(tmp_path.glob(".partial-*")), process)
    time.sleep(0.2)
    _, err = end(process, number)
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    assert [each.name for each in tmp_path.iterdir()] == ["o.csv"]
    assert out.read_text() == "before"


def test_a_second_signal_does_not_stop_the_cleaning_up(inputs, tmp_path):
    process = start(inputs, tmp_path / "o.csv")
    wait_for(lambda: list(tmp_path.glob(".partial-*")), process)
    process.send_signal(signal.SIGHUP)
    end(process, signal.SIGTERM)
    assert process.returncode in (128 + signal.SIGHUP, 128 + signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []


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


@pytest.mark.parametrize("before", [CAUGHT, DESTROYED], ids=["caught", "in a destructor"])
def test_an_interrupt_that_gets_lost_is_repeated(before, inputs, tmp_path):
    started = tmp_path / "started"
    process = start(inputs, tmp_path / "o.csv", before=f"open({str(started)!r}, 'w').close()\n{before}")
    wait_for(started.exists, process)
    time.sleep(0.2)
    _, err = end(process, signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in err
    assert [each.name for each in tmp_path.iterdir()] == ["started"]


def test_a_signal_during_the_cleaning_up_does_not_stop_it(inputs, tmp_path):
    before = "import os, signal\n    try:\n        os.kill(os.getpid(), signal.SIGINT)\n        wait()"
    before += "\n    finally:\n        os.kill(os.getpid(), signal.SIGTERM)\n        time.sleep(1.2)"
    process = start(
        inputs, tmp_path / "o.csv", before=f"{before}\n        open({str(tmp_path / 'done')!r}, 'w').close()"
    )
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert [each.name for each in tmp_path.iterdir()] == ["done"]


def test_a_signal_that_is_ignored_stays_ignored(inputs, tmp_path):
    ignore = "import os, signal; os.kill(os.getpid(), signal.SIGHUP); time.sleep(0.2)"
    nohup = "import os, sys; from signal import *; signal(SIGHUP, SIG_IGN); os.execv(sys.executable, sys.argv[1:])"
    code = SLOW.format(before=ignore).replace("    wait()", "    raise SystemExit(7)")
    arguments = ["score", inputs / "clinic.csv", "--model", inputs / "m.propense", "--out", tmp_path / "o.csv"]
    done = subprocess.run(
        [sys.executable, "-c", nohup, sys.executable, "-c", code, *map(str, arguments)], timeout=60, capture_output=True
    )
    assert done.returncode == 7


def test_a_forked_worker_dies_of_the_signal(inputs, tmp_path):
    fork = "import os, signal; pid = os.fork(); pid or wait()"
    fork += "; time.sleep(0.2); os.kill(pid, signal.SIGTERM); raise SystemExit(os.waitpid(pid, 0)[1])"
    process = start(inputs, tmp_path / "o.csv", before=fork)
    process.communicate(timeout=60)
    assert process.returncode == signal.SIGTERM


def test_a_terminated_study_records_no_failure_and_resumes(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    command = [sys.executable, "-m", "propense", "study"]
    process = subprocess.Popen(
        [*command, "run", "plan.toml"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for((tmp_path / "plan.ledger").exists, process)
    time.sleep(2)
    _, err = end(process, signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM
    assert "The records so far are kept" in err
    status = subprocess.run([*command, "status", "plan.toml"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert status.returncode == 0, status.stderr
    assert "failed" in status.stdout
    assert "Interrupt" not in status.stdout
    assert [cell.strip() for cell in status.stdout.splitlines()[-2].split("│")[3:4]] == ["0"]
