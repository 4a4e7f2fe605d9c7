"""Naive and Oracle against scikit-learn's logistic regression."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from propense import Naive, Oracle


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(400, 6)) * [1, 1, 5, 0.2, 1, 1] + [0, 3, 0, 0, -1, 0]
    return X, (rng.random(400) < 1 / (1 + np.exp(-X[:, 0] + 0.3 * X[:, 2]))).astype(int)


@pytest.mark.parametrize("estimator", [Naive, Oracle])
@pytest.mark.parametrize("ridge", [0.1, 1.0, 30.0])
def test_it_is_sklearn_logistic_regression(problem, estimator, ridge, rng):
    X, y = problem
    weights = rng.random(400)
    truth = LogisticRegression(C=1 / ridge, tol=1e-12, max_iter=10_000).fit(X, y, sample_weight=weights)
    model = estimator(ridge=ridge).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, truth.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, truth.intercept_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), truth.predict_proba(X), atol=1e-7)
    np.testing.assert_array_equal(model.predict(X), truth.predict(X))


@pytest.mark.parametrize("solver", ["newton", "mm"])
def test_every_solver_gives_it(problem, solver):
    X, y = problem
    model = Naive(solver=solver, tol=1e-8, max_iter=20_000).fit(X, y)
    assert model.converged_
    np.testing.assert_allclose(model.coef_, Naive().fit(X, y).coef_, atol=1e-6)


def test_without_a_ridge_it_is_the_maximum_likelihood(problem):
    X, y = problem
    model = Naive(ridge=0.0).fit(X, y)
    with_ones = np.column_stack([np.ones(len(X)), X])
    np.testing.assert_allclose(with_ones.T @ (y - model.predict_proba(X)[:, 1]), 0, atol=1e-6)


def test_every_positive_is_taken_for_labelled(problem):
    X, y = problem
    model = Naive().fit(X, y)
    np.testing.assert_array_equal(model.predict_propensity(X), 1)
    np.testing.assert_array_equal(model.predict_hidden(X), 0)
    assert model.prior_ == pytest.approx(y.mean(), rel=1e-12)
    assert model.label_frequency_ == pytest.approx(1.0, rel=1e-12)
    assert model.risk_path_[-1] > 0
