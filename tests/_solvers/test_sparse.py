"""Risks with an ℓ1 penalty: what makes a minimum, checked by NumPy alone, and scikit-learn's answer."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from conftest import LASSO
from propense._designs import as_design
from propense._risks import LogisticRisk
from propense._solvers import Penalty, SparseLogistic, SparsePair, orthant_newton

TOL = 1e-9


def draw(rng, n, p):
    X = rng.normal(size=(n, p))
    positive = rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0] + X[:, 1]))
    return X, positive & (rng.random(n) < 1 / (1 + np.exp(-1.5 * X[:, 2])))


def slopes(X, s, theta, columns):
    """The gradient of Qₙ by eq. (8), written out: its intercepts and its slopes, β's then γ's."""
    p = X.shape[1] + 1
    gamma = np.zeros(p)
    gamma[np.concatenate([[0], columns + 1])] = theta[p:]
    y, e = (1 / (1 + np.exp(-each[0] - X @ each[1:])) for each in (theta[:p], gamma))
    pull = (y * e - s) / (1 - y * e)
    of_a, of_b = pull * (1 - y), pull * (1 - e)
    return (
        np.array([of_a.mean(), of_b.mean()]),
        np.concatenate([X.T @ of_a, (X.T @ of_b)[columns]]) / len(s),
    )


def assert_minimum(X, s, theta, columns, alpha, l1_ratio, kappa):
    intercepts, gradient = slopes(X, s, theta, columns)
    p = X.shape[1] + 1
    coef = np.delete(theta, [0, p])
    spreads = np.concatenate([X.std(axis=0), X.std(axis=0)[columns]])
    dear = np.concatenate([np.ones(p - 1), np.full(len(columns), kappa)])
    gradient = (gradient + alpha * (1 - l1_ratio) * dear * spreads**2 * coef) / spreads
    price = alpha * l1_ratio * dear
    used = coef != 0
    np.testing.assert_allclose(intercepts, 0, atol=1e-8)
    np.testing.assert_allclose(gradient[used], -(price * np.sign(coef))[used], atol=1e-8)
    assert (np.abs(gradient[~used]) <= price[~used] + 1e-8).all()
    return used


@pytest.mark.slow
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("l1_ratio", "kappa", "some"), [(1.0, 1.0, False), (0.6, 2.0, False), (1.0, 1.0, True)])
def test_no_slope_of_a_minimum_can_pay_its_price_any_better(rng, storage, l1_ratio, kappa, some):
    X, s = draw(rng, 400, 25)
    X = np.where(np.abs(X) < 0.3, 0.0, X) * rng.uniform(0.1, 10, size=25)
    columns = np.array([2, 3, 7]) if some else np.arange(25)
    pair = SparsePair(as_design(storage(X)), s, columns=columns if some else None, l1_ratio=l1_ratio, kappa=kappa)
    theta = np.zeros(len(pair.spreads))
    theta[1] = 0.1
    for alpha in (0.02, 0.005):
        found = pair.solve(alpha, pair.evaluate(theta), tol=TOL, max_iter=500)
        assert found.converged
        used = assert_minimum(X, s, found.coef, columns, alpha, l1_ratio, kappa)
        assert 0 < used.sum() < len(used)


def test_more_columns_than_rows(rng):
    n, p = 120, 1000
    X = sp.csr_array(sp.random(n, p, 0.2, random_state=rng, data_rvs=rng.standard_normal))
    X = sp.csr_array(sp.hstack([rng.normal(size=(n, 3)), X[:, 3:]]))
    s = (rng.random(n) < 1 / (1 + np.exp(-2 * X.toarray()[:, 0]))) & (rng.random(n) < 0.8)
    pair = SparsePair(as_design(X), s)
    # Not from where y and e are alike: that is a saddle, or ends in one.
    start = np.zeros(len(pair.spreads))
    start[p + 1] = 2.0
    found = pair.solve(0.03, pair.evaluate(start), tol=TOL, max_iter=500)
    warm = pair.solve(0.025, found, tol=TOL, max_iter=500, before=0.03)
    for alpha, solution in ((0.03, found), (0.025, warm)):
        assert solution.converged
        assert_minimum(X.toarray(), s, solution.coef, np.arange(p), alpha, 1.0, 1.0)


def test_the_value_is_the_penalised_risk(rng):
    X, s = draw(rng, 300, 6)
    pair = SparsePair(as_design(X), s, l1_ratio=0.7)
    found = pair.solve(0.01, pair.evaluate(np.zeros(len(pair.spreads))), tol=TOL, max_iter=500)
    beta, gamma = found.coef[:7], found.coef[7:]
    chance = np.prod([1 / (1 + np.exp(-each[0] - X @ each[1:])) for each in (beta, gamma)], axis=0)
    scaled = np.concatenate([beta[1:], gamma[1:]]) * np.tile(X.std(axis=0), 2)
    penalty = 0.01 * (0.7 * np.abs(scaled).sum() + 0.15 * np.sum(scaled**2))
    assert found.value / 300 == pytest.approx(-np.where(s, np.log(chance), np.log1p(-chance)).mean() + penalty)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_logistic_minimum_is_that_of_scikit_learn(rng, weighted):
    X, s = draw(rng, 400, 12)
    weights = rng.integers(1, 4, size=400).astype(float) if weighted else np.ones(400)
    X = (X - np.average(X, axis=0, weights=weights)) / np.sqrt(np.cov(X.T, aweights=weights, ddof=0).diagonal())
    alpha = 0.02
    search = SparseLogistic(as_design(X), s, weights=weights if weighted else None)
    found = search.solve(alpha, search.null(), tol=TOL, max_iter=500)
    model = LogisticRegression(**LASSO, C=1 / (alpha * weights.sum()), solver="saga", tol=1e-10, max_iter=10_000)
    model.fit(X, s, sample_weight=weights)
    np.testing.assert_allclose(found.coef[1:], model.coef_[0], atol=1e-6)
    np.testing.assert_allclose(found.coef[0], model.intercept_[0], atol=1e-6)
    assert 0 < np.count_nonzero(found.coef[1:]) < 12


def test_a_start_on_the_wrong_side_of_zero_crosses_it(rng):
    X, s = draw(rng, 300, 4)
    risk = LogisticRisk(as_design(X), s)
    penalty = Penalty(np.array([0.0, 3.0, 3.0, 3.0, 3.0]), np.zeros(5))
    ends = [
        orthant_newton(risk, start, penalty, tol=TOL, max_iter=200)
        for start in (np.zeros(5), np.full(5, 3.0), np.full(5, -3.0), rng.normal(size=5))
    ]
    assert all(end.converged for end in ends)
    for end in ends[1:]:
        np.testing.assert_allclose(end.coef, ends[0].coef, atol=1e-7)
        np.testing.assert_array_equal(end.coef == 0, ends[0].coef == 0)


def test_a_constant_column_takes_no_part(rng):
    X, s = draw(rng, 300, 4)
    plain, more = (SparsePair(as_design(each), s) for each in (X, np.column_stack([X, np.full(300, 5.0)])))
    found, with_constant = (
        pair.solve(0.01, pair.evaluate(np.zeros(len(pair.spreads))), tol=TOL, max_iter=500) for pair in (plain, more)
    )
    assert with_constant.converged
    np.testing.assert_array_equal(with_constant.coef[[5, 11]], 0)
    np.testing.assert_allclose(np.delete(with_constant.coef, [5, 11]), found.coef, atol=1e-7)
