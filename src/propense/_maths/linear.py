"""Positive definite systems: small ones factorised, wide ones by products alone."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrs

__all__ = ["WIDE", "KrylovSolver", "cholesky_solver", "coef_positions", "conjugate_gradients", "is_wide"]

Vector = NDArray[np.float64]
Product = Callable[[Vector], Vector]

# With more columns than this no p × p matrix is made: at 4 000 it takes 128 MB and a second to factorise.
WIDE = 4000
# Iterations of one solve; what is found by then is taken.
_LONGEST = 500


def is_wide(p: int) -> bool:
    """Whether p columns are too many for a p × p matrix."""
    return p > WIDE


def cholesky_solver(matrix: NDArray[np.float64]) -> Product:
    """The map b → matrix⁻¹ b, factorised once; LinAlgError where the matrix is not positive definite."""
    # NumPy's factorisation, not SciPy's: each brings a BLAS with threads of its own, and those of the one spin for
    # a while after a large call, on the cores that the other needs next. LAPACK solves directly: at small p
    # the checks around it would cost as much as a pass over X.
    upper = np.linalg.cholesky(matrix).T
    return lambda b: np.asarray(dpotrs(upper, b)[0])


def conjugate_gradients(
    product: Product, x: Vector, residual: Vector, goal: float, scales: Vector | float = 1.0
) -> tuple[Vector, Vector]:
    """Improve x, of residual r = b − A x, until Σr²/scales ≤ goal; return both. A is known by its products.

    `scales`, if any, is about A's diagonal. Where A proves not to be positive definite, what was found is returned.
    """
    direction, size = np.zeros(len(x)), np.inf
    for _ in range(_LONGEST):
        eased = residual / scales
        before, size = size, float(residual @ eased)
        if size <= goal:
            break
        direction *= size / before
        direction += eased
        moved = product(direction)
        curved = float(direction @ moved)
        if not curved > 0:
            break
        x = x + (size / curved) * direction
        residual = residual - (size / curved) * moved
    return x, residual


class KrylovSolver:
    """The map b → A⁻¹ b to a relative error `tol`, each solve begun where the last one ended.

    Consecutive steps of a minimisation resemble each other, and few iterations then serve; for the same b again the
    answer is the same to the bit. Nothing is scaled by A's diagonal: a gradient lies in the span of the rows, which
    unscaled iterations never leave, and where rows are fewer than columns that saves more of them.
    """

    def __init__(self, product: Product, p: int, tol: float) -> None:
        self._product, self._tol = product, tol
        self._b, self._x, self._residual = (np.zeros(p) for _ in range(3))

    def __call__(self, b: Vector) -> Vector:
        residual, size = self._residual + (b - self._b), float(b @ b)
        if float(residual @ residual) > size:
            # So far from the last answer that 0 is the better start.
            self._x, residual = np.zeros(len(b)), b
        self._x, self._residual = conjugate_gradients(self._product, self._x, residual, self._tol**2 * size)
        self._b = b
        return self._x


def coef_positions(columns: NDArray[np.intp] | None, p: int) -> NDArray[np.intp]:
    """Where the coefficients of some features, the intercept first, stand among the p of all; None is every feature."""
    return np.arange(p) if columns is None else np.concatenate([[0], columns + 1])
