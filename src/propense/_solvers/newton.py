"""Damped Newton: each Hessian is kept as long as it helps, and none is made where p × p is too large."""

from collections.abc import Callable

import numpy as np

from propense._maths.arrays import Matrix, Vector
from propense._maths.linear import cholesky_solver, conjugate_gradients, is_wide
from propense._solvers.objective import Objective, Solution, gradient_norm

__all__ = ["newton", "newton_bfgs"]

# An old Hessian is kept while the gradient falls fast enough to save the price of a new one, which grows with p: to
# a share 0.1 ** (1 / (1 + p/80)) per step or less. Chosen by timing fits from 500 × 10 to 50 000 × 512.
_PRICE_PER_COLUMN = 1 / 80
_FALL = 0.1
# The same for a Hessian that is corrected at every step. On ten sets from 569 × 30 to 50 000 × 30, shares from .4 to .8
# took about as many passes, .4 a third more Hessians; above 1 there were many more passes.
_CORRECTED_FALL = 0.5
# The last step of Newton's method passes `tol` by far, that of a corrected Hessian by little: it goes on to this share.
_BEYOND = 0.1
# A step along which the gradient hardly changes says nothing about the curvature.
_STRAIGHT = 1e-10
# Curvature below this share of the largest counts as none.
_FLAT = 1e-6
# On a plateau there may be no curvature at all; this share of the majoriser's then counts as the largest.
_PLATEAU = 1e-8
_HALVINGS = 30
# A predicted fall below this share of the value is lost in rounding, and not looked for in the value.
_BLIND = 1e-9
# Without the matrix, a step is exact to this share of the gradient at first, and more exact as the gradient falls.
_ROUGH = 0.1


def newton(risk: Objective, start: Vector, *, tol: float, max_iter: int) -> Solution:
    """Newton steps, halved until the risk falls, until the gradient norm is at most `tol`."""
    return _newton(risk, start, tol, max_iter, corrected=False)


def newton_bfgs(
    risk: Objective, start: Vector, *, tol: float, max_iter: int, inverse: Callable[[Vector], Vector] | None = None
) -> Solution:
    """The same with half the Hessians: between two of them, each step corrects the last one (BFGS).

    It pays where there are many rows. Where a risk has several minima, it may end in another one than `newton`.
    `inverse` multiplies by what is about the inverse of the Hessian at the start, if that is known.
    """
    return _newton(risk, start, tol, max_iter, corrected=True, inverse=None if inverse is None else _Inverse(inverse))


def _newton(
    risk: Objective,
    start: Vector,
    tol: float,
    max_iter: int,
    *,
    corrected: bool,
    inverse: "_Inverse | None" = None,
) -> Solution:
    if is_wide(len(start)):
        return _newton_by_products(risk, start, tol=tol, max_iter=max_iter)
    coef, n_iter, last = start, 0, inverse
    stale = (_CORRECTED_FALL if corrected else _FALL) ** (1.0 / (1.0 + _PRICE_PER_COLUMN * len(start)))
    value, gradient = risk.value_gradient(coef)
    enough = _BEYOND * tol if corrected else tol
    while (norm := gradient_norm(risk, gradient)) > enough and n_iter < max_iter:
        fresh = inverse is None
        if inverse is None:
            inverse = last = _Inverse(_inverse(risk.hessian(coef), risk.units))
        moved = _descend(risk, coef, value, gradient, -inverse(gradient))
        if moved is None:
            if fresh:
                break  # No descent along the best known direction: rounding hides any further fall.
            inverse = None
            continue
        if corrected:
            inverse.correct(moved[0] - coef, moved[2] - gradient)
        coef, value, gradient = moved
        n_iter += 1
        if gradient_norm(risk, gradient) > stale * norm:
            inverse = None
    return Solution(coef, value, norm, n_iter, norm <= tol, last if corrected else None)


