"""The distribution of two correlated normal variables, compared with SciPy's and with what is known of it."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from propense._maths.bivariate_normal import LARGEST_CORRELATION, bivariate_normal_cdf, bivariate_normal_slopes

CORRELATIONS = (-LARGEST_CORRELATION, -0.5, 0.0, 0.3, 0.8, LARGEST_CORRELATION)


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_it_is_scipys(rho, rng):
    h, k = rng.normal(scale=1.5, size=(2, 40))
    joint = multivariate_normal(cov=[[1.0, rho], [rho, 1.0]])
    truth = [joint.cdf(pair) for pair in np.column_stack([h, k])]
    np.testing.assert_allclose(bivariate_normal_cdf(h, k, rho), truth, atol=1e-10)


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_a_quarter_and_a_turn_at_the_centre(rho):
    assert bivariate_normal_cdf(0.0, 0.0, rho) == pytest.approx(0.25 + np.arcsin(rho) / (2 * np.pi), abs=1e-14)


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_it_stays_a_chance_far_out(rho):
    h, k = (each.ravel() for each in np.meshgrid([-40.0, -8.0, 0.0, 8.0, 40.0], [-40.0, -6.0, 0.0, 6.0, 40.0]))
    found = bivariate_normal_cdf(h, k, rho)
    assert ((found >= 0.0) & (found <= np.minimum(ndtr(h), ndtr(k)))).all()
    np.testing.assert_allclose(found[k == 40.0], ndtr(h[k == 40.0]), atol=1e-13)


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_slopes_are_differences(rho, rng):
    h, k = rng.normal(size=(2, 30))
    step = 1e-5
    slopes = bivariate_normal_slopes(h, k, rho)
    for slope, (up, over) in zip(slopes, [(step, 0.0), (0.0, step)], strict=True):
        ahead, behind = (bivariate_normal_cdf(h + way * up, k + way * over, rho) for way in (1, -1))
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), atol=1e-8)
