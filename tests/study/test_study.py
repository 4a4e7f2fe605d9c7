"""Plans, records, and runs that resume."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from propense.errors import InvalidOption, InvalidPlan, LedgerError, MissingExtra, WorkerDied
from propense.study import PAPER_METHODS, Cell, Ledger, Method, Record, Study, measure, method_named, run
from propense.study.measure import prepare

# The package offers the function under the module's name.
measure_module = sys.modules["propense.study.measure"]
run_module = sys.modules["propense.study.run"]
SMALL = Study(
    ("wdbc",),
    ("S1", "S2"),
    (0.3, 0.5),
    (PAPER_METHODS["naive"], PAPER_METHODS["pglin"], PAPER_METHODS["oracle"]),
    repeats=2,
)


def timeless(rows):
    """Records without what no two runs share."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What the small study gives, measured in one go and in one process."""
    with Ledger(tmp_path_factory.mktemp("study") / "whole.db") as ledger:
        progress = run(SMALL, ledger)
        assert (progress.total, progress.done, progress.failed) == (24, 24, 0)
        return timeless(ledger.rows(SMALL.cells()))


def test_a_plan_enumerates_every_cell_once():
    cells = list(SMALL.cells())
    assert len(cells) == len(SMALL) == 24
    assert len({cell.key for cell in cells}) == 24
    assert {cell.method.name for cell in cells} == {"naive", "pglin", "oracle"}


def test_the_key_is_a_digest_of_all_that_decides_the_result():
    cell = next(SMALL.cells())
    others = [
        replace(cell, dataset="heart"),
        replace(cell, mechanism="S4"),
        replace(cell, frequency=0.31),
        replace(cell, repeat=7),
        replace(cell, protocol="clean"),
        replace(cell, seed=1),
        replace(cell, method=PAPER_METHODS["tm"]),
        replace(cell, method=replace(cell.method, parameters=(("ridge", 2.0),))),
        replace(cell, method=replace(cell.method, path="propense.Oracle")),
    ]
    assert len({each.key for each in [cell, *others]}) == 10
    assert replace(cell).key == cell.key


PLAN = """
datasets = ["wdbc"]
mechanisms = ["S2"]
frequencies = [0.5]
methods = ["jerm", { name = "stiff", class = "propense.Naive", parameters = { ridge = 10.0 } }]
repeats = 3
seed = 4
protocol = "clean"
"""


