"""Newton's method for a risk with a penalty of absolute values: within one orthant at a time the sum is smooth."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propense._maths.arrays import Index, Matrix, Vector
from propense._maths.linear import cholesky_solver
from propense._solvers.objective import Objective, Solution, gradient_norm

__all__ = ["Penalty", "orthant_newton"]

# A Hessian is kept while the gradient falls to this share a step.
_STALE = 0.2
_HALVINGS = 30
# Added where the risk is flat or curves downwards: the first share of the majoriser's diagonal to try.
_DAMPING = 1e-4
# A predicted fall below this share of the value is lost in rounding, and not looked for in the value.
_BLIND = 1e-9


@dataclass(frozen=True)
class Penalty:
    """Σ l1ⱼ·|coefⱼ| + ½·l2ⱼ·coefⱼ²; a coefficient of l1 = 0 may have any sign."""

    l1: Vector
    l2: Vector

    def value(self, coef: Vector) -> float:
        return float(self.l1 @ np.abs(coef) + 0.5 * self.l2 @ coef**2)

    def at(self, places: Index) -> "Penalty":
        """The penalty of the coefficients at some positions."""
        return Penalty(self.l1[places], self.l2[places])

    def orthant(self, coef: Vector, gradient: Vector) -> Vector:
        """The sign that each coefficient must keep: 0 if it stays at 0 or is free; `gradient` is that of the risk."""
        leaves = (coef == 0) & (np.abs(gradient) > self.l1)
        return np.where(self.l1 > 0, np.where(leaves, -np.sign(gradient), np.sign(coef)), 0.0)

    def slope(self, coef: Vector, gradient: Vector) -> Vector:
        """The smallest subgradient of the sum: 0 at a minimum."""
        orthant = self.orthant(coef, gradient)
        slope = gradient + self.l2 * coef + self.l1 * orthant
        return np.where((orthant == 0) & (self.l1 > 0), 0.0, slope)


def orthant_newton(risk: Objective, start: Vector, penalty: Penalty, *, tol: float, max_iter: int) -> Solution:
    """Newton steps within one orthant, cut where a coefficient would change its sign.

    A coefficient at 0 takes part if the risk falls faster than the penalty rises. The search stops when the norm of
    the smallest subgradient is at most `tol`.
    """
    coef, n_iter, hessian = start, 0, None
    value, gradient = risk.value_gradient(coef)
    value += penalty.value(coef)
    while (norm := gradient_norm(risk, penalty.slope(coef, gradient))) > tol and n_iter < max_iter:
        fresh = hessian is None
        if hessian is None:
            hessian = risk.hessian(coef) + np.diag(penalty.l2)
        moved = _step(risk, coef, value, gradient, penalty, hessian)
        if moved is None:
            if fresh:
                break  # No descent along the best direction known: the value is exhausted to rounding.
            hessian = None
            continue
        coef, value, gradient = moved
        n_iter += 1
        if gradient_norm(risk, penalty.slope(coef, gradient)) > _STALE * norm:
            hessian = None
    return Solution(coef, value, norm, n_iter, norm <= tol)


def _step(
    risk: Objective, coef: Vector, value: float, gradient: Vector, penalty: Penalty, hessian: Matrix
) -> tuple[Vector, float, Vector] | None:
    """The next coefficients with the penalised value and the risk's gradient there, or None."""
    orthant, slope = penalty.orthant(coef, gradient), penalty.slope(coef, gradient)
    free = (orthant != 0) | (penalty.l1 == 0)
    direction = _direction(coef, slope, orthant, free, hessian, risk.units)

    def along(length: float) -> Vector:
        new = coef + length * direction
        new[new * orthant < 0] = 0.0
        return new

    return _descend(risk, value, slope, penalty, along, coef)


def _direction(
    coef: Vector, slope: Vector, orthant: Vector, free: NDArray[np.bool_], hessian: Matrix, units: Vector
) -> Vector:
    """Newton's direction among the free coefficients; one at 0 moves to the side of its orthant or stays."""
    while True:
        where = np.flatnonzero(free)
        direction = np.zeros(len(coef))
        inverse = _inverse(hessian[np.ix_(where, where)], units[where])
        direction[where] = -inverse(slope[where])
        wrong = free & (coef == 0) & (orthant * direction < 0)
        if not wrong.any():
            return direction
        free = free & ~wrong


def _inverse(hessian: Matrix, units: Vector) -> Callable[[Vector], Vector]:
    """The map b → hessian⁻¹ b, with enough of the majoriser's diagonal added to be positive definite."""
    damping = 0.0
    while True:
        try:
            return cholesky_solver(hessian + np.diag(damping * units**2))
        except np.linalg.LinAlgError:
            # No eigenvalues, unlike in the plain Newton search: there are hundreds of them here.
            damping = max(10.0 * damping, _DAMPING)


def _descend(
    risk: Objective,
    value: float,
    slope: Vector,
    penalty: Penalty,
    along: Callable[[float], Vector],
    coef: Vector,
) -> tuple[Vector, float, Vector] | None:
    """The first of the steps 1, ½, ¼, … that lowers the penalised value enough, or None."""
    for halving in range(_HALVINGS):
        new = along(0.5**halving)
        fall = float(slope @ (new - coef))
        if not fall < 0:
            continue
        new_value, new_gradient = risk.value_gradient(new)
        new_value += penalty.value(new)
        if -fall <= _BLIND * abs(value):
            # Very close to the minimum the fall is lost in the rounding of the value: a smaller slope decides.
            now = penalty.slope(new, new_gradient)
            lower = gradient_norm(risk, now) <= 0.9 * gradient_norm(risk, slope)
        else:
            lower = new_value <= value + 1e-4 * fall
        if lower:
            return new, new_value, new_gradient
    return None
