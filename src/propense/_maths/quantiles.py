"""Quantiles of weighted values."""

import math

import numpy as np

from propense._maths.arrays import Vector

__all__ = ["repeated_quantile", "weighted_median"]


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


def weighted_median(values: Vector, weights: Vector) -> float:
    """The middle of the values that have at most half of the weight below and above them; NumPy's if all weigh 1."""
    order = np.argsort(values)
    ends = np.cumsum(weights[order])
    half = float(ends[-1]) / 2.0
    # Rounding must not push half of the weight past the end of a value.
    below = int(np.searchsorted(ends, half * (1.0 - 1e-12), "left"))
    above = min(int(np.searchsorted(ends, half * (1.0 + 1e-12), "right")), len(ends) - 1)
    return float((values[order[below]] + values[order[above]]) / 2.0)