def test_a_plan_is_read_from_toml(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    study = Study.from_toml(tmp_path / "plan.toml")
    assert study.methods == (PAPER_METHODS["jerm"], Method("stiff", "propense.Naive", (("ridge", 10.0),)))
    assert (study.repeats, study.seed, study.protocol, len(study)) == (3, 4, "clean", 6)
    assert study.methods[1].make().ridge == 10.0


WRONG_PLANS = {
    "colour = 3": "unknown key 'colour'",
    'datasets = ["iris"]': "no data set 'iris'",
    'mechanisms = ["S9"]': "no mechanism 'S9'",
    "frequencies = [1.5]": "frequency 1.5",
    'methods = ["svm"]': "no method 'svm'",
    'methods = ["propense.fit"]': "propense.fit' cannot be imported",
    'methods = [{ name = "x" }]': "a method is a name, or a table",
    'methods = [{ class = "propense.Naive", parameters = 3 }]': "a method is a name, or a table",
    'methods = ["tm", "tm"]': "hold a value twice",
    "repeats = 0": "repeats=0",
    'protocol = "fair"': "no protocol 'fair'",
    'datasets = "wdbc"': "datasets must be a list",
    'mechanisms = [["S1"]]': r"no mechanism \['S1'\]",
    'methods = [{ class = "propense.Naive", parameters = { ridge = 1979-05-27 } }]': "must be numbers, strings",
    "repeats = [": "cannot be read as a plan",
    f"repeats = {'[' * 5000}{']' * 5000}": "cannot be read as a plan: its values are nested too deeply",
    f'methods = [{{ class = "propense.Naive", parameters.{".".join("a" * 6000)} = 1 }}]': "nested too deeply",
    f"mechanisms = [{{ {'.'.join('a' * 6000)} = 1 }}]": "nested too deeply",
    "seed = 9223372036854775808": "seed=9223372036854775808 must be an integer from 0 to 9223372036854775807",
    f"seed = {'9' * 5000}": "a number in it has too many digits",
    f"seed = 0x{'f' * 5000}": "a number in it has too many digits",
    "repeats = 10_000_000_000": "repeats=10000000000 must be an integer from 1 to 1000000",
}


@pytest.mark.parametrize("line", WRONG_PLANS, ids=lambda line: line[:40])
def test_a_wrong_plan_is_refused_with_its_file_and_reason(tmp_path, line):
    key = line.split(" = ")[0]
    kept = [each for each in PLAN.strip().splitlines() if each.split(" = ")[0] != key]
    (tmp_path / "plan.toml").write_text("\n".join([*kept, line]))
    with pytest.raises(InvalidPlan, match=rf"plan.toml.*{WRONG_PLANS[line]}"):
        Study.from_toml(tmp_path / "plan.toml")


def test_an_empty_plan_and_a_plan_from_a_word_processor_are_read(tmp_path):
    (tmp_path / "plan.toml").write_text("")
    with pytest.raises(InvalidPlan, match=r"plan.toml: the plan lacks datasets, mechanisms, frequencies"):
        Study.from_toml(tmp_path / "plan.toml")
    (tmp_path / "plan.toml").write_bytes(b"\xef\xbb\xbf" + PLAN.replace("stiff", "réglé").encode())
    assert Study.from_toml(tmp_path / "plan.toml").methods[1].name == "réglé"


WRONG_METHODS = {
    '{ class = "os.system", parameters = { command = "touch run" } }': "it is not a scikit-learn classifier",
    '"os.getcwd"': "it is not a scikit-learn classifier",
    '{ class = "pathlib.Path" }': "it is not a scikit-learn classifier",
    '{ class = "sklearn.preprocessing.StandardScaler" }': "it is not a scikit-learn classifier",
    '{ class = "no.such.Thing" }': "ModuleNotFoundError: No module named 'no'",
    '{ class = "Thing" }': "ValueError: Empty module name",
    '{ class = "propense.Naive", parameters = { colour = 1 } }': "unexpected keyword",
    '{ class = "broken.Thing" }': "ZeroDivisionError",
    '{ class = "leaving.Thing" }': "SystemExit: 0",
}


@pytest.mark.parametrize("method", WRONG_METHODS)
def test_only_classifiers_are_created_and_the_others_refused_before_a_run(tmp_path, monkeypatch, method):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "leaving.py").write_text("raise SystemExit(0)\n")
    (tmp_path / "plan.toml").write_text(
        f'datasets = ["wdbc"]\nmechanisms = ["S1"]\nfrequencies = [0.5]\nmethods = ["oracle", {method}]\n'
    )
    study = Study.from_toml(tmp_path / "plan.toml")
    with Ledger(tmp_path / "l.db") as ledger:
        with pytest.raises(InvalidPlan, match=rf"cannot be created from '.*': .*{WRONG_METHODS[method]}"):
            run(study, ledger)
        assert ledger.rows() == []
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("path", ["sklearn.svm.SVC", "sklearn.model_selection.GridSearchCV", "forwards.Forwards"])
def test_every_kind_of_classifier_is_one(tmp_path, monkeypatch, path):
    """Also those whose probabilities depend on a parameter, or are another's."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "forwards.py").write_text(
        "from sklearn.base import BaseEstimator, ClassifierMixin\n\n\nclass Forwards(ClassifierMixin, BaseEstimator):\n"
        "    def fit(self, X, y):\n        return self\n\n    def __getattr__(self, name):\n"
        "        raise AttributeError(name)\n"
    )
    parameters = (("estimator", None), ("param_grid", {})) if "Grid" in path else ()
    assert type(Method("one", path, parameters).make()).__name__ == path.rpartition(".")[2]


def test_the_largest_seed_is_measured_and_recorded(tmp_path):
    study = Study(("wdbc",), ("S1",), (0.5,), (PAPER_METHODS["naive"],), repeats=1, seed=2**63 - 1, protocol="clean")
    with Ledger(tmp_path / "l.db") as ledger:
        assert run(study, ledger).failed == 0
        assert [row["seed"] for row in ledger.rows(study.cells())] == [2**63 - 1]


@pytest.mark.parametrize("name", ["paper", "tabular", "images", "quick", "figures"])
def test_the_plans_that_come_with_it_are_plans(name):
    study = Study.from_toml(Path(__file__).parents[2] / "studies" / f"{name}.toml")
    assert len(study) == {"paper": 16_800, "tabular": 13_440, "images": 1_008, "quick": 300, "figures": 10_080}[name]


def test_methods_are_paired_and_mechanisms_move_nothing(undisturbed):
    """The label draw is the mechanism's and the repeat's, not the method's, nor a matter of the rest of the plan."""
    alone = replace(SMALL, mechanisms=("S2",), frequencies=(0.5,), methods=(PAPER_METHODS["naive"],))
    rows = [row for row in undisturbed if (row["mechanism"], row["frequency"], row["method"]) == ("S2", 0.5, "naive")]
    scores = [measure(cell).balanced_accuracy for cell in alone.cells()]
    assert scores == [row["balanced_accuracy"] for row in rows]


