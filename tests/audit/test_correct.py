"""Correcting chances by verdicts."""

import numpy as np
import pytest
from scipy.special import expit, logit

from propense._maths.hidden_curve import HiddenCurve
from propense.audit import Audit, draw, fit_curve, read


def audited(chances, positive, size, seed=0, labelled=None):
    labelled = np.zeros(len(chances), dtype=bool) if labelled is None else labelled
    drawn = draw(chances, size, labelled=labelled, random_state=seed)
    return read(Audit(drawn, positive[drawn.rows].astype(float)), chances, labelled=labelled)


def corrected(found, chances):
    scores = logit(chances)
    return expit(scores + fit_curve(found, scores, scores).of(scores))


def test_a_curve_goes_through_its_knots_and_is_constant_beyond():
    curve = HiddenCurve(np.array([-1.0, 0.5, 2.0]), np.array([3.0, 1.0, 4.0]), np.diag([1.0, 4.0, 9.0]))
    at = np.array([-5.0, -1.0, 0.5, 1.25, 2.0, 7.0])
    np.testing.assert_allclose(curve.of(at), np.interp(at, curve.knots, curve.values))
    # Halfway between two independent values, the variance is a quarter of each.
    np.testing.assert_allclose(curve.spread(at), np.sqrt([1, 1, 4, (4 + 9) / 4, 9, 9]))


def test_corrected_chances_add_up_to_the_estimate():
    rng = np.random.default_rng(0)
    chances = np.clip(rng.random(3000) ** 2, 0.01, 0.99)
    labelled = rng.random(3000) < 0.2
    found = audited(chances, rng.random(3000) < chances**2, 150, labelled=labelled)
    assert corrected(found, chances)[~labelled].mean() == pytest.approx(found.hidden.estimate)


@pytest.mark.parametrize(("level", "slope"), [(-2.0, 1.0), (0.0, 0.4), (1.0, 2.0), (-1.0, -0.5)])
def test_many_verdicts_lead_to_the_true_chances(level, slope):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=20_000)
    true = expit(level + slope * scores)
    found = audited(expit(scores), rng.random(20_000) < true, 5000)
    assert np.abs(corrected(found, expit(scores)) - true).mean() < 0.015


def test_a_model_that_is_right_is_left_nearly_as_it_was():
    rng = np.random.default_rng(2)
    chances = expit(rng.normal(size=5000) * 1.5 - 1)
    moved = [
        np.abs(corrected(audited(chances, rng.random(5000) < chances, 100, seed), chances) - chances).mean()
        for seed in range(20)
    ]
    assert np.mean(moved) < 0.05


@pytest.mark.slow
def test_the_spread_is_that_of_repeated_audits():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=6000)
    positive, at = rng.random(6000) < expit(scores - 1), np.array([-1.0, 0.0, 1.0, 2.0])
    curves = [fit_curve(audited(expit(scores), positive, 300, seed), scores, scores) for seed in range(40)]
    found, said = (
        np.std([each.of(at) for each in curves], axis=0),
        np.mean([each.spread(at) for each in curves], axis=0),
    )
    # A penalty makes the curve vary less than its covariance says; the level is fixed by another estimate.
    assert (found < 1.15 * said).all()
    assert (said < 2 * found).all()


@pytest.mark.parametrize("verdict", [False, True])
def test_verdicts_that_are_all_alike_leave_chances_between_0_and_1(verdict):
    chances = np.linspace(0.99, 0.01, 1000)
    found = audited(chances, np.full(1000, verdict), 50)
    mean = corrected(found, chances).mean()
    assert abs(mean - verdict) == pytest.approx(0.5 / 51, rel=1e-6)


def test_a_score_of_one_value_moves_the_level_alone():
    found = audited(np.full(500, 0.3), np.arange(500) % 10 == 0, 200)
    np.testing.assert_allclose(corrected(found, np.full(500, 0.3)), found.hidden.estimate)
