import numpy as np
import pytest

from propense._maths.double_logistic import (
    class_given_label,
    class_log_odds_shift,
    cross_curvature,
    halfway_to_certain,
    hidden_log_odds,
    hidden_positive,
    joint_curvature,
    joint_loss,
    joint_slope,
    label_log_odds,
    replace_hidden,
)
from propense._maths.logistic import sigmoid

GRID = np.array([-800, -750, -300, -60, -37, -20, -3, -0.5, 0, 0.5, 3, 20, 36, 37, 38, 60, 300, 750, 800], dtype=float)
A, B = (grid.ravel() for grid in np.meshgrid(GRID, GRID))
A_EXTENDED, B_EXTENDED = A.astype(np.longdouble), B.astype(np.longdouble)
extended = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="needs 80-bit floats as the truth")


@extended
@pytest.mark.parametrize("labelled", [True, False])
def test_joint_loss_is_finite_and_exact_to_800(labelled):
    if labelled:
        truth = np.log1p(np.exp(-A_EXTENDED)) + np.log1p(np.exp(-B_EXTENDED))
    else:
        # −log(1 − σ(a)σ(b)) = log(1 + eᵃeᵇ/(1+eᵃ+eᵇ)): one logarithm of a sum of positive terms, no cancellation.
        truth = np.log1p(np.exp(A_EXTENDED + B_EXTENDED - np.log(1 + np.exp(A_EXTENDED) + np.exp(B_EXTENDED))))
    loss = joint_loss(A, B, np.full(A.shape, labelled))
    assert np.isfinite(loss).all()
    np.testing.assert_allclose(loss, truth.astype(float), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("labelled", [True, False])
def test_joint_loss_is_symmetric_in_its_two_factors(labelled):
    s = np.full(A.shape, labelled)
    np.testing.assert_allclose(joint_loss(A, B, s), joint_loss(B, A, s), rtol=1e-14, atol=1e-300)


@extended
def test_hidden_positive_is_the_bayes_rule():
    near = (np.abs(A) < 30) & (np.abs(B) < 30)
    y, e = 1 / (1 + np.exp(-A_EXTENDED[near])), 1 / (1 + np.exp(-B_EXTENDED[near]))
    np.testing.assert_allclose(hidden_positive(A, B)[near], (y * (1 - e) / (1 - y * e)).astype(float), rtol=1e-9)
    closed = 1 / (1 + np.exp(-A_EXTENDED) + np.exp(B_EXTENDED - A_EXTENDED))
    np.testing.assert_allclose(hidden_positive(A, B), closed.astype(float), rtol=1e-12, atol=1e-308)


def test_slope_and_curvature_are_the_derivatives_of_the_loss():
    a, b = (grid.ravel() for grid in np.meshgrid(np.linspace(-8, 8, 33), np.linspace(-8, 8, 17)))
    step = 1e-4
    for labelled in (True, False):
        s = np.full(a.shape, labelled)
        shift = class_log_odds_shift(b, s)
        slope = (joint_loss(a + step, b, s) - joint_loss(a - step, b, s)) / (2 * step)
        np.testing.assert_allclose(joint_slope(a, shift), slope, atol=1e-8)
        curvature = (joint_slope(a + step, shift) - joint_slope(a - step, shift)) / (2 * step)
        np.testing.assert_allclose(joint_curvature(a, shift), curvature, atol=1e-8)


@pytest.mark.filterwarnings("error")
def test_the_slope_is_y_less_the_chance_given_the_label_to_800():
    for shift in (B, np.full(B.shape, -np.inf), np.full(B.shape, np.inf)):
        np.testing.assert_array_equal(joint_slope(A, shift), sigmoid(A) - sigmoid(A - shift))


def test_curvature_never_exceeds_a_quarter():
    for labelled in (True, False):
        shift = class_log_odds_shift(B, np.full(B.shape, labelled))
        assert joint_curvature(A, shift).max() <= 0.25


def test_a_certain_propensity_leaves_no_hidden_positive():
    certain = np.full(GRID.shape, np.inf)
    np.testing.assert_array_equal(hidden_positive(GRID, certain), 0)
    np.testing.assert_array_equal(hidden_log_odds(GRID, certain), -np.inf)
    logistic = np.logaddexp(0, GRID)
    np.testing.assert_allclose(joint_loss(GRID, certain, np.zeros(GRID.shape, bool)), logistic, rtol=1e-15)


def test_halfway_to_certain_is_the_middle_of_s_and_one():
    z = np.linspace(-30, 30, 61)
    np.testing.assert_allclose(sigmoid(halfway_to_certain(z)), (1 + sigmoid(z)) / 2, rtol=1e-15)
    assert np.isfinite(halfway_to_certain(np.array([-800.0, 800.0]))).all()


def test_cross_curvature_is_the_slope_of_the_slope_in_the_other_factor(rng):
    a, b, step = rng.normal(size=200), rng.normal(size=200), 1e-5
    for labelled in (np.ones(200, dtype=bool), np.zeros(200, dtype=bool)):
        up, down = (joint_slope(a, class_log_odds_shift(b + move, labelled)) for move in (step, -step))
        np.testing.assert_allclose(cross_curvature(a, b, labelled), (up - down) / (2 * step), atol=1e-9)


@extended
def test_label_log_odds_are_those_of_the_product_to_800():
    # s/(1−s) = eᵃ⁺ᵇ/(1 + eᵃ + eᵇ), which neither overflows nor cancels in 80-bit floats.
    truth = A_EXTENDED + B_EXTENDED - np.log(1 + np.exp(A_EXTENDED) + np.exp(B_EXTENDED))
    found = label_log_odds(A, B)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, truth.astype(float), rtol=1e-13, atol=1e-15)