@pytest.mark.slow
def test_jobs_and_the_order_of_cells_change_nothing(tmp_path, undisturbed):
    other = replace(SMALL, mechanisms=("S2", "S1"), methods=SMALL.methods[::-1])
    with Ledger(tmp_path / "parallel.db") as ledger:
        run(other, ledger, jobs=2)
        assert timeless(ledger.rows(SMALL.cells())) == undisturbed


def test_resuming_measures_nothing_twice(tmp_path):
    half = replace(SMALL, frequencies=(0.3,))
    with Ledger(tmp_path / "l.db") as ledger:
        run(half, ledger)
    seen = []
    with Ledger(tmp_path / "l.db") as ledger:
        progress = run(SMALL, ledger, on_record=lambda cell, record: seen.append(cell.key))
        assert progress.done == 24
        assert sorted(seen) == sorted(cell.key for cell in SMALL.cells() if cell.frequency == 0.5)
        assert run(SMALL, ledger, on_record=lambda *_: pytest.fail("nothing was left")).done == 24


def test_failures_are_recorded_shown_and_retried_on_request(tmp_path):
    broken = Method("broken", "propense.Naive", (("ridge", -1.0),))
    study = replace(SMALL, methods=(PAPER_METHODS["naive"], broken), repeats=1, mechanisms=("S1",), frequencies=(0.5,))
    with Ledger(tmp_path / "l.db") as ledger:
        progress = run(study, ledger)
        assert (progress.total, progress.done, progress.failed) == (2, 2, 1)
        failed = [row for row in ledger.rows() if row["error"]]
        assert failed[0]["method"] == "broken"
        assert "InvalidOption" in failed[0]["error"]
        assert failed[0]["balanced_accuracy"] is None
        seen = []
        assert run(study, ledger, on_record=lambda *_: seen.append(1)).failed == 1
        assert seen == []
        run(study, ledger, retry=True, on_record=lambda cell, _: seen.append(cell.method.name))
        assert seen == ["broken"]
        # What succeeds on a later try takes the failure's place.
        cell = next(cell for cell in study.cells() if cell.method is broken)
        ledger.write(cell, Record(balanced_accuracy=0.5))
        assert ledger.keys()[1] == set()
        assert len(ledger.rows()) == 2


def test_a_changed_method_is_measured_anew_on_request(tmp_path):
    study = replace(SMALL, repeats=1, mechanisms=("S1",), frequencies=(0.5,))
    with Ledger(tmp_path / "l.db") as ledger:
        run(study, ledger)
        seen = []
        progress = run(study, ledger, again=["pglin"], on_record=lambda cell, _: seen.append(cell.method.name))
        assert seen == ["pglin"]
        assert (progress.done, len(ledger.rows())) == (3, 3)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_killed_worker_is_told_and_nothing_is_lost(tmp_path, monkeypatch):
    (tmp_path / "dying.py").write_text(
        "import os, signal, time\nfrom pathlib import Path\nfrom propense import Naive\n\n\nclass Dying(Naive):\n"
        f"    def fit(self, X, y):\n        while not Path({str(tmp_path / 'measured')!r}).exists():\n"
        "            time.sleep(0.01)\n        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    study = replace(SMALL, methods=(PAPER_METHODS["naive"], Method("dying", "dying.Dying")), repeats=1)
    with Ledger(tmp_path / "l.db") as ledger:
        with pytest.raises(WorkerDied, match="worker process was killed"):
            run(study, ledger, jobs=2, on_record=lambda *_: (tmp_path / "measured").touch())
        assert {row["method"] for row in ledger.rows()} == {"naive"}


@pytest.mark.slow
def test_opening_a_new_ledger_together_is_no_race(tmp_path):
    def open_one(name):
        with Ledger(tmp_path / name) as ledger:
            return len(ledger.rows())

    for number in range(20):
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(open_one, [f"l{number}.db"] * 8)) == [0] * 8


@pytest.mark.slow
def test_who_opens_a_new_ledger_waits_for_another_that_is_making_it(tmp_path):
    with closing(sqlite3.connect(tmp_path / "l.db", isolation_level=None, check_same_thread=False)) as other:
        # From here on SQLite refuses at once, whatever its timeout, to turn the file to a write-ahead log.
        other.execute("BEGIN IMMEDIATE")
        release = Timer(0.2, other.execute, ["COMMIT"])
        release.start()
        try:
            with Ledger(tmp_path / "l.db") as ledger:
                assert ledger.rows() == []
        finally:
            release.join()


