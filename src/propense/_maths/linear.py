"""Small positive definite systems, p × p."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrs

__all__ = ["cholesky_solver", "places"]


def cholesky_solver(matrix: NDArray[np.float64]) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """The map b → matrix⁻¹ b, factorised once; LinAlgError where the matrix is not positive definite."""
    # NumPy's factorisation, not SciPy's: each brings a BLAS with threads of its own, and those of the one spin for
    # a while after a large call, on the cores that the other needs next. LAPACK solves directly: at small p
    # the checks around it would cost as much as a pass over X.
    upper = np.linalg.cholesky(matrix).T
    return lambda b: np.asarray(dpotrs(upper, b)[0])


def places(columns: NDArray[np.intp] | None, p: int) -> NDArray[np.intp]:
    """Where the coefficients of some features, the intercept first, stand among the p of all; None is every feature."""
    return np.arange(p) if columns is None else np.concatenate([[0], columns + 1])
