"""The risk of several sources: finite differences, brute force, and the pair of one source."""

import numpy as np
import pytest
import scipy.sparse as sp

from propense._designs import as_design
from propense._risks import PairRisk, SourcesRisk

RATIOS = [0.0, 0.7]


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(40, 3))
    labels = (rng.random((40, 3)) < 0.3).astype(float)
    labels[rng.random((40, 3)) < 0.2] = np.nan
    return X, labels, rng.random(40) + 0.5


def make(rows, ratio=0.0, storage=np.asarray):
    X, labels, weights = rows
    return SourcesRisk(
        as_design(storage(X)),
        labels,
        columns=[None, np.array([1]), np.array([], dtype=int)],
        class_columns=np.array([0, 2]),
        weights=weights,
        ridge=np.array([0.5, 1.0, 2.0]),
        log_odds_ratio=ratio,
    )


def by_differences(function, at, step=1e-5):
    shifts = step * np.eye(len(at))
    return np.array([(function(at + shift) - function(at - shift)) / (2 * step) for shift in shifts])


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("ratio", RATIOS)
def test_gradient_and_hessian_are_finite_differences(rows, rng, ratio, storage):
    risk = make(rows, ratio, storage)
    theta = rng.normal(size=3 + 4 + 2 + 1)
    _, gradient = risk.value_gradient(theta)
    np.testing.assert_allclose(gradient, by_differences(lambda at: risk.value_gradient(at)[0], theta), atol=1e-5)
    hessian = by_differences(lambda at: risk.value_gradient(at)[1], theta)
    np.testing.assert_allclose(risk.hessian(theta), hessian, atol=1e-5)
    direction = rng.normal(size=len(theta))
    np.testing.assert_allclose(risk.curvature(theta)(direction), risk.hessian(theta) @ direction, atol=1e-10)


def test_the_value_is_the_likelihood_of_an_occupancy_model(rows, rng):
    X, labels, weights = rows
    risk = make(rows)
    theta = rng.normal(size=10)
    beta, *gammas = risk.split(theta)
    total = 0.0
    for x, s, w in zip(X, labels, weights, strict=True):
        x = np.append(1.0, x)
        occupied = 1 / (1 + np.exp(-beta @ x))
        history = 1.0
        for gamma, label in zip(gammas, s, strict=True):
            detected = 1 / (1 + np.exp(-gamma @ x))
            history *= 1.0 if np.isnan(label) else detected if label else 1 - detected
        never = not (s == 1).any()
        total -= w * np.log(occupied * history + (1 - occupied) * never)
    ridge = np.array([0, 0.5, 1.0, 2.0])
    penalty = 0.5 * sum((ridge * coef**2).sum() for coef in (beta, *gammas))
    assert risk.value_gradient(theta)[0] == pytest.approx(total + penalty)


def test_one_source_is_the_pair_of_y_and_e(rows, rng):
    X, labels, weights = rows
    labelled = labels[:, 0] == 1
    settings = {"class_columns": np.array([0, 1]), "weights": weights}
    columns, ridge = np.array([1, 2]), np.array([1.0, 2.0, 0.5])
    one = SourcesRisk(as_design(X), labelled[:, None] * 1.0, columns=[columns], ridge=ridge, **settings)
    pair = PairRisk(as_design(X), labelled, columns=columns, ridge=ridge[:2], propensity_ridge=ridge[1:], **settings)
    theta = rng.normal(size=6)
    for mine, theirs in zip(one.value_gradient(theta), pair.value_gradient(theta), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    np.testing.assert_allclose(one.hessian(theta), pair.hessian(theta), atol=1e-12)
    np.testing.assert_allclose(one.units, pair.units, rtol=1e-12)


def test_the_score_of_dependence_is_the_slope_of_the_risk_in_the_odds_ratio(rows, rng):
    X, labels, weights = rows
    two = (X, labels[:, :2], weights)

    def risk(ratio):
        columns = [None, np.array([1])]
        return SourcesRisk(as_design(two[0]), two[1], columns=columns, weights=weights, log_odds_ratio=ratio)

    theta, step = rng.normal(size=10), 1e-5
    score, slope = risk(0.0).dependence(theta, 0, 1)
    rise = risk(step).value_gradient(theta)[0] - risk(-step).value_gradient(theta)[0]
    assert weights @ score == pytest.approx(-rise / (2 * step), rel=1e-5)
    expected = by_differences(lambda at: weights @ risk(0.0).dependence(at, 0, 1)[0], theta)
    np.testing.assert_allclose(slope, expected, atol=1e-6)


def test_scores_along_a_direction_add_up_to_the_gradient(rows, rng):
    X, labels, weights = rows
    risk = SourcesRisk(as_design(X), labels, columns=[None] * 3, weights=weights)
    theta, direction = rng.normal(size=(2, 16))
    assert weights @ risk.scores_along(theta, direction) == pytest.approx(risk.value_gradient(theta)[1] @ direction)
