"""The benchmarks behind the page on the first choice, in miniature: they measure what the page says they do."""

from unittest.mock import patch

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

import constants
import label_learners
import natural
import readings
import review_lists
from propense import PUClassifier
from propense._steps import label_scores
from propense._steps import readings as steps
from propense._steps.label_learners import LOGISTIC, LabelLearner, given_learners
from propense.datasets.nhanes_table import write_survey
from survey import draw_table, expect

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def world(rng):
    positive = rng.random(260) < 0.4
    X = rng.normal(size=(260, 3)) + np.outer(positive, [1.5, -1.0, 0.0])
    return "two clouds", X, positive, "S1", 0


@pytest.fixture
def quick(monkeypatch):
    """Learners that take no time."""
    learners = [LabelLearner(LOGISTIC), *given_learners([GaussianNB()])]
    monkeypatch.setattr("propense.estimators._pu.auto_learners", lambda *_: learners)


def test_a_list_has_the_highest_unlabelled_rows_half_as_many_as_positives_among_them(rng):
    score, positive = rng.permutation(40).astype(float), np.arange(40) < 30
    labelled = np.arange(40) < 10
    listed = review_lists.top(score, positive, labelled)
    assert listed.tolist() == sorted(range(10, 40), key=lambda row: -score[row])[:10]


def test_a_range_holds_what_lies_within_it_and_the_noise_of_a_list():
    model = PUClassifier()
    model.oof_hidden_, model.oof_hidden_range_ = np.full(100, 0.5), np.tile([0.4, 0.6], (100, 1))
    model.diagnosis_ = type("Facts", (), {"low": 0.3, "high": 0.5})
    rows = np.arange(100)
    # The noise of 100 rows of chance ½ is 0.064, eight times in ten.
    for found, yielded, prior in ((30, 0, 1), (35, 1, 1), (66, 1, 0), (67, 0, 0)):
        assert review_lists.held(model, rows, rows < found) == [yielded, prior]


def test_labels_of_a_world_are_drawn_again_alike(world):
    name, X, positive, mechanism, seed = world
    one, again, other = (review_lists.draw(name, X, positive, mechanism, each) for each in (seed, seed, 1))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    assert not one[~positive].any()


def test_each_reading_is_off_by_its_distance_from_the_truth():
    positive, labelled = np.arange(10) < 5, np.arange(10) < 2
    hidden = {name: np.full(10, chance) for name, chance in zip(readings.READINGS, (0.0, 0.25, 0.5, 1.0), strict=True)}
    hidden["known"] = np.full(10, 0.4)
    found = readings.errors(hidden, np.array([2, 3, 4, 5]), positive, labelled)
    assert found == pytest.approx([0.3, 0.1, 0.1, 0.5, 0.75, 0.5, 0.25, 0.25, 0.35])


def test_readings_are_those_of_the_estimator(world, quick):
    name, X, positive, mechanism, seed = world
    labelled = review_lists.draw(name, X, positive, mechanism, seed)
    model = PUClassifier(random_state=seed).fit(X, labelled)
    a, hidden = readings.hidden_chances(X, positive, labelled, seed)
    np.testing.assert_allclose(expit(a), model.oof_posterior_, atol=1e-12)
    np.testing.assert_allclose(hidden["mean"], model.oof_hidden_, atol=1e-12)
    for each in ("constant", "climb", "bells"):
        share = np.where(labelled, 1.0, hidden[each]).mean()
        assert share == pytest.approx(model.diagnosis_.priors[each], abs=1e-9)
    assert np.where(labelled, 1.0, hidden["known"]).mean() == pytest.approx(positive.mean(), abs=1e-6)
    assert len(readings.measure(*world)) == len(readings.COLUMNS)


def test_areas_are_of_the_true_class_and_weights_follow_the_labels(rng):
    positive = rng.random(2000) < 0.5
    # One learner knows the class, the other only which positives are labelled.
    group = rng.normal(size=2000)
    labelled = positive & (group > 0)
    t = {label_learners.LOGISTIC: positive + rng.normal(size=2000), label_learners.BOOSTED: group}
    found = dict(
        zip(label_learners.COLUMNS, label_learners.areas(t, positive, labelled, np.full(2000, True)), strict=True)
    )
    one = found[label_learners.LOGISTIC]
    assert one == roc_auc_score(positive, t[label_learners.LOGISTIC])
    assert found[label_learners.BOOSTED] == pytest.approx(0.5, abs=0.03)
    assert found["weights that fit the labels"] < found["equal weights"] < one
    assert np.isnan(found[label_learners.TREES])
    some = label_learners.areas(t, positive, labelled, ~labelled)
    assert some[0] == roc_auc_score(positive[~labelled], t[label_learners.LOGISTIC][~labelled])


@pytest.mark.slow
def test_learners_are_scored_one_by_one_out_of_fold(world):
    name, X, positive, mechanism, seed = world
    labelled = review_lists.draw(name, X, positive, mechanism, seed)
    found = label_learners.scores(X, labelled, seed)
    t = np.column_stack(list(found.values()))
    np.testing.assert_allclose([t.mean(axis=0), t.std(axis=0)], [[0.0] * 5, [1.0] * 5], atol=1e-9)
    assert np.corrcoef(t.T).max(where=~np.eye(5, dtype=bool), initial=0.0) < 1.0 - 1e-6
    # Trees need two labels.
    one = np.cumsum(labelled) * labelled == 1
    assert label_learners.scores(X, one, seed) is None
    assert np.isnan(label_learners.measure(world, rows=1)).all()
    assert np.isfinite(label_learners.measure(world, rows=150)).all()


