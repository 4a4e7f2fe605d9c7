"""The laws of EM, and that SAR-EM, LBE and the joint maximum likelihood are one model."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from propense import LBE, SAREM, JointMLE, Oracle
from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._steps.em import Learners, Pair, em_round, fit_em
from propense._steps.learners import Learner
from propense._steps.predictors import LogisticPredictor
from propense.datasets import make_double_logistic

RIDGE = 1.0


@pytest.fixture
def data():
    return make_double_logistic(800, 4, random_state=0)


def observed_risk(model, X, s):
    """Minus the log-likelihood of the labels per row, from the predictions alone."""
    chance = model.predict_proba(X)[:, 1] * model.predict_propensity(X)
    return -np.where(s, np.log(chance), np.log1p(-chance)).mean()


def penalty(model, n, ridge=RIDGE):
    return 0.5 * ridge * (np.sum(model.coef_**2) + np.sum(model.propensity_coef_**2)) / n


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [SAREM, LBE])
@pytest.mark.parametrize("ridge", [0.01, 1.0, 30.0])
def test_the_observed_likelihood_never_falls(data, estimator, ridge):
    model = estimator(ridge=ridge, propensity_ridge=ridge).fit(data.X, data.labelled)
    assert model.converged_
    assert np.diff(model.risk_path_).max() <= 1e-14
    last = observed_risk(model, data.X, data.labelled) + penalty(model, len(data.X), ridge)
    assert model.risk_path_[-1] == pytest.approx(last, rel=1e-10)


@pytest.mark.parametrize("estimator", [SAREM, LBE])
def test_each_factor_has_its_own_ridge(data, estimator):
    model = estimator(ridge=0.3, propensity_ridge=20.0, tol=1e-9).fit(data.X, data.labelled)
    n = len(data.X)
    own = 0.5 * (0.3 * np.sum(model.coef_**2) + 20.0 * np.sum(model.propensity_coef_**2)) / n
    assert model.risk_path_[-1] == pytest.approx(observed_risk(model, data.X, data.labelled) + own, rel=1e-10)
    # Stationary under these ridges, by the textbook: Xᵀ(y − t) + ridge·β = 0 and Xᵀ t(e − s) + ridge·γ = 0.
    y, e = model.predict_proba(data.X)[:, 1], model.predict_propensity(data.X)
    t = np.where(data.labelled, 1.0, model.predict_hidden(data.X))
    np.testing.assert_allclose(data.X.T @ (y - t) + 0.3 * model.coef_[0], 0, atol=1e-4)
    np.testing.assert_allclose(data.X.T @ (t * (e - data.labelled)) + 20.0 * model.propensity_coef_[0], 0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [SAREM, LBE])
def test_each_factor_has_its_own_ridge_as_published_too(data, estimator):
    seed = {"random_state": 0} if estimator is LBE else {}
    plain = estimator(variant="published", max_iter=40, ridge=0.5, propensity_ridge=0.5, tol=1e-2, **seed)
    stiff = estimator(variant="published", max_iter=40, ridge=0.5, propensity_ridge=1e5, tol=1e-2, **seed)
    plain.fit(data.X, data.labelled)
    stiff.fit(data.X, data.labelled)
    assert np.abs(stiff.propensity_coef_).max() < 0.01 < np.abs(plain.propensity_coef_).max()
    assert np.abs(stiff.coef_).max() > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [SAREM, LBE])
def test_known_columns_of_a_steep_propensity_are_no_trap(estimator):
    """e steep on two columns, y flat on the others: from the naive y the rounds would end far off."""
    plain = make_double_logistic(1, 4)
    data = make_double_logistic(8000, 4, coef=plain.propensity_coef, propensity_coef=plain.coef, random_state=0)
    model = estimator(propensity_features=[0, 1]).fit(data.X, data.labelled)
    assert np.abs(model.predict_proba(data.X)[:, 1] - data.posterior).mean() < 0.05
    assert np.abs(model.predict_propensity(data.X) - data.propensity).mean() < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [SAREM, LBE])
def test_without_a_penalty_the_likelihood_itself_never_falls(data, estimator):
    paths = []
    for rounds in range(1, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = estimator(ridge=0.0, propensity_ridge=0.0, max_iter=rounds, tol=0.0).fit(data.X, data.labelled)
        paths.append(observed_risk(model, data.X, data.labelled))
    assert np.diff(paths).max() < 0
    np.testing.assert_allclose(model.risk_path_, paths, rtol=1e-9)


def test_sar_em_and_lbe_reach_the_same_fixed_point(data):
    one, other = (estimator(tol=1e-10).fit(data.X, data.labelled) for estimator in (SAREM, LBE))
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)
    np.testing.assert_allclose(one.propensity_coef_, other.propensity_coef_, atol=1e-5)
    assert one.risk_path_[-1] == pytest.approx(other.risk_path_[-1], rel=1e-12)


def test_the_fixed_point_is_a_round_that_moves_nothing(data):
    """One plain round, both regressions by scikit-learn on doubled data, returns where it began."""
    model = SAREM(tol=1e-9).fit(data.X, data.labelled)
    X, s = data.X, data.labelled
    expected = np.where(s, 1.0, model.predict_hidden(X))

    def regression(features, targets, weights):
        solver = LogisticRegression(tol=1e-12, max_iter=10_000, solver="newton-cholesky")
        return solver.fit(features, targets, sample_weight=weights)

    twice = np.repeat([True, False], len(s))
    posterior = regression(np.vstack([X, X]), twice, np.concatenate([expected, 1 - expected]))
    propensity = regression(X, s, expected)
    np.testing.assert_allclose(posterior.coef_, model.coef_, atol=1e-5)
    np.testing.assert_allclose(propensity.coef_, model.propensity_coef_, atol=1e-5)


def test_the_joint_minimum_is_no_higher(data):
    joint = JointMLE(ridge=RIDGE, random_state=0).fit(data.X, data.labelled)
    assert joint.risk_path_[-1] == pytest.approx(
        observed_risk(joint, data.X, data.labelled) + penalty(joint, len(data.X)), rel=1e-10
    )
    for estimator in (SAREM, LBE):
        model = estimator().fit(data.X, data.labelled)
        assert joint.risk_path_[-1] <= model.risk_path_[-1] + 1e-12


@pytest.mark.slow
def test_extrapolated_rounds_end_where_plain_ones_do(data):
    sample = Sample(as_design(data.X), data.labelled, None, None)
    learners = Learners(Learner(), Learner())
    start = plain = Pair(LogisticPredictor(np.zeros(5)), LogisticPredictor(np.array([0.0, 0.1, 0, 0, 0])))
    for _ in range(1500):
        plain = em_round(sample, plain, learners)
    model = fit_em(sample, start, learners, tol=1e-10, max_iter=500)
    assert model.converged
    assert model.n_iter < 200
    np.testing.assert_allclose(model.posterior.coef, plain.posterior.coef, atol=1e-4)
    np.testing.assert_allclose(model.propensity.coef, plain.propensity.coef, atol=1e-4)


@pytest.mark.parametrize("estimator", [SAREM, LBE])
def test_stopping_short_warns_and_says_so(data, estimator):
    with pytest.warns(ConvergenceWarning, match="stopped after 3 rounds"):
        model = estimator(max_iter=3).fit(data.X, data.labelled)
    assert not model.converged_
    assert model.n_iter_ == 3 == len(model.risk_path_)


RECOVERERS = {"JointMLE": JointMLE(random_state=0), "SAREM": SAREM(), "LBE": LBE()}


@pytest.mark.slow
@pytest.mark.parametrize("name", RECOVERERS)
def test_the_truth_is_recovered_from_many_rows(name):
    data = make_double_logistic(20_000, 10, random_state=0)
    model = RECOVERERS[name].fit(data.X, data.labelled)
    assert np.abs(model.predict_proba(data.X)[:, 1] - data.posterior).mean() < 0.03
    assert np.abs(model.predict_propensity(data.X) - data.propensity).mean() < 0.05


def published_sar_em(X, s):
    """SAR-EM as its reference code ran it, retold with liblinear, doubled data and clipped probabilities."""

    def regression(features, targets, weights):
        kept = weights > 0  # What liblinear does to rows of negative weight.
        model = LogisticRegression(solver="liblinear", tol=1e-10, max_iter=10_000)
        return model.fit(features[kept], targets[kept], sample_weight=weights[kept])

    def chances(model):
        return np.clip(model.predict_proba(X)[:, 1], 1e-4, 1 - 1e-4)

    both, classes = np.vstack([X, X]), np.repeat([1, 0], len(s))
    f = regression(X, s, s * (1 - s.mean()) + (1 - s) * s.mean())
    e = regression(X, s, s + (1 - s) * f.predict_proba(X)[:, 1])
    propensities, likelihoods = [], []
    while len(likelihoods) < 500:
        F, E = chances(f), chances(e)
        Q = s + (1 - s) * F * (1 - E) / (1 - F * E)
        e, f = regression(X, s, Q), regression(both, classes, np.concatenate([Q, 1 - Q]))
        F, E = chances(f), chances(e)
        h = F * (1 - E) / (1 - F * E)
        terms = np.where(s == 1, np.log(F * E), h * np.log(F * (1 - E)) + (1 - h) * np.log(1 - F))
        likelihoods.append(terms.mean())
        propensities.append(E[s == 0])
        if len(likelihoods) > 10:
            slopes = np.polyfit(np.arange(10), np.array(propensities[-10:]), 1)[0]
            if np.abs(slopes).mean() < 1e-4 and likelihoods[-1] - likelihoods[-10] < 1e-4:
                break
    final = regression(both, classes, np.concatenate([s / E, (1 - s) + s * (1 - 1 / E)]))
    return final, e, likelihoods


@pytest.mark.slow
def test_published_sar_em_is_its_reference_code_retold():
    data = make_double_logistic(400, 4, random_state=3)
    model = SAREM(variant="published").fit(data.X, data.labelled)
    classifier, propensity, likelihoods = published_sar_em(data.X, data.labelled.astype(int))
    assert model.n_iter_ == len(likelihoods)
    assert model.converged_
    np.testing.assert_allclose(model.risk_path_, -np.array(likelihoods), atol=1e-6)
    np.testing.assert_allclose(model.coef_, classifier.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, classifier.intercept_, atol=1e-4)
    np.testing.assert_allclose(model.propensity_coef_, propensity.coef_, atol=1e-4)


def published_lbe(X, s, weights, seed, rounds):
    """LBE as re-implemented for the JERM paper, its gradients and Adam written out."""
    n, p = X.shape
    ones = np.column_stack([np.ones(n), X])
    theta = np.zeros((p + 1, 2))
    theta[:, 0] = np.random.RandomState(seed).uniform(-1, 1, p + 1) / np.sqrt(p)

    def run(theta, targets, steps, scale, state):
        for _ in range(steps):
            gradient = scale * ones.T @ (weights[:, None] * (expit(ones @ theta) - targets))
            state[0] += 1
            state[1] = 0.9 * state[1] + 0.1 * gradient
            state[2] = 0.999 * state[2] + 0.001 * gradient**2
            mean, square = state[1] / (1 - 0.9 ** state[0]), state[2] / (1 - 0.999 ** state[0])
            theta = theta - 0.01 * mean / (np.sqrt(square) + 1e-8)
        return theta

    theta[:, :1] = run(theta[:, :1], s[:, None], 1000, 1 / weights.sum(), [0, 0.0, 0.0])
    state = [0, 0.0, 0.0]
    for _ in range(rounds):
        y, e = np.clip(expit(ones @ theta), 1e-4, 1 - 1e-4).T
        Q = np.where(s == 1, 1.0, y * (1 - e) / (1 - y * e))
        theta = run(theta, np.column_stack([Q, s]), 100, 1.0, state)
    return theta


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_published_lbe_is_its_re_implementation_retold(weighted, rng):
    data = make_double_logistic(300, 4, random_state=3)
    s = data.labelled.astype(float)
    weights = rng.uniform(0.2, 2.0, size=300) if weighted else np.ones(300)
    model = LBE(variant="published", random_state=7, max_iter=20).fit(data.X, data.labelled, sample_weight=weights)
    theta = published_lbe(data.X, s, weights, 7, 20)
    np.testing.assert_allclose(np.concatenate([model.intercept_, model.coef_[0]]), theta[:, 0], atol=1e-6)
    np.testing.assert_allclose(
        np.concatenate([model.propensity_intercept_, model.propensity_coef_[0]]), theta[:, 1], atol=1e-6
    )
    assert model.n_iter_ == 20 == len(model.risk_path_)
    if not weighted:
        assert model.risk_path_[-1] == pytest.approx(observed_risk(model, data.X, data.labelled), rel=1e-10)


def test_published_lbe_depends_on_its_seed_alone():
    data = make_double_logistic(300, 4, random_state=3)
    fits = [
        LBE(variant="published", max_iter=1, random_state=seed).fit(data.X, data.labelled).coef_ for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert np.abs(fits[0] - fits[2]).max() > 0


@pytest.mark.slow
def test_the_penalty_of_published_lbe_is_none_unless_asked_for():
    data = make_double_logistic(300, 4, random_state=3)
    plain, zero, stiff = (
        LBE(variant="published", max_iter=30, random_state=0, ridge=ridge).fit(data.X, data.labelled).coef_
        for ridge in (None, 0.0, 1000.0)
    )
    np.testing.assert_array_equal(plain, zero)
    assert np.abs(stiff).max() < 0.5 * np.abs(plain).max()


@pytest.mark.slow
def test_the_whole_budget_of_published_lbe_rounds_alike_for_copies_and_orders(rng):
    """Its 10 000 steps amplify rounding, so the same data must give the same sums to the last bit."""
    data = make_double_logistic(60, 4, random_state=3)
    copies = rng.integers(0, 3, size=60)
    repeat = rng.permutation(np.repeat(np.arange(60), copies))
    for storage, rounds in ((np.asarray, 100), (sp.csr_array, 5)):
        weighted, repeated = (LBE(variant="published", random_state=0, max_iter=rounds) for _ in range(2))
        weighted.fit(storage(data.X), data.labelled, sample_weight=copies)
        repeated.fit(storage(data.X[repeat]), data.labelled[repeat])
        np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
        np.testing.assert_array_equal(weighted.propensity_coef_, repeated.propensity_coef_)


@pytest.mark.slow
def test_rounds_are_alike_however_equal_numbers_are_stored(rng):
    data = make_double_logistic(60, 4, random_state=3)
    X = np.where(rng.random((60, 4)) < 0.3, 0.0, data.X.astype(np.float32)).astype(np.float64)
    negative = np.where(X == 0, -0.0, X)
    stored = sp.csr_array(X)
    stored.data[::5] = 0.0
    pairs = [(X, X.astype(np.float32)), (X, negative), (stored, sp.csr_array(stored.toarray()))]
    for one, other in pairs:
        model = LBE(variant="published", random_state=0, max_iter=5)
        fits = [model.fit(each, data.labelled).coef_ for each in (one, other)]
        np.testing.assert_array_equal(*fits)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECOVERERS)
def test_two_thousand_rows_come_near_the_oracle(name):
    for seed in range(3):
        data, fresh = (make_double_logistic(n, 10, random_state=s) for n, s in ((2000, seed), (20_000, 100 + seed)))
        oracle = Oracle().fit(data.X, data.positive)
        best = balanced_accuracy_score(fresh.positive, oracle.predict(fresh.X))
        model = RECOVERERS[name].fit(data.X, data.labelled)
        assert best == pytest.approx(0.85, abs=0.01)
        assert balanced_accuracy_score(fresh.positive, model.predict(fresh.X)) >= 0.83
