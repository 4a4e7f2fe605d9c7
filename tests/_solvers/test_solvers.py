"""The solvers on the two risks: they descend, they meet, and they say when they did not."""

import numpy as np
import pytest

from conftest import DESIGN_KINDS, coarse, slow_where
from propense._designs import as_design
from propense._risks import JointRisk, LogisticRisk
from propense._solvers import SOLVERS, mm_early, newton, newton_bfgs
from propense._solvers.newton import _Inverse

N, P = 300, 4


@pytest.fixture(params=slow_where(lambda name: name == "dask", ["dense", "sparse", "torch", "dask"]))
def design_kind(request):
    """The kinds whose arithmetic differs; the others differ in how they are read, which `test_designs.py` tests."""
    return DESIGN_KINDS[request.param]


@pytest.fixture
def problem(rng):
    X = coarse(rng.normal(size=(N, P)))
    labelled = rng.random(N) < 1 / (1 + np.exp(-X @ [1.0, -1.0, 0.5, 0.0]))
    return X, labelled, 0.5 * X[:, 3] + 0.2


@pytest.fixture(params=["logistic", "joint"])
def risk(request, problem, design_kind):
    X, labelled, other = problem
    design = design_kind(X)
    if request.param == "logistic":
        return LogisticRisk(design, design.send(labelled), ridge=1.0)
    return JointRisk(design, design.send(labelled), design.send(other), ridge=0.5)


@pytest.mark.parametrize("solver", ["mm", "newton"])
def test_solution_is_a_stationary_point(risk, solver):
    solution = SOLVERS[solver](risk, np.zeros(P + 1), tol=1e-8, max_iter=5000)
    value, gradient = risk.value_gradient(solution.coef)
    assert solution.converged
    assert solution.value == value
    assert solution.gradient_norm <= 1e-8
    assert solution.gradient_norm == pytest.approx(np.abs(gradient / (risk.units * np.sqrt(N))).max(), rel=1e-6)


def test_the_solvers_meet(risk):
    found = [SOLVERS[name](risk, np.zeros(P + 1), tol=1e-9, max_iter=20_000).coef for name in ("mm", "newton")]
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)


def test_risk_never_rises_along_mm(risk, rng):
    coef = 3 * rng.normal(size=P + 1)
    values = [risk.value_gradient(coef)[0]]
    for _ in range(15):
        coef = SOLVERS["mm"](risk, coef, tol=0.0, max_iter=1).coef
        values.append(risk.value_gradient(coef)[0])
    assert np.diff(values).max() < 0


@pytest.mark.parametrize("solver", ["mm", "newton"])
def test_a_solution_is_where_the_solver_stays(risk, solver):
    """What JERM's stopping rule needs: restarted at its answer, a solver returns it bit for bit."""
    first = SOLVERS[solver](risk, np.zeros(P + 1), tol=1e-7, max_iter=5000)
    again = SOLVERS[solver](risk, first.coef, tol=1e-7, max_iter=5000)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.coef, first.coef)


@pytest.mark.parametrize("solver", ["mm", "newton"])
def test_a_cap_is_kept_and_reported(risk, solver):
    solution = SOLVERS[solver](risk, np.zeros(P + 1), tol=1e-12, max_iter=1)
    assert not solution.converged
    assert solution.n_iter == 1


def test_early_stop_leaves_out_the_first_small_step(risk):
    tol = 1e-2
    solution = mm_early(risk, np.zeros(P + 1), tol=tol, max_iter=1000)
    assert solution.converged
    assert np.abs(risk.majorised_step(risk.gradient(solution.coef))).max() < tol
    coef = np.zeros(P + 1)
    for _ in range(solution.n_iter):
        step = risk.majorised_step(risk.gradient(coef))
        assert np.abs(step).max() >= tol
        coef = coef - step
    np.testing.assert_array_equal(solution.coef, coef)


def test_early_stop_takes_at_most_its_cap(risk):
    solution = mm_early(risk, np.zeros(P + 1), tol=1e-12, max_iter=7)
    assert (solution.n_iter, solution.converged) == (7, False)


def test_more_columns_than_rows_are_no_obstacle(design_kind, rng):
    design = design_kind(coarse(rng.normal(size=(15, 30))))
    risk = JointRisk(design, design.send(np.arange(15) % 2 == 0), design.send(coarse(rng.normal(size=15))))
    solution = SOLVERS["newton"](risk, np.zeros(31), tol=1e-6, max_iter=200)
    assert solution.converged


