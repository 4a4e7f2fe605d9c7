"""Plans, records, and runs that resume."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from propense.errors import InvalidPlan, LedgerError, MissingExtra
from propense.study import METHODS, Cell, Ledger, Method, Record, Study, measure, run
from propense.study.measure import choose_columns, prepare

SMALL = Study(("wdbc",), ("S1", "S2"), (0.3, 0.5), (METHODS["naive"], METHODS["pglin"], METHODS["oracle"]), repeats=2)


def timeless(rows):
    """Records without what no two runs share."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What the small study gives, measured in one go and in one process."""
    with Ledger(tmp_path_factory.mktemp("study") / "whole.db") as ledger:
        tally = run(SMALL, ledger)
        assert (tally.total, tally.done, tally.failed) == (24, 24, 0)
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
        replace(cell, method=METHODS["tm"]),
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
    assert study.methods == (METHODS["jerm"], Method("stiff", "propense.Naive", (("ridge", 10.0),)))
    assert (study.repeats, study.seed, study.protocol, len(study)) == (3, 4, "clean", 6)
    assert study.methods[1].make().ridge == 10.0


WRONG_PLANS = {
    "colour = 3": "unknown key 'colour'",
    'datasets = ["iris"]': "no data set 'iris'",
    'mechanisms = ["S9"]': "no mechanism 'S9'",
    "frequencies = [1.5]": "frequency 1.5",
    'methods = ["svm"]': "no method 'svm'",
    'methods = [{ class = "no.such.Thing" }]': "cannot be made from 'no.such.Thing'",
    'methods = [{ class = "propense.Naive", parameters = { colour = 1 } }]': "unexpected keyword",
    'methods = [{ name = "x" }]': "a method is a name, or a table",
    'methods = [{ class = "propense.Naive", parameters = 3 }]': "a method is a name, or a table",
    'methods = ["tm", "tm"]': "nothing twice",
    "repeats = 0": "repeats=0",
    'protocol = "fair"': "no protocol 'fair'",
    'datasets = "wdbc"': "datasets must be a list",
    "repeats = [": "cannot be read as a plan",
}


@pytest.mark.parametrize("line", WRONG_PLANS)
def test_a_wrong_plan_is_refused_with_its_file_and_reason(tmp_path, line):
    key = line.split(" = ")[0]
    kept = [each for each in PLAN.strip().splitlines() if each.split(" = ")[0] != key]
    (tmp_path / "plan.toml").write_text("\n".join([*kept, line]))
    with pytest.raises(InvalidPlan, match=rf"plan.toml.*{WRONG_PLANS[line]}"):
        Study.from_toml(tmp_path / "plan.toml")


@pytest.mark.parametrize("name", ["paper", "tabular", "quick", "figures"])
def test_the_plans_that_come_with_it_are_plans(name):
    study = Study.from_toml(Path(__file__).parents[2] / "studies" / f"{name}.toml")
    assert len(study) == {"paper": 16_800, "tabular": 13_440, "quick": 300, "figures": 10_080}[name]


def test_a_record_scores_the_truth():
    record = measure(Cell("wdbc", "S2", 0.5, METHODS["oracle"], 0, "paper", 0))
    assert record.error is None
    assert record.balanced_accuracy > 0.95
    assert record.auc > 0.98
    assert record.prior_error == 0
    assert record.propensity_error is None
    naive = measure(Cell("wdbc", "S1", 0.5, METHODS["naive"], 0, "paper", 0))
    assert naive.propensity_error == pytest.approx(0.5, abs=1e-9)
    assert naive.rounds >= 1
    assert naive.converged


def test_methods_are_paired_and_mechanisms_move_nothing(undisturbed):
    """The label draw is the mechanism's and the repeat's, not the method's, nor a matter of the rest of the plan."""
    alone = replace(SMALL, mechanisms=("S2",), frequencies=(0.5,), methods=(METHODS["naive"],))
    rows = [row for row in undisturbed if (row["mechanism"], row["frequency"], row["method"]) == ("S2", 0.5, "naive")]
    scores = [measure(cell).balanced_accuracy for cell in alone.cells()]
    assert scores == [row["balanced_accuracy"] for row in rows]


