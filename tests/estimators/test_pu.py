"""PUClassifier(learners="linear"): a label score of logistic regression, and what follows for rows and columns."""

import warnings

import numpy as np
import pytest
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from propense import SAREM, PUClassifier
from propense._maths.logistic import log_odds_of_log
from propense.datasets import make_double_logistic

SLOPES = make_double_logistic(1, 10, random_state=0).coef[1:]
# Propensities as functions of the class score βᵀx, or of other features; the default of make_double_logistic.
WORLDS = {
    "own features": {},
    "class score": {"propensity_coef": np.append(-2.25, SLOPES)},
    "constant": {"propensity_coef": np.append(-0.4, np.zeros(10))},
    "falling": {"propensity_coef": np.append(1.1, -0.44 * SLOPES)},
}


def linear(**options):
    return PUClassifier(**{"learners": "linear", "random_state": 0, **options})


def world(name, n=2000, seed=0):
    return make_double_logistic(n, 10, random_state=seed, **WORLDS[name])


@pytest.fixture(scope="module")
def data():
    return world("own features", 600)


def test_rows_are_in_the_order_of_a_logistic_regression_of_the_labels(data):
    model = linear(cv=4).fit(data.X, data.labelled)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    Z, out = StandardScaler().fit_transform(data.X), np.empty(600)
    for rest, held in StratifiedKFold(4, shuffle=True, random_state=seed).split(data.X, data.labelled):
        # Its penalty is √n times the variance of each column.
        scaler, ridge = StandardScaler().fit(Z[rest]), 1 / np.sqrt(len(rest))
        plain = LogisticRegression(C=ridge, tol=1e-10).fit(scaler.transform(Z[rest]), data.labelled[rest])
        out[held] = plain.decision_function(scaler.transform(Z[held]))
    t = model._posterior.curves.label
    ours = logit(model.oof_posterior_ * model.oof_propensity_ / t.height)
    np.testing.assert_allclose(ours, t.level + t.slope * (out - out.mean()) / out.std(), atol=1e-4)


@pytest.mark.parametrize("name", WORLDS)
def test_the_range_holds_the_truth_of_easy_worlds(name):
    held = []
    for seed in range(3):
        data = world(name, 2000, seed)
        found = linear().fit(data.X, data.labelled).diagnosis_
        held.append(found.low <= data.positive.mean() <= found.high)
        assert found.labelled == pytest.approx(data.labelled.mean())
        assert not found.strange
    assert all(held)


@pytest.mark.slow
def test_columns_that_are_named_rightly_tell_two_factors_apart():
    """As EM does, which knows that y and e are logistic."""
    scores = {"unnamed": [], "named": [], "em": []}
    for seed in range(3):
        data, fresh = world("own features", 2000, seed), world("own features", 5000, 100 + seed)
        for key, model in (("unnamed", linear()), ("named", linear(propensity_features=range(5, 10))), ("em", SAREM())):
            model.fit(data.X, data.labelled)
            scores[key].append(balanced_accuracy_score(fresh.positive, model.predict(fresh.X)))
    means = {key: np.mean(each) for key, each in scores.items()}
    assert means["named"] > means["unnamed"] + 0.05
    assert means["named"] > means["em"] - 0.03


def test_units_and_places_of_columns_do_not_matter(data):
    X, s = data.X, data.labelled
    moved = X * np.array([1e-3, 1, 10, 100, 1, 1, 2, 1, 1, 1e4]) + np.arange(10)
    models = [linear().fit(each, s) for each in (X, moved)]
    np.testing.assert_allclose(models[1].predict_proba(moved), models[0].predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(models[1].predict_propensity(moved), models[0].predict_propensity(X), atol=1e-6)
    np.testing.assert_allclose(models[1].diagnosis_.shares, models[0].diagnosis_.shares, rtol=1e-6)


def test_constant_columns_hardly_matter(data):
    """They only count as columns."""
    X = np.column_stack([data.X[:, :3], np.full(600, 7.0), np.zeros(600)])
    with_them, without = (linear().fit(each, data.labelled) for each in (X, X[:, :3]))
    np.testing.assert_allclose(with_them.predict_proba(X), without.predict_proba(X[:, :3]), atol=0.05)
    assert with_them.diagnosis_.learners == without.diagnosis_.learners


def test_one_label_is_enough_for_an_answer(data):
    s = np.zeros(600, dtype=int)
    s[np.argmax(data.posterior)] = 1
    model = linear().fit(data.X, s)
    assert 1 / 600 <= model.diagnosis_.low < model.prior_ < model.diagnosis_.high < 1
    assert "few_labels" in [doubt.kind for doubt in model.doubts_]


def test_log_odds_of_a_logarithm():
    log_p = np.array([-800.0, -50.0, np.log(0.5), -1e-12, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = log_odds_of_log(log_p)
    np.testing.assert_allclose(found[:4], [-800.0, -50.0, 0.0, 12 * np.log(10)], atol=1e-9)
    assert found[4] == pytest.approx(36.0)


def test_where_every_class_is_known_it_is_a_regression(data):
    X = data.X * 0.01
    models = [linear().fit(each, data.labelled, known_negative=~data.labelled) for each in (X, data.X)]
    np.testing.assert_allclose(models[0].predict_proba(X), models[1].predict_proba(data.X), rtol=1e-6)
    plain = LogisticRegression().fit(data.X, data.labelled)
    assert np.corrcoef(models[1].decision_function(data.X), plain.decision_function(data.X))[0, 1] > 0.99
    assert models[0].doubts_ == ()
    assert "The class of every row is known" in str(models[0].diagnosis_)
