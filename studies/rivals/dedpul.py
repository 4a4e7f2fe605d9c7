"""DEDPUL: the share of positives among the unlabelled rows, from two estimated densities of a score."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter
from scipy.special import expit, logit
from scipy.stats import gaussian_kde
from sklearn.model_selection import StratifiedKFold

from rivals.base import Mask, Rival, Rows, label_regression

__all__ = ["DEDPUL", "DensityRatio", "cross_fitted_scores", "estimate_share", "population_share"]

# The authors': the factors of the two bandwidths, the largest ratio, what a peak of it loses with every smaller value,
# the step of shares tried, and how far the mean of the posterior may be above a share that is chosen by the bend.
_POSITIVE_WIDTH, _UNLABELLED_WIDTH = 0.1, 0.05
_LARGEST = 50.0
_LOSS = 0.25
_STEP = 0.001
_FARTHEST = 0.05
# Quantiles of the unlabelled scores that stand for all of them: kernels then cost n · 1000 and not n².
_POINTS = 1000


class DEDPUL(Rival):
    """Divide the density of a score over labelled rows by that over unlabelled rows, and find the share that fits.

    The score is the log-odds of a logistic regression of the label, out of fold. With r = f_labelled / f_unlabelled
    along the score, and labels at random, P(Y=1 | score, S=0) = min(α r, 1), where α is the share of positives
    among the unlabelled rows. α is the largest share that agrees with the mean of this probability; if only 0 agrees,
    it is the share where the difference of the two bends most (Algorithm 1 of the paper). Then y(x) = g + (1 − g)·h,
    with g the probability of a label and h = min(α r, 1).

    Left out: the neural networks. The densities are compared at 1000 of the unlabelled scores, not at all of them.

    Parameters
    ----------
    random_state : int, default=None
        The seed of the folds.

    References
    ----------
    D. Ivanov. DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning. ICMLA 2020.
    """

    def __init__(self, *, random_state: int | None = None) -> None:
        self.random_state = random_state

    def _fit(self, X: Rows, labelled: Mask) -> None:
        scores = cross_fitted_scores(X, labelled, self.random_state)
        self.ratio_ = DensityRatio.of(scores, labelled)
        self.share_ = estimate_share(self.ratio_.values)
        self.prior_ = float((labelled.sum() + self.share_ * (~labelled).sum()) / len(X))
        self.regression_ = label_regression(X, labelled)

    def _log_odds(self, X: Rows) -> Rows:
        scores = self.regression_.decision_function(X)
        hidden = np.minimum(self.share_ * self.ratio_.at(scores), 1.0)
        # 1 − y = (1 − g)(1 − h); the smallest number keeps the log-odds finite where h = 1.
        negative = np.maximum(expit(-scores) * (1 - hidden), np.finfo(np.float64).tiny)
        return np.asarray(np.log(np.maximum(1 - negative, np.finfo(np.float64).tiny)) - np.log(negative))


@dataclass(frozen=True)
class DensityRatio:
    """f_labelled / f_unlabelled at quantiles of the unlabelled scores, growing with the score."""

    scores: Rows
    values: Rows

    @classmethod
    def of(cls, scores: Rows, labelled: Mask) -> "DensityRatio":
        """Estimate it with Gaussian kernels, and make it monotone."""
        unlabelled = scores[~labelled]
        number = min(_POINTS, len(unlabelled))
        # Scores of rows, not values between them: far out, kernels leave gaps.
        points = np.quantile(unlabelled, (np.arange(number) + 0.5) / number, method="inverted_cdf")
        above, below = (
            _density(some, factor)(points)
            for some, factor in ((scores[labelled], _POSITIVE_WIDTH), (unlabelled, _UNLABELLED_WIDTH))
        )
        ratio = np.minimum(above / np.maximum(below, np.finfo(np.float64).tiny), _LARGEST)
        ratio = _moving_median(ratio, 5)
        # Above the middle between the two groups it may only grow.
        upper = points >= _middle(scores, labelled)
        ratio[upper] = np.maximum.accumulate(ratio[upper])
        ratio = _moving_median(ratio, number // 20)
        return cls(points, np.sort(_keep_peaks(ratio)))

    def at(self, scores: Rows) -> Rows:
        """The ratio at other scores, constant beyond the ends."""
        return np.asarray(np.interp(scores, self.scores, self.values))


def _middle(scores: Rows, labelled: Mask) -> float:
    """The score with the mean probability of a label, averaged over both groups; they weigh the same in sum."""
    shift = np.log((~labelled).sum() / labelled.sum())
    chance = expit(scores + shift)
    return float(logit((chance[labelled].mean() + chance[~labelled].mean()) / 2) - shift)


def _moving_median(values: Rows, reach: int) -> Rows:
    """The median of the values within reach; closer to an end, of as many on both sides as there are."""
    middle = median_filter(values, size=2 * reach + 1, mode="nearest")
    for i in range(min(reach, len(values))):
        near = min(i, len(values) - 1 - i)
        middle[i] = np.median(values[i - near : i + near + 1])
        middle[-1 - i] = np.median(values[len(values) - 1 - i - near : len(values) - i + near])
    return np.asarray(middle)


def _keep_peaks(values: Rows) -> Rows:
    """Raise values to the highest earlier one that still counts: it gains with each higher value and else loses."""
    kept = np.empty_like(values)
    peaks, counts = np.empty(0), np.empty(0)
    for i, value in enumerate(values):
        kept[i] = max(value, peaks.max(initial=value))
        counts = counts + np.where(peaks <= value, 1.0, -_LOSS)
        peaks, counts = peaks[counts > 0], counts[counts > 0]
        if value not in peaks:
            peaks, counts = np.append(peaks, value), np.append(counts, 1.0)
    return kept


def _density(scores: Rows, factor: float) -> gaussian_kde:
    # Kernels need two different values.
    spread = scores.std()
    if len(scores) < 2 or spread <= 1e-12:
        scores = np.concatenate([scores - 1e-3, scores + 1e-3])
    return gaussian_kde(scores, factor)


def cross_fitted_scores(X: Rows, labelled: Mask, random_state: int | None) -> Rows:
    """Log-odds of the label by regressions that have not seen the row; with too few labelled rows, by one that has."""
    folds = min(5, int(labelled.sum()), int((~labelled).sum()))
    if folds < 2:
        return np.asarray(label_regression(X, labelled).decision_function(X))
    scores = np.empty(len(X))
    for fitted, held in StratifiedKFold(folds, shuffle=True, random_state=random_state).split(X, labelled):
        scores[held] = label_regression(X[fitted], labelled[fitted]).decision_function(X[held])
    return scores


def estimate_share(ratio: Rows) -> float:
    """The share α of positives among the unlabelled rows, from r at their scores."""

    def excess(negative: float) -> float:
        """By how much the mean of P(Y=0 | score) exceeds a share of negatives; 0 where the two agree."""
        return float(np.maximum(1 - ratio * (1 - negative), 0.0).mean() - negative)

    # The fixed point that rounds of EM from no negatives reach.
    agreeing = 0.0
    for _ in range(1000):
        gap = excess(agreeing)
        if abs(gap) < 1e-5 or (1 - ratio * (1 - agreeing)).min() > 0:
            break
        agreeing += gap
    shares = np.arange(0, 1, _STEP)
    gaps = np.array([excess(share) for share in shares])
    near = gaps[1:-1] < _FARTHEST
    bends = np.where(near, np.diff(gaps, 2), -np.inf)
    bend = float(shares[1:-1][np.argmax(bends)])
    converged = bend >= agreeing or ((gaps < 0).sum() > 1 and agreeing < 1 - _STEP)
    return 1 - (agreeing if converged else bend)


def population_share(X: Rows, labelled: Mask, random_state: int | None) -> float:
    """P(Y=1) of all rows by DEDPUL, for methods that have to be told."""
    share = estimate_share(DensityRatio.of(cross_fitted_scores(X, labelled, random_state), labelled).values)
    return float((labelled.sum() + share * (~labelled).sum()) / len(X))
