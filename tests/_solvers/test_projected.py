"""Minimisers within an ℓ1 ball, and the projection they rest on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conftest import coarse
from propense._designs import as_design
from propense._risks import LogisticRisk, PairRisk
from propense._solvers import SOLVERS, projected
from propense._solvers.projected import project_to_ball

POINTS = arrays(float, 6, elements=st.floats(-100, 100))
COSTS = arrays(float, 6, elements=st.floats(0.1, 10))


@given(point=POINTS, costs=COSTS, radius=st.floats(0.01, 50), other=POINTS)
def test_the_projection_is_the_nearest_point_of_the_ball(point, costs, radius, other):
    """A convex set's nearest point leaves no other point of the set on the far side of it."""
    nearest = project_to_ball(point, costs, radius)
    assert costs @ np.abs(nearest) <= radius * (1 + 1e-9)
    inside = other * min(1.0, radius / max(costs @ np.abs(other), 1e-300))
    assert (point - nearest) @ (inside - nearest) <= 1e-7 * (1 + np.abs(point).max() ** 2)


@pytest.mark.parametrize("radius", [0.0, 1e-300])
def test_a_ball_of_no_size_is_its_centre(radius):
    np.testing.assert_allclose(project_to_ball(np.array([3.0, -1.0]), np.array([1.0, 0.3]), radius), 0, atol=1e-15)


def test_a_point_inside_stays():
    point = np.array([0.1, -0.2])
    assert project_to_ball(point, np.ones(2), 1.0) is point


@pytest.fixture
def risk(rng, design_kind):
    X = coarse(rng.normal(size=(300, 4)) * [1, 1, 30, 1])
    labelled = rng.random(300) < 1 / (1 + np.exp(-X @ [1.0, -1.0, 0.02, 0.0]))
    design = design_kind(X)
    return LogisticRisk(design, design.send(labelled))


def test_within_a_large_ball_it_is_the_minimiser(risk):
    free = SOLVERS["newton"](risk, np.zeros(5), tol=1e-10, max_iter=100)
    bound = projected(risk, np.ones(5), radius=100.0, tol=1e-8, max_iter=2000)
    assert bound.converged
    assert bound.n_iter < 200
    np.testing.assert_allclose(bound.coef, free.coef, atol=1e-5)


@pytest.mark.parametrize("radius", [0.3, 0.8, 1.5])
def test_on_the_bound_the_gradient_meets_the_conditions_of_karush_kuhn_and_tucker(risk, radius):
    """gradient = −λ·sign(coef) where coef is not 0, and no larger than λ where it is."""
    solution = projected(risk, np.zeros(5), radius=radius, tol=1e-9, max_iter=5000)
    assert solution.converged
    assert np.abs(solution.coef).sum() == pytest.approx(radius, rel=1e-9)
    gradient, used = risk.gradient(solution.coef), np.abs(solution.coef) > 1e-7
    multiplier = np.abs(gradient).max()
    np.testing.assert_allclose(gradient[used], -multiplier * np.sign(solution.coef[used]), rtol=1e-4)


def test_a_start_outside_is_brought_in(risk):
    solution = projected(risk, np.full(5, 50.0), radius=1.0, tol=1e-8, max_iter=0)
    assert np.abs(solution.coef).sum() == pytest.approx(1.0)
    assert not solution.converged


def test_the_minimum_over_both_factors_is_no_saddle(rng):
    X = rng.normal(size=(500, 3))
    labelled = rng.random(500) < 1 / (1 + np.exp(-3 * X[:, 0])) / (1 + np.exp(-X[:, 1]))
    risk = PairRisk(as_design(X), labelled, ridge=1.0, propensity_ridge=1.0)
    # β = γ is a saddle: by symmetry the gradient cannot leave it.
    solution = SOLVERS["newton"](risk, 0.1 * rng.normal(size=8), tol=1e-8, max_iter=500)
    assert solution.converged
    assert np.linalg.eigvalsh(risk.hessian(solution.coef)).min() > 0
