"""Quantiles of weighted values."""

import math

import numpy as np

from propense._maths.arrays import Vector

__all__ = ["repeated_quantile"]


def repeated_quantile(values: Vector, weights: Vector, level: float) -> float:
    """NumPy's (linear) quantile if each value were repeated as often as its weight says."""
    order = np.argsort(values)
    ends = np.cumsum(weights[order])
    # The position among the repeats, from 0; rounding must not push a whole number below itself.
    place = level * max(float(ends[-1]) - 1.0, 0.0)
    below = math.floor(place * (1.0 + 1e-12))
    positions = np.minimum(np.searchsorted(ends, [below, below + 1], "right"), len(ends) - 1)
    low, high = values[order[positions]]
    return float(low + max(place - below, 0.0) * (high - low))
