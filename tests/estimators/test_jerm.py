"""JERM's laws, and an independent retelling of its published form."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from propense import JERM
from propense.labelling import MECHANISMS, draw_labels


def retold(X, s):
    """The published algorithm line by line, with textbook formulas, scikit-learn's regression and SciPy's distances."""

    def regression(features, targets):
        return LogisticRegression(tol=1e-10, max_iter=10_000, solver="newton-cholesky").fit(features, targets)

    ones = np.column_stack([np.ones(len(X)), X])
    labelled, unlabelled = np.flatnonzero(s == 1), np.flatnonzero(s == 0)
    spies = unlabelled[cdist(X[labelled], X[unlabelled]).argmin(axis=1)]
    e = (1 + regression(X, s).predict_proba(X)[:, 1]) / 2
    inverse = np.linalg.inv(ones.T @ ones / 4 + 0.01 * np.eye(ones.shape[1]))
    beta, sizes = np.zeros(ones.shape[1]), []
    for _ in range(100):
        for _ in range(200):
            y = expit(ones @ beta)
            t = np.where(s == 1, 1.0, y * (1 - e) / (1 - y * e))
            moved = beta + inverse @ (ones.T @ (t - y))
            if np.abs(moved - beta).max() < 0.01:
                break
            beta = moved
        y = expit(ones @ beta)
        h = y * (1 - e) / (1 - y * e)
        positives = (s == 1) | (h > h[spies].min() * (1 + 1e-12))
        sizes.append(positives.mean())
        e = regression(X[positives], s[positives]).predict_proba(X)[:, 1]
    return beta, e, sizes, np.unique(spies)


@pytest.fixture(scope="module")
def wdbc():
    data = load_breast_cancer()
    # Ten columns without the near copies among the thirty.
    X, y = scale(data.data[:, [0, 1, 4, 5, 6, 8, 9, 11, 14, 28]]), data.target == 0
    score = LogisticRegression().fit(X, y).decision_function(X)
    propensity = MECHANISMS["S2"].propensity(score, y, 0.4)
    return X, draw_labels(propensity, y, np.random.default_rng(5)).astype(int)


@pytest.fixture
def cloud(rng):
    positive = rng.random(400) < 0.4
    X = rng.normal(size=(400, 4)) + np.outer(positive, [2.5, -1.5, 0.5, 0.0])
    return X, (positive & (rng.random(400) < expit(X[:, 2] + 0.5))).astype(int)


def assert_same_fit(one, other, *, atol=1e-7):
    np.testing.assert_allclose(one.coef_, other.coef_, atol=atol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=atol)
    np.testing.assert_allclose(one.propensity_coef_, other.propensity_coef_, atol=atol)
    np.testing.assert_allclose(one.propensity_intercept_, other.propensity_intercept_, atol=atol)
    assert one.prior_ == pytest.approx(other.prior_, abs=atol)
    assert one.label_frequency_ == pytest.approx(other.label_frequency_, abs=atol)
    np.testing.assert_allclose(one.positives_path_, other.positives_path_, atol=1e-12)


@pytest.mark.slow
def test_a_hundred_rounds_of_the_textbook_give_the_same(wdbc):
    X, s = wdbc
    model = JERM().fit(X, s)
    beta, e, sizes, spies = retold(X, s)
    np.testing.assert_allclose(np.concatenate([model.intercept_, model.coef_[0]]), beta, atol=1e-6)
    np.testing.assert_allclose(model.predict_propensity(X), e, atol=1e-7)
    np.testing.assert_allclose(model.positives_path_, sizes[: model.n_iter_], atol=1e-12)
    np.testing.assert_array_equal(model.spies_, spies)
    assert model.converged_
    assert model.n_iter_ < 100


def test_spies_of_the_paper_belong_to_the_positives(wdbc):
    """The same β step in both variants, so that only the place of the lowest spy differs."""
    X, s = wdbc
    steps = {"solver": "newton", "tol": 1e-3, "max_iter": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        published, paper = (JERM(variant=variant, **steps).fit(X, s) for variant in ("published", "paper"))
    assert paper.positives_path_[0] == pytest.approx(published.positives_path_[0] + 1 / len(s))


@pytest.mark.parametrize("solver", ["mm", "newton"])
def test_the_paper_minimises_the_joint_risk(cloud, solver):
    X, s = cloud
    # Without a ridge β has no finite minimiser here: the risk falls for ever as β grows.
    model = JERM(variant="paper", solver=solver, ridge=0.5, max_steps=20_000).fit(X, s)
    ones = np.column_stack([np.ones(len(X)), X])
    y, e = model.predict_proba(X)[:, 1], model.predict_propensity(X)
    t = np.where(s == 1, 1.0, y * (1 - e) / (1 - y * e))
    assert model.converged_
    penalty = np.concatenate([[0.0], 0.5 * model.coef_[0]])
    assert np.abs(ones.T @ (y - t) + penalty).max() / len(s) <= 1.001e-8


def test_solvers_agree_on_the_minimiser(cloud):
    X, s = cloud
    fits = [JERM(variant="paper", solver=solver, ridge=0.5, max_steps=20_000).fit(X, s) for solver in ("mm", "newton")]
    assert_same_fit(fits[0], fits[1], atol=1e-4)


def test_auto_is_mm_as_published_and_newton_as_in_the_paper(cloud):
    X, s = cloud
    assert_same_fit(JERM().fit(X, s), JERM(solver="mm").fit(X, s), atol=0)
    assert_same_fit(JERM(variant="paper").fit(X, s), JERM(variant="paper", solver="newton").fit(X, s), atol=0)


OPTIONS = [
    {},
    {"spy_quantile": 0.2},
    {"ridge": 2.0, "propensity_ridge": 0.3},
    {"variant": "paper", "ridge": 0.1},
    {"variant": "paper", "ridge": 0.1, "spy_quantile": 0.1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_an_integer_weight_is_that_many_copies_of_the_row(cloud, rng, options):
    X, s = cloud
    copies = rng.integers(0, 4, size=len(s))
    repeat = np.repeat(np.arange(len(s)), copies)
    weighted = JERM(**options).fit(X, s, sample_weight=copies)
    repeated = JERM(**options).fit(X[repeat], s[repeat])
    assert_same_fit(weighted, repeated, atol=1e-6)
    np.testing.assert_array_equal(weighted.spies_, np.unique(repeat[repeated.spies_]))


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_sparse_is_dense(cloud, options):
    X, s = cloud
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = JERM(**options).fit(X, s)
    for storage in (sp.csr_array,) if options else (sp.csr_array, sp.csc_matrix, sp.coo_array):
        assert_same_fit(dense, JERM(**options).fit(storage(X), s), atol=1e-6)


def test_propensity_ridge_shrinks_the_propensity_coefficients(cloud):
    X, s = cloud
    model = JERM(propensity_ridge=1e6).fit(X, s)
    assert np.abs(model.propensity_coef_).max() < 1e-3


def test_a_higher_spy_quantile_lets_fewer_in(cloud):
    X, s = cloud
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        shares = [JERM(spy_quantile=q, max_iter=1).fit(X, s).positives_path_[0] for q in (0, 0.1, 0.3, 0.6, 0.9)]
    assert np.diff(shares).max() < 0


def test_a_looser_tolerance_stops_earlier(cloud):
    X, s = cloud
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        risks = [JERM(tol=tol, max_iter=1).fit(X, s).risk_path_[0] for tol in (0.3, 0.1, 0.01, 1e-4)]
        capped = [JERM(tol=1e-9, max_steps=steps, max_iter=1).fit(X, s).risk_path_[0] for steps in (1, 5, 50)]
    assert np.diff(risks).max() < 0
    assert np.diff(capped).max() < 0


def test_stopping_short_warns_and_says_so(cloud):
    X, s = cloud
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = JERM(max_iter=2, spy_quantile=0.3).fit(X, s)
    assert not model.converged_
    assert model.n_iter_ == 2 == len(model.risk_path_) == len(model.positives_path_)


@pytest.mark.slow
def test_a_tolerance_out_of_reach_is_not_called_converged(cloud):
    X, s = cloud
    with pytest.warns(ConvergenceWarning, match="stopped short of its tolerance"):
        model = JERM(variant="paper", ridge=0.5, tol=1e-30).fit(X, s)
    assert not model.converged_
    assert model.n_iter_ < 100


def test_risk_path_ends_at_the_joint_risk_of_the_answer(cloud):
    X, s = cloud
    model = JERM().fit(X, s)
    chance = model.predict_proba(X)[:, 1] * model.predict_propensity(X)
    risk = -np.where(s == 1, np.log(chance), np.log1p(-chance)).mean()
    assert model.risk_path_[-1] == pytest.approx(risk, rel=1e-10)


def test_spies_are_numbered_as_the_user_numbered_them(cloud):
    X, s = cloud
    weights = np.ones(len(s))
    weights[: len(s) // 2] = 0
    model = JERM().fit(X, s, sample_weight=weights)
    later = JERM().fit(X[len(s) // 2 :], s[len(s) // 2 :])
    np.testing.assert_array_equal(model.spies_, later.spies_ + len(s) // 2)


def test_nobody_above_the_spies_means_certain_labels(rng):
    """On a line, the only spy is the unlabelled row most likely positive: P̂ holds the labelled alone."""
    X = np.concatenate([10 + rng.random(30), -10.0 - np.arange(5)])[:, None]
    s = np.repeat([1, 0], [30, 5])
    model = JERM().fit(X, s)
    assert model.positives_path_[-1] == pytest.approx(30 / 35)
    np.testing.assert_array_equal(model.predict_propensity(X), 1)
    np.testing.assert_array_equal(model.predict_hidden(X), 0)
    np.testing.assert_array_equal(model.predict(X), s)


def test_the_published_fallback_takes_the_nine_best(cloud):
    """With the highest spy as the threshold hardly anybody passes it."""
    X, s = cloud
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = JERM(spy_quantile=1.0, max_iter=1).fit(X, s)
    assert model.positives_path_[0] == pytest.approx((s.sum() + 9) / len(s))


def test_spies_are_unlabelled_and_nearest(cloud):
    X, s = cloud
    model = JERM().fit(X, s)
    unlabelled = np.flatnonzero(s == 0)
    nearest = unlabelled[cdist(X[s == 1], X[s == 0]).argmin(axis=1)]
    np.testing.assert_array_equal(model.spies_, np.unique(nearest))


def test_ridge_shrinks_the_class_coefficients(cloud):
    X, s = cloud
    norms = [np.abs(JERM(variant="paper", ridge=ridge).fit(X, s).coef_).sum() for ridge in (0.01, 1.0, 10.0, 100.0)]
    assert np.diff(norms).max() < 0
