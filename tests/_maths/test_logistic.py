import numpy as np
import pytest
from scipy.special import expit

from propense._maths.logistic import logistic_loss, logit, sigmoid, sigmoid_slope, softplus

# float64's own range and beyond what exp can hold; 80-bit floats are the independent truth.
T = np.concatenate([[-800.0, -745.2, -709.8, -40.0, -37.0], np.linspace(-36, 36, 721), [37.0, 40.0, 709.8, 800.0]])
EXTENDED = T.astype(np.longdouble)
pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="needs 80-bit floats as the truth")


def test_sigmoid_is_exact_and_silent_everywhere():
    truth = 1 / (1 + np.exp(-EXTENDED))
    np.testing.assert_allclose(sigmoid(T), truth.astype(float), rtol=5e-16, atol=1e-308)
    np.testing.assert_allclose(sigmoid(T), expit(T), rtol=5e-16, atol=1e-308)


def test_softplus_is_exact_everywhere():
    np.testing.assert_allclose(softplus(T), np.log1p(np.exp(EXTENDED)).astype(float), rtol=5e-16, atol=1e-323)


def test_infinite_log_odds_have_their_limits():
    np.testing.assert_array_equal(sigmoid(np.array([-np.inf, np.inf])), [0, 1])
    np.testing.assert_array_equal(softplus(np.array([-np.inf, np.inf])), [0, np.inf])
    assert (logit(0.0), logit(1.0)) == (-np.inf, np.inf)


@pytest.mark.parametrize("target", [0.0, 0.25, 1.0])
def test_logistic_loss_is_the_bernoulli_log_likelihood(target):
    truth = target * np.log1p(np.exp(-EXTENDED)) + (1 - target) * np.log1p(np.exp(EXTENDED))
    np.testing.assert_allclose(logistic_loss(T, target), truth.astype(float), rtol=5e-16, atol=1e-323)


def test_logit_inverts_the_sigmoid():
    for p in (1e-300, 1e-9, 0.25, 0.5, 0.9):
        assert sigmoid(np.array(logit(p))) == pytest.approx(p, rel=1e-13)


def test_sigmoid_slope_is_the_derivative():
    t = np.linspace(-20, 20, 81)
    step = 1e-5
    np.testing.assert_allclose(sigmoid_slope(t), (sigmoid(t + step) - sigmoid(t - step)) / (2 * step), atol=1e-10)
