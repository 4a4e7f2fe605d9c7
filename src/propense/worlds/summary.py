"""A table of labels in a few numbers: how its label score is spread, and where along it the labels are."""

from dataclasses import dataclass

import numpy as np

from propense._designs import as_design
from propense._maths.arrays import Vector
from propense._maths.logistic import log_odds_of_log, logit, sigmoid, softplus
from propense._steps.learners import fit_logistic
from propense.worlds.curves import LabelCurve, fit_label_curve

__all__ = ["NAMED", "NAMES", "TOPS", "Summary", "named_values", "ranking", "summarise"]

# The shares of rows, from the top, whose labels are counted.
TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_FOUND, _BOTTOMS = (0.05, 0.1, 0.2, 0.5), (0.5, 0.2)
# The rows whose share of labels is "that of the top": a share of them, or at least so many.
_TOP, _LEAST_TOP = 0.02, 20
_LEAST = 5
# Weights add up to no less than a few rows, and to no more than float64 tells apart.
_ROWS = 10.0, 1e12
# A calibrated score is never flatter than this.
_FLAT = 0.02
NAMES = (
    "rate",
    "rows",
    "labels",
    "columns",
    *(f"labelled in the top {share:.0%}" for share in TOPS),
    *(f"times the rate in the top {share:.0%}" for share in TOPS),
    *(f"times the rate in the last {share:.0%}" for share in _BOTTOMS),
    *(f"of the labels in the top {share:.0%}" for share in _FOUND),
    *(f"{what} of {whose}" for whose in ("all", "labelled rows") for what in ("spread", "skewness", "kurtosis")),
    "distance",
    "area",
    "height",
    "gain of the height",
    "prior at that height",
    "slope at that height",
    "slope",
    "cut of all",
    "fit of the cut of all",
    "cut of unlabelled rows",
    "fit of the cut of unlabelled rows",
    "prior if top rows are positive",
    "top",
)
# What a fit with columns that were named for e adds to them.
NAMED = (
    "prior with the names",
    "e of labelled rows",
    "spread of e",
    "spread of y",
    "spread of y along the names",
    "y of the top",
    "y along e",
    "gain over e constant",
    "gain over one regression",
    "named features",
)


@dataclass(frozen=True)
class Summary:
    """What a label score and its labels look like.

    Attributes
    ----------
    values : ndarray of shape (len(NAMES),)
    rate : float
        The share of rows that are labelled.
    curve : LabelCurve
        Along the score with mean 0 and spread 1.
    """

    values: Vector
    rate: float
    curve: LabelCurve


def summarise(t: Vector, labelled: Vector, weights: Vector, columns: int) -> Summary:
    """The summary of a score of mean 0 and spread 1; weights count as if each row were there so many times.

    `columns` is how many the score was learned from.
    """
    s = np.asarray(labelled, dtype=np.float64)
    n = float(np.clip(weights.sum(), *_ROWS))
    w = weights * (n / float(weights.sum()))
    labels = float(w @ s)
    rate = labels / n
    # Rows of one score, in whatever order, share their labels.
    _, where = np.unique(-t, return_inverse=True)
    places, found = (np.append(0.0, np.cumsum(np.bincount(where, each))) for each in (w, w * s))

    def first(rows: float) -> float:
        """The labels of so many rows, from the top."""
        return float(np.interp(rows, places, found))

    def share_of(rows: float) -> float:
        # One more label in as many rows as hold one on average: few rows are like all of them.
        return (first(rows) + 1.0) / (rows + 1.0 / rate)

    tops = np.array([share_of(max(share * n, _LEAST)) for share in TOPS])
    last = [(labels - first((1.0 - share) * n) + 0.5) / (share * n + 1.0) / rate for share in _BOTTOMS]
    top = share_of(max(_TOP * n, _LEAST_TOP))
    level, slope = fit_logistic(as_design(t[:, np.newaxis]), labelled, w, ridge=1e-3).coef
    curve = fit_label_curve(t, s, w)
    # In log-odds of a label.
    u = level + max(float(slope), _FLAT) * t
    at_height = sigmoid(curve.level + curve.slope * t)
    rest = s == 0.0
    values = [
        logit(rate),
        np.log(n),
        np.log(labels),
        np.log(max(columns, 1)),
        *logit(np.clip(tops, 1e-4, 1.0 - 1e-3)),
        *np.log(tops / rate),
        *np.log(last),
        *(first(share * n) / labels for share in _FOUND),
        *_shape(u, w),
        *_shape(u, w * s),
        (float(w @ (s * u)) / labels - float(w @ (u * rest)) / (n - labels)) / _spread(u, w),
        ranking(t, s, w),
        np.log(curve.height),
        np.sqrt(curve.gain),
        logit(float(np.clip(w @ at_height / n, 1e-3, 1.0 - 1e-3))),
        np.log(curve.slope + 0.05),
        np.log(max(float(slope), _FLAT)),
        *_cut(u, w),
        *_cut(u[rest], w[rest]),
        np.log(rate / top),
        logit(float(np.clip(top, 1e-4, 0.999))),
    ]
    return Summary(np.array(values, dtype=np.float64), rate, curve)


