"""Studies of natural labels: made-up people, some of whom were told, and independent tellings of every measure."""

import csv
import hashlib
import io
import itertools
import json
import math
import sqlite3
from contextlib import closing
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn import metrics
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from command import call
from propense import SAREM, PUClassifier
from propense.datasets import NaturalDataset
from propense.datasets.nhanes_table import TASKS
from propense.errors import DownloadFailed, InvalidPlan, LedgerError
from propense.report import gather_study, render
from propense.study import PAPER_METHODS, Cell, Ledger, Method, Record, Study, measure, natural_data, run
from propense.study.compare import caveats
from propense.study.natural_scores import LISTS, Answer, score_answers

NAMES = ["age", "bmi", "waist", "insured", "usual_place", "visits", "hospital"]
OTHERS, ACCESS = [0, 1, 2], [3, 4, 5, 6]
SETTING = "before 2013"


def people(seed=0, n=4000):
    """A survey where illness follows the body, and being told follows visits."""
    rng = np.random.default_rng(seed)
    body = rng.normal(size=(n, 3))
    insured, usual, hospital = (rng.random((3, n)) < 0.5).astype(float)
    visits = rng.integers(0, 5, n).astype(float)
    positive = rng.random(n) < 1 / (1 + np.exp(1.5 - 1.5 * body[:, 0] - body[:, 1]))
    labelled = positive & (rng.random(n) < 1 / (1 + np.exp(1.0 - 0.7 * visits)))
    X = np.column_stack([50 + 15 * body[:, 0], body[:, 1:], insured, usual, visits, hospital])
    X[rng.random(n) < 0.05, 2] = np.nan
    cycle = np.repeat([2005, 2007, 2009, 2011, 2013], n // 5)
    ones = np.ones(n)
    numbers = np.arange(n)
    return NaturalDataset(
        *(X, NAMES, labelled, positive, cycle, ones, numbers, numbers, numbers),
        *(("insured", "usual_place", "visits", "hospital"), (), TASKS["diabetes"], "", "", "made up"),
    )


@pytest.fixture(autouse=True)
def survey(monkeypatch, tmp_path):
    """The made-up survey in place of the real one."""
    data = people()
    monkeypatch.setattr(natural_data, "_load", lambda task: data)
    monkeypatch.setattr(natural_data, "nhanes_path", lambda: tmp_path)
    monkeypatch.setattr(natural_data, "is_available", lambda: True)
    natural_data.split_natural.cache_clear()
    yield data
    natural_data.split_natural.cache_clear()


def cell(path, told="nothing", **parameters):
    method = Method("a method", path, tuple(sorted(parameters.items())), told)
    return Cell("nhanes-diabetes", SETTING, None, method, 0, "natural", 0)


def everything(record):
    """Every measure of a record by name."""
    assert record.error is None, record.error
    return {each.name: getattr(record, each.name) for each in fields(record) if each.name != "more"} | record.more


def test_the_past_is_fitted_and_the_next_cycle_tested(survey):
    for year in (2007, 2011):
        data = natural_data.split_natural("nhanes-diabetes", natural_data.setting_before(year))
        past, present = survey.cycle < year, survey.cycle == year
        np.testing.assert_array_equal(data.X, survey.X[past])
        np.testing.assert_array_equal(data.X_test, survey.X[present])
        np.testing.assert_array_equal(data.labelled, survey.labelled[past])
        np.testing.assert_array_equal(data.positive_test, survey.positive[present])
        np.testing.assert_array_equal(data.labelled_test, survey.labelled[present])
        assert [NAMES[j] for j in data.access] == list(survey.propensity_features)
        filled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler()).fit(data.X)
        for found, rows in zip(data.filled, (data.X, data.X_test), strict=True):
            np.testing.assert_allclose(found, filled.transform(rows))


def test_groups_are_values_of_two_columns_and_quarters_of_age(survey):
    data = natural_data.split_natural("nhanes-diabetes", SETTING)
    assert list(data.groups) == [
        *(f"visits_{k}" for k in range(5)),
        *("insured_0", "insured_1"),
        *(f"age_quarter_{k}" for k in (1, 2, 3, 4)),
    ]
    for start in ("visits", "insured", "age"):
        count = sum(members.astype(int) for name, members in data.groups.items() if name.startswith(start))
        np.testing.assert_array_equal(count, 1)
    ages = [data.X[data.groups[f"age_quarter_{k}"], 0] for k in (1, 2, 3, 4)]
    assert all(one.max() < other.min() for one, other in itertools.pairwise(ages))
    assert {len(each) for each in ages} == {800}


