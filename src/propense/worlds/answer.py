"""What was true in worlds that look like a table: the share of positives, and where along the score they are."""

from dataclasses import dataclass, replace

import numpy as np

from propense._maths.arrays import Vector
from propense.worlds.curves import Bent, Curves, fit_label_curve, shift_for
from propense.worlds.summary import Summary

__all__ = ["BLOCKS", "LEVEL", "Answer", "Given", "curves_of", "even_curves"]

# The level of the range that is printed.
LEVEL = 0.9
# Unlabelled rows in the order of their scores, from the top: where one block ends and the next begins.
BLOCKS = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0])
# h rises at least so much along a score of spread 1: its order is that of the scores.
_TILT = 1e-3


@dataclass(frozen=True)
class Given:
    """What is known of a table: the range of its share of positives, negatives, and labels given at random.

    `negative` is the share of rows that are known to be negative.
    """

    low: float = 0.0
    high: float = 1.0
    negative: float = 0.0
    at_random: bool = False


@dataclass(frozen=True)
class Answer:
    """Shares of positives that go with the labels, and the chance h that an unlabelled row is positive.

    Attributes
    ----------
    shares, weights : ndarray of shape (n_answers,)
        In ascending order of the shares; the weights add up to 1.
    middle : float
        The mean of the shares.
    hidden, low, high : ndarray of shape (len(BLOCKS) - 1,)
        The log-odds of h in each block, and the ends of its range.
    strange : bool
        Whether the labels look unlike those of every world.
    """

    shares: Vector
    weights: Vector
    middle: float
    hidden: Vector
    low: Vector
    high: Vector
    strange: bool = False

    def at(self, levels: Vector) -> Vector:
        """The quantiles of the share of positives."""
        return np.interp(levels, np.cumsum(self.weights) - 0.5 * self.weights, self.shares)

    def three(self) -> tuple[float, float, float]:
        """The ends of the range that is printed, and the middle."""
        low, high = self.at(np.array([0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL]))
        return float(low), float(high), self.middle


def curves_of(answer: Answer, summary: Summary, t: Vector, weights: Vector) -> Curves:
    """y and e along the score, whose values among the unlabelled rows are `t`."""
    order = np.argsort(t, kind="stable")
    places = np.cumsum(weights[order]) - 0.5 * weights[order]
    middles = 1.0 - 0.5 * (BLOCKS[1:] + BLOCKS[:-1])[::-1]
    found = np.interp(middles * weights.sum(), places, t[order])
    # Knots that are too close would make lines too steep.
    knots, kept = np.unique(np.round(found, 3), return_index=True)
    hidden, low, high = (
        np.maximum.accumulate(each[::-1])[kept] + _TILT * knots for each in (answer.hidden, answer.low, answer.high)
    )
    rise = (hidden[-1] - hidden[0]) / (knots[-1] - knots[0]) if len(knots) > 1 else _TILT
    ends = float(rise), float(rise)
    h = Bent.through(knots, hidden, ends).of(t)
    hidden += shift_for((answer.middle - summary.rate) / (1.0 - summary.rate), h, weights)
    three = hidden, np.minimum(low, hidden), np.maximum(high, hidden)
    return Curves(summary.curve, *(Bent.through(knots, each, ends) for each in three))


def even_curves(answer: Answer, t: Vector, labelled: Vector, weights: Vector) -> Curves:
    """y along the score `t`, and an e that is the same for all positives.

    y = σ(a) along the most likely label curve e·y, moved so that y has its share; the log-odds of h are a + log(1 − e).
    """
    rate, rest, found = float(weights @ labelled / weights.sum()), labelled == 0.0, []
    for share in answer.three():
        e = min(rate / share, 1.0 - 1e-9)
        curve = fit_label_curve(t, labelled, weights, e)
        h = curve.level + float(np.log1p(-e)) + curve.slope * t[rest]
        shift = shift_for((share - rate) / (1.0 - rate), h, weights[rest])
        curve = replace(curve, level=curve.level + shift)
        found.append((curve, Bent(curve.level + float(np.log1p(-e)), curve.slope)))
    (_, low), (_, high), (label, hidden) = found
    return Curves(label, hidden, low, high)
