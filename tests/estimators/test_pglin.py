"""PGLIN: its formulas from scikit-learn's regression, and its assumption."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from propense import Naive, PGLin


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(600, 3))
    posterior = 1 / (1 + np.exp(-3 * X[:, 0] - 1))
    return X, rng.random(600) < 0.6 * posterior**2, posterior


def test_it_is_the_square_root_of_the_regression(problem):
    X, s, _ = problem
    model = PGLin().fit(X, s)
    chance = LogisticRegression(tol=1e-12, max_iter=10_000).fit(X, s).predict_proba(X)[:, 1]
    k = chance.max()
    assert model.largest_ == pytest.approx(k, abs=1e-7)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], np.sqrt(chance / k), atol=1e-7)
    np.testing.assert_allclose(model.predict_propensity(X), np.sqrt(k * chance), atol=1e-7)
    np.testing.assert_allclose(model.label_coef_, Naive().fit(X, s).coef_, atol=1e-9)


def test_a_row_beyond_the_largest_is_surely_positive(problem):
    X, s, _ = problem
    model = PGLin().fit(X, s)
    beyond = np.array([[50.0, 0.0, 0.0]])
    assert model.predict_proba(beyond)[0, 1] == pytest.approx(1.0, abs=1e-15)
    assert np.isfinite(model.decision_function(beyond)).all()
    chance = 1 / (1 + np.exp(-(beyond @ model.label_coef_[0] + model.label_intercept_)))
    np.testing.assert_allclose(model.predict_propensity(beyond), np.sqrt(model.largest_ * chance))


def test_it_ranks_as_the_naive_one_does(problem):
    X, s, _ = problem
    order = np.argsort(Naive().fit(X, s).decision_function(X))
    assert np.diff(PGLin().fit(X, s).decision_function(X)[order]).min() >= 0


def test_it_has_no_coefficients_of_its_own(problem):
    X, s, _ = problem
    model = PGLin().fit(X, s)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="posterior of this PGLin is not linear"):
        _ = model.coef_


def test_it_recovers_its_own_model(rng):
    """e = k·y, y reaches 1, and the chance of a label is logistic: all that it assumes."""
    X = rng.uniform(-1, 1, size=(20_000, 2))
    chance = 1 / (1 + np.exp(1 - 2 * X[:, 0]))
    k = 1 / (1 + np.exp(-1))  # The chance at x = 1, where y is 1.
    posterior = np.sqrt(chance / k)
    positive = rng.random(20_000) < posterior
    model = PGLin().fit(X, positive & (rng.random(20_000) < k * posterior))
    assert np.abs(model.predict_proba(X)[:, 1] - posterior).mean() < 0.02
    assert np.abs(model.predict_propensity(X) - k * posterior).mean() < 0.02
    assert model.prior_ == pytest.approx(positive.mean(), abs=0.02)
