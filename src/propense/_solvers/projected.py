"""Spectral projected gradient: minimisers within an ℓ1 ball (Birgin, Martínez and Raydan 2000)."""

from collections import deque

import numpy as np

from propense._maths.arrays import Vector
from propense._solvers.objective import Objective, Solution

__all__ = ["project_to_ball", "projected"]

# The risk may rise above the last value, but not above the highest of the last ten: the long steps need this freedom.
_MEMORY = 10
_HALVINGS = 40
_SHORTEST, _LONGEST = 1e-10, 1e10


def projected(risk: Objective, start: Vector, *, radius: float, tol: float, max_iter: int) -> Solution:
    """Minimise over |coef|₁ ≤ radius, intercepts included, until no projected unit step moves more than `tol`."""
    # In z = units·coef the diagonal of the Hessian is at most 1 for any units of the columns; the ball is Σ|z|/units.
    units = risk.units
    z = project_to_ball(start * units, 1.0 / units, radius)
    value, slope = _evaluate(risk, z)
    recent = deque([value], maxlen=_MEMORY)
    length, n_iter = 1.0, 0
    while (stationarity := _stationarity(risk, z, slope, radius)) > tol and n_iter < max_iter:
        direction = project_to_ball(z - length * slope, 1.0 / units, radius) - z
        moved = _search(risk, z, direction, float(slope @ direction), max(recent))
        if moved is None:
            break  # No lower value on the way: rounding hides any further fall.
        z_new, value, slope_new = moved
        step, turn = z_new - z, slope_new - slope
        z, slope, n_iter = z_new, slope_new, n_iter + 1
        recent.append(value)
        curved = float(step @ turn)
        length = min(max(float(step @ step) / curved, _SHORTEST), _LONGEST) if curved > 0 else _LONGEST
    return Solution(z / units, value, stationarity, n_iter, stationarity <= tol)


def project_to_ball(point: Vector, costs: Vector, radius: float) -> Vector:
    """The point nearest to `point` with Σ costs·|·| ≤ radius."""
    size = np.abs(point)
    if float(costs @ size) <= radius:
        return point
    # sign(v)·max(|v| − λ·cost, 0), with λ such that the bound is met: the entries of largest |v|/cost are kept.
    order = np.argsort(-size / costs)
    spent, weight = np.cumsum((costs * size)[order]), np.cumsum((costs**2)[order])
    multipliers = (spent - radius) / weight
    kept = np.flatnonzero((size / costs)[order] > multipliers)
    if len(kept) == 0:
        return np.zeros(len(point))  # The radius is 0, or is lost in the rounding of the sums.
    return np.asarray(np.sign(point) * np.maximum(size - multipliers[kept[-1]] * costs, 0.0))


def _evaluate(risk: Objective, z: Vector) -> tuple[float, Vector]:
    value, gradient = risk.value_gradient(z / risk.units)
    return value, gradient / risk.units


def _stationarity(risk: Objective, z: Vector, slope: Vector, radius: float) -> float:
    """The largest move of a projected unit step; inside the ball it is the gradient norm of the other solvers."""
    move = project_to_ball(z - slope, 1.0 / risk.units, radius) - z
    return float(np.abs(move).max() / np.sqrt(risk.total_weight))


def _search(
    risk: Objective, z: Vector, direction: Vector, descent: float, ceiling: float
) -> tuple[Vector, float, Vector] | None:
    """The first of the steps 1, ½, ¼, … below the ceiling, or None."""
    for halving in range(_HALVINGS):
        length = 0.5**halving
        value, slope = _evaluate(risk, z + length * direction)
        if value <= ceiling + 1e-4 * length * descent:
            return z + length * direction, value, slope
    return None