def test_label_log_odds_of_a_certain_factor_are_those_of_the_other():
    np.testing.assert_allclose(label_log_odds(GRID, np.full(GRID.shape, np.inf)), GRID, rtol=1e-15)
    np.testing.assert_allclose(label_log_odds(np.full(GRID.shape, np.inf), GRID), GRID, rtol=1e-15)


def test_class_given_label_is_one_on_the_labelled_and_h_elsewhere(rng):
    a, b, labelled = rng.normal(size=50), rng.normal(size=50), rng.random(50) < 0.5
    y, e = sigmoid(a), sigmoid(b)
    np.testing.assert_allclose(
        class_given_label(a, b, labelled), np.where(labelled, 1, y * (1 - e) / (1 - y * e)), rtol=1e-12
    )


def test_h_replaced_by_itself_changes_nothing_to_800():
    a, b = replace_hidden(A, B, hidden_log_odds(A, B))
    np.testing.assert_allclose(a, A, rtol=1e-12, atol=1e-12)
    # e is 1 or 0 to every digit where the rest cannot be told from it.
    np.testing.assert_allclose(sigmoid(b), sigmoid(B), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(("level", "slope"), [(-3.0, 1.0), (2.0, 0.5), (0.0, 0.0), (-40.0, 3.0)])
def test_h_is_replaced_and_the_chance_of_a_label_stays(level, slope):
    near = (np.abs(A) < 25) & (np.abs(B) < 25)
    wanted = level + slope * hidden_log_odds(A[near], B[near])
    a, b = replace_hidden(A[near], B[near], wanted)
    np.testing.assert_allclose(hidden_log_odds(a, b), wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(label_log_odds(a, b), label_log_odds(A[near], B[near]), rtol=1e-9, atol=1e-9)
    # y′ = s + (1 − s)h′, in 80-bit floats.
    s = 1 / ((1 + np.exp(-A_EXTENDED[near])) * (1 + np.exp(-B_EXTENDED[near])))
    h = 1 / (1 + np.exp(-wanted.astype(np.longdouble)))
    np.testing.assert_allclose(sigmoid(a), (s + (1 - s) * h).astype(float), rtol=1e-9)
    np.testing.assert_allclose(sigmoid(b), (s / (s + (1 - s) * h)).astype(float), rtol=1e-9)


def test_h_replaced_is_a_number_where_every_positive_is_labelled():
    for u in (-1e6, -3.0, 1e6):
        assert np.isfinite(replace_hidden(A, B, np.full(A.shape, u))).all()
        assert np.isfinite(replace_hidden(GRID, np.full(GRID.shape, np.inf), np.full(GRID.shape, u))).all()
    a, b = replace_hidden(GRID, np.full(GRID.shape, np.inf), np.full(GRID.shape, -1e6))
    np.testing.assert_allclose(a, GRID, rtol=1e-12)
    np.testing.assert_array_equal(sigmoid(b), 1.0)
