"""A correction of h(x) = P(Y=1 | x, S=0) along a score: what verdicts on some rows add to its log-odds."""

from dataclasses import dataclass

import numpy as np

from propense._maths.arrays import Matrix, Rows, Vector, namespace

__all__ = ["HiddenCurve"]


@dataclass(frozen=True)
class HiddenCurve:
    """What is added to the log-odds of h: straight between knots along a score, and constant beyond the outer ones.

    Attributes
    ----------
    knots : ndarray of shape (n_knots,)
        The scores where the curve bends, rising.
    values : ndarray of shape (n_knots,)
        What is added at each knot.
    covariance : ndarray of shape (n_knots, n_knots)
        The covariance matrix of the values.
    """

    knots: Vector
    values: Vector
    covariance: Matrix

    def of(self, score: Rows) -> Rows:
        """What is added at each score."""
        out = score * 0.0 + float(self.values[0])
        for part, rise in zip(self._parts(score), np.diff(self.values), strict=True):
            out = out + part * float(rise)
        return out

    def spread(self, score: Rows) -> Rows:
        """The standard deviation of `of`."""
        # Weights of the knots: 1 on the first, less what has moved to the second, and so on.
        parts = [score * 0.0 + 1.0, *self._parts(score)]
        weights = [part - after for part, after in zip(parts, [*parts[1:], 0.0], strict=True)]
        out = score * 0.0
        for i, row in enumerate(self.covariance):
            for j, value in enumerate(row):
                out = out + weights[i] * weights[j] * float(value)
        # Rounding must not make it negative.
        return namespace(score).sqrt(namespace(score).clip(out, 0.0, None))

    def _parts(self, score: Rows) -> list[Rows]:
        """How far each score is from each knot to the next, from 0 to 1."""
        xp, widths = namespace(score), np.diff(self.knots)
        return [
            xp.clip((score - float(knot)) / float(width), 0.0, 1.0)
            for knot, width in zip(self.knots[:-1], widths, strict=True)
        ]
