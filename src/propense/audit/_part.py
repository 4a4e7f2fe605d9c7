"""The number of positives in a part of the rows, from verdicts on a random sample of them, with its interval.

A part is cut into cells: the strata of one or more draws. In cell c, k of n checked rows are positive, and each checked
row stands for others, W/n in all. The estimate is the sum of W·(k/n + λ·d), where d is how far the mean of h over the
cell's rows is above that over its checked rows (the difference estimator; λ = 0 leaves h out). It is unbiased whatever
h is.

The interval holds the totals T that the verdicts do not refute: those with (estimate − T)² ≤ z²·V(T), where V(T) is the
variance that the estimate would have if T were true. With one cell that is Wilson's interval. V(T) takes the rates of
positives in the cells, smoothed along the list, all moved by the same step in log-odds so that they add up to T.
Unlike an interval of the estimate's own standard error, it holds its level with few verdicts, or with all alike.
What h takes off V(T) in a cell is at most what h varies there: a few verdicts that agree with h in one cell do not
make h right in all others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from propense._maths.arrays import Vector
from propense._maths.logistic import sigmoid

__all__ = ["Ends", "Part", "join", "ratio_interval", "share_interval", "smooth_rates", "total_interval"]

# An estimate and the ends of its interval.
Ends = tuple[float, float, float]

# Steps in log-odds beyond this bring every rate as close to 0 or 1 as matters. At twice as much, rates round to 1.
_FAR = 20.0
# Rates are means over this many verdicts on either side along the list, and a part of a verdict at the rate of all, so
# that none is 0 or 1. With a whole verdict, intervals held too often in simulated worlds where the list is nearly right
# (98% to 100%); with a tenth and a shorter reach, too rarely where positives are few (87%).
_REACH, _MORE = 10, 0.3


@dataclass(frozen=True)
class Part:
    """Cells of rows, and what is known of them.

    Attributes
    ----------
    stands_for : ndarray of shape (n_cells,)
        W, how many rows the checked rows of each cell stand for.
    checked, positive : ndarray of shape (n_cells,)
        n and k, the verdicts and those that are positive.
    ahead : ndarray of shape (n_cells,)
        λ·d.
    unseen : ndarray of shape (n_cells,)
        A factor of the variance: below 1 if many of a cell's rows are checked, and 0 if all are; above 1 if its rate
        rests on fewer verdicts than the part has, with which rates seem to differ more between cells than they do.
    rate : ndarray of shape (n_cells,)
        The smoothed rate of positives, above 0 and below 1.
    explained : ndarray of shape (n_cells,)
        What h takes off the variance of one verdict: at most what h itself varies in the cell.
    offset : float
        Positives that are known, with the weight of the draws that came later.
    least, most : float
        The numbers of positives that known rows leave possible.
    """

    stands_for: Vector
    checked: Vector
    positive: Vector
    ahead: Vector
    unseen: Vector
    rate: Vector
    explained: Vector
    offset: float
    least: float
    most: float

    def total(self) -> float:
        """The estimate."""
        found = self.offset + float(self.stands_for @ (self.positive / self.checked + self.ahead))
        return min(max(found, self.least), self.most)

    def moved(self, step: float) -> Vector:
        """The rates, moved in log-odds."""
        with np.errstate(divide="ignore"):
            return np.asarray(sigmoid(np.log(self.rate) - np.log1p(-self.rate) + step))

    def at(self, step: float) -> float:
        """The total if the rates are moved."""
        return self.offset + float(self.stands_for @ self.moved(step))

    def variance(self, step: float, factor: float) -> float:
        """The variance of the estimate if the rates are moved; h leaves at least this factor of it in each cell."""
        rate = self.moved(step)
        of_verdict = rate * (1.0 - rate)
        left = np.maximum(of_verdict - self.explained, factor * of_verdict)
        return float((self.stands_for**2 * left * self.unseen / self.checked).sum())


def join(parts: Sequence[Part], shares: Sequence[float]) -> Part:
    """The mean of several estimates of the same total, each with its share."""
    of = list(zip(shares, parts, strict=True))
    return Part(
        np.concatenate([share * each.stands_for for share, each in of]),
        np.concatenate([each.checked for each in parts]),
        np.concatenate([each.positive for each in parts]),
        np.concatenate([each.ahead for each in parts]),
        np.concatenate([each.unseen for each in parts]),
        np.concatenate([each.rate for each in parts]),
        np.concatenate([each.explained for each in parts]),
        sum(share * each.offset for share, each in of),
        max(each.least for each in parts),
        min(each.most for each in parts),
    )


def smooth_rates(checked: Vector, positive: Vector) -> tuple[Vector, Vector]:
    """The rate of positives in each cell, from the verdicts near it along the list, and how many these are."""
    ends, found = np.concatenate([[0.0], np.cumsum(checked)]), np.concatenate([[0.0], np.cumsum(positive)])
    middle = (ends[1:] + ends[:-1]) / 2
    first = np.maximum(np.searchsorted(ends, middle - _REACH, "right") - 1, 0)
    last = np.maximum(np.minimum(np.searchsorted(ends, middle + _REACH), len(checked)), first + 1)
    overall, near = (found[-1] + 0.5) / (ends[-1] + 1.0), ends[last] - ends[first] + _MORE
    return np.asarray((found[last] - found[first] + _MORE * overall) / near), near


def total_interval(part: Part, z: float, factor: float) -> Ends:
    """The number of positives in a part, and the ends of its interval; `factor` is what h leaves of the variance."""
    estimate = part.total()

    def excess(step: float, side: float) -> float:
        return estimate - part.at(step) - side * z * math.sqrt(part.variance(step, factor))

    low, high = part.least, part.most
    if (part.positive > 0).any() and excess(-_FAR, 1.0) > 0 > excess(_FAR, 1.0):
        low = max(low, part.at(brentq(excess, -_FAR, _FAR, (1.0,), xtol=1e-9)))
    if (part.positive < part.checked).any() and excess(-_FAR, -1.0) > 0 > excess(_FAR, -1.0):
        high = min(high, part.at(brentq(excess, -_FAR, _FAR, (-1.0,), xtol=1e-9)))
    if not part.unseen.any():
        return estimate, estimate, estimate
    return estimate, min(low, estimate), max(high, estimate)


def ratio_interval(inside: Part, outside: Part, z: float, factor: float) -> Ends:
    """The share of two parts' positives that are inside the first; NaN and 0 to 1 if none is found."""
    found, low, high = share_interval(*(total_interval(part, z, factor) for part in (inside, outside)))
    if math.isnan(found):
        return found, low, high
    # What is known for certain.
    return found, max(low, _part_of(inside.least, outside.most)), min(high, _part_of(inside.most, outside.least))