@pytest.mark.slow
def test_a_constant_is_multiplied_while_a_fit_runs_and_then_as_it_was(world):
    _, X, positive, _, _ = world
    with constants.CONSTANTS["bells, rows of the width, 50"](2.0):
        assert steps._ROWS == 100.0
    assert steps._ROWS == 50.0
    seen = {}

    def options(name, factor):
        def fit(learner, sample, design, held):
            seen.setdefault((name, factor), {})[learner.name] = learner
            return make(learner, sample, design, held)

        make = label_scores._fit_one
        with patch.object(label_scores, "_fit_one", fit), constants.CONSTANTS[name](factor):
            PUClassifier(random_state=0, cv=2).fit(X, positive)
        return seen[name, factor]

    assert options("boosting, rounds, 100", 2.0)["boosted trees"].classifier.max_iter == 200
    assert options("boosting, columns at a split, 30 %", 0.5)["boosted trees"].classifier.max_features == 0.15
    assert options("extra trees, rows of a leaf, √n/3", 2.0)["extra trees"].classifier.min_samples_leaf == 12
    halved = options("penalty of logistic regression, √n", 0.5)
    assert halved["logistic regression"].ridge == pytest.approx(0.5 * np.sqrt(0.8 * 260))
    assert halved["boosted trees"].classifier.max_iter == 100


@pytest.mark.slow
def test_every_constant_changes_something_on_its_own(world, monkeypatch):
    """A constant of a module that is read elsewhere by another name would not: its row would mean nothing."""
    name, X, positive, _, _ = world
    monkeypatch.setattr(constants, "data", lambda _: (X[:220], positive[:220], X[220:], positive[220:]))
    monkeypatch.setattr(constants, "FACTORS", (2.0, 1.0))
    found = np.array(constants.measure(name, "S2"))
    assert found.shape == (len(constants.CONSTANTS) + 1, 2, 5)
    assert (found[:, 1] == found[0, 1]).all()
    # Whether a linear learner joins, or stands alone, is decided by a threshold that these rows may not be near to; and
    # so few rows do not fill many leaves.
    for place, each in enumerate(constants.CONSTANTS):
        if "linear" not in each and "leaves" not in each:
            assert (found[place, 0] != found[place, 1]).any(), each


@pytest.mark.slow
def test_a_learner_is_fitted_once_to_the_same_rows(world):
    _, X, positive, _, _ = world
    fitted = []
    make = label_scores._fit_one

    def fit(learner, *rest):
        fitted.append(learner.name)
        return make(learner, *rest)

    with patch.object(label_scores, "_fit_one", fit), constants.remembered():
        one = PUClassifier(random_state=0, cv=2).fit(X, positive).oof_posterior_
        count = len(fitted)
        np.testing.assert_array_equal(PUClassifier(random_state=0, cv=2).fit(X, positive).oof_posterior_, one)
        assert len(fitted) == count
        with constants.CONSTANTS["boosting, leaves, 15"](2.0):
            PUClassifier(random_state=0, cv=2).fit(X, positive)
    assert fitted[count:] == ["boosted trees"] * 2


def test_the_loss_is_what_the_choice_on_one_half_costs_on_the_other():
    one, other = np.array([0.3, 0.1, 0.2]), np.array([0.1, 0.25, 0.3])
    assert constants.loss(one, other) == pytest.approx(0.15)
    assert constants.loss(one, one) == 0.0


@pytest.mark.slow
def test_natural_rows_are_fitted_in_the_past_and_measured_later(tmp_path, rng, monkeypatch, capsys, quick):
    table = draw_table(rng, 80)
    expect(monkeypatch, table)
    monkeypatch.setenv("PROPENSE_DATA", str(tmp_path))
    (tmp_path / "natural").mkdir()
    write_survey(tmp_path / "natural" / "nhanes.csv.gz", table)
    task = natural.read("diabetes", ["visits"])
    assert task.X.shape == (4 * 80 - 5, 30)
    assert "visits" not in task.names
    np.testing.assert_array_equal(task.X[:, task.names.index("bmi")], table["bmi"][5:320])
    np.testing.assert_array_equal(task.positive, table["y_diabetes"][5:320] == 1)
    assert not (task.labelled & ~task.positive).any()
    np.testing.assert_array_equal(task.truth, table["y_diabetes"][320:] == 1)
    np.testing.assert_array_equal(task.fresh[:, task.names.index("age")], table["age"][320:])
    np.testing.assert_array_equal(task.fresh_labelled, table["s_diabetes"][320:] == 1)
    monkeypatch.setattr("sys.argv", ["natural.py", "--top", "20"])
    natural.main()
    task = natural.read("diabetes")
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in printed[2:]] == ["| diabetes", "| hypertension"]
    assert len({line.count("|") for line in printed}) == 1
    # The class is nearly a line: both recognise it.
    assert all(float(line.split(" | ")[7]) > 0.8 for line in printed[2:])
    monkeypatch.setattr("sys.argv", ["natural.py", "--columns", "--tasks", "diabetes", "--methods", "SAREM"])
    natural.main()
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [line[2] for line in lines] == ["nothing", "not for y", "alone for e", "both"]
    assert {line[6] for line in lines} == {f"{task.positive.mean():.3f}"}
    assert all(float(line[3]) > 0.8 for line in lines)