@pytest.mark.slow
def test_regression_of_the_labels_is_scored_as_scikit_learn_scores_it(survey):
    found = everything(measure(cell("propense.Naive", decision="balanced")))
    data = natural_data.split_natural("nhanes-diabetes", SETTING)
    X, X_test = data.filled
    model = LogisticRegression(tol=1e-10, max_iter=1000)
    y = model.fit(X, data.labelled).predict_proba(X_test)[:, 1]
    rest = ~data.labelled_test
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(data.positive_test, y), abs=1e-6)
    assert found["hidden_auc"] == pytest.approx(metrics.roc_auc_score(data.positive_test[rest], y[rest]), abs=1e-6)
    cut = y > data.labelled.mean()
    assert found["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(data.positive_test, cut))
    assert found["f1"] == pytest.approx(metrics.f1_score(data.positive_test, cut))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(data.positive_test, y), abs=1e-6)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    order = cross_val_predict(model, X, data.labelled, cv=folds, method="predict_proba")[:, 1]
    order[data.labelled] = -1
    for length in LISTS:
        first = np.argsort(-order)[:length]
        assert found[f"precision_{length}"] == pytest.approx(data.positive[first].mean(), abs=2 / length)
        assert found[f"promised_{length}"] == pytest.approx(0.0, abs=1e-12)
    assert found["prior"] == pytest.approx(data.labelled.mean())
    assert found["prior_error"] == pytest.approx(data.positive.mean() - data.labelled.mean())
    assert found["true_prior"] == data.positive.mean()


@pytest.mark.slow
def test_other_classifiers_are_cut_at_the_share_of_labels_and_take_missing_values_if_they_can(survey):
    path = "sklearn.ensemble.HistGradientBoostingClassifier"
    found = everything(measure(cell(path, max_iter=20, random_state=0)))
    data = natural_data.split_natural("nhanes-diabetes", SETTING)
    y = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(data.X, data.labelled)
    y = y.predict_proba(data.X_test)[:, 1]
    expected = metrics.balanced_accuracy_score(data.positive_test, y > data.labelled.mean())
    assert found["balanced_accuracy"] == pytest.approx(expected)
    assert "prior" not in found
    assert "promised_200" not in found
    told = everything(measure(cell(path, "access", max_iter=20, random_state=0)))
    y = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(data.X[:, OTHERS], data.labelled)
    y = y.predict_proba(data.X_test[:, OTHERS])[:, 1]
    assert told["auc"] == pytest.approx(metrics.roc_auc_score(data.positive_test, y))


@pytest.mark.slow
def test_columns_of_access_are_named_to_methods_that_can_use_them(survey):
    found = everything(measure(cell("propense.SAREM", "access")))
    data = natural_data.split_natural("nhanes-diabetes", SETTING)
    X, X_test = data.filled
    model = SAREM(class_features=OTHERS, propensity_features=ACCESS).fit(X, data.labelled)
    y = model.predict_proba(X_test)[:, 1]
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(data.positive_test, y))
    assert found["prior"] == pytest.approx(model.prior_)
    # The world is as it is told, so the answer is nearly right.
    assert found["prior_error"] < 0.03
    assert found["group_error"] < 0.06
    assert found["group_error"] < everything(measure(cell("propense.Naive")))["group_error"] / 3


@pytest.mark.slow
def test_who_is_told_the_prevalence_meets_it():
    found = everything(measure(cell("propense.PUClassifier", "prevalence", learners="linear", random_state=0)))
    assert found["prior_error"] < 1e-3


