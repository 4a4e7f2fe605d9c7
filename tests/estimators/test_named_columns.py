"""Columns that y, and columns that e, may depend on: `class_features` and `propensity_features` of every method."""

import inspect

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from conftest import METHODS, fit, in_few_rounds
from propense import JERM, LBE, SAREM, TM, JointMLE, KnownPropensity, SparseJoint
from propense.datasets import make_double_logistic
from propense.errors import InvalidOption

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Naive and Oracle fit no e, and PGLin makes it of y.
WITHOUT = {"Naive", "Oracle", "PGLin"}
NAMES = [name for name, model in METHODS.items() if type(model).__name__ not in WITHOUT]
# y depends on 0 and 1, e on 2 and 3, nothing on 4.
OF_CLASS, OF_LABEL = [0, 1], [2, 3]


@pytest.fixture(scope="module")
def data():
    beta, gamma = np.zeros((2, 6))
    beta[:3], gamma[[0, 3, 4]] = (-0.5, 2.0, -1.5), (0.3, 1.2, -1.0)
    return make_double_logistic(1200, 5, coef=beta, propensity_coef=gamma, random_state=0)


def named(name, **options):
    return clone(METHODS[name]).set_params(**options)


def test_every_method_that_fits_both_takes_both_kinds_of_columns():
    for model in METHODS.values():
        taken = {"class_features", "propensity_features"} & set(inspect.signature(type(model)).parameters)
        assert len(taken) == (0 if type(model).__name__ in WITHOUT else 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_class_depends_on_its_own_columns_only(data, name):
    model = fit(in_few_rounds(named(name, class_features=[1, 0])), sp.csr_array(data.X), data.labelled)
    # Not along a label score.
    if hasattr(model, "coef_"):
        assert (model.coef_[0, 2:] == 0).all()
        assert (model.coef_[0, :2] != 0).all()
    moved = data.X.copy()
    moved[:, 2:] += 5.0
    np.testing.assert_array_equal(model.predict_proba(moved), model.predict_proba(data.X))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_all_columns_named_for_the_class_are_all_columns(data, name):
    # Factors are not exchanged where columns are named; here they need not be.
    found, plain = (fit(named(name, class_features=each), data.X, data.labelled) for each in (range(5), None))
    np.testing.assert_allclose(found.predict_proba(data.X), plain.predict_proba(data.X), atol=1e-5)
    np.testing.assert_allclose(found.predict_propensity(data.X), plain.predict_propensity(data.X), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_without_columns_every_row_has_the_same_chance_of_being_positive(data, name):
    model = fit(in_few_rounds(named(name, class_features=[]), 3), data.X, data.labelled)
    assert np.ptp(model.predict_proba(data.X)[:, 1]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_column_that_neither_depends_on_might_as_well_not_be_there(data, name):
    both = {"class_features": OF_CLASS, "propensity_features": OF_LABEL}
    if "SparseJoint" in name:
        # Rows are held out along a random direction of all columns.
        both["alpha"] = 0.01
    found, without = (fit(named(name, **both), X, data.labelled) for X in (data.X, data.X[:, :4]))
    if "LBE, published" not in name and hasattr(found, "coef_"):
        # It merges equal rows in an order that depends on every column, and rounds by it.
        np.testing.assert_allclose(found.coef_[0, :4], without.coef_[0], atol=1e-6)
    np.testing.assert_allclose(found.predict_propensity(data.X), without.predict_propensity(data.X[:, :4]), atol=1e-5)
    assert found.prior_ == pytest.approx(without.prior_, abs=1e-5)


def test_the_start_of_tm_does_not_use_such_a_column_either(data):
    """One round is not enough to forget the start."""
    model = TM(class_features=OF_CLASS, propensity_features=OF_LABEL, max_iter=1)
    found, without = (clone(model).fit(X, data.labelled) for X in (data.X, data.X[:, :4]))
    np.testing.assert_allclose(found.coef_[0, :4], without.coef_[0], atol=1e-8)


def test_a_known_propensity_leaves_a_regression_on_the_columns_of_the_class(data):
    model = KnownPropensity(class_features=OF_CLASS).fit(data.X, data.labelled, propensity=data.propensity)
    alone = KnownPropensity().fit(data.X[:, OF_CLASS], data.labelled, propensity=data.propensity)
    np.testing.assert_allclose(model.coef_[0, OF_CLASS], alone.coef_[0], atol=1e-8)
    assert model.prior_ == pytest.approx(alone.prior_, abs=1e-10)


def observed(theta, X, s, own, others, ridge):
    """The risk of the labels of y over `own` and e over `others`, from its definition."""
    beta, gamma = np.split(theta, [1 + len(own)])
    y = 1 / (1 + np.exp(-beta[0] - X[:, own] @ beta[1:]))
    e = 1 / (1 + np.exp(-gamma[0] - X[:, others] @ gamma[1:]))
    loss = -np.where(s, np.log(y * e), np.log(1 - y * e)).sum()
    return loss + 0.5 * ridge * (beta[1:] @ beta[1:] + gamma[1:] @ gamma[1:])


@pytest.mark.slow
@pytest.mark.parametrize("model", [SAREM(), LBE(), JointMLE(n_starts=3, random_state=0)], ids=str)
@pytest.mark.parametrize("both", [True, False])
def test_the_answer_is_the_minimum_that_a_search_by_others_finds(data, model, both):
    columns = {"class_features": OF_CLASS, "propensity_features": OF_LABEL if both else None}
    found = clone(model).set_params(**columns).fit(data.X, data.labelled)
    others = OF_LABEL if both else list(range(5))
    theta = np.concatenate(
        [found.intercept_, found.coef_[0, OF_CLASS], found.propensity_intercept_, found.propensity_coef_[0, others]]
    )
    arguments = data.X, data.labelled, OF_CLASS, others, 1.0
    searched = minimize(observed, theta + 0.1, arguments, tol=1e-10)
    assert observed(theta, *arguments) == pytest.approx(searched.fun, abs=1e-6)
    np.testing.assert_allclose(theta, searched.x, atol=1e-3)


def test_the_sparse_path_is_the_same_with_a_penalty_on_the_columns_left():
    """Without a penalty on what is left, the minimum is that of the joint risk."""
    data = make_double_logistic(1500, 4, random_state=1)
    columns = {"class_features": [0, 1], "propensity_features": [2, 3]}
    sparse = SparseJoint(alpha=1e-9, variant="plain", refit=False, tol=1e-9, **columns).fit(data.X, data.labelled)
    joint = JointMLE(ridge=0.0, n_starts=2, random_state=0, **columns).fit(data.X, data.labelled)
    np.testing.assert_allclose(sparse.coef_, joint.coef_, atol=1e-4)
    np.testing.assert_allclose(sparse.propensity_coef_, joint.propensity_coef_, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("model", [TM(max_iter=300), SAREM()], ids=str)
def test_a_classifier_sees_the_columns_of_the_class(data, model):
    flexible = clone(model).set_params(
        estimator=LogisticRegression(), class_features=OF_CLASS, propensity_features=OF_LABEL
    )
    flexible.fit(data.X, data.labelled)
    assert flexible.estimator_.n_features_in_ == 2
    plain = clone(model).set_params(class_features=OF_CLASS, propensity_features=OF_LABEL).fit(data.X, data.labelled)
    np.testing.assert_allclose(flexible.predict_proba(data.X), plain.predict_proba(data.X), atol=2e-3)
    tree = DecisionTreeClassifier(max_depth=3)
    stump = clone(model).set_params(estimator=tree, class_features=[4], max_iter=3).fit(data.X, data.labelled)
    assert stump.estimator_.n_features_in_ == 1


def test_spies_are_near_in_the_columns_of_the_class(data):
    """A row that is like a labelled one in those is probably positive, wherever it is in others."""
    model = JERM(class_features=OF_CLASS).fit(data.X, data.labelled)
    X, s = data.X[:, OF_CLASS], data.labelled
    rest = np.flatnonzero(~s)
    nearest = [rest[np.argmin(((X[rest] - row) ** 2).sum(1))] for row in X[s]]
    np.testing.assert_array_equal(model.spies_, np.unique(nearest))


def test_names_are_those_of_the_frame(data):
    frame = pd.DataFrame(data.X.copy(), columns=["age", "dose", "visits", "ward", "hair"])
    by_name = TM(class_features=["dose", "age"], max_iter=20).fit(frame, data.labelled)
    by_number = TM(class_features=[0, 1], max_iter=20).fit(data.X, data.labelled)
    np.testing.assert_allclose(by_name.coef_, by_number.coef_, rtol=1e-9)
    with pytest.raises(InvalidOption, match=r"class_features=\['eyes'\]\): there is no column 'eyes'; the columns are"):
        SAREM(class_features=["eyes"]).fit(frame, data.labelled)


def test_factors_with_columns_of_their_own_are_not_exchanged(data):
    """e is made the steeper: without names the two would change places."""
    steep = make_double_logistic(
        3000, 4, coef=np.array([0, 1.0, -1.0, 0, 0]), propensity_coef=np.array([0, 0, 0, 2.5, -2.5]), random_state=0
    )
    for model in (JointMLE(n_starts=2, random_state=0), SparseJoint(alpha=0.001)):
        swapped = clone(model).fit(steep.X, steep.labelled)
        assert np.abs(swapped.coef_[0, 2:]).min() > np.abs(swapped.coef_[0, :2]).max()
        model = clone(model).set_params(class_features=[0, 1]).fit(steep.X, steep.labelled)
        assert np.abs(model.coef_[0] - [1.0, -1.0, 0.0, 0.0]).max() < 0.5
        assert "swapped" not in [doubt.kind for doubt in model.doubts_]
