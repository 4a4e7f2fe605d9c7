"""Shapley values: how a function of several parts splits into what each of them adds."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from propense._maths.arrays import Matrix, Vector

__all__ = ["Part", "add_parts", "carry", "subset_weights"]

# Below this a difference has too few digits to divide by; the slope of the function takes its place.
_CLOSE = 1e-7
# How far apart the two ends of a slope are.
_STEP = 1e-5


class Part:
    """One number per row as a baseline and what every column adds to it.

    Attributes
    ----------
    base : float
        The number of the baseline.
    value : ndarray of shape (n_rows,)
    shares : ndarray of shape (n_rows, n_columns)
        What each column adds: ``base + shares.sum(axis=1)`` is `value`, up to rounding.
    """

    def __init__(self, base: float, value: Vector, shares: Matrix) -> None:
        self.base, self.value, self.shares = base, value, shares


def add_parts(parts: Sequence[Part], weights: Sequence[float] | Vector, constant: float = 0.0) -> Part:
    """The weighted sum of some parts."""
    pairs = list(zip(weights, parts, strict=True))
    return Part(
        constant + sum(weight * part.base for weight, part in pairs),
        np.asarray(constant + sum(weight * part.value for weight, part in pairs)),
        np.asarray(sum(weight * part.shares for weight, part in pairs)),
    )


def carry(function: Callable[..., Vector], *parts: Part) -> Part:
    """A function of some parts, split over their columns.

    The difference from the baseline is first split over the parts, by Shapley values. What a part adds is then divided
    among its columns in proportion to their shares of it, so that the sum stays exact. Where a part is what it is in
    the baseline but its columns are not, the slope of the function takes the place of the ratio.
    """
    count, rows = len(parts), len(parts[0].value)
    # One row more, for the baseline.
    ends = [(np.full(rows + 1, part.base), np.append(part.value, part.base)) for part in parts]
    found = {
        chosen: np.asarray(function(*(pair[chosen >> place & 1] for place, pair in enumerate(ends))))
        for chosen in range(2**count)
    }
    weights = subset_weights(count)
    shares = np.zeros((rows, parts[0].shares.shape[1]))
    for place, part in enumerate(parts):
        bit = 1 << place
        with np.errstate(invalid="ignore"):
            rise = sum(
                weights[chosen.bit_count()] * _difference(found[chosen | bit][:-1], found[chosen][:-1])
                for chosen in range(2**count)
                if not chosen & bit
            )
            far = _difference(part.value, np.full(rows, part.base))
        near = np.abs(far) < _CLOSE * np.maximum(1.0, np.abs(part.value))
        ratio = np.divide(rise, far, out=np.zeros(rows), where=~near)
        if near.any() and np.isfinite(part.base):
            low, high = ([*(pair[1][:-1] for pair in ends)] for _ in range(2))
            low[place], high[place] = part.value - _STEP, part.value + _STEP
            slope = _difference(np.asarray(function(*high)), np.asarray(function(*low))) / (2.0 * _STEP)
            ratio = np.where(near, slope, ratio)
        # A column without a share adds nothing, whatever the ratio.
        shares += np.where(part.shares == 0.0, 0.0, ratio[:, np.newaxis] * part.shares)
    return Part(float(found[0][-1]), found[2**count - 1][:-1], shares)


def subset_weights(count: int) -> list[float]:
    """The weight of what a part adds to a set of others, for 0, 1, … of them; over all sets they add up to 1."""
    return [1.0 / (count * math.comb(count - 1, others)) for others in range(count)]


def _difference(one: NDArray[np.floating], other: NDArray[np.floating]) -> Vector:
    """one − other, 0 where both are the same, infinities included."""
    return np.where(one == other, 0.0, np.subtract(one, other, where=one != other, out=np.zeros(len(one))))
