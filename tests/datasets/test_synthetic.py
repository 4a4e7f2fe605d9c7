import numpy as np
import pytest

from propense.datasets import make_double_logistic
from propense.errors import InvalidInput


def test_the_truth_it_tells_is_the_truth_it_draws_from():
    data = make_double_logistic(200_000, 4, random_state=0)
    for low in (0.0, 0.2, 0.5, 0.8):
        some = (data.posterior >= low) & (data.posterior < low + 0.2)
        assert data.positive[some].mean() == pytest.approx(data.posterior[some].mean(), abs=0.01)
        some = data.positive & (data.propensity >= low) & (data.propensity < low + 0.2)
        assert data.labelled[some].mean() == pytest.approx(data.propensity[some].mean(), abs=0.02)
    assert not (data.labelled & ~data.positive).any()


def test_chances_are_logistic_in_the_coefficients():
    beta, gamma = np.array([0.5, 1.0, -2.0]), np.array([-1.0, 0.0, 3.0])
    data = make_double_logistic(50, 2, coef=beta, propensity_coef=gamma, random_state=0)
    np.testing.assert_allclose(data.posterior, 1 / (1 + np.exp(-(0.5 + data.X @ beta[1:]))))
    np.testing.assert_allclose(data.propensity, 1 / (1 + np.exp(-(-1.0 + data.X @ gamma[1:]))))
    np.testing.assert_array_equal(data.coef, beta)


def test_by_default_the_two_depend_on_different_features():
    data = make_double_logistic(10, 7, random_state=0)
    assert not (data.coef[1:] * data.propensity_coef[1:]).any()
    assert (data.coef[1:] + data.propensity_coef[1:] != 0).all()


def test_a_seed_is_a_sample():
    one, same, other = (make_double_logistic(30, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.labelled, same.labelled)
    assert (one.X != other.X).all()


def test_what_cannot_be_made_is_named():
    with pytest.raises(InvalidInput, match="n_features=1"):
        make_double_logistic(10, 1)
    with pytest.raises(InvalidInput, match=r"propensity_coef has shape \(3,\); pass finite numbers of shape \(5,\)"):
        make_double_logistic(10, 4, propensity_coef=[1, 2, 3])
    for n in (0, -1, 10.0):
        with pytest.raises(InvalidInput, match="n_samples="):
            make_double_logistic(n, 4)
    for coef in ("abc", [np.nan] * 5):
        with pytest.raises(InvalidInput, match="coef"):
            make_double_logistic(10, 4, coef=coef)
