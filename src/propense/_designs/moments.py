"""Where the columns lie and how far they spread."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["column_moments"]


def column_moments(design: Any, weights: Any = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean and the standard deviation of every feature of a Design; the latter is 0 where a feature is constant."""
    total, *sums = design.rmatvec(weights)
    means = np.asarray(sums) / total
    squares = design.squares(weights)[1:] / total
    variances = squares - means**2
    # What is left of a constant after the subtraction is rounding.
    return means, np.sqrt(np.where(variances > 1e-12 * squares, variances, 0.0))