def _newton_by_products(risk: Objective, start: Vector, *, tol: float, max_iter: int) -> Solution:
    """The same with steps by conjugate gradients (Dembo and Steihaug 1983), one pass over X per iteration."""
    coef, n_iter = start, 0
    value, gradient = risk.value_gradient(coef)
    scales = risk.units**2
    while (norm := gradient_norm(risk, gradient)) > tol and n_iter < max_iter:
        # The error of a step remains in the next gradient: √norm makes it fall faster and faster, and no step needs to
        # be more exact than the final tolerance.
        share = max(min(_ROUGH, np.sqrt(norm)), 0.1 * tol / norm)
        goal = share**2 * float(gradient @ (gradient / scales))
        direction, _ = conjugate_gradients(risk.curvature(coef), np.zeros(len(coef)), -gradient, goal, scales)
        if not direction.any():
            # The risk curves downwards at once: take the step of a diagonal majoriser.
            direction = -gradient / scales
        moved = _descend(risk, coef, value, gradient, direction)
        if moved is None:
            break  # No descent along the best known direction: rounding hides any further fall.
        coef, value, gradient = moved
        n_iter += 1
    return Solution(coef, value, norm, n_iter, norm <= tol)


class _Inverse:
    """An inverse Hessian that agrees with the steps taken since: BFGS, by the two loops of Nocedal (1980)."""

    def __init__(self, solve: Callable[[Vector], Vector]) -> None:
        self._solve = solve
        self._steps: list[tuple[Vector, Vector, float]] = []

    def correct(self, step: Vector, change: Vector) -> None:
        """Take note of a step and of the change of the gradient along it."""
        curved = float(step @ change)
        if curved > _STRAIGHT * np.sqrt(float(step @ step) * float(change @ change)):
            self._steps.append((step, change, 1.0 / curved))

    def __call__(self, b: Vector) -> Vector:
        shares = []
        for step, change, scale in reversed(self._steps):
            shares.append(scale * float(step @ b))
            b = b - shares[-1] * change
        out = self._solve(b)
        for (step, change, scale), share in zip(self._steps, reversed(shares), strict=True):
            out = out + (share - scale * float(change @ out)) * step
        return out


def _inverse(hessian: Matrix, units: Vector) -> Callable[[Vector], Vector]:
    """The map b → hessian⁻¹ b, with the Hessian made positive definite where it is not."""
    try:
        return cholesky_solver(hessian)
    except np.linalg.LinAlgError:
        # The joint risk is not convex in either predictor, and p > n makes it flat. Flip the sign of negative
        # curvature, so that the step leaves a saddle, and limit steps along flat directions. Measure in units in which
        # the majoriser's diagonal is 1, so that the units of the columns do not decide what is flat.
        values, vectors = np.linalg.eigh(hessian / np.outer(units, units))
        values = np.maximum(np.abs(values), _FLAT * max(np.abs(values).max(), _PLATEAU))
        return lambda b: vectors @ ((vectors.T @ (b / units)) / values) / units


def _descend(
    risk: Objective, coef: Vector, value: float, gradient: Vector, direction: Vector
) -> tuple[Vector, float, Vector] | None:
    """The first of the steps 1, ½, ¼, … along `direction` that lowers the risk enough, or None."""
    slope = float(gradient @ direction)
    if not slope < 0:
        return None
    # Very close to the minimum the fall is lost in the rounding of the value (and of the products it is made of, which
    # cancel where columns are far from 0): there a smaller gradient along the step decides.
    blind = -slope <= _BLIND * abs(value)
    for halving in range(_HALVINGS):
        step = 0.5**halving * direction
        new_value, new_gradient = risk.value_gradient(coef + step)
        if blind:
            lower = abs(float(new_gradient @ direction)) <= 0.9 * abs(slope)
        else:
            lower = new_value < value and new_value <= value + 1e-4 * 0.5**halving * slope
        if lower:
            return coef + step, new_value, new_gradient
    return None