@pytest.mark.slow
def test_who_is_told_the_truth_learns_from_it(survey):
    found = everything(measure(cell("propense.Naive", "truth", decision="balanced")))
    data = natural_data.split_natural("nhanes-diabetes", SETTING)
    X, X_test = data.filled
    y = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, data.positive).predict_proba(X_test)[:, 1]
    expected = metrics.balanced_accuracy_score(data.positive_test, y > data.positive.mean())
    assert found["balanced_accuracy"] == pytest.approx(expected)
    assert not {"promised_200", "group_error"} & found.keys()
    oracle = everything(measure(cell("propense.Oracle", decision="balanced")))
    assert oracle["auc"] == pytest.approx(found["auc"])


@pytest.mark.slow
def test_an_audit_brings_shares_and_promises_nearer_to_the_truth():
    before = everything(measure(cell("propense.JERM", decision="balanced", random_state=0)))
    after = everything(measure(cell("propense.JERM", "audit", decision="balanced", random_state=0)))
    assert after["prior_error"] < min(before["prior_error"] / 3, 0.02)
    assert after["promise_error_1000"] < before["promise_error_1000"] / 2
    # The order of the list is what it was.
    assert after["precision_200"] == pytest.approx(before["precision_200"])


@pytest.mark.slow
def test_a_cell_gives_the_same_record_twice():
    one, other = (replace(measure(cell("propense.PGLin", "audit")), seconds=None) for _ in range(2))
    assert one == other


class Short(PUClassifier):
    """The default method with one quick learner."""

    def __init__(self, *, learners=None, random_state=0):
        super().__init__(learners=[LogisticRegression()] if learners is None else learners, random_state=random_state)


@pytest.mark.slow
def test_lists_of_a_method_that_scores_its_rows_out_of_fold_use_that(survey):
    found = everything(measure(cell(f"{__name__}.Short")))
    data = natural_data.split_natural("nhanes-diabetes", SETTING)
    model = Short().fit(data.X, data.labelled)
    order = np.where(data.labelled, -1.0, model.oof_posterior_)
    first = np.argsort(-order, kind="stable")[:200]
    assert found["precision_200"] == pytest.approx(data.positive[first].mean())
    assert found["promised_200"] == pytest.approx(model.oof_hidden_[first].mean())
    assert found["promise_error_200"] == pytest.approx(abs(found["promised_200"] - found["precision_200"]))


def test_e_is_compared_by_group_over_positives(survey, rng):
    data = natural_data.split_natural("nhanes-diabetes", SETTING)
    e, y = rng.random(len(data.X)), rng.random(len(data.X_test))
    answer = Answer(y, y > 0.5, e, e, e, 0.5)
    found = score_answers([answer], data, rng)
    off = []
    for name, members in data.groups.items():
        rows = [i for i in range(len(e)) if members[i] and data.positive[i]]
        assert found[f"propensity_{name}"] == pytest.approx(sum(e[i] for i in rows) / len(rows))
        assert found[f"true_propensity_{name}"] == pytest.approx(sum(data.labelled[i] for i in rows) / len(rows))
        off.append(abs(found[f"propensity_{name}"] - found[f"true_propensity_{name}"]))
    assert found["group_error"] == pytest.approx(sum(off) / len(off))


def test_intervals_are_those_of_resampled_rows(survey, rng):
    """Of a share they are the binomial ones; of the area under the curve, Hanley and McNeil's."""
    data = natural_data.split_natural("nhanes-diabetes", SETTING)
    y = data.positive_test + rng.normal(size=len(data.X_test)) * 1.5
    order = data.positive + rng.normal(size=len(data.X))
    found = score_answers([Answer(y, y > 0.5, order, None, None, None)], data, rng)
    share = found["precision_1000"]
    low, high = binom.ppf([0.025, 0.975], 1000, share) / 1000
    assert found["precision_1000_low"] == pytest.approx(low, abs=0.012)
    assert found["precision_1000_high"] == pytest.approx(high, abs=0.012)
    a, m, n = found["auc"], int(data.positive_test.sum()), int((~data.positive_test).sum())
    spread = a * (1 - a) + (m - 1) * (a / (2 - a) - a**2) + (n - 1) * (2 * a**2 / (1 + a) - a**2)
    width = 2 * 1.96 * math.sqrt(spread / (m * n))
    assert found["auc_high"] - found["auc_low"] == pytest.approx(width, rel=0.3)
    assert found["auc_low"] < a < found["auc_high"]


