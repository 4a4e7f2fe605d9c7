"""Curves along a label score: what they are built to be, whatever the worlds say."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_expit, logit

from propense.worlds.answer import Given, curves_of
from propense.worlds.curves import Bent, LabelCurve, fit_label_curve, shift_for
from propense.worlds.library import the_worlds
from propense.worlds.summary import summarise

T = np.linspace(-9.0, 9.0, 2001)


def labels(rng, n, height=0.5, slope=2.0, level=-1.0):
    """A score of mean 0 and spread 1, and labels along it."""
    t = rng.gamma(3.0, size=n)
    t = (t - t.mean()) / t.std()
    return t, (rng.random(n) < height * expit(level + slope * t)).astype(float)


GIVEN = {
    "nothing": Given(),
    "a range": Given(0.5, 0.6),
    "a point": Given(0.9, 0.9),
    "little": Given(0.0, 0.3),
    "labels at random": Given(at_random=True),
}
LABELS = {"rising": {}, "rare": {"height": 0.03}, "flat": {"slope": 0.0}, "most": {"height": 0.98, "level": 3.0}}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("name", LABELS)
def test_curves_are_one_model_of_the_middle_within_a_range(rng, name, given):
    t, s = labels(rng, 1500, **LABELS[name])
    weights = rng.random(1500) + 0.5
    summary = summarise(t, s, weights, 5)
    if GIVEN[given].high < summary.rate:
        pytest.skip("the labels exclude it")
    answer = the_worlds().like(summary.rate, summary.values, GIVEN[given])
    rest = s == 0.0
    curves = curves_of(answer, summary, t[rest], weights[rest])
    a, b = curves.pair(T)
    log_s = curves.label.log_chance(T)
    # y·e is s, y is not below it and rises with the score.
    np.testing.assert_allclose(expit(a) * expit(b), np.exp(log_s), rtol=0, atol=1e-12)
    assert (log_expit(a) >= log_s - 1e-12).all()
    assert (np.diff(a) >= -1e-9).all()
    np.testing.assert_allclose(expit(a), 1 - (1 - np.exp(log_s)) * expit(-curves.hidden.of(T)), atol=1e-12)
    # Labelled rows, and h of the others, add up to the middle.
    h = expit(curves.hidden.of(t[rest]))
    rate = np.average(s, weights=weights)
    assert rate + (1 - rate) * np.average(h, weights=weights[rest]) == pytest.approx(answer.middle, abs=1e-6)
    low, middle, high = (each.of(T) for each in (curves.low, curves.hidden, curves.high))
    assert (low <= middle + 1e-9).all()
    assert (middle <= high + 1e-9).all()


def test_a_bent_line_goes_through_its_points_and_on_at_both_ends():
    knots, values = np.array([-1.0, 0.5, 2.0, 2.5]), np.array([0.3, 0.2, 4.0, 4.0])
    line = Bent.through(knots, values, (2.0, -1.0))
    np.testing.assert_allclose(line.of(knots), values, atol=1e-12)
    np.testing.assert_allclose(line.of(np.array([-3.0, 4.5])), [0.3 - 4.0, 4.0 - 2.0], atol=1e-12)
    inside = np.linspace(-1.0, 2.5, 50)
    np.testing.assert_allclose(line.of(inside), np.interp(inside, knots, values), atol=1e-12)
    np.testing.assert_array_equal(Bent(1.0, 2.0).of(T), 1.0 + 2.0 * T)


@pytest.mark.parametrize("share", [0.0, 1e-6, 0.02, 0.5, 0.97, 1.0])
def test_a_shift_gives_the_log_odds_the_mean_that_is_asked_for(rng, share):
    u, weights = 5.0 * rng.normal(size=400), rng.random(400)
    shift = shift_for(share, u, weights)
    found = np.average(expit(u + shift), weights=weights)
    assert found == pytest.approx(share, abs=1e-8)
    if 0.0 < share < 1.0:
        root = brentq(lambda each: np.average(expit(u + each), weights=weights) - share, -60.0, 60.0, xtol=1e-13)
        assert shift == pytest.approx(root, abs=1e-6)


def loss(curve, t, s, weights):
    """−log of the chance of the labels."""
    log_s = np.minimum(curve.log_chance(t), -1e-9)
    return -float(weights @ np.where(s == 1.0, log_s, np.log(-np.expm1(log_s))))


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_label_curve_is_the_most_likely_one(rng, name, weighted):
    t, s = labels(rng, 1000, **LABELS[name])
    weights = rng.exponential(size=1000) if weighted else np.ones(1000)
    found = fit_label_curve(t, s, weights)
    ours = loss(found, t, s, weights)
    truth = {"height": 0.5, "slope": 2.0, "level": -1.0, **LABELS[name]}
    assert ours <= loss(LabelCurve(truth["level"], truth["slope"], truth["height"]), t, s, weights) + 1e-6

    assert ours <= loss(LabelCurve(0.0, 0.0, 2 * float(np.average(s, weights=weights))), t, s, weights) + 1e-6
    # No curve nearby is more likely, in any direction.
    for move in 1e-2 * rng.normal(size=(50, 3)):
        height = float(expit(min(logit(found.height) + move[2], 12.0)))
        near = LabelCurve(found.level + move[0], max(found.slope + move[1], 0.0), height)
        assert ours <= loss(near, t, s, weights) + 1e-3
    full = minimize(lambda v: loss(LabelCurve(*v, 1.0), t, s, weights), [0.0, 1.0], method="Nelder-Mead").fun
    assert found.gain == pytest.approx(max(full - ours, 0.0), abs=0.05)
    assert 0.0 < found.height <= 1.0
    assert found.slope >= 0.0
