"""Limited-memory BFGS (SciPy's): the choice where p × p is too much to hold."""

from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import NDArray

from propense._maths.linear import is_wide
from propense._risks import Objective
from propense._solvers.solution import Solution, gradient_norm

__all__ = ["lbfgs"]

Vector = NDArray[np.float64]


def lbfgs(risk: Objective, start: Vector, *, tol: float, max_iter: int) -> Solution:
    """Quasi-Newton steps until the gradient norm is at most `tol`."""
    to_coef, to_slope, z = _coordinates(risk, start)
    coef, n_iter = start, 0
    value, gradient = risk.value_gradient(start)

    def objective(z: Vector) -> tuple[float, Vector]:
        nonlocal coef, value, gradient
        coef = to_coef(z)
        value, gradient = risk.value_gradient(coef)
        return value, to_slope(gradient)

    def norm() -> float:
        return gradient_norm(risk, gradient)

    def stop_at_tol(_: Vector) -> None:
        if norm() <= tol:
            raise StopIteration

    # The line search gives up once the value no longer changes in float64; a fresh start from there forgets the
    # curvature learnt and often goes on. Each must at least halve the gradient.
    last = np.inf
    while tol < norm() < 0.5 * last and n_iter < max_iter:
        last = norm()
        options = {"maxiter": max_iter - n_iter, "maxfun": 50 * max_iter, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
        found = scipy.optimize.minimize(
            objective, z, jac=True, method="L-BFGS-B", callback=stop_at_tol, options=options
        )
        z, n_iter = found.x, n_iter + max(int(found.nit), 1)
        objective(z)
    return Solution(coef, value, norm(), n_iter, norm() <= tol)


def _coordinates(
    risk: Objective, start: Vector
) -> tuple[Callable[[Vector], Vector], Callable[[Vector], Vector], Vector]:
    """Maps z → coef and gradient → slope in z, and the z of `start`."""
    if is_wide(len(start)):
        # Without the matrix, its diagonal: at least the units of the columns no longer matter.
        units = risk.units
        return lambda z: z / units, lambda gradient: gradient / units, start * units
    # z = Rᵀ·coef with R·Rᵀ the majoriser: no curvature in z exceeds 1.
    root = np.linalg.cholesky(risk.majoriser())
    return (
        lambda z: scipy.linalg.solve_triangular(root, z, lower=True, trans="T"),
        lambda gradient: scipy.linalg.solve_triangular(root, gradient, lower=True),
        root.T @ start,
    )