def share_interval(inside: Ends, outside: Ends) -> Ends:
    """The share of the first of two numbers in their sum, from their estimates and ends; NaN and 0 to 1 if both are 0.

    A share r is not refuted if 0 is within the interval of (1 − r)·A − r·B, for the estimates A and B. Its ends are as
    far away as those of A and B are, added like independent errors (Zou and Donner, 2008).
    """
    (a, a_low, a_high), (b, b_low, b_high) = inside, outside
    if a + b <= 0.0:
        return math.nan, 0.0, 1.0

    def low_end(ratio: float) -> float:
        return (1.0 - ratio) * a - ratio * b - math.hypot((1.0 - ratio) * (a - a_low), ratio * (b_high - b))

    def high_end(ratio: float) -> float:
        return (1.0 - ratio) * a - ratio * b + math.hypot((1.0 - ratio) * (a_high - a), ratio * (b - b_low))

    found, low, high = a / (a + b), 0.0, 1.0
    if low_end(0.0) > 0.0:
        low = brentq(low_end, 0.0, found) if low_end(found) < 0.0 else found
    if high_end(1.0) < 0.0:
        high = brentq(high_end, found, 1.0) if high_end(found) > 0.0 else found
    return found, low, high


def _part_of(a: float, b: float) -> float:
    return a / (a + b) if a + b > 0.0 else 0.0
