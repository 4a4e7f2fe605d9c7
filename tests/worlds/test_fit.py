"""The answer of a fit: it holds the truth, and does not jump when a row comes or the folds are drawn again."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from propense import PUClassifier
from propense._designs import as_design
from propense._inputs.sample import Sample
from propense.datasets import make_double_logistic
from propense.worlds import fit
from propense.worlds.library import the_worlds

SLOPES = make_double_logistic(1, 10, random_state=0).coef[1:]
WORLDS = {
    "own features": {},
    "class score": {"propensity_coef": np.append(-2.25, SLOPES)},
    "constant": {"propensity_coef": np.append(-0.4, np.zeros(10))},
    "falling": {"propensity_coef": np.append(1.1, -0.44 * SLOPES)},
}
NAMES = {"unnamed": {}, "named": {"propensity_features": [5, 6]}}
# Of tables of 600 rows like these, a row moved an end by .03 at most, and another draw of the folds by .08.
BY_A_ROW, BY_FOLDS = 0.05, 0.15


def ends(X, s, **options):
    found = PUClassifier(**{"learners": "linear", "random_state": 0, **options}).fit(X, s).diagnosis_
    return np.array([found.low, found.middle, found.high])


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("names", NAMES)
def test_a_row_more_hardly_moves_the_range(name, names):
    data = make_double_logistic(605, 10, random_state=1, **WORLDS[name])
    fold, found = np.random.default_rng(0).integers(0, 5, 605), []
    for n in range(600, 605):
        folds = [(np.flatnonzero(fold[:n] != k), np.flatnonzero(fold[:n] == k)) for k in range(5)]
        found.append(ends(data.X[:n], data.labelled[:n], cv=folds, **NAMES[names]))
    assert np.abs(np.diff(found, axis=0)).max() < BY_A_ROW


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("names", NAMES)
def test_other_folds_hardly_move_the_range(name, names):
    data = make_double_logistic(600, 10, random_state=1, **WORLDS[name])
    found = [ends(data.X, data.labelled, random_state=seed, **NAMES[names]) for seed in range(5)]
    assert np.ptp(found, axis=0).max() < BY_FOLDS


def rises(rng, n, share):
    """Rows whose class and labels can be seen well, a share of them positive, and three columns that say nothing."""
    positive = rng.random(n) < share
    X = rng.normal(size=(n, 5)) + np.outer(positive, [2.0, -1.5, 0.0, 0.0, 0.0])
    return X, positive, positive & (rng.random(n) < expit(0.5 * X[:, 2] - 0.2))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_the_range_holds_what_is_true_however_much_is_known(rng, share):
    X, positive, s = rises(rng, 1500, share)
    truth = positive.mean()
    for known in (
        {},
        {"propensity_features": [2]},
        {"propensity_features": [2, 3, 4]},
        {"class_features": [0, 1]},
        {"propensity_features": []},
        {"prior": (0.8 * truth, min(1.2 * truth, 1.0))},
    ):
        found = PUClassifier(learners="linear", random_state=0, **known).fit(X, s).diagnosis_
        assert found.low <= truth <= found.high, known
        assert found.labelled == pytest.approx(s.mean())


def test_labels_unlike_every_world_are_doubted_and_have_half_of_every_share(rng, monkeypatch):
    X, _, s = rises(rng, 400, 0.3)
    found = []
    for far in (math.inf, -1.0):
        library = replace(the_worlds(), far=far)
        monkeypatch.setattr(fit, "the_worlds", lambda kind="plain", library=library: library)
        found.append(PUClassifier(learners="linear", random_state=0).fit(X, s))
    near, strange = found
    kinds = [{doubt.kind for doubt in each.doubts_} for each in found]
    assert [("unlike_worlds" in each) for each in kinds] == [False, True]
    assert [each.diagnosis_.strange for each in found] == [False, True]
    widths = [np.subtract(*each.diagnosis_.range()[::-1]) for each in (near, strange)]
    assert widths[0] < widths[1]


def test_of_many_rows_all_labels_count_and_every_kth_other_row_for_k(rng, monkeypatch):
    t, s, weights = rng.normal(size=20_000), rng.random(20_000) < 0.1, rng.random(20_000) + 0.5
    thin = fit._thin(7, t, s, weights)
    assert int(thin[1].sum()) == int(s.sum())
    assert len(thin[0]) == s.sum() + math.ceil((~s).sum() / 7)
    assert thin[2].sum() == pytest.approx(weights.sum(), rel=0.02)
    data = make_double_logistic(6000, 4, random_state=0)
    whole, found = (
        [monkeypatch.setattr(fit, "_MOST_ROWS", most), ends(data.X, data.labelled)][1] for most in (10**9, 2000)
    )
    np.testing.assert_allclose(found, whole, atol=0.1)


def test_gathered_rows_are_all_of_them_where_there_are_few(rng):
    t, s, weights = rng.normal(size=300), rng.random(300) < 0.2, rng.random(300)
    sample = Sample(as_design(t[:, np.newaxis]), s, weights, None)
    for one, other in zip(fit._gather(sample, t), (t, s, weights), strict=True):
        assert np.sort(one).tolist() == np.sort(other.astype(float)).tolist()
