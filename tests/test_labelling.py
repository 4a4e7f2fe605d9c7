import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import expit
from scipy.stats import cauchy
from sklearn.linear_model import LogisticRegression

from propense.errors import InvalidFeatures, InvalidInput, InvalidLabels, InvalidOption
from propense.labelling import MECHANISMS, LabellingMechanism, class_score, draw_labels, simulate


@pytest.fixture
def scores(rng):
    return 3 * rng.normal(size=500) - 1, rng.random(500) < 0.4


@pytest.mark.parametrize("frequency", [0.01, 0.1, 0.3, 0.5, 0.7, 0.99])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_frequency_is_met(scores, mechanism, frequency):
    score, positive = scores
    e = MECHANISMS[mechanism].propensity(score, positive, frequency)
    assert e[positive].mean() == pytest.approx(frequency, abs=1e-10)
    assert ((e > 0) & (e <= 1)).all()


SHAPES = {
    "S1": lambda t: np.full_like(t, 0.3),
    "S2": expit,
    "S3": cauchy.cdf,
    "S4": lambda t: expit(t) ** 10,
}


@pytest.mark.parametrize("mechanism", SHAPES)
def test_propensities_are_the_papers_functions_of_a_shifted_score(scores, mechanism):
    score, positive = scores
    e = MECHANISMS[mechanism].propensity(score, positive, 0.3)
    inverse = {"S1": lambda _: score, "S2": lambda e: np.log(e / (1 - e)), "S3": cauchy.ppf}
    inverse["S4"] = lambda e: np.log(e**0.1 / (1 - e**0.1))
    shift = (inverse[mechanism](e) - score)[np.abs(score) < 3]
    np.testing.assert_allclose(shift, shift[0], atol=1e-6)
    np.testing.assert_allclose(e, SHAPES[mechanism](score + shift[0]), rtol=1e-6)


def test_extreme_scores_still_meet_the_frequency(rng):
    score = 1e4 * rng.normal(size=200)
    e = MECHANISMS["S4"].propensity(score, np.ones(200, bool), 0.5)
    assert e.mean() == pytest.approx(0.5, abs=1e-2)


def test_a_falling_mechanism_can_be_written(scores):
    score, positive = scores
    e = LabellingMechanism(expit, slope=-1.0).propensity(score, positive, 0.4)
    assert np.corrcoef(score, e)[0, 1] < 0
    assert e[positive].mean() == pytest.approx(0.4, abs=1e-10)


def test_only_positives_are_labelled_at_their_own_rate(rng):
    e = np.repeat([0.2, 0.8], 20_000)
    positive = np.tile([True, False], 20_000)
    labelled = draw_labels(e, positive, rng)
    assert not labelled[~positive].any()
    rates = labelled[positive].reshape(2, -1).mean(axis=1)
    np.testing.assert_allclose(rates, [0.2, 0.8], atol=0.02)


@pytest.mark.parametrize("frequency", [0.0, 1.0, -0.2, 30])
def test_an_impossible_frequency_is_refused(scores, frequency):
    with pytest.raises(InvalidOption, match="frequency"):
        MECHANISMS["S2"].propensity(*scores, frequency)


@pytest.mark.parametrize(
    ("score", "positive", "words"),
    [([1.0, np.nan], [True, False], "finite"), ([1.0, 2.0], [False, False], "no row"), ([1.0], [True, True], "shape")],
)
def test_scores_that_cannot_be_used_are_refused(score, positive, words):
    with pytest.raises(InvalidInput, match=words):
        MECHANISMS["S2"].propensity(score, positive, 0.5)


