"""NTC-tMI: rank by a regression of the label, and cut where the scores fall into two groups."""

from typing import Any

import numpy as np
from scipy.special import digamma

from rivals.base import Mask, Rival, Rows, label_regression

__all__ = ["NTCtMI", "best_threshold", "information"]


class NTCtMI(Rival):
    """Logistic regression of the label, cut where the mutual information of score and side is largest.

    If y(x) and the probability of a label put rows in the same order, only the threshold is unknown. It is the t that
    maximises the mutual information I(Z; Z > t) of the scores Z of the unlabelled rows, estimated with k nearest
    neighbours (Ross 2014): ψ(N) + ψ(k) − mean ψ(N_side) − mean ψ(m), where m counts the rows of both sides that are
    at most as far from a row as its k-th neighbour on its own side.

    Left out: the neural networks of the paper. The probabilities are σ(z − t), as in the authors' code, and not
    calibrated: the method estimates neither P(Y=1) nor e(x).

    Parameters
    ----------
    neighbours : int, default=3
        k.
    thresholds : int, default=100
        How many thresholds are tried, evenly spaced. Both defaults are the authors'.

    References
    ----------
    P. Teisseyre, T. Martens, J. Bekker, J. Davis. Learning from biased positive-unlabeled data via threshold
    calibration. AISTATS 2025, PMLR 258:2314-2322.
    B. C. Ross. Mutual information between discrete and continuous data sets. PLoS ONE 2014.
    """

    def __init__(self, *, neighbours: int = 3, thresholds: int = 100) -> None:
        self.neighbours = neighbours
        self.thresholds = thresholds

    def _fit(self, X: Rows, labelled: Mask) -> None:
        self.regression_ = label_regression(X, labelled)
        unlabelled = self.regression_.decision_function(X[~labelled])
        self.threshold_ = best_threshold(unlabelled, self.neighbours, self.thresholds)

    def _log_odds(self, X: Rows) -> Rows:
        return np.asarray(self.regression_.decision_function(X) - self.threshold_)


def best_threshold(scores: Rows, k: int = 3, tried: int = 100) -> float:
    """The threshold with the largest information, of evenly spaced ones between two rows that the paper derives."""
    z = np.sort(np.asarray(scores, dtype=np.float64))
    first = _first_row(len(z), k)
    # In samples so small that no threshold leaves more than k rows on both sides, the middle is as good as any.
    best, chosen = -np.inf, float(np.median(z))
    for t in np.linspace(z[first], z[min(len(z) - first, len(z) - 1)], tried):
        found = information(z, int(np.searchsorted(z, t, side="right")), k)
        if found > best:
            best, chosen = found, float(t)
    return chosen


def information(z: Rows, below: int, k: int) -> float:
    """I(Z; side) for sorted scores of which the first `below` are on one side; −∞ if a side has k rows or fewer."""
    n = len(z)
    if min(below, n - below) <= k:
        return -np.inf
    # A row further than k places from the threshold has its k nearest neighbours on its own side, so m = k there.
    counts = np.full(2 * k, k)
    for place, i in enumerate(range(below - k, below + k)):
        low, high = (0, below) if i < below else (below, n)
        near = np.abs(z[max(low, i - k) : min(high, i + k + 1)] - z[i])
        radius = np.partition(near, k)[k]
        counts[place] = np.count_nonzero(np.abs(z - z[i]) <= radius) - 1
    around = (digamma(counts).sum() + (n - 2 * k) * digamma(k)) / n
    sides = (below * digamma(below) + (n - below) * digamma(n - below)) / n
    return float(digamma(n) + digamma(k) - sides - around)


def _first_row(n: int, k: int) -> int:
    """How many rows the paper's bounds exclude at either end.

    With a share r of the rows on one side, the information is at most the entropy term u(r), and in the middle it is
    at least u(½) − 2k/n·(ψ(n/2 + k) − ψ(k)): a threshold with a smaller u(r) cannot be the best one.
    """

    def bound(share: Any) -> Any:
        return digamma(n) - share * digamma(share * n) - (1 - share) * digamma((1 - share) * n)

    least = bound(0.5) - 2 * k / n * (digamma(n / 2 + k) - digamma(k))
    rows = np.arange(1, n // 2 + 1)
    enough = np.flatnonzero(bound(rows / n) >= least)
    # The row before the first one that may be the best.
    return int(rows[enough[0]] - 1) if len(enough) else 0
