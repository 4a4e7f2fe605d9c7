"""Any classifier in the place of our regression, and a propensity that may see only some columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils import get_tags

from propense import JERM, LBE, SAREM, TM, JointMLE
from propense._designs import as_design
from propense._steps.learners import Learner
from propense.datasets import make_double_logistic
from propense.errors import InvalidFeatures, InvalidOption

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def data():
    return make_double_logistic(600, 4, random_state=0)


REGRESSION = LogisticRegression(tol=1e-10, max_iter=10_000, solver="newton-cholesky")


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_scikit_learns_regression_is_ours_on_soft_targets(rng, storage):
    X, targets, weights = rng.normal(size=(200, 3)), rng.random(200), rng.random(200)
    targets[:50] = 1.0
    design = as_design(storage(X))
    ours, converged = Learner().fit(design, targets, weights)
    # newton-cholesky takes no sparse features.
    theirs, _ = Learner(LogisticRegression(tol=1e-10, max_iter=10_000)).fit(design, targets, weights)
    assert converged
    np.testing.assert_allclose(theirs.log_odds(design), ours.log_odds(design), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        JERM(propensity_estimator=REGRESSION),
        TM(estimator=REGRESSION, propensity_estimator=REGRESSION),
        SAREM(estimator=REGRESSION, propensity_estimator=REGRESSION, tol=1e-6),
    ],
    ids=lambda model: type(model).__name__,
)
def test_scikit_learns_regression_gives_the_methods_own_answer(data, model):
    plain = clone(model).set_params(propensity_estimator=None)
    if "estimator" in model.get_params():
        plain.set_params(estimator=None)
    model.fit(data.X, data.labelled)
    plain.fit(data.X, data.labelled)
    np.testing.assert_allclose(model.predict_proba(data.X), plain.predict_proba(data.X), atol=1e-3)
    np.testing.assert_allclose(model.predict_propensity(data.X), plain.predict_propensity(data.X), atol=1e-3)


@pytest.fixture
def ring(rng):
    """Positives inside a ring: no line tells them from the rest."""
    X = rng.uniform(-2, 2, size=(1500, 3))
    positive = np.hypot(X[:, 0], X[:, 1]) < 1.2
    return X, positive, positive & (rng.random(1500) < 1 / (1 + np.exp(-1.5 * X[:, 2])))


BOOSTING = GradientBoostingClassifier(n_estimators=20, subsample=0.5, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        TM(estimator=BOOSTING, max_iter=5),
        SAREM(estimator=BOOSTING, propensity_features=[2], max_iter=10),
        SAREM(estimator=make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression()), max_iter=50),
    ],
    ids=["TM", "SAREM", "SAREM, pipeline"],
)
def test_boosting_sees_what_a_line_cannot(ring, model):
    X, positive, labelled = ring
    linear = type(model)().fit(X, labelled)
    model.fit(X, labelled)
    assert balanced_accuracy_score(positive, model.predict(X)) > 0.1 + balanced_accuracy_score(
        positive, linear.predict(X)
    )
    assert not hasattr(model, "coef_")
    assert model.estimator_.classes_.tolist() == [0, 1]


def test_jerm_takes_any_propensity(ring):
    X, _, labelled = ring
    model = JERM(propensity_estimator=GradientBoostingClassifier(n_estimators=10, random_state=0)).fit(X, labelled)
    assert hasattr(model, "coef_")
    assert not hasattr(model, "propensity_coef_")
    assert model.propensity_estimator_.n_features_in_ == 3
    # Among the rows it learnt from, the labels rise with the third column.
    e = model.predict_propensity(X)
    assert e[X[:, 2] > 1].mean() > 1.5 * e[X[:, 2] < -1].mean()


def test_a_classifier_that_says_0_or_1_breaks_nothing(data):
    model = SAREM(estimator=RandomForestClassifier(n_estimators=5, random_state=0), max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X, data.labelled)
    for chance in (model.predict_proba(data.X)[:, 1], model.predict_propensity(data.X), model.predict_hidden(data.X)):
        assert np.isfinite(chance).all()
        assert ((chance >= 0) & (chance <= 1)).all()
    assert np.isfinite(model.decision_function(data.X)).all()


@pytest.mark.slow
def test_the_users_classifier_is_left_unfitted(data):
    mine = LogisticRegression()
    model = TM(estimator=mine, propensity_estimator=mine).fit(data.X, data.labelled)
    assert not hasattr(mine, "coef_")
    assert model.estimator is mine
    assert model.estimator_ is not model.propensity_estimator_


@pytest.mark.slow
def test_a_refit_forgets_the_last_kind_of_predictor(data):
    model = TM().fit(data.X, data.labelled)
    assert hasattr(model, "coef_")
    assert not hasattr(model, "estimator_")
    model.set_params(estimator=REGRESSION).fit(data.X, data.labelled)
    assert not hasattr(model, "coef_")
    assert hasattr(model, "estimator_")


@pytest.mark.parametrize(
    "wrong",
    [
        KNeighborsClassifier(),
        LogisticRegression,
        "logistic",
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        3,
    ],
    ids=str,
)
def test_a_classifier_that_will_not_do_is_named(data, wrong):
    for model in (TM(estimator=wrong), SAREM(propensity_estimator=wrong), JERM(propensity_estimator=wrong)):
        with pytest.raises(InvalidOption, match="a scikit-learn classifier with predict_proba"):
            model.fit(data.X, data.labelled)


def test_parameters_of_the_classifier_can_be_searched(data):
    grid = GridSearchCV(TM(estimator=LogisticRegression(), max_iter=5), {"estimator__C": [0.1, 1.0]}, cv=3)
    grid.fit(data.X, data.labelled)
    assert grid.best_params_["estimator__C"] == grid.best_estimator_.estimator.C


def test_sparse_features_are_promised_only_where_the_classifier_takes_them():
    assert get_tags(TM()).input_tags.sparse
    assert get_tags(TM(estimator=LogisticRegression())).input_tags.sparse
    assert not get_tags(TM(estimator=HistGradientBoostingClassifier())).input_tags.sparse


RESTRICTED = [
    JERM(),
    JERM(variant="paper", ridge=0.1),
    TM(),
    SAREM(),
    SAREM(variant="published"),
    LBE(),
    LBE(variant="published", max_iter=3, random_state=0),
    JointMLE(n_starts=2, random_state=0),
    JointMLE(n_starts=2, radius=6.0, ridge=0.0, random_state=0),
]


@pytest.mark.slow
@pytest.mark.parametrize("model", RESTRICTED, ids=str)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_the_propensity_sees_its_own_columns_only(data, model, storage):
    model = clone(model).set_params(propensity_features=[3, 1]).fit(storage(data.X), data.labelled)
    np.testing.assert_array_equal(model.propensity_coef_[0, [0, 2]], 0)
    assert (model.propensity_coef_[0, [1, 3]] != 0).all()
    moved = data.X.copy()
    moved[:, [0, 2]] += 5.0
    np.testing.assert_array_equal(model.predict_propensity(moved), model.predict_propensity(data.X))


@pytest.mark.slow
@pytest.mark.parametrize("model", RESTRICTED, ids=str)
def test_all_columns_named_are_all_columns(data, model):
    named = clone(model).set_params(propensity_features=range(4)).fit(data.X, data.labelled)
    plain = clone(model).fit(data.X, data.labelled)
    # JointMLE no longer lets the factors change places when columns are named; here they need not.
    np.testing.assert_allclose(named.predict_propensity(data.X), plain.predict_propensity(data.X), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("model", RESTRICTED, ids=str)
def test_no_columns_make_the_propensity_constant(data, model):
    model = clone(model).set_params(propensity_features=[]).fit(data.X, data.labelled)
    assert np.ptp(model.predict_propensity(data.X)) == 0


def test_a_classifier_sees_the_same_columns(data):
    model = JERM(propensity_estimator=LogisticRegression(), propensity_features=[2]).fit(data.X, data.labelled)
    assert model.propensity_estimator_.n_features_in_ == 1
    plain = JERM(propensity_features=[2]).fit(data.X, data.labelled)
    np.testing.assert_allclose(model.predict_propensity(data.X), plain.predict_propensity(data.X), atol=1e-4)


def test_a_classifier_without_columns_is_a_constant(data):
    for model in (
        JERM(propensity_estimator=RandomForestClassifier(), propensity_features=[]),
        SAREM(propensity_estimator=LogisticRegression(), propensity_features=[]),
    ):
        assert np.ptp(model.fit(data.X, data.labelled).predict_propensity(data.X)) == 0


def test_pipelines_take_weights_with_routing_and_without(data):
    def pipeline():
        return make_pipeline(StandardScaler(), LogisticRegression())

    plain = TM(estimator=pipeline(), max_iter=5).fit(data.X, data.labelled)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            LogisticRegression().set_fit_request(sample_weight=True),
        )
        model = TM(estimator=routed, max_iter=5).fit(data.X, data.labelled)
        np.testing.assert_array_equal(model.predict_proba(data.X), plain.predict_proba(data.X))


@pytest.mark.slow
def test_a_classifier_that_memorises_the_labels_is_warned_about(data):
    # Not a random forest: what its trees draw by weights differs between releases of scikit-learn.
    deep = ExtraTreesClassifier(random_state=0), HistGradientBoostingClassifier(min_samples_leaf=1, max_leaf_nodes=60)
    for model in (method(estimator=each, max_iter=3) for method in (TM, SAREM) for each in deep):
        with pytest.warns(UserWarning, match="has probably memorised the labels"):
            model.fit(data.X, data.labelled)


def test_sparse_features_for_a_dense_classifier_are_one_clear_error(data):
    with pytest.raises(InvalidFeatures, match=r"accepts only dense features. Pass X.toarray\(\)"):
        TM(estimator=HistGradientBoostingClassifier()).fit(sp.csr_array(data.X), data.labelled)


@pytest.mark.slow
def test_columns_may_come_in_any_container(data):
    fits = [
        SAREM(propensity_features=columns).fit(data.X, data.labelled).propensity_coef_
        for columns in ([2, 3], (3, 2), np.array([2, 3]), pd.Index([2, 3]), range(2, 4), {2, 3}, [2, 3, 3])
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0], other)


def test_columns_may_be_named(data):
    frame = pd.DataFrame(data.X.copy(), columns=["age", "dose", "ward", "sex"])
    named = SAREM(propensity_features=["ward", "sex"]).fit(frame, data.labelled)
    numbered = SAREM(propensity_features=[2, 3]).fit(data.X, data.labelled)
    np.testing.assert_allclose(named.propensity_coef_, numbered.propensity_coef_, rtol=1e-9)


WRONG_COLUMNS = [
    (["ward", "hair"], "there is no column 'hair'; the columns are 'age', 'dose', 'ward', 'sex'"),
    ([4], "there is no column 4; the columns are numbered 0 to 3"),
    ([-1], "there is no column -1"),
    ([True], "there is no column True"),
    ([1.5], "there is no column 1.5"),
    ("ward", "pass a list"),
    (iter([1, 2]), "pass a list"),
    (2, "pass a list"),
]


@pytest.mark.parametrize(("columns", "words"), WRONG_COLUMNS, ids=[f"case {n}" for n in range(len(WRONG_COLUMNS))])
def test_a_wrong_column_is_named(data, columns, words):
    frame = pd.DataFrame(data.X.copy(), columns=["age", "dose", "ward", "sex"])
    with pytest.raises(InvalidOption, match=words):
        TM(propensity_features=columns).fit(frame, data.labelled)


def test_a_name_without_names_is_refused(data):
    with pytest.raises(InvalidOption, match="X has no column names"):
        TM(propensity_features=["ward"]).fit(data.X, data.labelled)


@pytest.mark.slow
def test_knowing_the_columns_sharpens_the_estimate():
    """e on the second half of the features, which is said: the error of y falls."""
    errors = {}
    for columns in (None, [2, 3]):
        fits = [
            (SAREM(propensity_features=columns).fit(data.X, data.labelled), data)
            for data in (make_double_logistic(1000, 4, random_state=seed) for seed in range(8))
        ]
        errors[str(columns)] = np.mean(
            [np.abs(model.predict_proba(data.X)[:, 1] - data.posterior).mean() for model, data in fits]
        )
    assert errors["[2, 3]"] < errors["None"]