def named_values(t: Vector, a: Vector, b: Vector, own: Vector, s: Vector, w: Vector, features: int) -> Vector:
    """The summaries of a fit of y along t and e over named columns.

    `a` and `b` are the log-odds of y and e, `own` is the part of `a` that is not along t, and `s` and `w` are labels
    and weights.
    """
    s = np.asarray(s, dtype=np.float64)
    y, label = sigmoid(a), -softplus(-a) - softplus(-b)

    def gain(log_chance: Vector) -> float:
        """The log-likelihood of the labels beyond that under other chances, on the scale of a standard error."""
        better = float(w @ (s * (label - log_chance) + (1.0 - s) * (_log_rest(label) - _log_rest(log_chance))))
        return float(np.sign(better) * np.sqrt(abs(better)))

    curve = fit_label_curve(t, s, w)
    both = as_design(np.column_stack([t, b]))
    regression = both.matvec(fit_logistic(both, s, w, ridge=1.0).coef)
    far_a, far_b = (each - w @ each / w.sum() for each in (a, b))
    along = float(w @ (far_a * far_b)) / float(w.sum()) / (_spread(a, w) * _spread(b, w))
    order = np.argsort(-y, kind="stable")
    top = float(np.interp(_TOP * w.sum(), np.cumsum(w[order]), y[order]))
    values = [
        logit(float(np.clip(w @ y / w.sum(), 1e-3, 1.0 - 1e-3))),
        float(w @ (s * b)) / float(w @ s),
        *(np.log(_spread(each, w)) for each in (b, a, own)),
        logit(float(np.clip(top, 1e-3, 1.0 - 1e-3))),
        along,
        gain(curve.log_chance(t)),
        gain(-softplus(-regression)),
        np.log(max(features, 1)),
    ]
    return np.array(values, dtype=np.float64)


def _log_rest(log_chance: Vector) -> Vector:
    """log(1 − p) of log p."""
    return np.asarray(-softplus(log_odds_of_log(log_chance)))


def ranking(t: Vector, labelled: Vector, weights: Vector) -> float:
    """The chance that a labelled row has a higher score than an unlabelled one, ties counted half."""
    values, where = np.unique(t, return_inverse=True)
    own = np.bincount(where, weights * labelled, len(values))
    rest = np.bincount(where, weights * (1.0 - labelled), len(values))
    total = float(own.sum() * rest.sum())
    return float(own @ (np.cumsum(rest) - 0.5 * rest)) / total if total > 0.0 else 0.5


def _spread(u: Vector, w: Vector) -> float:
    return max(float(np.sqrt(w @ (u - w @ u / w.sum()) ** 2 / w.sum())), _FLAT)


def _shape(u: Vector, w: Vector) -> tuple[float, float, float]:
    """Logarithm of the spread, skewness, logarithm of the kurtosis."""
    z = (u - w @ u / w.sum()) / (sd := _spread(u, w))
    return float(np.log(sd)), float(w @ z**3 / w.sum()), float(np.log(w @ z**4 / w.sum() + 1e-9))


def _cut(u: Vector, w: Vector) -> tuple[float, float]:
    """The share above the best cut into two groups, in log-odds, and the share of the variance between the two."""
    order = np.argsort(u, kind="stable")
    u, w = u[order], w[order]
    below, sums = np.cumsum(w)[:-1], np.cumsum(w * u)[:-1]
    total, mean = float(w.sum()), float(w @ u)
    if not len(below):
        return 0.0, 0.0
    above = np.maximum(total - below, 1e-12)
    between = below * above * (sums / below - (mean - sums) / above) ** 2 / total**2
    place = int(between.argmax())
    share = float(np.clip(above[place] / total, 0.002, 0.998))
    return float(logit(share)), float(between[place]) / _spread(u, w) ** 2