PLAN = """
datasets = ["nhanes-diabetes"]
years = [2013, 2009]
methods = [
  { name = "JERM", class = "propense.JERM", told = ["nothing", "access", "audit + access"] },
  { name = "regression", class = "propense.Naive", told = "truth" },
]
repeats = 1
protocol = "natural"
"""


def read(tmp_path, text):
    (tmp_path / "plan.toml").write_text(text)
    return Study.from_toml(tmp_path / "plan.toml")


def test_a_plan_says_what_methods_are_told(tmp_path):
    study = read(tmp_path, PLAN)
    assert [(method.name, method.told) for method in study.methods] == [
        ("JERM", "nothing"),
        ("JERM, access", "access"),
        ("JERM, access + audit", "access + audit"),
        ("regression, truth", "truth"),
    ]
    cells = list(study.cells())
    assert len(study) == len(cells) == len({each.key for each in cells}) == 8
    assert {each.mechanism for each in cells} == {"before 2013", "before 2009"}
    assert all(each.frequency is None for each in cells)
    assert "propense study" not in " ".join(caveats(study))


WRONG = {
    'mechanisms = ["S1"]': "mechanisms: a plan with protocol = 'natural' has none",
    "frequencies = [0.3]": "frequencies: a plan with protocol = 'natural' has none",
    "years = [2005]": "the year 2005 cannot be tested. Choose from: 2007, 2009, 2011, 2013",
    'years = ["2013"]': "the year '2013' cannot be tested",
    "years = []": "years must not be empty",
    "years = 2013": "years must be a list",
    'datasets = ["wdbc"]': "there is no natural data set 'wdbc'. Choose from: nhanes-diabetes, nhanes-hypertension",
    'methods = [{ class = "propense.TM", told = "secrets" }]': "told = 'secrets' is not known",
    'methods = [{ class = "propense.TM", told = ["audit + audit"] }]': "told = 'audit \\+ audit' is not known",
    'methods = [{ class = "propense.TM", told = [3] }]': "told = 3 is not known",
    'methods = [{ class = "propense.TM", told = 3 }]': "a method is a name, or a table",
    'protocol = "clean"': "the plan lacks mechanisms, frequencies",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_plan_of_natural_labels_is_refused(tmp_path, line):
    key = line.split(" = ")[0]
    methods = 'methods = ["tm"]'
    kept = ['datasets = ["nhanes-diabetes"]', "years = [2013]", methods, 'protocol = "natural"']
    kept = [each for each in kept if each.split(" = ")[0] != key]
    with pytest.raises(InvalidPlan, match=rf"plan.toml.*{WRONG[line]}"):
        read(tmp_path, "\n".join([*kept, line]))


def test_only_natural_plans_have_years_and_methods_that_are_told():
    told = replace(PAPER_METHODS["tm"], told="access")
    with pytest.raises(InvalidPlan, match="the method 'tm' is told 'access', which needs protocol = 'natural'"):
        Study(("wdbc",), ("S1",), (0.3,), (told,))
    with pytest.raises(InvalidPlan, match="years: a plan with protocol = 'paper' has none"):
        Study(("wdbc",), ("S1",), (0.3,), years=(2013,))


@pytest.mark.parametrize(
    ("path", "told", "words"),
    [
        ("propense.PGLin", "prevalence", "PGLin has no parameter prior"),
        ("propense.Naive", "audit", "Naive gives unlabelled rows no chance"),
        ("sklearn.linear_model.LogisticRegression", "access + audit", "LogisticRegression gives unlabelled rows no"),
    ],
)
def test_what_a_method_cannot_be_told_is_refused_before_the_run(tmp_path, path, told, words):
    study = Study(("nhanes-diabetes",), (), (), (Method("m", path, (), told),), 1, 0, "natural", (2013,))
    with Ledger(tmp_path / "l.db") as ledger, pytest.raises(InvalidPlan, match=f"The method 'm' is told .*{words}"):
        run(study, ledger)


def test_a_survey_that_is_missing_is_named_once(tmp_path, monkeypatch):
    monkeypatch.setattr(natural_data, "is_available", lambda: False)
    with Ledger(tmp_path / "l.db") as ledger, pytest.raises(DownloadFailed, match="propense datasets fetch nhanes"):
        run(read(tmp_path, PLAN), ledger)


def test_keys_of_other_cells_are_what_they_were():
    """By the formula of 0.1.0, so that its ledgers are continued."""
    one = Cell("wdbc", "S2", 0.3, Method("jerm", "propense.JERM", (("ridge", 2.0),)), 4, "paper", 1)
    parts = ["wdbc", "S2", 0.3, 4, "paper", 1, "jerm", "propense.JERM", [["ridge", 2.0]]]
    assert one.key == hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    assert replace(one, method=replace(one.method, told="audit")).key != one.key


def layout(path):
    with closing(sqlite3.connect(path)) as file:
        return file.execute("PRAGMA user_version").fetchone()[0]


def test_a_ledger_gets_the_column_of_further_measures_with_the_first_of_them(tmp_path):
    old = Cell("wdbc", "S1", 0.3, PAPER_METHODS["tm"], 0, "paper", 0)
    new, failed = cell("propense.TM"), cell("propense.SAREM")
    with Ledger(tmp_path / "l.db") as ledger:
        ledger.write(old, Record(0.5, auc=0.6))
        (before,) = ledger.rows()
        assert layout(tmp_path / "l.db") == 2
        ledger.write(new, Record(0.7, more={"hidden_auc": 0.1 + 0.2, "prior": 0.25}))
        ledger.write(failed, Record(error="no"))
        assert layout(tmp_path / "l.db") == 3
    with Ledger(tmp_path / "l.db") as ledger:
        first, second, third = ledger.rows([old, new, failed])
        ledger.write(replace(old, repeat=1), Record(0.25))
        assert len(ledger.rows()) == 4
    assert first == before
    assert (second["hidden_auc"], second["prior"], second["frequency"]) == (0.1 + 0.2, 0.25, None)
    assert third["error"] == "no"
    assert "hidden_auc" not in third


@pytest.mark.parametrize("words", ['{"hidden_auc": 0.9}', "[1]", "{", '{"auc": 0.5}', '{"a": "b"}', "3"])
def test_further_measures_that_were_changed_are_found(tmp_path, words):
    new = cell("propense.TM")
    with Ledger(tmp_path / "l.db") as ledger:
        ledger.write(new, Record(0.7, more={"hidden_auc": 0.5}))
    with closing(sqlite3.connect(tmp_path / "l.db", isolation_level=None)) as file:
        file.execute("UPDATE records SET more = ?", (words,))
    with Ledger(tmp_path / "l.db") as ledger, pytest.raises(LedgerError, match=r"l\.db is .* damaged"):
        ledger.rows()


@pytest.mark.slow
def test_a_run_of_natural_labels_resumes_and_is_read_by_every_command(tmp_path):
    study = read(tmp_path, PLAN)
    ledger_file = tmp_path / "plan.ledger"
    with Ledger(ledger_file) as ledger:
        some = replace(study, years=(2009,))
        assert run(some, ledger).failed == 0
        measured = []
        progress = run(study, ledger, on_record=lambda one, _: measured.append(one.mechanism))
        assert (progress.done, progress.failed, set(measured)) == (8, 0, {"before 2013"})
        rows = ledger.rows(study.cells())
    plan = str(tmp_path / "plan.toml")
    shown = call("study", "table", plan, "--score", "hidden_auc", "--format", "markdown").stdout
    assert "### Hidden auc, before 2013\n" in shown
    assert f"{rows[0]['hidden_auc']:.3f} ± 0.000" in shown
    written = list(csv.DictReader(io.StringIO(call("study", "export", plan).stdout)))
    assert [row["method"] for row in written[:4]] == [method.name for method in study.methods]
    assert float(written[1]["group_error"]) == rows[1]["group_error"]
    assert written[3]["group_error"] == ""
    assert "8 of 8" in call("study", "status", plan).stdout
    call("study", "export", plan, "--format", "parquet", "--out", str(tmp_path / "rows.parquet"))
    parquet = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "rows.parquet").to_pylist()
    assert parquet[1]["group_error"] == rows[1]["group_error"]
    assert parquet[3]["group_error"] is None
    page = render(gather_study(study, rows, "Study")).html
    assert "nobody drew the labels" in page