@pytest.fixture
def truth(rng):
    X = rng.normal(size=(2000, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 0]
    return X, rng.random(2000) < expit(2 * X[:, 0] - 0.5)


def test_the_class_score_is_scikit_learns_decision_function(truth):
    X, y = truth
    regression = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(class_score(X, y), regression.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("frequency", [0.1, 0.5, 0.9])
def test_simulated_labels_meet_the_frequency_and_their_own_propensities(truth, mechanism, frequency):
    X, y = truth
    drawn = simulate(X, y, mechanism, frequency, rng=0)
    assert drawn.propensity[y].mean() == pytest.approx(frequency, abs=1e-10)
    assert not drawn.labelled[~y].any()
    high = drawn.propensity > np.median(drawn.propensity[y])
    for some in (y & high, y & ~high):
        if some.any():
            assert drawn.labelled[some].mean() == pytest.approx(drawn.propensity[some].mean(), abs=0.06)


def test_what_each_mechanism_follows(truth):
    X, y = truth
    score = class_score(X, y)

    def rank_correlation(one, other):
        return np.corrcoef(np.argsort(np.argsort(one)), np.argsort(np.argsort(other)))[0, 1]

    for name in ("S2", "S3", "S4"):
        assert rank_correlation(simulate(X, y, name, 0.3, rng=0).propensity, score) == pytest.approx(1.0)
    assert rank_correlation(simulate(X, y, "falling", 0.3, rng=0).propensity, score) == pytest.approx(-1.0)
    assert np.ptp(simulate(X, y, "S1", 0.3, rng=0).propensity) == 0
    feature = simulate(X, y, "feature", 0.3, rng=0).propensity
    assert max(rank_correlation(feature, column) for column in X.T) == pytest.approx(1.0)
    direction = simulate(X, y, "direction", 0.3, rng=0).propensity
    assert max(abs(rank_correlation(direction, column)) for column in X.T) < 0.999
    # Linear in the features, each in its own unit.
    log_odds = np.log(direction / (1 - direction))
    residual = (
        log_odds
        - np.column_stack([np.ones(2000), X])
        @ np.linalg.lstsq(np.column_stack([np.ones(2000), X]), log_odds, rcond=None)[0]
    )
    assert np.abs(residual).max() < 1e-8
    assert log_odds.std() == pytest.approx(2.0)


def test_a_column_may_be_chosen(truth):
    X, y = truth
    drawn = simulate(X, y, LabellingMechanism(expit, follows=2), 0.3, rng=0)
    order = np.argsort(X[:, 2])
    assert np.diff(drawn.propensity[order]).min() >= 0
    with pytest.raises(InvalidOption, match="follows=7"):
        simulate(X, y, LabellingMechanism(expit, follows=7), 0.3)


def test_seeds_decide_features_directions_and_labels(truth):
    X, y = truth
    for name in ("S2", "feature", "direction"):
        one, same, other = (simulate(X, y, name, 0.3, rng=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one.labelled, same.labelled)
        assert (one.labelled != other.labelled).any()
    assert len({int(simulate(X, y, "feature", 0.3, rng=seed).propensity[0] * 1e9) for seed in range(20)}) == 4


@pytest.mark.parametrize("name", MECHANISMS)
def test_storage_does_not_matter(truth, name):
    X, y = truth
    dense = simulate(X, y, name, 0.3, rng=0)
    for stored in (sp.csr_array(X), pd.DataFrame(X)):
        np.testing.assert_allclose(simulate(stored, y.astype(int), name, 0.3, rng=0).propensity, dense.propensity)


def test_a_function_of_the_score_is_a_mechanism(truth):
    X, y = truth

    def bump(score):
        return np.exp(-((score - 1.0) ** 2))

    plain = simulate(X, y, bump, None, rng=0)
    np.testing.assert_array_equal(plain.propensity, bump(class_score(X, y)))
    moved = simulate(X, y, bump, 0.2, rng=0)
    assert moved.propensity[y].mean() == pytest.approx(0.2, abs=1e-10)
    shift = np.log(moved.propensity / (1 - moved.propensity)) - np.log(plain.propensity / (1 - plain.propensity))
    inside = (plain.propensity > 1e-6) & (plain.propensity < 1 - 1e-6)
    np.testing.assert_allclose(shift[inside], shift[inside][0], atol=1e-6)


WRONG = [
    ({"mechanism": "S5"}, InvalidOption, "must be one of 'S1'"),
    ({"mechanism": 5}, InvalidOption, "must be a name"),
    ({"frequency": None}, InvalidOption, "needs a label frequency"),
    ({"frequency": 1.0}, InvalidOption, "above 0 and below 1"),
    ({"frequency": "0.5"}, InvalidOption, "above 0 and below 1"),
    ({"mechanism": LabellingMechanism(lambda t: 0.4 * expit(t))}, InvalidInput, "its cdf must rise from 0 to 1"),
    ({"mechanism": LabellingMechanism(lambda t: expit(-t))}, InvalidInput, "its cdf must rise from 0 to 1"),
    ({"mechanism": lambda score: 0.5 * (score > 1e9)}, InvalidInput, "No shift of the mechanism's propensities"),
    ({"mechanism": lambda score: 0.5 * (score > np.quantile(score, 0.9))}, InvalidInput, "No shift of the mechanism"),
    ({"mechanism": lambda score: score}, InvalidInput, "between 0 and 1"),
    ({"mechanism": lambda score: np.zeros_like(score)}, InvalidInput, "No shift"),
    ({"mechanism": lambda score: np.ones_like(score)}, InvalidInput, "No shift"),
    ({"y": np.full(2000, "ill")}, InvalidLabels, "with y == 'ill'"),
    ({"y": np.ones(2000)}, InvalidLabels, "only one class"),
    ({"y": np.ones(3)}, InvalidLabels, "inconsistent"),
    ({"X": np.full((2000, 2), np.nan)}, InvalidFeatures, "NaN"),
    ({"X": np.ones((2000, 2)), "mechanism": "feature"}, InvalidFeatures, "Every column of X is constant"),
]


@pytest.mark.parametrize(("changed", "error", "words"), WRONG)
def test_what_cannot_be_simulated_is_named(truth, changed, error, words):
    X, y = truth
    with pytest.raises(error, match=words):
        simulate(**{"X": X, "y": y, "mechanism": "S2", "frequency": 0.5, "rng": 0, **changed})