def test_a_second_run_on_one_ledger_is_refused(tmp_path):
    with Ledger(tmp_path / "l.db") as one, Ledger(tmp_path / "l.db") as other:
        with one.running(), pytest.raises(LedgerError, match="in use by another run"):
            run(SMALL, other)
        assert run(replace(SMALL, repeats=1), other).done == 12


def test_a_folder_that_cannot_be_written_is_told_from_a_second_run(tmp_path):
    with Ledger(tmp_path / "l.db") as ledger:
        (tmp_path / "l.db.lock").mkdir()
        with pytest.raises(LedgerError, match=r"l\.db\.lock cannot be created: unable to open database file"):
            run(SMALL, ledger)
        (tmp_path / "l.db.lock").rmdir()
        (tmp_path / "l.db.lock").write_bytes(b"x" * 4096)
        with pytest.raises(LedgerError, match=r"l\.db\.lock cannot be written: "):
            run(SMALL, ledger)


def test_a_foreign_or_torn_ledger_is_refused(tmp_path):
    (tmp_path / "text.db").write_text("hello " * 500)
    with pytest.raises(LedgerError, match="not a ledger of propense, or is damaged"):
        Ledger(tmp_path / "text.db")
    foreign = sqlite3.connect(tmp_path / "foreign.db")
    foreign.execute("CREATE TABLE mine (x)")
    foreign.commit()
    foreign.close()
    with pytest.raises(LedgerError, match="of another program"):
        Ledger(tmp_path / "foreign.db")
    with Ledger(tmp_path / "later.db") as ledger:
        ledger._file.execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match="layout 99"):
        Ledger(tmp_path / "later.db")
    with Ledger(tmp_path / "torn.db") as ledger:
        run(replace(SMALL, methods=(Method("broken", "propense.Naive", (("ridge", -1.0),)),)), ledger)
        ledger._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = (tmp_path / "torn.db").read_bytes()
    (tmp_path / "torn.db").write_bytes(whole[:4096] + b"x" * 3000 + whole[7096:])
    for read in (Ledger.rows, Ledger.keys):
        with (
            Ledger(tmp_path / "torn.db") as ledger,
            pytest.raises(LedgerError, match=r"torn\.db is not a ledger .* damaged"),
        ):
            read(ledger)
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(LedgerError, match=r"folder\.db cannot be opened: unable to open"):
        Ledger(tmp_path / "folder.db")
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot be created"):
        Ledger(tmp_path / "file" / "l.db")


def test_a_full_disk_loses_nothing(tmp_path):
    with Ledger(tmp_path / "l.db") as ledger:
        run(replace(SMALL, repeats=1), ledger)
        before = ledger.rows()
        (pages,) = ledger._file.execute("PRAGMA page_count").fetchone()
        ledger._file.execute(f"PRAGMA max_page_count = {pages}")
        cell = next(SMALL.cells())
        with pytest.raises(LedgerError, match=r"cannot be written: database or disk is full.*kept"):
            ledger.write(replace(cell, repeat=99), Record(error="x" * 100_000))
    with Ledger(tmp_path / "l.db") as again:
        assert again.rows() == before


