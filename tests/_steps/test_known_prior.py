"""A known share of positives: how far y moves to meet it, and that the chance of a label stays."""

import math

import numpy as np
import pytest
from scipy.special import log_expit

from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._maths.double_logistic import shift_class
from propense._steps.known_prior import ShiftedPredictor, shift_to, unmoved
from propense._steps.predictors import LogisticPredictor

T = np.linspace(-8.0, 8.0, 801)


def make(rng, n):
    """Scores, which rows are positive, and which labelled."""
    positive = rng.random(n) < 0.3
    t = np.where(positive, 1.4, -0.6) + 0.75 * rng.normal(size=n)
    return t, positive, positive & (rng.random(n) < 0.4)


@pytest.mark.parametrize("prior", [0.15, 0.3, 0.7, 0.999])
@pytest.mark.parametrize("known", [False, True])
def test_a_shift_meets_the_prior_and_leaves_the_labels_alone(rng, prior, known):
    t, positive, s = make(rng, 800)
    weights = rng.random(800) + 0.1
    negative = ~positive & (rng.random(800) < 0.2) if known else None
    sample = Sample(as_design(t[:, np.newaxis]), s, weights, None, negative=negative)
    a, b = 1.5 * t, 0.3 * t - 0.2
    log_unknown = math.log(0.8) if known else 0.0
    reached = min(prior, 1.0 if negative is None else 1.0 - sample.mean(negative))
    shift = shift_to(prior, sample, a, b, log_unknown)
    moved = shift_class(a, b, shift)
    assert sample.share_positive(*moved, log_unknown) == pytest.approx(reached, abs=1e-8)
    np.testing.assert_allclose(log_expit(moved[0]) + log_expit(moved[1]), log_expit(a) + log_expit(b), atol=1e-9)
    assert (np.diff(moved[0][np.argsort(t)]) >= 0).all()
    assert shift_to(sample.share_positive(a, b, log_unknown), sample, a, b, log_unknown) == pytest.approx(0.0, abs=1e-8)


def test_predictors_that_are_shifted_move_y_and_leave_the_chance_of_a_label():
    design = as_design(T[:, np.newaxis])
    pair = LogisticPredictor(np.array([-0.5, 1.5])), LogisticPredictor(np.array([0.3, -0.4]))
    once = [ShiftedPredictor(*pair, 0.7, of_class) for of_class in (True, False)]
    twice = [ShiftedPredictor(*once, -0.2, of_class) for of_class in (True, False)]
    plain = [each.log_odds(design) for each in pair]
    for moved, way in ((once, 0.7), (twice, 0.5)):
        a, b = (each.log_odds(design) for each in moved)
        np.testing.assert_allclose(log_expit(a) + log_expit(b), log_expit(plain[0]) + log_expit(plain[1]), atol=1e-9)
        assert (a >= plain[0] + way - 1e-9).all()
        assert (b < plain[1]).all()
        assert unmoved(*moved) == pair


def test_fewer_positives_than_labels_cannot_be_met(rng):
    t, _, s = make(rng, 200)
    sample = Sample(as_design(t[:, np.newaxis]), s, None, None)
    moved = shift_class(t, t, shift_to(0.5 * s.mean(), sample, t, t))
    assert sample.share_positive(*moved) == pytest.approx(s.mean(), rel=1e-9)