def test_newton_leaves_a_saddle(design_kind, rng):
    """Where the joint risk curves downwards, the step must still descend."""
    design = design_kind(coarse(rng.normal(size=(200, 2))))
    risk = JointRisk(design, design.send(rng.random(200) < 0.05), design.send(np.full(200, 3.0)), ridge=1e-3)
    start = np.array([2.5, 0.5, -0.5])
    assert np.linalg.eigvalsh(risk.hessian(start)).min() < 0
    solution = SOLVERS["newton"](risk, start, tol=1e-8, max_iter=200)
    assert solution.converged
    assert np.linalg.eigvalsh(risk.hessian(solution.coef)).min() > 0


@pytest.mark.parametrize(
    ("offset", "unit"), [(2020.0, 1.0), (0.0, 2.0**27), (0.0, 2.0**-20), (0.0, [1.0, 2e6, 1e-6, 1.0])]
)
def test_neither_units_nor_an_offset_hinder_convergence(problem, offset, unit):
    X, labelled, _ = problem
    risk = LogisticRisk(as_design(X * unit + np.array([offset, 0, 0, 0])), labelled, ridge=0.0)
    solution = SOLVERS["newton"](risk, np.zeros(P + 1), tol=1e-8, max_iter=300)
    plain = SOLVERS["newton"](LogisticRisk(as_design(X), labelled, ridge=0.0), np.zeros(P + 1), tol=1e-8, max_iter=300)
    assert solution.converged
    assert solution.value == pytest.approx(plain.value, rel=1e-8)


def test_newton_needs_few_hessians(problem, design_kind, monkeypatch):
    """A Hessian costs more than a step: near the solution an old one serves."""
    X, labelled, _ = problem
    design = design_kind(X)
    risk = LogisticRisk(design, design.send(labelled), ridge=1.0)
    made = []
    hessian = LogisticRisk.hessian
    monkeypatch.setattr(LogisticRisk, "hessian", lambda self, coef: made.append(1) or hessian(self, coef))
    solution = SOLVERS["newton"](risk, np.zeros(P + 1), tol=1e-12, max_iter=100)
    assert solution.converged
    assert len(made) < solution.n_iter


class _Counted:
    """A risk that counts its Hessians."""

    def __init__(self, risk):
        self._risk, self.hessians = risk, 0

    def __getattr__(self, name):
        return getattr(self._risk, name)

    def hessian(self, coef):
        self.hessians += 1
        return self._risk.hessian(coef)


def test_corrected_hessians_lead_to_the_same_minimum_and_are_fewer(risk):
    counted = _Counted(risk), _Counted(risk)
    plain = newton(counted[0], np.zeros(P + 1), tol=1e-10, max_iter=100)
    found = newton_bfgs(counted[1], np.zeros(P + 1), tol=1e-10, max_iter=100)
    assert found.converged
    assert found.gradient_norm <= 1e-11
    np.testing.assert_allclose(found.coef, plain.coef, atol=1e-8)
    assert counted[1].hessians < counted[0].hessians


def test_an_inverse_hessian_from_nearby_saves_all_others(risk, rng):
    found = newton_bfgs(risk, np.zeros(P + 1), tol=1e-10, max_iter=100)
    inverse = np.linalg.inv(risk.hessian(found.coef))
    b, counted = rng.normal(size=P + 1), _Counted(risk)
    np.testing.assert_allclose(found.inverse(b), inverse @ b, rtol=0.2)
    near = found.coef + 0.05 * rng.normal(size=P + 1)
    again = newton_bfgs(counted, near, tol=1e-10, max_iter=100, inverse=lambda b: 0.9 * found.inverse(b))
    assert again.converged
    assert counted.hessians == 0
    np.testing.assert_allclose(again.coef, found.coef, atol=1e-8)


def test_a_corrected_inverse_is_that_of_bfgs(rng):
    """H ← (1 − ρ·s·gᵀ)·H·(1 − ρ·g·sᵀ) + ρ·s·sᵀ after a step s that changes the gradient by g, with ρ = 1/sᵀg."""
    root = rng.normal(size=(6, 6))
    hessian, expected, one = root @ root.T + np.eye(6), np.diag(rng.random(6)), np.eye(6)
    start = expected
    inverse = _Inverse(lambda b: start @ b)
    for step in rng.normal(size=(4, 6)):
        change = hessian @ step
        scale = 1 / (step @ change)
        left = one - scale * np.outer(step, change)
        expected = left @ expected @ left.T + scale * np.outer(step, step)
        inverse.correct(step, change)
        inverse.correct(step, -change)  # Where the risk curves downwards, nothing is learned.
    b = rng.normal(size=6)
    np.testing.assert_allclose(inverse(b), expected @ b, rtol=1e-9)
