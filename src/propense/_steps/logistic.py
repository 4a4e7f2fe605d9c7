"""Logistic regression on our risks: the step inside the methods."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design
from propense._risks import LogisticRisk
from propense._solvers import SOLVERS, Solution

__all__ = ["fit_logistic", "solver_named"]

# For the fits inside methods: beyond any digit that is looked at.
_TOL, _STEPS = 1e-10, 1000


def fit_logistic(
    design: Design,
    targets: Any,
    weights: Any,
    *,
    ridge: float | NDArray[np.float64],
    intercept_ridge: float = 0.0,
    start: NDArray[np.float64] | None = None,
) -> Solution:
    """Minimise the logistic loss of `targets` in [0, 1] plus ½·ridge·‖coef‖²; ridge = 1 is scikit-learn's C = 1."""
    p = design.shape[1]
    risk = LogisticRisk(design, targets, weights=weights, ridge=ridge, intercept_ridge=intercept_ridge)
    return SOLVERS["newton"](risk, np.zeros(p) if start is None else start, tol=_TOL, max_iter=_STEPS)


def solver_named(name: str) -> str:
    """The solver, where "auto" is Newton's method: it makes no p × p matrix where that would be large."""
    return "newton" if name == "auto" else name
