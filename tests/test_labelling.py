import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import cauchy

from propense.errors import InvalidInput, InvalidOption
from propense.labelling import MECHANISMS, LabellingMechanism, draw_labels


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
    [([1.0, np.nan], [True, False], "finite"), ([1.0, 2.0], [False, False], "nobody"), ([1.0], [True, True], "shape")],
)
def test_scores_that_cannot_be_used_are_refused(score, positive, words):
    with pytest.raises(InvalidInput, match=words):
        MECHANISMS["S2"].propensity(score, positive, 0.5)
