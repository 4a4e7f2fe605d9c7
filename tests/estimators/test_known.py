"""y(x) when e(x) is known."""

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propense import JERM, KnownPropensity, Naive
from propense.datasets import make_double_logistic
from propense.errors import InvalidPropensity


@pytest.fixture
def data():
    return make_double_logistic(800, 4, random_state=0)


def test_it_minimises_the_joint_risk(data):
    def risk(theta):
        y = 1 / (1 + np.exp(-(data.X @ theta[1:] + theta[0])))
        chance = y * data.propensity
        return -np.where(data.labelled, np.log(chance), np.log1p(-chance)).sum() + 0.5 * theta[1:] @ theta[1:]

    truth = minimize(risk, np.zeros(5), method="BFGS", options={"gtol": 1e-4})
    model = KnownPropensity().fit(data.X, data.labelled, propensity=data.propensity)
    np.testing.assert_allclose(np.concatenate([model.intercept_, model.coef_[0]]), truth.x, atol=1e-4)
    assert model.risk_path_[-1] * 800 == pytest.approx(truth.fun, rel=1e-8)
    assert model.converged_


@pytest.mark.parametrize("solver", ["newton", "mm"])
def test_certain_labels_are_the_naive_fit(data, solver):
    model = KnownPropensity(solver=solver).fit(data.X, data.labelled, propensity=1.0)
    np.testing.assert_allclose(model.coef_, Naive().fit(data.X, data.labelled).coef_, atol=1e-5)
    np.testing.assert_array_equal(model.predict_propensity(data.X), 1)
    assert model.label_frequency_ == pytest.approx(1.0)


def test_without_a_propensity_it_says_what_it_takes(data):
    with pytest.warns(UserWarning, match="assumes that all positives are labelled"):
        model = KnownPropensity().fit(data.X, data.labelled)
    np.testing.assert_allclose(model.coef_, Naive().fit(data.X, data.labelled).coef_, atol=1e-6)


def test_the_prior_uses_the_known_propensities_not_the_curve(data):
    """e that no logistic curve follows."""
    e = np.where(np.abs(data.X[:, 0]) < 0.7, 0.9, 0.2)
    rng = np.random.default_rng(0)
    s = data.positive & (rng.random(800) < e)
    model = KnownPropensity().fit(data.X, s, propensity=e)
    y = model.predict_proba(data.X)[:, 1]
    assert model.prior_ == pytest.approx(np.where(s, 1.0, y * (1 - e) / (1 - y * e)).mean(), rel=1e-9)


def test_rows_of_weight_nought_take_their_propensity_with_them(data):
    weights = np.ones(800)
    weights[:300] = 0
    kept = KnownPropensity().fit(data.X[300:], data.labelled[300:], propensity=data.propensity[300:])
    model = KnownPropensity().fit(data.X, data.labelled, sample_weight=weights, propensity=data.propensity)
    np.testing.assert_allclose(model.coef_, kept.coef_, atol=1e-9)


def test_a_row_that_cannot_be_labelled_says_nothing(data):
    """e = 0 on some unlabelled rows: their features must not matter."""
    e = data.propensity.copy()
    never = np.flatnonzero(~data.labelled)[:200]
    e[never] = 0.0
    moved = data.X.copy()
    moved[never] += 1.0
    one, other = (KnownPropensity().fit(X, data.labelled, propensity=e) for X in (data.X, moved))
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-7)


WRONG = {
    "above one": (lambda e, s: np.where(np.arange(len(e)) == 3, 1.5, e), "propensity is 1.5 at row 3"),
    "below nought": (lambda e, s: np.where(np.arange(len(e)) == 3, -0.1, e), "propensity is -0.1 at row 3"),
    "nought where labelled": (lambda e, s: np.where(s, 0.0, e), "but the row is labelled"),
    "missing": (lambda e, s: np.where(np.arange(len(e)) == 3, np.nan, e), "propensity contains NaN"),
    "too few": (lambda e, s: e[:-1], "inconsistent numbers of samples"),
    "a matrix": (lambda e, s: np.column_stack([e, e]), "must be 1D"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_propensity_is_named(data, case):
    spoil, words = WRONG[case]
    with pytest.raises(InvalidPropensity, match=words):
        KnownPropensity().fit(data.X, data.labelled, propensity=spoil(data.propensity, data.labelled))


def test_the_propensity_is_routed_through_pipelines_and_folds(data):
    with sklearn.config_context(enable_metadata_routing=True):
        model = KnownPropensity().set_fit_request(propensity=True)
        pipeline = make_pipeline(StandardScaler(), model)
        pipeline.fit(data.X, data.labelled, propensity=data.propensity)
        direct = KnownPropensity().fit(
            StandardScaler().fit_transform(data.X), data.labelled, propensity=data.propensity
        )
        np.testing.assert_array_equal(pipeline[-1].coef_, direct.coef_)
        scores = cross_validate(pipeline, data.X, data.labelled, cv=3, params={"propensity": data.propensity})
        assert len(scores["test_score"]) == 3
        grid = GridSearchCV(pipeline, {"knownpropensity__ridge": [0.1, 10.0]}, cv=3)
        grid.fit(data.X, data.labelled, propensity=data.propensity)
        assert grid.best_params_["knownpropensity__ridge"] in (0.1, 10.0)


def test_the_curve_counts_a_row_as_often_as_it_weighs(data):
    copies = np.arange(800) % 3
    e = np.clip(data.propensity**2, 0.05, 1.0)
    repeat = np.repeat(np.arange(800), copies)
    weighted = KnownPropensity().fit(data.X, data.labelled, sample_weight=copies, propensity=e)
    repeated = KnownPropensity().fit(data.X[repeat], data.labelled[repeat], propensity=e[repeat])
    np.testing.assert_allclose(weighted.propensity_coef_, repeated.propensity_coef_, atol=1e-7)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)


def test_the_curve_may_be_kept_to_some_columns(data):
    model = KnownPropensity(propensity_features=[2, 3]).fit(data.X, data.labelled, propensity=data.propensity)
    np.testing.assert_array_equal(model.propensity_coef_[0, :2], 0)
    assert np.abs(model.predict_propensity(data.X) - data.propensity).mean() < 0.02


def test_one_number_may_come_as_an_array_of_none_dimensions(data):
    one, other = (KnownPropensity().fit(data.X, data.labelled, propensity=e) for e in (0.5, np.array(0.5)))
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_the_truth_is_recovered():
    data = make_double_logistic(20_000, 6, random_state=0)
    model = KnownPropensity().fit(data.X, data.labelled, propensity=data.propensity)
    assert np.abs(model.predict_proba(data.X)[:, 1] - data.posterior).mean() < 0.02
    assert model.prior_ == pytest.approx(data.positive.mean(), abs=0.02)
    # The curve through the known propensities is e itself where that is logistic.
    np.testing.assert_allclose(model.predict_propensity(data.X), data.propensity, atol=0.01)


def test_another_methods_propensity_serves(data):
    e = JERM().fit(data.X, data.labelled).predict_propensity(data.X)
    model = KnownPropensity(ridge=0.0).fit(data.X, data.labelled, propensity=e)
    t = np.where(data.labelled, 1.0, 0.0)
    y = model.predict_proba(data.X)[:, 1]
    t = np.where(data.labelled, 1.0, y * (1 - e) / (1 - y * e))
    assert np.abs(np.column_stack([np.ones(800), data.X]).T @ (y - t)).max() < 1e-3
