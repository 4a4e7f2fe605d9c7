import numpy as np
import pytest

from propense._solvers import Adam


def test_the_first_step_has_the_length_of_the_rate_whatever_the_gradient():
    coef = Adam(3, rate=0.1).step(np.zeros(3), np.array([1e-3, -5.0, 1e3]))
    np.testing.assert_allclose(coef, [-0.1, 0.1, -0.1], rtol=1e-4)


def test_steps_are_those_of_the_papers_recursion(rng):
    """m̂/(√v̂ + ε) with the moments as explicit sums over all gradients so far (Kingma and Ba, section 3)."""
    gradients, adam, coef = rng.normal(size=(7, 2)), Adam(2, rate=0.01), np.zeros(2)
    for t in range(1, 8):
        before, coef = coef, adam.step(coef, gradients[t - 1])
        weights, square_weights = (decay ** np.arange(t - 1, -1, -1) for decay in (0.9, 0.999))
        mean = weights @ gradients[:t] / weights.sum()
        square = square_weights @ gradients[:t] ** 2 / square_weights.sum()
        np.testing.assert_allclose(coef - before, -0.01 * mean / (np.sqrt(square) + 1e-8), rtol=1e-9)


def test_it_finds_the_bottom_of_a_bowl():
    adam, coef = Adam(1, rate=0.05), np.array([3.0])
    for _ in range(2000):
        coef = adam.step(coef, 2 * (coef - 1.0))
    assert coef[0] == pytest.approx(1.0, abs=1e-3)
