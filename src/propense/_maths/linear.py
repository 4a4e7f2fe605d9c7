"""Positive definite systems: small ones are factorised, wide ones solved by matrix-vector products."""

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrs

from propense._maths.arrays import Index, Matrix, Vector

__all__ = ["WIDE", "KrylovSolver", "cholesky_solver", "coef_positions", "conjugate_gradients", "is_wide"]

Product = Callable[[Vector], Vector]

# With more columns than this no p × p matrix is formed: at 4 000 it takes 128 MB, and a second to factorise.
WIDE = 4000
# The most iterations of one solve; the result so far is then used.
_LONGEST = 500


def is_wide(p: int) -> bool:
    """Whether p columns are too many for a p × p matrix."""
    return p > WIDE


def cholesky_solver(matrix: Matrix) -> Product:
    """The map b → matrix⁻¹ b, factorised once; LinAlgError if the matrix is not positive definite."""
    # NumPy's factorisation, not SciPy's: each has a BLAS with its own threads, which keep spinning for a while after
    # a large call, on the cores that the other BLAS needs next. LAPACK is called directly: at small p, SciPy's checks
    # would cost as much as a pass over X.
    upper = np.linalg.cholesky(matrix).T
    return lambda b: np.asarray(dpotrs(upper, b)[0])


def conjugate_gradients(
    product: Product, x: Vector, residual: Vector, goal: float, scales: Vector | float = 1.0
) -> tuple[Vector, Vector]:
    """Improve x, whose residual is r = b − A x, until Σr²/scales ≤ goal; return both. `product` multiplies by A.

    `scales`, if given, approximates A's diagonal. If A turns out not to be positive definite, the result so far is
    returned.
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
    """The map b → A⁻¹ b to a relative error `tol`; each solve starts where the last one ended.

    Consecutive steps of a minimisation are similar, so few iterations suffice; the same b again gives the same answer
    to the bit. Nothing is scaled by A's diagonal: a gradient lies in the span of the rows, which unscaled iterations
    never leave, and with fewer rows than columns that saves more iterations.
    """

    def __init__(self, product: Product, p: int, tol: float) -> None:
        self._product, self._tol = product, tol
        self._b, self._x, self._residual = (np.zeros(p) for _ in range(3))

    def __call__(self, b: Vector) -> Vector:
        residual, size = self._residual + (b - self._b), float(b @ b)
        if float(residual @ residual) > size:
            # The last answer is so far away that 0 is a better start.
            self._x, residual = np.zeros(len(b)), b
        self._x, self._residual = conjugate_gradients(self._product, self._x, residual, self._tol**2 * size)
        self._b = b
        return self._x


def coef_positions(columns: Index | None, p: int) -> Index:
    """Positions, among p coefficients, of the intercept and of those of some features; None means every feature."""
    return np.arange(p) if columns is None else np.concatenate([[0], columns + 1])
