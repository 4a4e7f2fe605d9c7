"""Laws of the risks, on every kind of design."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from conftest import DESIGN_KINDS, coarse, slow_where
from propense._designs import as_design
from propense._risks import JointRisk, LogisticRisk, PairRisk

N, P = 120, 5


@pytest.fixture(params=slow_where(lambda name: name == "dask", ["dense", "sparse", "torch", "dask"]))
def design_kind(request):
    """The kinds whose arithmetic differs; the others differ in how they are read, which `test_designs.py` tests."""
    return DESIGN_KINDS[request.param]


@pytest.fixture
def X(rng):
    return coarse(rng.normal(size=(N, P)))


@pytest.fixture(
    params=[
        *("logistic", "soft logistic", "joint", "pair", "pair, ridges of their own", "pair, some columns"),
        *("pair, columns each", "known joint", "known pair"),
    ]
)
def make_risk(request, rng):
    """(design, weights, ridge) → risk, with fixed targets."""
    labelled, other, soft = rng.random(N) < 0.4, rng.normal(size=N), rng.random(N)
    negative = ~labelled & (soft < 0.3)
    return {
        "logistic": lambda design, weights=None, ridge=0.0: LogisticRisk(
            design, design.send(labelled), weights=weights, ridge=ridge
        ),
        "soft logistic": lambda design, weights=None, ridge=0.0: LogisticRisk(
            design, design.send(soft), weights=weights, ridge=ridge
        ),
        "joint": lambda design, weights=None, ridge=0.0: JointRisk(
            design, design.send(labelled), design.send(other), weights=weights, ridge=ridge
        ),
        "pair": lambda design, weights=None, ridge=0.0: PairRisk(
            design, design.send(labelled), weights=weights, ridge=ridge, propensity_ridge=2 * ridge
        ),
        "pair, ridges of their own": lambda design, weights=None, ridge=0.0: PairRisk(
            design,
            design.send(labelled),
            weights=weights,
            ridge=ridge * np.arange(1.0, design.shape[1]),
            propensity_ridge=ridge * np.arange(design.shape[1] - 1.0),
            level=ridge * (3.0 - np.arange(design.shape[1])),
        ),
        "pair, some columns": lambda design, weights=None, ridge=0.0: PairRisk(
            design,
            design.send(labelled),
            columns=np.array([1, 3]),
            weights=weights,
            ridge=ridge,
            propensity_ridge=2 * ridge,
        ),
        "pair, columns each": lambda design, weights=None, ridge=0.0: PairRisk(
            design,
            design.send(labelled),
            columns=np.array([1, 3]),
            class_columns=np.array([0, 3, 4]),
            weights=weights,
            ridge=ridge * np.arange(1.0, 4.0),
            propensity_ridge=2 * ridge,
            level=ridge * (3.0 - np.arange(design.shape[1])),
        ),
        "known joint": lambda design, weights=None, ridge=0.0: JointRisk(
            design,
            design.send(labelled),
            design.send(other),
            weights=weights,
            ridge=ridge,
        ).with_negatives(design.send(negative), -0.4),
        "known pair": lambda design, weights=None, ridge=0.0: PairRisk(
            design,
            design.send(labelled),
            weights=weights,
            ridge=ridge,
        ).with_negatives(design.send(negative), -0.4),
    }[request.param]


@pytest.fixture(params=["unweighted", "weighted with ridge"])
def risk(request, make_risk, design_kind, X, rng):
    if request.param == "unweighted":
        return make_risk(design_kind(X))
    design = design_kind(X)
    return make_risk(design, design.send(rng.random(N) + 0.1), 0.7)


def test_gradient_is_the_slope_of_the_value(risk, rng):
    coef, step = rng.normal(size=len(risk.units)), 1e-5
    slopes = [
        (risk.value_gradient(coef + step * e)[0] - risk.value_gradient(coef - step * e)[0]) / (2 * step)
        for e in np.eye(len(coef))
    ]
    np.testing.assert_allclose(risk.value_gradient(coef)[1], slopes, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(risk.gradient(coef), risk.value_gradient(coef)[1])


def test_hessian_is_the_slope_of_the_gradient(risk, rng):
    coef, step = rng.normal(size=len(risk.units)), 1e-5
    slopes = [(risk.gradient(coef + step * e) - risk.gradient(coef - step * e)) / (2 * step) for e in np.eye(len(coef))]
    np.testing.assert_allclose(risk.hessian(coef), slopes, rtol=1e-6, atol=1e-6)


def test_majoriser_bounds_hessian(risk, rng):
    majoriser = np.linalg.inv([risk.majorised_step(e) for e in np.eye(len(risk.units))])
    np.testing.assert_allclose(majoriser, majoriser.T, atol=1e-9)
    np.testing.assert_allclose(risk.units, np.sqrt(np.diag(majoriser)), rtol=1e-9)
    for size in (0.0, 0.3, 3.0):
        gap = majoriser - risk.hessian(size * rng.normal(size=len(risk.units)))
        assert np.linalg.eigvalsh(gap).min() > 0


def test_an_integer_weight_is_that_many_rows(design_kind, rng):
    X = coarse(rng.normal(size=(30, 3)))
    copies = rng.integers(1, 4, size=30)
    repeat = np.repeat(np.arange(30), copies)
    labelled, other, coef = rng.random(30) < 0.5, rng.normal(size=30), rng.normal(size=4)
    design, longer = design_kind(X), design_kind(X[repeat])
    weights = design.send(copies.astype(float))
    weighted = JointRisk(design, design.send(labelled), design.send(other), weights=weights, ridge=0.2)
    repeated = JointRisk(longer, longer.send(labelled[repeat]), longer.send(other[repeat]), ridge=0.2)
    assert weighted.total_weight == repeated.total_weight == copies.sum()
    np.testing.assert_allclose(weighted.value_gradient(coef)[0], repeated.value_gradient(coef)[0], rtol=1e-12)
    np.testing.assert_allclose(weighted.gradient(coef), repeated.gradient(coef), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(weighted.hessian(coef), repeated.hessian(coef), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(weighted.majorised_step(coef), repeated.majorised_step(coef), rtol=1e-10)


def test_the_two_factors_can_change_places(design_kind, X, rng):
    design = design_kind(X)
    labelled = design.send(rng.random(N) < 0.4)
    beta, gamma = rng.normal(size=(2, P + 1))
    by_class = JointRisk(design, labelled, design.matvec(gamma)).value_gradient(beta)[0]
    by_propensity = JointRisk(design, labelled, design.matvec(beta)).value_gradient(gamma)[0]
    assert by_class == pytest.approx(by_propensity, rel=1e-13)


def test_holding_elsewhere_is_a_new_risk_with_the_old_majoriser(design_kind, X, rng):
    design = design_kind(X)
    labelled, here, there = (design.send(rows) for rows in (rng.random(N) < 0.4, *rng.normal(size=(2, N))))
    coef = rng.normal(size=P + 1)
    risk = JointRisk(design, labelled, here)
    moved = risk.with_other(there)
    assert moved._bound is risk._bound
    assert moved.value_gradient(coef)[0] == JointRisk(design, labelled, there).value_gradient(coef)[0]
    assert risk.value_gradient(coef)[0] == JointRisk(design, labelled, here).value_gradient(coef)[0]


def test_joint_risk_with_certain_labels_is_the_logistic_risk(design_kind, X, rng):
    design, coef = design_kind(X), rng.normal(size=P + 1)
    labelled = design.send(rng.random(N) < 0.4)
    joint = JointRisk(design, labelled, design.send(np.full(N, np.inf))).value_gradient(coef)
    logistic = LogisticRisk(design, labelled).value_gradient(coef)
    assert joint[0] == pytest.approx(logistic[0], rel=1e-13)
    np.testing.assert_allclose(joint[1], logistic[1], atol=1e-11)


def test_the_pair_is_the_joint_risk_of_each_factor(design_kind, X, rng):
    design = design_kind(X)
    labelled = design.send(rng.random(N) < 0.4)
    beta, gamma = rng.normal(size=(2, P + 1))
    pair = PairRisk(design, labelled)
    value, gradient = pair.value_gradient(pair.join(beta, gamma))
    by_class = JointRisk(design, labelled, design.matvec(gamma)).value_gradient(beta)
    by_propensity = JointRisk(design, labelled, design.matvec(beta)).value_gradient(gamma)
    assert value == pytest.approx(by_class[0], rel=1e-13)
    np.testing.assert_allclose(gradient, np.concatenate([by_class[1], by_propensity[1]]), atol=1e-11)


def test_columns_left_out_of_the_propensity_are_zeros(design_kind, X, rng):
    design = design_kind(X)
    labelled = design.send(rng.random(N) < 0.4)
    some, all_columns = PairRisk(design, labelled, columns=np.array([1, 3])), PairRisk(design, labelled)
    theta = rng.normal(size=P + 1 + 3)
    beta, gamma = some.split(theta)
    np.testing.assert_array_equal(np.flatnonzero(gamma), [0, 2, 4])
    np.testing.assert_array_equal(some.join(beta, gamma), theta)
    whole = all_columns.value_gradient(all_columns.join(beta, gamma))[0]
    assert some.value_gradient(theta)[0] == pytest.approx(whole, rel=1e-13)


def test_columns_left_out_of_the_class_are_zeros(design_kind, X, rng):
    design, own = design_kind(X), np.array([0, 3, 4])
    labelled = design.send(rng.random(N) < 0.4)
    some, all_columns = PairRisk(design, labelled, class_columns=own), PairRisk(design, labelled)
    theta = rng.normal(size=4 + P + 1)
    beta, gamma = some.split(theta)
    np.testing.assert_array_equal(np.flatnonzero(beta), [0, 1, 4, 5])
    np.testing.assert_array_equal(some.join(beta, gamma), theta)
    value, gradient = all_columns.value_gradient(all_columns.join(beta, gamma))
    assert some.value_gradient(theta)[0] == pytest.approx(value, rel=1e-13)
    kept = np.append([0, 1, 4, 5], P + 1 + np.arange(P + 1))
    np.testing.assert_allclose(some.gradient(theta), gradient[kept], atol=1e-10)
    whole = all_columns.hessian(all_columns.join(beta, gamma))
    np.testing.assert_allclose(some.hessian(theta), whole[np.ix_(kept, kept)], atol=1e-9)


def test_the_same_columns_for_both_factors_are_a_design_of_these_columns(design_kind, X, rng):
    own = np.array([0, 3, 4])
    design, narrow = design_kind(X), design_kind(X[:, own])
    labelled, weights = rng.random(N) < 0.4, rng.random(N)
    ridges = {"ridge": np.array([0.5, 1.0, 2.0]), "propensity_ridge": 0.3}
    wide, small = (
        PairRisk(each, each.send(labelled), weights=each.send(weights), **ridges, **columns)
        for each, columns in ((design, {"columns": own, "class_columns": own}), (narrow, {}))
    )
    theta = rng.normal(size=8)
    assert wide.value_gradient(theta)[0] == pytest.approx(small.value_gradient(theta)[0], rel=1e-12)
    np.testing.assert_allclose(wide.gradient(theta), small.gradient(theta), atol=1e-10)
    np.testing.assert_allclose(wide.hessian(theta), small.hessian(theta), atol=1e-9)
    np.testing.assert_allclose(wide.majorised_step(theta), small.majorised_step(theta), rtol=1e-8)


def test_the_intercept_ridge_is_liblinears(X, rng):
    """scikit-learn's liblinear penalises the intercept like any slope."""
    labelled = rng.random(N) < 1 / (1 + np.exp(-X[:, 0] - 1))
    model = LogisticRegression(solver="liblinear", tol=1e-10, max_iter=10_000).fit(X, labelled)
    coef = np.concatenate([model.intercept_, model.coef_[0]])
    risk = LogisticRisk(as_design(X), labelled, ridge=1.0, intercept_ridge=1.0)
    np.testing.assert_allclose(risk.gradient(coef), 0, atol=1e-5)
