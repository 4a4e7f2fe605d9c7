"""Majorise–minimise: coef ← coef − B⁻¹·gradient with one fixed B that bounds every Hessian, so the risk never rises."""

import numpy as np

from propense._maths.arrays import Vector
from propense._maths.linear import is_wide
from propense._solvers.objective import MajorisedObjective, Solution, gradient_norm

__all__ = ["mm", "mm_early"]


def mm(risk: MajorisedObjective, start: Vector, *, tol: float, max_iter: int) -> Solution:
    """Step until the gradient norm is at most `tol`."""
    coef, n_iter = start, 0
    gradient = risk.gradient(coef)
    while not (converged := gradient_norm(risk, gradient) <= tol) and n_iter < max_iter:
        coef, n_iter = coef - risk.majorised_step(gradient), n_iter + 1
        gradient = risk.gradient(coef)
    value, gradient = risk.value_gradient(coef)
    return Solution(coef, value, gradient_norm(risk, gradient), n_iter, converged)


def mm_early(risk: MajorisedObjective, start: Vector, *, tol: float, max_iter: int) -> Solution:
    """Step until the next step would move no coefficient by `tol` or more, and do not take that step.

    This is the early stop of the published JERM: the unfinished minimisation regularises it. Where p × p is too large
    to hold, a step takes tens of passes over X, and the steps are lengthened.
    """
    if is_wide(len(start)):
        return _mm_early_lengthened(risk, start, tol=tol, max_iter=max_iter)
    coef, n_iter, converged = start, 0, False
    while n_iter < max_iter:
        step = risk.majorised_step(risk.gradient(coef))
        converged = bool(np.abs(step).max() < tol)
        if converged:
            break
        coef, n_iter = coef - step, n_iter + 1
    value, gradient = risk.value_gradient(coef)
    return Solution(coef, value, gradient_norm(risk, gradient), n_iter, converged)


def _mm_early_lengthened(risk: MajorisedObjective, start: Vector, *, tol: float, max_iter: int) -> Solution:
    """The same stop, along about the same path, in a fraction of the steps.

    With more columns than rows the classes separate, the risk flattens, and the steps shrink like 1/k in about the same
    direction. Each step is tried at twice the length of the one before. It is then halved, down to its own length,
    until the risk falls by half of what its slope promises, so it does not pass the lowest point ahead.
    """
    coef, length = start, 0.5
    value, gradient = risk.value_gradient(coef)
    for n_iter in range(max_iter):
        step = risk.majorised_step(gradient)
        if np.abs(step).max() < tol:
            return Solution(coef, value, gradient_norm(risk, gradient), n_iter, converged=True)
        before, promised, length = value, float(gradient @ step), 2.0 * length
        value, gradient = risk.value_gradient(coef - length * step)
        while length > 1.0 and value > before - 0.5 * length * promised:
            length *= 0.5
            value, gradient = risk.value_gradient(coef - length * step)
        coef = coef - length * step
    return Solution(coef, value, gradient_norm(risk, gradient), max_iter, converged=False)
