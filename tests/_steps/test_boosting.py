"""Boosted trees of scikit-learn become arrays where these say the same, and stay what they are elsewhere."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

from conftest import coarse
from propense._designs import as_design
from propense._maths.arrays import to_host
from propense._steps import predictors
from propense._steps.boosting import as_forest
from propense._steps.learners import Learner
from propense._steps.predictors import ClassifierPredictor, ForestPredictor


@pytest.fixture
def table(rng):
    X = coarse(rng.normal(size=(600, 3)))
    return X, rng.random(600) < 1 / (1 + np.exp(-3 * X[:, 0] * X[:, 1]))


def boosting(**options):
    return HistGradientBoostingClassifier(**{"max_iter": 5, "min_samples_leaf": 2, "random_state": 0} | options)


def test_a_learner_gives_trees_as_arrays_that_follow_weights_and_columns(table):
    X, y = table
    design, weights, columns = as_design(X), np.where(X[:, 0] > 0, 3.0, 1.0), np.array([1, 2])
    found = as_forest(Learner(boosting(), columns=columns).fit(design, y, weights)[0], X[:, columns])
    assert isinstance(found, ForestPredictor)
    said = boosting().fit(X[:, columns], y, sample_weight=weights).decision_function(X[:, columns])
    np.testing.assert_array_equal(found.log_odds(design), said)
    assert np.abs(said - boosting().fit(X[:, columns], y).decision_function(X[:, columns])).max() > 0.1


def with_level(level):
    """The last column as levels: this one where the arrays are not compared with the classifier, else 1."""
    return lambda X: np.column_stack([X[:, :2], np.where(np.arange(len(X)) % 3, level, 1.0)])


OTHERS = {
    "other trees": (ExtraTreesClassifier(5, random_state=0), np.asarray),
    "more than 63 leaves": (boosting(max_leaf_nodes=80, min_samples_leaf=1), np.asarray),
    "a frame": (boosting(), pd.DataFrame),
    "fractions as levels": (boosting(categorical_features=[2]), with_level(0.5)),
    "a level without a place": (boosting(categorical_features=[2]), with_level(1e6)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OTHERS)
def test_other_classifiers_stay_what_they_are(table, kind):
    X, y = table
    classifier, change = OTHERS[kind]
    fitted = classifier.fit(change(X), y)
    found = as_forest(ClassifierPredictor(fitted), change(X))
    assert isinstance(found, ClassifierPredictor)
    assert found.classifier is fitted


def test_trees_that_say_something_else_than_their_arrays_stay_what_they_are(table, monkeypatch):
    X, y = table
    fitted = boosting().fit(X, y)
    assert isinstance(as_forest(ClassifierPredictor(fitted), X), ForestPredictor)
    said = fitted.decision_function(X)
    monkeypatch.setattr(fitted, "decision_function", lambda rows: said[: len(rows)] + 1e-12)
    assert isinstance(as_forest(ClassifierPredictor(fitted), X), ClassifierPredictor)


@pytest.mark.usefixtures("two_blas_threads")
def test_trees_say_the_same_of_every_storage_and_in_threads(table, design_kind, monkeypatch):
    X, y = table
    found = as_forest(ClassifierPredictor(boosting().fit(X, y)), X)
    said = found.log_odds(as_design(X))
    monkeypatch.setattr(predictors, "_ROWS", 70)
    np.testing.assert_array_equal(to_host(found.log_odds(design_kind(X))), said)
