"""The example on the first page, in miniature: it measures what the page says it does."""

import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

import patients
from natural import Task
from propense import PUClassifier
from propense._steps.label_learners import LOGISTIC, LabelLearner, given_learners

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def task():
    """Illness by two columns, told by visits; the other columns of access say nothing."""
    rng, n = np.random.default_rng(0), 4000
    X = rng.normal(size=(n, 2))
    visits, rest = rng.integers(0, 6, n), rng.integers(0, 2, (n, 3))
    ill = rng.random(n) < 1 / (1 + np.exp(2 - 3 * X[:, 0] - X[:, 1]))
    told = ill & (rng.random(n) < np.array([0.2, 0.4, 0.6, 0.8, 0.9, 0.9])[visits])
    X, early = np.column_stack([X, rest, visits]).astype(float), np.arange(n) < 3000
    names = ("age", "bmi", "insured", "usual_place", "hospital", "visits")
    return Task(X[early], told[early], ill[early], X[~early], ill[~early], told[~early], names)


@pytest.fixture
def quick(monkeypatch):
    """Learners that take no time."""
    learners = [LabelLearner(LOGISTIC), *given_learners([GaussianNB()])]
    monkeypatch.setattr("propense.estimators._pu.auto_learners", lambda *_: learners)


def test_hits_and_false_alarms_are_those_of_later_people(task):
    listed = patients.first(task.X[:, 0], task.labelled, 50)
    assert not task.labelled[listed].any()
    assert task.X[listed[-1], 0] == np.sort(task.X[~task.labelled, 0])[-50]
    answer = patients.judge("all", task, (0.3, 0.2, 0.4), np.ones(1000, dtype=bool), listed, (20.0, 10.0, 30.0))
    assert (answer.hits, answer.alarms) == (task.truth.sum(), (~task.truth).sum())
    cells = answer.row()
    assert cells[1] == "30.0% (20.0% to 40.0%)"
    assert cells[4] == "0.500"
    assert cells[6] == f"{task.positive[listed].sum()} of 50"
    right = patients.judge("truth", task, (0.3, np.nan, np.nan), task.truth, listed, (np.nan,) * 3)
    assert (right.hits, right.alarms) == (task.truth.sum(), 0)
    assert right.row()[1:6] == [
        "30.0%",
        f"{right.ill} of {right.ill} (100%)",
        f"0 of {right.well} (0%)",
        "1.000",
        "none",
    ]


def test_everyone_is_called_ill_above_their_own_share(task):
    class Visits(ClassifierMixin, BaseEstimator):
        """Chances that are the number of visits."""

        def fit(self, X, s):
            self.classes_ = np.unique(s)
            return self

        def predict(self, X):
            return X[:, -1] > 2

        def predict_proba(self, X):
            return np.column_stack([1 - X[:, -1] / 5, X[:, -1] / 5])

    answer = patients.plain("visits", Visits(), task, 100, [0, 5])
    called = task.fresh[:, 5] / 5 > task.labelled.mean()
    assert (answer.hits, answer.alarms) == ((called & task.truth).sum(), (called & ~task.truth).sum())
    assert answer.share[0] == task.labelled.mean()


def test_the_share_told_is_that_of_the_ill(task):
    model = PUClassifier()
    model.oof_posterior_ = task.positive.astype(float)
    shares = patients.told_by_visits(task, [model])
    for truth, said in shares.values():
        assert truth == pytest.approx(said)
    none = (task.X[:, 5] == 0) & task.positive
    assert shares["none"][0] == pytest.approx(task.labelled[none].mean())
    last = (task.X[:, 5] >= 4) & task.positive
    assert shares["10 or more"][0] == pytest.approx(task.labelled[last].mean())


@pytest.mark.slow
def test_the_tables_and_the_figure_are_made(task, quick, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(patients, "HistGradientBoostingClassifier", lambda **_: GaussianNB())
    monkeypatch.setattr(patients, "read", {"diabetes": task}.get)
    monkeypatch.setattr(patients, "nhanes_path", lambda: tmp_path)
    monkeypatch.setattr("sys.argv", ["patients.py"])
    patients.main()
    assert "is not there" in capsys.readouterr().out
    (path := tmp_path / "table").touch()
    monkeypatch.setattr(patients, "nhanes_path", lambda: path)
    picture = tmp_path / "one.svg"
    monkeypatch.setattr("sys.argv", ["patients.py", "--draws", "40", "--figure", str(picture)])
    patients.main()
    assert "PUClassifier, columns of access named" in picture.read_text()
    printed = capsys.readouterr().out.splitlines()
    lines = [line.strip("| ").split(" | ") for line in printed if line.startswith("|")]
    assert {len(line) for line in lines[2:8]} == {7}
    # The right columns are named, so the share is nearly right; the check holds whatever is named.
    share, truth = float(lines[6][1].split("%")[0]) / 100, task.positive.mean()
    assert abs(share - truth) < 0.12
    held = [int(each) for each in re.findall(r"(\d+)%", printed[-1])]
    assert min(held) >= 85
