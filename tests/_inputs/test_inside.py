"""The method inside pipelines, searches and wrappers of scikit-learn."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import propense
from propense import SAREM, Naive, hidden, posterior, propensity
from propense._inputs.inside import method_inside
from propense.datasets import make_double_logistic
from propense.errors import InvalidOption

DATA = make_double_logistic(300, 4, random_state=0)
X, S = DATA.X, DATA.labelled


def search(of, name="ridge", kind=GridSearchCV, **options):
    return kind(of, {name: [1.0]}, cv=2, **options)


PIPE = make_pipeline(StandardScaler(), SAREM())
# Wrappers, each with the step that transforms X before the method sees it.
AROUND = {
    "a method": (SAREM(), None),
    "a pipeline": (PIPE, StandardScaler()),
    "a pipeline of one step": (make_pipeline(SAREM()), None),
    "a pipeline in a pipeline": (make_pipeline(StandardScaler(), PIPE), StandardScaler()),
    "a search": (search(SAREM()), None),
    "a search at random": (search(SAREM(), kind=RandomizedSearchCV, n_iter=1), None),
    "a halving search": (search(SAREM(), kind=HalvingGridSearchCV), None),
    "a search of a pipeline": (search(PIPE, "sarem__ridge"), StandardScaler()),
    "a pipeline with a search": (make_pipeline(StandardScaler(), search(SAREM())), StandardScaler()),
    "a threshold": (FixedThresholdClassifier(PIPE, threshold=0.4), StandardScaler()),
    "a tuned threshold": (TunedThresholdClassifierCV(SAREM(), cv=2), None),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit")
@pytest.mark.parametrize("around", AROUND)
def test_answers_are_those_of_the_method_inside(around):
    model, step = AROUND[around]
    model = clone(model).fit(X, S)
    features = X if step is None else clone(step).fit(X).transform(X)
    lone = SAREM().fit(features, S)
    for function, expected in (
        (hidden, lone.predict_hidden(features)),
        (propensity, lone.predict_propensity(features)),
        (posterior, lone.predict_proba(features)[:, 1]),
    ):
        np.testing.assert_allclose(function(model, X), expected, rtol=1e-6, atol=1e-9)
    frozen = FrozenEstimator(model)
    np.testing.assert_array_equal(hidden(frozen, X), hidden(model, X))
    assert isinstance(method_inside(frozen).method, SAREM)


UNDOING = {
    "CalibratedClassifierCV": CalibratedClassifierCV(Naive(), cv=2),
    "StackingClassifier": StackingClassifier([("one", Naive())], cv=2),
    "AdaBoostClassifier": AdaBoostClassifier(Naive(), n_estimators=1),
}


@pytest.mark.parametrize("name", UNDOING)
def test_wrappers_that_learn_from_labels_are_refused_with_what_to_do(name):
    model = clone(UNDOING[name]).fit(X, S)
    for each in (model, make_pipeline(model)):
        with pytest.raises(InvalidOption, match=f"{name} learns from the labels .* propense.audit"):
            hidden(each, X)


@pytest.mark.parametrize(
    "model", [VotingClassifier([("one", SAREM())]), BaggingClassifier(SAREM(), n_estimators=2, random_state=0)]
)
def test_several_models_are_asked_one_by_one(model):
    model.fit(X, S)
    with pytest.raises(InvalidOption, match=r"holds several fitted models.*Pass each of its estimators_ in turn"):
        hidden(model, X)
    for each in model.estimators_:
        assert hidden(each, X).shape == (300,)


def test_what_has_no_method_inside_is_refused():
    class Own(BaseEstimator):
        pass

    for model in (LogisticRegression(), LogisticRegressionCV(), Own(), 3, Pipeline([("a", StandardScaler())])):
        with pytest.raises(InvalidOption, match="is neither a fitted estimator of propense"):
            hidden(model, X)
    with pytest.raises(InvalidOption, match=r"no fitted estimator, since refit=False\. Pass refit=True"):
        hidden(search(SAREM(), refit=False).fit(X, S), X)


@pytest.mark.parametrize("model", [SAREM(), PIPE, search(PIPE, "sarem__ridge"), FixedThresholdClassifier(SAREM())])
def test_what_is_not_fitted_says_so(model):
    with pytest.raises(NotFittedError):
        hidden(clone(model), X)


def test_transformers_of_columns_are_walked_through():
    scaled = ColumnTransformer([("scale", StandardScaler(), [0, 1])], remainder="passthrough")
    pipe = make_pipeline(scaled, SAREM()).fit(X, S)
    np.testing.assert_array_equal(propense.hidden(pipe, X), pipe[-1].predict_hidden(pipe[:-1].transform(X)))
