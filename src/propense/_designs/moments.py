"""Means and standard deviations of the columns."""

from typing import Any

import numpy as np

from propense._maths.arrays import Vector

__all__ = ["column_moments", "column_scales"]


def column_moments(design: Any, weights: Any = None) -> tuple[Vector, Vector]:
    """The mean and the standard deviation of every feature of a Design; the latter is 0 for a constant feature."""
    total, *sums = design.rmatvec(weights)
    means = np.asarray(sums) / total
    squares = design.squares(weights)[1:] / total
    variances = squares - means**2
    # A variance smaller than this is rounding of a constant.
    return means, np.sqrt(np.where(variances > 1e-12 * squares, variances, 0.0))


def column_scales(design: Any, weights: Any = None) -> tuple[Vector, Vector]:
    """The mean and the variance of every feature. Squared slopes times variances do not depend on units.

    If a variance is 0, it is replaced by the squared mean, or by 1.
    """
    means, spreads = column_moments(design, weights)
    squares = np.where(spreads > 0.0, spreads, means) ** 2
    return means, np.where(squares > 0.0, squares, 1.0)
