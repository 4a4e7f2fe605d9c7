"""Several one-sided looks at a row: P(Y=1|x) = σ(a), and source k labels a positive row with log-odds b_k.

Given Y=1, the labels of a row have chances ∝ exp(Σ b_k s_k + θ·Σ_{k<l} s_k s_l) over the sources that looked; θ = 0 is
independence, where source k labels with chance σ(b_k). With t = −log P(no label | Y=1, x), the chance of no label is
(1 + e^(a−t)) / (1 + eᵃ): no clipping is needed anywhere.
"""

import math
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from propense._maths.arrays import Matrix, Vector
from propense._maths.logistic import log_odds_of_log, sigmoid, softplus

__all__ = ["MOST_PATTERNS", "Looks", "any_label_log_odds"]

# With dependence, the chances of all 2^K patterns of labels are held for every row: 400 MB of them at most.
MOST_PATTERNS = 50_000_000


def any_label_log_odds(t: Vector) -> Vector:
    """The log-odds of at least one label on a positive row: of 1 − e⁻ᵗ."""
    return -np.asarray(log_odds_of_log(-t))


class Looks:
    """What sources do to positive rows with log-odds `b` (n × K); `looked` says which of them looked at which row.

    `theta` is the log of the odds ratio of every two sources, given the others.
    """

    def __init__(self, b: Matrix, looked: NDArray[np.bool_], theta: float = 0.0) -> None:
        self._b, self._looked, self._theta = b, looked, theta

    @cached_property
    def _patterns(self) -> tuple[Matrix, Vector, Matrix]:
        """Every pattern of labels, log Σ of their exponents in each row, and the chance of each in each row."""
        patterns = np.array(list(product((0.0, 1.0), repeat=self._b.shape[1])))
        together = np.array([math.comb(int(count), 2) for count in patterns.sum(axis=1)])
        exponents = np.where(self._looked, self._b, 0.0) @ patterns.T + self._theta * together
        # A source that did not look gives no label.
        exponents[(~self._looked).astype(float) @ patterns.T > 0.0] = -np.inf
        highest = exponents.max(axis=1, keepdims=True)
        chances = np.exp(exponents - highest)
        total = chances.sum(axis=1, keepdims=True)
        return patterns, (highest + np.log(total))[:, 0], chances / total

    @cached_property
    def unseen(self) -> Vector:
        """t = −log P(no label | Y=1, x) of every row."""
        if self._theta == 0.0:
            return np.asarray(np.where(self._looked, softplus(self._b), 0.0).sum(axis=1))
        return self._patterns[1]

    @cached_property
    def chances(self) -> Matrix:
        """P(S_k=1 | Y=1, x), 0 where the source did not look."""
        if self._theta == 0.0:
            return np.asarray(np.where(self._looked, sigmoid(self._b), 0.0))
        patterns, _, chances = self._patterns
        return np.asarray(chances @ patterns)

    def covariance(self, k: int, l: int) -> Vector:  # noqa: E741
        """The covariance of S_k and S_l given Y=1 and x: ∂²t/∂b_k∂b_l."""
        e = self.chances
        if k == l:
            return np.asarray(e[:, k] * (1.0 - e[:, k]))
        if self._theta == 0.0:
            return np.zeros(len(e))
        patterns, _, chances = self._patterns
        return np.asarray(chances @ (patterns[:, k] * patterns[:, l]) - e[:, k] * e[:, l])

    def positive(self, a: Vector, seen: NDArray[np.bool_]) -> Vector:
        """P(Y=1 | x, labels): 1 on rows with a label (`seen`), σ(a − t) elsewhere."""
        return np.asarray(np.where(seen, 1.0, sigmoid(a - self.unseen)))

    def loss(self, a: Vector, labels: Matrix, seen: NDArray[np.bool_]) -> Vector:
        """−log P(labels | x) of every row; `labels` are 0 where a source did not look."""
        together = labels.sum(axis=1)
        pairs = self._theta * together * (together - 1.0) / 2.0
        labelled = softplus(-a) + self.unseen - (labels * np.where(labels > 0.0, self._b, 0.0)).sum(axis=1) - pairs
        return np.asarray(np.where(seen, labelled, softplus(a) - softplus(a - self.unseen)))
