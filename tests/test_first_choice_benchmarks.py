"""The benchmarks behind the page on the first choice, in miniature: they measure what the page says they do."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

import label_learners
import natural
import review_lists
from propense import PUClassifier
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


def test_areas_are_of_the_true_class_and_weights_follow_the_labels(rng):
    positive = rng.random(2000) < 0.5
    # One learner knows the class, the other only which positives are labelled.
    group = rng.normal(size=2000)
    labelled = positive & (group > 0)
    t = {label_learners.LOGISTIC: positive + rng.normal(size=2000), label_learners.BOOSTED: group}
    t |= {"plain boosting": group, "mean": sum(t.values()) / 2}
    found = dict(
        zip(label_learners.COLUMNS, label_learners.areas(t, positive, labelled, np.full(2000, True)), strict=True)
    )
    one = found[label_learners.LOGISTIC]
    assert one == roc_auc_score(positive, t[label_learners.LOGISTIC])
    assert found[label_learners.BOOSTED] == pytest.approx(0.5, abs=0.03)
    assert found["weights that fit the labels"] < found["mean"] < one
    some = label_learners.areas(t, positive, labelled, ~labelled)
    assert some[0] == roc_auc_score(positive[~labelled], t[label_learners.LOGISTIC][~labelled])


@pytest.mark.slow
def test_learners_are_scored_one_by_one_out_of_fold(world):
    name, X, positive, mechanism, seed = world
    labelled = review_lists.draw(name, X, positive, mechanism, seed)
    found = label_learners.scores(X, labelled, seed)
    t = np.column_stack(list(found.values()))
    np.testing.assert_allclose([t.mean(axis=0), t.std(axis=0)], [[0.0] * 4, [1.0] * 4], atol=1e-9)
    assert np.corrcoef(t.T).max(where=~np.eye(4, dtype=bool), initial=0.0) < 1.0 - 1e-6
    # Trees need two labels.
    one = np.cumsum(labelled) * labelled == 1
    assert label_learners.scores(X, one, seed) is None
    assert np.isnan(label_learners.measure(world, rows=1)).all()
    assert np.isfinite(label_learners.measure(world, rows=150)).all()


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