def test_seeds_move_the_labels_and_in_the_clean_protocol_the_splits():
    cell = Cell("wdbc", "S2", 0.3, METHODS["naive"], 0, "paper", 0)
    assert measure(cell).balanced_accuracy != measure(replace(cell, seed=1)).balanced_accuracy
    paper = [prepare("wdbc", "paper", 0, seed).y_test for seed in (0, 1)]
    np.testing.assert_array_equal(*paper)
    clean = [prepare("wdbc", "clean", 0, seed).y_test for seed in (0, 1)]
    assert (clean[0] != clean[1]).any()


def test_the_clean_protocol_looks_at_the_training_rows_alone():
    data = prepare("wdbc", "clean", 0, 0)
    np.testing.assert_allclose(data.X_train.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(data.X_train.std(axis=0), 1, atol=1e-9)
    assert np.abs(data.X_test.mean(axis=0)).max() > 1e-3


def test_columns_nearly_alike_and_beyond_thirty_are_left_out(rng):
    y = rng.random(400) < 0.5
    X = rng.normal(size=(400, 40))
    X[:, 5] = X[:, 2] + 0.01 * rng.normal(size=400)
    X[:, 6] = -X[:, 2]  # Signed: an opposite is kept.
    X[:, 30:] += 2.0 * y[:, None]
    chosen = choose_columns(X, y)
    assert len(chosen) == 30
    assert 5 not in chosen
    assert set(range(30, 40)) <= set(chosen.tolist())
    assert choose_columns(X[:, :8], y).tolist() == [0, 1, 2, 3, 4, 6, 7]


def test_jobs_and_the_order_of_cells_change_nothing(tmp_path, undisturbed):
    other = replace(SMALL, mechanisms=("S2", "S1"), methods=SMALL.methods[::-1])
    with Ledger(tmp_path / "parallel.db") as ledger:
        run(other, ledger, jobs=2)
        assert timeless(ledger.rows(SMALL.cells())) == undisturbed


def test_resuming_measures_nothing_twice(tmp_path):
    half = replace(SMALL, frequencies=(0.3,))
    with Ledger(tmp_path / "l.db") as ledger:
        run(half, ledger)
    told = []
    with Ledger(tmp_path / "l.db") as ledger:
        tally = run(SMALL, ledger, tell=lambda cell, record: told.append(cell.key))
        assert tally.done == 24
        assert sorted(told) == sorted(cell.key for cell in SMALL.cells() if cell.frequency == 0.5)
        assert run(SMALL, ledger, tell=lambda *_: pytest.fail("nothing was left")).done == 24


def test_failures_are_recorded_shown_and_retried_on_request(tmp_path):
    broken = Method("broken", "propense.Naive", (("ridge", -1.0),))
    study = replace(SMALL, methods=(METHODS["naive"], broken), repeats=1, mechanisms=("S1",), frequencies=(0.5,))
    with Ledger(tmp_path / "l.db") as ledger:
        tally = run(study, ledger)
        assert (tally.total, tally.done, tally.failed) == (2, 2, 1)
        failed = [row for row in ledger.rows() if row["error"]]
        assert failed[0]["method"] == "broken"
        assert "InvalidOption" in failed[0]["error"]
        assert failed[0]["balanced_accuracy"] is None
        told = []
        assert run(study, ledger, tell=lambda *_: told.append(1)).failed == 1
        assert told == []
        run(study, ledger, retry=True, tell=lambda cell, _: told.append(cell.method.name))
        assert told == ["broken"]
        # What succeeds on a later try takes the failure's place.
        cell = next(cell for cell in study.cells() if cell.method is broken)
        ledger.write(cell, Record(balanced_accuracy=0.5))
        assert ledger.keys(failed=True) == set()
        assert len(ledger.rows()) == 2


def test_a_second_run_on_one_ledger_is_refused(tmp_path):
    with Ledger(tmp_path / "l.db") as one, Ledger(tmp_path / "l.db") as other:
        with one.running(), pytest.raises(LedgerError, match="in use by another run"):
            run(SMALL, other)
        assert run(replace(SMALL, repeats=1), other).done == 12


def test_a_folder_that_cannot_be_written_is_told_from_a_second_run(tmp_path):
    with Ledger(tmp_path / "l.db") as ledger:
        (tmp_path / "l.db.lock").mkdir()
        with pytest.raises(LedgerError, match=r"l\.db\.lock cannot be made: unable to open database file"):
            run(SMALL, ledger)
        (tmp_path / "l.db.lock").rmdir()
        (tmp_path / "l.db.lock").write_bytes(b"x" * 4096)
        with pytest.raises(LedgerError, match=r"l\.db\.lock cannot be written: "):
            run(SMALL, ledger)


def test_a_foreign_or_torn_ledger_is_refused(tmp_path):
    (tmp_path / "text.db").write_text("hello " * 500)
    with pytest.raises(LedgerError, match="no ledger of propense, or damaged"):
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
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot be made"):
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


RUNNER = """
import sys
from pathlib import Path
from propense.study import Ledger, Study, run
from propense.study.plan import METHODS
methods = tuple(METHODS[name] for name in ("naive", "pglin", "oracle"))
study = Study(("wdbc",), ("S1", "S2"), (0.3, 0.5), methods, repeats=2)
with Ledger(Path(sys.argv[1])) as ledger:
    run(study, ledger, jobs=2, tell=lambda *_: print("told", flush=True))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs process groups")
def test_kill_nine_at_any_moment_and_resume(tmp_path, undisturbed):
    path = tmp_path / "killed.db"
    for after in (0, 1, 5, 9):
        runner = subprocess.Popen(
            [sys.executable, "-c", RUNNER, str(path)], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        for _ in range(after):
            runner.stdout.readline()
        if after == 0:
            time.sleep(1.0)
        os.killpg(runner.pid, signal.SIGKILL)
        runner.wait()
        runner.stdout.close()
    with Ledger(path) as ledger:
        assert len(ledger.rows()) < 24
        run(SMALL, ledger, jobs=2)
        assert timeless(ledger.rows(SMALL.cells())) == undisturbed
        assert len(ledger.rows()) == 24


def test_an_estimator_of_ones_own_is_one_line_in_the_plan(tmp_path, monkeypatch):
    (tmp_path / "my_methods.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n\n\nclass Half(LogisticRegression):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "plan.toml").write_text(
        'datasets = ["wdbc"]\nmechanisms = ["S1"]\nfrequencies = [0.5]\nrepeats = 1\n'
        'methods = ["naive", { class = "my_methods.Half", parameters = { C = 1.0 } }]\n'
    )
    with Ledger(tmp_path / "l.db") as ledger:
        study = Study.from_toml(tmp_path / "plan.toml")
        assert run(study, ledger, jobs=2).failed == 0
        naive, mine = ledger.rows(study.cells())
        assert mine["method"] == "half"
        assert mine["balanced_accuracy"] == naive["balanced_accuracy"]
        assert mine["propensity_error"] is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # The cluster's own, on its way down.
def test_the_workers_of_a_dask_cluster_give_the_same(tmp_path, undisturbed):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Ledger(tmp_path / "dask.db") as ledger,
    ):
        assert run(SMALL, ledger, dask=cluster.scheduler_address).done == 24
        assert timeless(ledger.rows(SMALL.cells())) == undisturbed


def test_without_dask_the_way_out_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with Ledger(tmp_path / "l.db") as ledger, pytest.raises(MissingExtra, match=r"propense\[dask\]"):
        run(SMALL, ledger, dask="tcp://127.0.0.1:1")
