"""Where the columns lie and how far they spread."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["column_moments", "column_scales"]


def column_moments(design: Any, weights: Any = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean and the standard deviation of every feature of a Design; the latter is 0 where a feature is constant."""
    total, *sums = design.rmatvec(weights)
    means = np.asarray(sums) / total
    squares = design.squares(weights)[1:] / total
    variances = squares - means**2
    # What is left of a constant after the subtraction is rounding.
    return means, np.sqrt(np.where(variances > 1e-12 * squares, variances, 0.0))


def column_scales(design: Any, weights: Any = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean and the variance of every feature, what squared slopes are counted in so that units do not matter.

    Where the variance is 0 it is the squared mean, or 1.
    """
    means, spreads = column_moments(design, weights)
    squares = np.where(spreads > 0.0, spreads, means) ** 2
    return means, np.where(squares > 0.0, squares, 1.0)