# Pauses two records after it should be killed: otherwise it could finish the study before a slow machine kills it.
RUNNER = """
import sys, time
from pathlib import Path
from propense.study import Ledger, Study, run
from propense.study.plan import PAPER_METHODS
methods = tuple(PAPER_METHODS[name] for name in ("naive", "pglin", "oracle"))
study = Study(("wdbc",), ("S1", "S2"), (0.3, 0.5), methods, repeats=2)
records = []
def on_record(*record):
    print("told", flush=True)
    records.append(record)
    if len(records) == int(sys.argv[2]) + 2:
        time.sleep(600)
with Ledger(Path(sys.argv[1])) as ledger:
    run(study, ledger, jobs=2, on_record=on_record)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs process groups")
def test_kill_nine_at_any_moment_and_resume(tmp_path, undisturbed):
    path = tmp_path / "killed.db"
    for after in (0, 5):
        runner = subprocess.Popen(
            [sys.executable, "-c", RUNNER, str(path), str(after)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        for _ in range(after):
            runner.stdout.readline()
        while not path.exists() and runner.poll() is None:
            time.sleep(0.01)
        os.killpg(runner.pid, signal.SIGKILL)
        runner.wait()
        runner.stdout.close()
    with Ledger(path) as ledger:
        assert len(ledger.rows()) < 24
        run(SMALL, ledger)
        assert timeless(ledger.rows(SMALL.cells())) == undisturbed
        assert len(ledger.rows()) == 24


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_workers_end_when_only_their_parent_is_killed(tmp_path):
    (tmp_path / "waiting.py").write_text(
        "import os, time\nfrom pathlib import Path\nfrom propense import Naive\n\n\nclass Waiting(Naive):\n"
        "    def fit(self, X, y):\n        Path(f'{os.getpid()}.pid').touch()\n        time.sleep(3600)\n"
    )
    (tmp_path / "plan.toml").write_text(
        'datasets = ["wdbc"]\nmechanisms = ["S1"]\nfrequencies = [0.5]\nmethods = ["waiting.Waiting"]\n'
    )
    command = [sys.executable, "-m", "propense", "study", "run", "plan.toml", "--jobs", "2"]
    runner = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        give_up = time.monotonic() + 600
        while len(workers := [int(each.stem) for each in tmp_path.glob("*.pid")]) < 2 and time.monotonic() < give_up:
            time.sleep(0.1)
    finally:
        runner.kill()
        runner.wait()
    assert len(workers) == 2
    give_up = time.monotonic() + 600
    while (left := [worker for worker in workers if _is_running(worker)]) and time.monotonic() < give_up:
        time.sleep(0.1)
    for worker in left:
        os.kill(worker, signal.SIGKILL)
    assert left == []


def _is_running(process):
    try:
        # After the name, in parentheses, comes the state; Z has ended and waits to be collected.
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_estimator_of_ones_own_is_one_line_in_the_plan(tmp_path, monkeypatch):
    (tmp_path / "half_methods.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n\n\nclass Half(LogisticRegression):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "plan.toml").write_text(
        'datasets = ["wdbc"]\nmechanisms = ["S1"]\nfrequencies = [0.5]\nrepeats = 1\n'
        'methods = ["naive", { class = "half_methods.Half", parameters = { C = 1.0 } }]\n'
    )
    with Ledger(tmp_path / "l.db") as ledger:
        study = Study.from_toml(tmp_path / "plan.toml")
        assert run(study, ledger, jobs=2).failed == 0
        naive, mine = ledger.rows(study.cells())
        assert mine["method"] == "half"
        # scikit-learn's n_iter_ is an array.
        assert mine["rounds"] == LogisticRegression(C=1.0).fit(*_labelled_wdbc()).n_iter_[0]
        assert naive["converged"] == 1
        assert mine["balanced_accuracy"] == naive["balanced_accuracy"]
        assert mine["propensity_error"] is None


def _labelled_wdbc():
    data = prepare("wdbc", "paper", 0, 0)
    return data.X_train, measure_module._label(Cell("wdbc", "S1", 0.5, PAPER_METHODS["naive"], 0, "paper", 0)).labelled


def test_frequencies_of_numpy_are_the_same_cells():
    one = replace(SMALL, frequencies=(0.3, 0.5))
    other = replace(SMALL, frequencies=tuple(np.array([0.3, 0.5])))
    assert list(one.cells()) == list(other.cells())
    assert {type(cell.frequency) for cell in other.cells()} == {float}


def test_a_scheduler_that_is_not_there_is_told(tmp_path):
    pytest.importorskip("distributed")
    with Ledger(tmp_path / "l.db") as ledger, pytest.raises(InvalidOption, match="dask='nonsense': no scheduler"):
        run(SMALL, ledger, dask="nonsense")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # The cluster's own, on its way down.
def test_the_workers_of_a_dask_cluster_give_the_same(tmp_path, undisturbed, workers):
    with Ledger(tmp_path / "dask.db") as ledger:
        assert run(SMALL, ledger, dask=workers.scheduler_address).done == 24
        assert timeless(ledger.rows(SMALL.cells())) == undisturbed


def test_without_dask_the_way_out_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with Ledger(tmp_path / "l.db") as ledger, pytest.raises(MissingExtra, match=r"propense\[dask\]"):
        run(SMALL, ledger, dask="tcp://127.0.0.1:1")


def test_a_class_of_ours_has_one_name_however_it_is_written():
    assert method_named("propense.SAREM") == method_named("sar-em")


def test_a_cell_measured_in_the_process_itself_does_not_end_it(monkeypatch):
    monkeypatch.setattr(run_module, "_end_with", lambda parent: pytest.fail("would end this process"))
    cell = next(iter(SMALL.cells()))
    assert run_module._measure_there(cell, [], os.getpid())[1].error is None
