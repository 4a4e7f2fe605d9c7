"""TM against an independent retelling, and its edges."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from propense import TM
from propense.datasets import make_double_logistic


def retold(X, s, rounds):
    """The algorithm line by line on doubled data, with textbook formulas and scikit-learn's regression."""

    def regression(features, targets, weights=None):
        model = LogisticRegression(tol=1e-10, max_iter=10_000, solver="newton-cholesky")
        return model.fit(features, targets, sample_weight=weights)

    def class_step():
        w = (1 - e) / e * chance / (1 - chance)
        return regression(
            np.vstack([X[s == 1], X[s == 0], X[s == 0]]),
            np.repeat([1, 1, 0], [s.sum(), (1 - s).sum(), (1 - s).sum()]),
            np.concatenate([np.ones(s.sum()), w[s == 0], 1 - w[s == 0]]),
        )

    chance = regression(X, s).predict_proba(X)[:, 1]
    e = (1 + chance) / 2
    shares = []
    for _ in range(rounds):
        y = class_step().predict_proba(X)[:, 1]
        positives = (s == 1) | (y > np.quantile(y[s == 1], s.mean()))
        shares.append(positives.mean())
        last = regression(X[positives], s[positives]).predict_proba(X)[:, 1]
        e = np.maximum(last, chance)
        chance = e * y
    return class_step(), last, shares


@pytest.mark.parametrize("rounds", [1, 2, 12])
def test_the_textbook_gives_the_same(rounds):
    data = make_double_logistic(500, 4, random_state=1)
    with pytest.warns(ConvergenceWarning, match=f"max_iter={rounds}"):
        model = TM(max_iter=rounds).fit(data.X, data.labelled)
    classifier, e, shares = retold(data.X, data.labelled.astype(int), rounds)
    np.testing.assert_allclose(model.coef_, classifier.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, classifier.intercept_, atol=1e-5)
    np.testing.assert_allclose(model.predict_propensity(data.X), e, atol=1e-6)
    np.testing.assert_allclose(model.positives_path_, shares, atol=1e-12)
    assert model.n_iter_ == rounds == len(model.risk_path_)
    assert not model.converged_


@pytest.mark.slow
def test_at_rest_more_rounds_change_nothing():
    data = make_double_logistic(500, 4, random_state=1)
    model = TM(max_iter=2000, tol=1e-9).fit(data.X, data.labelled)
    longer = TM(max_iter=2000, tol=1e-11).fit(data.X, data.labelled)
    assert model.converged_
    assert longer.n_iter_ > model.n_iter_
    np.testing.assert_allclose(model.coef_, longer.coef_, atol=1e-5)


def test_risk_path_ends_at_the_joint_risk_of_the_round():
    data = make_double_logistic(500, 4, random_state=1)
    model = TM(max_iter=2000).fit(data.X, data.labelled)
    chance = model.predict_proba(data.X)[:, 1] * model.predict_propensity(data.X)
    risk = -np.where(data.labelled, np.log(chance), np.log1p(-chance)).mean()
    assert model.risk_path_[-1] == pytest.approx(risk, rel=1e-5)


def test_nobody_above_the_labelled_means_certain_labels(rng):
    """Labelled rows on one side of a gap, the rest far on the other: P̂ holds the labelled alone."""
    X = np.concatenate([10 + rng.random(30), -10.0 - np.arange(5)])[:, None]
    s = np.repeat([1, 0], [30, 5])
    model = TM().fit(X, s)
    assert model.positives_path_[-1] == pytest.approx(30 / 35)
    np.testing.assert_array_equal(model.predict_propensity(X), 1)
    np.testing.assert_array_equal(model.predict(X), s)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ridges_shrink_their_own_coefficients():
    data = make_double_logistic(500, 4, random_state=1)
    plain = TM().fit(data.X, data.labelled)
    stiff = TM(propensity_ridge=1e6).fit(data.X, data.labelled)
    assert np.abs(stiff.propensity_coef_).max() < 1e-3 < np.abs(plain.propensity_coef_).max()
    assert np.abs(TM(ridge=1e6).fit(data.X, data.labelled).coef_).max() < 1e-3
