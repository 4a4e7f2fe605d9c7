"""The readings of a label score: bells that are known, and what holds of y, e and s wherever they come from."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from scipy.stats import norm

from propense._designs import as_design
from propense._diagnostics.diagnosis import WIDER
from propense._inputs.sample import Sample
from propense._maths.double_logistic import shift_class
from propense._solvers import newton
from propense._steps.known_prior import ShiftedPredictor, shift_to
from propense._steps.pair_curve import PairSettings, climb_share
from propense._steps.predictors import LogisticPredictor
from propense._steps.readings import (
    Bells,
    ScorePredictor,
    Split,
    _thin,
    fit_bells,
    fit_split,
    outermost,
    share_range,
)

SETTINGS = PairSettings(1.0, 1.0, lambda risk, start: newton(risk, start, tol=1e-8, max_iter=100), 100)
T = np.linspace(-8.0, 8.0, 801)
BELLS = {
    "wide positives": Bells(0.3, (1.5, -0.6), (1.4, 0.7)),
    "narrow positives": Bells(0.6, (1.0, -1.0), (0.5, 1.2)),
    "alike": Bells(0.2, (2.0, 0.0), (0.8, 0.8)),
    "one on the other": Bells(0.4, (0.0, 0.0), (1.0, 1.0)),
}
SPLITS = {
    "both": Split(-0.5, 1.5, 0.7, 0.3, BELLS["wide positives"]),
    "climb": Split(-0.5, 1.5, 0.9, 0.5, None),
    "bells": Split(0.3, 2.0, 0.6, None, BELLS["narrow positives"]),
    "flat": Split(-1.0, 0.0, 0.5, 0.1, BELLS["one on the other"]),
    "high": Split(2.0, 3.0, 1.0 - 1e-9, 0.66, BELLS["alike"]),
    "bells below the labels": Split(2.0, 1.0, 0.99, None, Bells(1e-6, (1.0, -1.0), (0.5, 0.5))),
}


def scored(t, s, weights=None, negative=None):
    return Sample(as_design(t[:, np.newaxis]), s, weights, None, negative=negative)


def mixture(rng, n, prior=0.3, e=0.4, centres=(1.4, -0.6), widths=(0.7, 0.8)):
    positive = rng.random(n) < prior
    t = np.where(positive, rng.normal(centres[0], widths[0], n), rng.normal(centres[1], widths[1], n))
    return t, positive, positive & (rng.random(n) < e)


def test_bells_that_made_the_scores_are_found(rng, monkeypatch):
    monkeypatch.setattr("propense._steps.readings._MOST_ROWS", 10**9)
    t, positive, s = mixture(rng, 40_000)
    found = fit_bells(scored(t, s), t)
    assert found.prior == pytest.approx(positive.mean(), abs=0.01)
    np.testing.assert_allclose(found.centres, (1.4, -0.6), atol=0.03)
    np.testing.assert_allclose(found.widths, (0.7, 0.8), atol=0.03)


def test_bells_are_the_most_likely_ones_with_penalties_on_widths_and_on_e(rng):
    """50 rows of half the variance for each width, and e = σ(g₀ + g₁t) with ½(g₀² + 3√n·g₁²)."""
    t, _, s = mixture(rng, 500)
    weights = rng.random(500) + 0.5
    total = weights.sum()
    spread = np.average((t - np.average(t, weights=weights)) ** 2, weights=weights)

    def loss(theta):
        prior, widths, e = expit(theta[0]), np.exp(theta[3:5]), expit(theta[5] + theta[6] * t)
        high, low = (norm.pdf(t, *each) for each in zip(theta[1:3], widths, strict=True))
        chance = np.where(s, prior * high * e, prior * high * (1 - e) + (1 - prior) * low)
        penalty = 25.0 * (2 * theta[3:5] + 0.5 * spread / widths**2).sum()
        return penalty - weights @ np.log(chance) + 0.5 * (theta[5] ** 2 + 3 * math.sqrt(total) * theta[6] ** 2)

    found = fit_bells(scored(t, s, weights), t)
    ours = np.array([logit(found.prior), *found.centres, *np.log(found.widths)])
    best = minimize(loss, [*ours, 0.0, 0.0], method="BFGS", options={"gtol": 1e-4}).x
    np.testing.assert_allclose(ours, best[:5], atol=1e-3)


@pytest.mark.parametrize("name", BELLS)
def test_bells_are_bayes_rule_where_it_rises_and_never_fall(name):
    bells = BELLS[name]
    found = bells.log_odds(T)
    assert (np.diff(found) >= -1e-12).all()
    likelihoods = [norm.logpdf(T, *each) for each in zip(bells.centres, bells.widths, strict=True)]
    bayes = logit(bells.prior) + likelihoods[0] - likelihoods[1]
    rising = (bells.centres[1] < T) & (bells.centres[0] > T)
    np.testing.assert_allclose(found[rising], bayes[rising], atol=1e-9)


def test_a_weight_is_that_many_scores(rng):
    t, _, s = mixture(rng, 400)
    copies = rng.integers(1, 4, size=400)
    repeat = np.repeat(np.arange(400), copies)
    weighted = fit_bells(scored(t, s, copies.astype(float)), t)
    repeated = fit_bells(scored(t[repeat], s[repeat]), t[repeat])
    np.testing.assert_allclose(weighted.log_odds(T), repeated.log_odds(T), atol=1e-6)


def test_of_many_rows_all_known_classes_count_and_every_kth_other_row_for_k(rng, monkeypatch):
    t, positive, s = mixture(rng, 20_000)
    weights, negative = rng.random(20_000) + 0.5, ~positive & (rng.random(20_000) < 0.1)
    thin = _thin(7, t, s, negative, weights)
    assert (int(thin[1].sum()), int(thin[2].sum())) == (int(s.sum()), int(negative.sum()))
    assert len(thin[0]) == s.sum() + negative.sum() + math.ceil((~s & ~negative).sum() / 7)
    assert thin[3].sum() == pytest.approx(weights.sum(), rel=0.02)
    whole, fewer = [], []
    for most, found in ((10**9, whole), (2500, fewer)):
        monkeypatch.setattr("propense._steps.readings._MOST_ROWS", most)
        bells = fit_bells(scored(t, s, weights, negative), t)
        found += [bells.prior, *bells.centres, *bells.widths]
    np.testing.assert_allclose(fewer, whole, atol=0.05)


@pytest.mark.slow
def test_known_negatives_help_the_bells(rng):
    """Bells that overlap, and few labels: they are found better if some negatives are known."""
    errors = {"none": [], "some": []}
    for _ in range(4):
        t, positive, s = mixture(rng, 1500, e=0.2, centres=(0.7, -0.3), widths=(0.9, 0.9))
        negative = ~positive & (rng.random(1500) < 0.5)
        for name, known in (("none", None), ("some", negative)):
            errors[name].append(abs(fit_bells(scored(t, s, negative=known), t).prior - positive.mean()))
    assert np.mean(errors["some"]) < 0.8 * np.mean(errors["none"])


@pytest.mark.parametrize("constant", [0.0, 3.0])
def test_scores_that_say_nothing_give_bells_all_the_same(constant):
    s = np.arange(40) < 10
    found = fit_bells(scored(np.full(40, constant), s), np.full(40, constant))
    assert 0.25 < found.prior < 1.0
    assert np.isfinite(found.log_odds(T)).all()


def test_labels_on_low_scores_are_no_reading(rng):
    t, _, s = mixture(rng, 500)
    found = fit_bells(scored(-t, s), -t)
    assert found.centres[0] == found.centres[1]
    assert np.ptp(found.log_odds(T)) == 0.0


@pytest.mark.parametrize("name", SPLITS)
def test_a_split_multiplies_to_the_chance_of_a_label(name):
    split = SPLITS[name]
    a, b = split.posterior(T), split.propensity(T)
    log_s = math.log(split.height) + log_expit(split.level + split.slope * T)
    np.testing.assert_allclose(log_expit(a) + log_expit(b), log_s, rtol=1e-9, atol=1e-12)
    assert (expit(a) >= np.exp(log_s) * (1 - 1e-12)).all()
    assert (expit(b) <= 1.0).all()
    assert not np.isnan(np.stack([a, b])).any()


def test_a_predictor_of_y_is_the_posterior_along_the_score_and_one_of_e_the_propensity():
    class Column:
        def of(self, design):
            return design.features[:, 0]

    design, split = as_design(T[:, np.newaxis]), SPLITS["both"]
    y, e = (ScorePredictor(Column(), split, of_class).log_odds(design) for of_class in (True, False))
    np.testing.assert_array_equal(y, split.posterior(T))
    np.testing.assert_array_equal(e, split.propensity(T))


@pytest.mark.parametrize("name", ["both", "climb", "flat", "high"])
def test_the_range_of_h_holds_every_reading_and_as_much_again_on_both_sides(name):
    split = SPLITS[name]
    pairs = split.pairs(T)
    low, high = outermost(pairs)
    hidden = []
    for each in (*split.readings.values(), split):
        a, b = each.posterior(T), each.propensity(T)
        hidden.append(a - np.logaddexp(0.0, b))
    np.testing.assert_allclose(low, np.min(hidden, axis=0) - WIDER, rtol=1e-9)
    np.testing.assert_allclose(high, np.max(hidden, axis=0) + WIDER, rtol=1e-9)
    moves = tuple(0.1 * k for k in range(len(pairs)))
    for pair, move, found in zip(pairs, moves, split.pairs(T, moves), strict=True):
        np.testing.assert_array_equal(found, shift_class(*pair, move))


def test_the_range_of_the_share_is_that_of_the_outermost_reading(rng):
    t, _, s = mixture(rng, 300)
    sample, split = scored(t, s), SPLITS["both"]
    pairs = split.pairs(t)
    low, high = share_range(sample, pairs, [0.0] * len(pairs))
    ends = [
        [np.where(s, 1.0, expit(a - np.logaddexp(0.0, b) + way)).mean() for a, b in pairs] for way in (-WIDER, WIDER)
    ]
    assert (low, high) == pytest.approx((min(ends[0]), max(ends[1])), rel=1e-9)


def test_y_is_the_mean_of_its_readings():
    split = SPLITS["both"]
    readings = split.readings
    assert list(readings) == ["constant", "climb", "bells"]
    y, climb, bells = (expit(each.posterior(T)) for each in (split, readings["climb"], readings["bells"]))
    s = np.exp(split.label_log_chance(T))
    # Where a reading alone would be below s, it is lifted to s; the mean is not.
    alone = expit(split.level + split.slope * T) ** 0.7
    np.testing.assert_allclose(climb, np.maximum(alone, s), rtol=1e-9)
    np.testing.assert_allclose(y, np.maximum((alone + expit(split.bells.log_odds(T))) / 2, s), rtol=1e-9)
    np.testing.assert_allclose(bells, np.maximum(expit(split.bells.log_odds(T)), s), rtol=1e-9)
    # e is the height, everywhere.
    np.testing.assert_allclose(expit(readings["constant"].propensity(T)), split.height, rtol=1e-9)
    assert list(replace(split, bells=None).readings) == ["constant", "climb"]


@pytest.mark.parametrize("share", [None, 0.0, 0.4])
def test_a_given_share_is_the_climb_alone(rng, share):
    t, _, s = mixture(rng, 3000)
    split, curve = fit_split(scored(t, s), t, SETTINGS, share)
    assert split.share == (climb_share(curve.height) if share is None else share)
    assert (split.bells is None) == (share is not None)
    assert split.slope > 0
    # The labels that the curve expects are those there are, in all and on the upper half.
    chance = np.exp(split.label_log_chance(t))
    for rows in (np.ones(3000, dtype=bool), t > np.median(t)):
        assert chance[rows].mean() == pytest.approx(s[rows].mean(), abs=0.02)


@pytest.mark.parametrize("share", [None, 0.4])
def test_a_curve_that_falls_along_the_score_is_no_curve(rng, share):
    t, _, s = mixture(rng, 500)
    split, _ = fit_split(scored(-t, s), -t, SETTINGS, share)
    assert split.slope == 0.0
    np.testing.assert_allclose(np.exp(split.label_log_chance(T)), s.mean(), rtol=1e-9)
    assert np.ptp(split.posterior(T)) == 0.0


def test_a_split_along_a_score_does_not_depend_on_the_columns_the_score_is_made_of(rng):
    t, _, s = mixture(rng, 400)
    wide = Sample(
        as_design(rng.normal(size=(400, 3))),
        s,
        None,
        None,
        class_columns=np.array([1, 2]),
        propensity_columns=np.array([0]),
        levels=np.array([0, 2, 0]),
    )
    one, other = (fit_split(each, t, SETTINGS, None)[0] for each in (wide, scored(t, s)))
    assert one == other


@pytest.mark.parametrize("prior", [0.15, 0.3, 0.7, 0.999])
@pytest.mark.parametrize("known", [False, True])
def test_a_shift_meets_the_prior_and_leaves_the_labels_alone(rng, prior, known):
    t, positive, s = mixture(rng, 800)
    weights = rng.random(800) + 0.1
    negative = ~positive & (rng.random(800) < 0.2) if known else None
    sample = scored(t, s, weights, negative)
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
    a, b = (ShiftedPredictor(*pair, 0.7, of_class).log_odds(design) for of_class in (True, False))
    plain = [each.log_odds(design) for each in pair]
    np.testing.assert_allclose(log_expit(a) + log_expit(b), log_expit(plain[0]) + log_expit(plain[1]), atol=1e-9)
    assert (a > plain[0]).all()
    assert (b < plain[1]).all()


def test_fewer_positives_than_labels_cannot_be_met(rng):
    t, _, s = mixture(rng, 200)
    sample = scored(t, s)
    moved = shift_class(t, t, shift_to(0.5 * s.mean(), sample, t, t))
    assert sample.share_positive(*moved) == pytest.approx(s.mean(), rel=1e-9)
