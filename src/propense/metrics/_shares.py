"""Recall, precision and balanced accuracy from labels: each labelled row stands for 1/e(x) positives."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from propense.errors import InvalidInput
from propense.metrics._evidence import Evidence, read_decisions

__all__ = ["lee_liu_score", "sar_balanced_accuracy", "sar_precision", "sar_recall"]


def sar_recall(s: Any, y_pred: Any, *, propensity: Any, sample_weight: Any = None) -> float:
    """The share of the positives that are called positive: Σ ŷ/e / Σ 1/e over the labelled rows.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Who is labelled, as in ``fit``: two values of which the larger is the label, or one beside missing values.
    y_pred : array-like of shape (n_samples,)
        Who is called positive: the classes of s, as ``predict`` gives them, or truth values.
    propensity : array-like of shape (n_samples,) or float
        e(x) = P(S=1 | Y=1, x), above 0 on the labelled rows; one number gives the plain share of the labelled.
    sample_weight : array-like of shape (n_samples,), default=None
        What each row counts for: weight 2 is the row twice, weight 0 is no row.

    Returns
    -------
    float
        From 0 to 1.

    References
    ----------
    J. Bekker, P. Robberechts, J. Davis. Beyond the selected completely at random assumption for learning from positive
    and unlabeled data. ECML PKDD 2019.

    Examples
    --------
    Of two labelled rows the one that is hard to come by stands for four positives, the other for two:

    >>> from propense.metrics import sar_recall
    >>> print(f"{sar_recall([1, 1, 0], [1, 0, 0], propensity=[0.25, 0.5, 0.5]):.3f}")
    0.667
    """
    return _recall(read_decisions(s, y_pred, propensity, sample_weight))


def sar_precision(
    s: Any, y_pred: Any, *, propensity: Any, prior: float | None = None, sample_weight: Any = None
) -> float:
    """The share of positives among those called positive: recall · P(Y=1) / P(ŷ=1).

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Who is labelled, as in ``fit``.
    y_pred : array-like of shape (n_samples,)
        Who is called positive: the classes of s, as ``predict`` gives them, or truth values.
    propensity : array-like of shape (n_samples,) or float
        e(x) = P(S=1 | Y=1, x), above 0 on the labelled rows.
    prior : float, default=None
        P(Y=1). None is its estimate, the mean of s/e, or 1 where that is larger.
    sample_weight : array-like of shape (n_samples,), default=None
        What each row counts for.

    Returns
    -------
    float
        From 0 to 1: an estimate above 1, which chance or a wrong e can make, is returned as 1. Where nobody is called
        positive, 0 with scikit-learn's ``UndefinedMetricWarning``.

    Examples
    --------
    >>> from propense.metrics import sar_precision
    >>> print(f"{sar_precision([1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0], propensity=0.5):.3f}")
    0.800
    """
    rows = read_decisions(s, y_pred, propensity, sample_weight)
    called = rows.mean(rows.said)
    if called == 0.0:
        _undefined("Precision", "nobody is called positive")
        return 0.0
    return min(_recall(rows) * _prior(rows, prior) / called, 1.0)


def sar_balanced_accuracy(
    s: Any, y_pred: Any, *, propensity: Any, prior: float | None = None, sample_weight: Any = None
) -> float:
    """The mean of recall and specificity, the latter from P(ŷ=1) = P(Y=1)·recall + P(Y=0)·(1 − specificity).

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Who is labelled, as in ``fit``.
    y_pred : array-like of shape (n_samples,)
        Who is called positive: the classes of s, as ``predict`` gives them, or truth values.
    propensity : array-like of shape (n_samples,) or float
        e(x) = P(S=1 | Y=1, x), above 0 on the labelled rows.
    prior : float, default=None
        P(Y=1). None is its estimate, the mean of s/e, or 1 where that is larger.
    sample_weight : array-like of shape (n_samples,), default=None
        What each row counts for.

    Returns
    -------
    float
        From 0 to 1: a specificity estimated outside is taken for 0 or 1. Where the prior is 1 there is no negative to
        be specific about, and it counts as 0 with scikit-learn's ``UndefinedMetricWarning``.

    Examples
    --------
    >>> from propense.metrics import sar_balanced_accuracy
    >>> print(f"{sar_balanced_accuracy([1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0], propensity=0.5):.3f}")
    0.875
    """
    rows = read_decisions(s, y_pred, propensity, sample_weight)
    recall, share = _recall(rows), _prior(rows, prior)
    if share == 1.0:
        _undefined("Specificity", "the prior is 1, so that nobody is negative")
        return 0.5 * recall
    specificity = 1.0 - (rows.mean(rows.said) - share * recall) / (1.0 - share)
    return 0.5 * (recall + min(max(specificity, 0.0), 1.0))


def lee_liu_score(s: Any, y_pred: Any, *, propensity: Any = 1.0, sample_weight: Any = None) -> float:
    """recall² / P(ŷ=1), which is precision · recall / P(Y=1): large where both are, and no prior is needed.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Who is labelled, as in ``fit``.
    y_pred : array-like of shape (n_samples,)
        Who is called positive: the classes of s, as ``predict`` gives them, or truth values.
    propensity : array-like of shape (n_samples,) or float, default=1.0
        e(x) = P(S=1 | Y=1, x), above 0 on the labelled rows. Any constant gives Lee and Liu's score, whose recall is
        the share of the labelled rows that are called positive.
    sample_weight : array-like of shape (n_samples,), default=None
        What each row counts for.

    Returns
    -------
    float
        At least 0 and at most 1/P(Y=1), but for chance; 0 where nobody is called positive, 1 where everybody is.

    References
    ----------
    W. S. Lee, B. Liu. Learning with positive and unlabeled examples using weighted logistic regression. ICML 2003.

    Examples
    --------
    >>> from propense.metrics import lee_liu_score
    >>> lee_liu_score([1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0])
    2.0
    """
    rows = read_decisions(s, y_pred, propensity, sample_weight)
    called = rows.mean(rows.said)
    return 0.0 if called == 0.0 else _recall(rows) ** 2 / called


def _recall(rows: Evidence) -> float:
    standing_for = rows.weights[rows.labelled] / rows.propensity[rows.labelled]
    return float(standing_for @ rows.said[rows.labelled] / standing_for.sum())


def _prior(rows: Evidence, given: float | None) -> float:
    if given is not None:
        if not 0.0 < given <= 1.0:
            raise InvalidInput(f"prior={given!r}: P(Y=1) lies above 0 and is at most 1.")
        return float(given)
    standing_for = np.zeros(len(rows.labelled))
    standing_for[rows.labelled] = 1.0 / rows.propensity[rows.labelled]
    return min(rows.mean(standing_for), 1.0)


def _undefined(what: str, why: str) -> None:
    warnings.warn(f"{what} is ill-defined and set to 0: {why}.", UndefinedMetricWarning, stacklevel=3)
