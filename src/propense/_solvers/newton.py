"""Damped Newton, with each Hessian kept as long as it serves."""

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from propense._risks import Risk
from propense._solvers.solution import Solution, gradient_norm

__all__ = ["newton"]

# A Hessian is made anew when the last step left more than this share of the gradient. A Hessian costs p/80 passes over
# X (measured, 2 cores), a step one pass: old Hessians save most where p is large and a warm start is near.
_STALE = 0.1
_HALVINGS = 30


def newton(risk: Risk, start: NDArray[np.float64], *, tol: float, max_iter: int) -> Solution:
    """Newton steps, halved until the risk falls, until the gradient norm is at most `tol`."""
    coef, n_iter, factor = start, 0, None
    value, gradient = risk.value_gradient(coef)
    while (norm := gradient_norm(risk, gradient)) > tol and n_iter < max_iter:
        fresh = factor is None
        if factor is None:
            factor = _positive_factor(risk, coef)
        direction = -scipy.linalg.cho_solve(factor, gradient)
        moved = _descend(risk, coef, value, gradient, direction)
        if moved is None:
            if fresh:
                break  # No descent along the best direction known: the value is exhausted to rounding.
            factor = None
            continue
        coef, value, gradient = moved
        n_iter += 1
        if gradient_norm(risk, gradient) > _STALE * norm:
            factor = None
    norm = gradient_norm(risk, gradient)
    return Solution(coef, value, norm, n_iter, norm <= tol)


def _positive_factor(risk: Risk, coef: NDArray[np.float64]) -> Any:
    """Cholesky of the Hessian, or of the nearest mixture with the majoriser that is positive definite."""
    hessian = risk.hessian(coef)
    # The joint risk is not convex in either predictor. At mixture 1 the step is an MM step, which always descends.
    for mixture in (0.0, 0.1, 0.5):
        matrix = hessian if mixture == 0.0 else (1.0 - mixture) * hessian + mixture * risk.majoriser()
        try:
            return scipy.linalg.cho_factor(matrix, lower=True)
        except scipy.linalg.LinAlgError:
            continue
    return scipy.linalg.cho_factor(risk.majoriser(), lower=True)


def _descend(
    risk: Risk, coef: NDArray[np.float64], value: float, gradient: NDArray[np.float64], direction: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float, NDArray[np.float64]] | None:
    """The first of the steps 1, ½, ¼, … along `direction` that lowers the risk enough, or None."""
    slope = float(gradient @ direction)
    if not slope < 0:
        return None
    # Within rounding of the value a fall can no longer be seen; there a smaller gradient decides.
    rounding = 4 * np.finfo(np.float64).eps * abs(value)
    for halving in range(_HALVINGS):
        size = 0.5**halving
        candidate = coef + size * direction
        new_value, new_gradient = risk.value_gradient(candidate)
        if new_value <= value + 1e-4 * size * slope:
            return candidate, new_value, new_gradient
        if new_value <= value + rounding and np.abs(new_gradient).max() < np.abs(gradient).max():
            return candidate, new_value, new_gradient
    return None
