"""Recall, precision and balanced accuracy from labels: each labelled row stands for 1/e(x) positives."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from propense.errors import InvalidInput
from propense.metrics._rows import ScoredRows, read_predictions

__all__ = ["lee_liu_score", "sar_balanced_accuracy", "sar_precision", "sar_recall"]


def sar_recall(s: Any, y_pred: Any, *, propensity: Any, sample_weight: Any = None, positive_label: Any = None) -> float:
    """The share of positives that are predicted positive: Σ ŷ/e / Σ 1/e over the labelled rows.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        The labels, as in ``fit``: two values, one of which marks the labelled rows, or one value and missing values.
    y_pred : array-like of shape (n_samples,)
        The predicted classes: values of s, as from ``predict``, or booleans.
    propensity : array-like of shape (n_samples,) or float
        e(x) = P(S=1 | Y=1, x), above 0 on the labelled rows. A constant gives the share of labelled rows
        predicted positive.
    sample_weight : array-like of shape (n_samples,), default=None
        The weight of each row: 2 counts it twice, 0 leaves it out.
    positive_label : int, float, bool or str, default=None
        The value of s that marks labelled rows, if s does not make it clear.

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
    The first labelled row stands for four positives, the second for two:

    >>> from propense.metrics import sar_recall
    >>> print(f"{sar_recall([1, 1, 0], [1, 0, 0], propensity=[0.25, 0.5, 0.5]):.3f}")
    0.667
    """
    return _recall(read_predictions(s, y_pred, propensity, sample_weight, positive_label))


def sar_precision(
    s: Any,
    y_pred: Any,
    *,
    propensity: Any,
    prior: float | None = None,
    sample_weight: Any = None,
    positive_label: Any = None,
) -> float:
    """The share of positives among the rows predicted positive: recall · P(Y=1) / P(ŷ=1).

    Parameters
    ----------
    s, y_pred, propensity, sample_weight, positive_label
        As in `sar_recall`.
    prior : float, default=None
        P(Y=1). None estimates it by the mean of s/e, at most 1.

    Returns
    -------
    float
        From 0 to 1. Chance or a wrong e can push the estimate above 1; it is then returned as 1. If no row is
        predicted positive, 0 with scikit-learn's ``UndefinedMetricWarning``.

    Examples
    --------
    >>> from propense.metrics import sar_precision
    >>> print(f"{sar_precision([1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0], propensity=0.5):.3f}")
    0.800
    """
    rows = read_predictions(s, y_pred, propensity, sample_weight, positive_label)
    called = rows.mean(rows.predicted)
    if called == 0.0:
        _undefined("Precision", "no row is predicted positive")
        return 0.0
    return min(_recall(rows) * _prior(rows, prior) / called, 1.0)


def sar_balanced_accuracy(
    s: Any,
    y_pred: Any,
    *,
    propensity: Any,
    prior: float | None = None,
    sample_weight: Any = None,
    positive_label: Any = None,
) -> float:
    """The mean of recall and specificity, the latter from P(ŷ=1) = P(Y=1)·recall + P(Y=0)·(1 − specificity).

    Parameters
    ----------
    s, y_pred, propensity, sample_weight, positive_label
        As in `sar_recall`.
    prior : float, default=None
        P(Y=1). None estimates it by the mean of s/e, at most 1.

    Returns
    -------
    float
        From 0 to 1. The estimated specificity is clipped to 0 and 1. If the prior is 1 there are no negatives, and
        specificity counts as 0 with scikit-learn's ``UndefinedMetricWarning``.

    Examples
    --------
    >>> from propense.metrics import sar_balanced_accuracy
    >>> print(f"{sar_balanced_accuracy([1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0], propensity=0.5):.3f}")
    0.875
    """
    rows = read_predictions(s, y_pred, propensity, sample_weight, positive_label)
    recall, share = _recall(rows), _prior(rows, prior)
    if share == 1.0:
        _undefined("Specificity", "the prior is 1, so no row is negative")
        return 0.5 * recall
    specificity = 1.0 - (rows.mean(rows.predicted) - share * recall) / (1.0 - share)
    return 0.5 * (recall + min(max(specificity, 0.0), 1.0))


def lee_liu_score(
    s: Any, y_pred: Any, *, propensity: Any = 1.0, sample_weight: Any = None, positive_label: Any = None
) -> float:
    """recall² / P(ŷ=1), which is precision · recall / P(Y=1): large if both are. It needs no prior.

    Parameters
    ----------
    s, y_pred, sample_weight, positive_label
        As in `sar_recall`.
    propensity : array-like of shape (n_samples,) or float, default=1.0
        e(x) as in `sar_recall`. Any constant gives Lee and Liu's score, whose recall is the share of labelled rows
        predicted positive.

    Returns
    -------
    float
        From 0 to about 1/P(Y=1), which chance can exceed. 0 if no row is predicted positive, 1 if every row is.

    References
    ----------
    W. S. Lee, B. Liu. Learning with positive and unlabeled examples using weighted logistic regression. ICML 2003.

    Examples
    --------
    >>> from propense.metrics import lee_liu_score
    >>> lee_liu_score([1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0])
    2.0
    """
    rows = read_predictions(s, y_pred, propensity, sample_weight, positive_label)
    called = rows.mean(rows.predicted)
    return 0.0 if called == 0.0 else _recall(rows) ** 2 / called


def _recall(rows: ScoredRows) -> float:
    weights = rows.weights[rows.labelled] / rows.propensity[rows.labelled]
    return float(weights @ rows.predicted[rows.labelled] / weights.sum())


def _prior(rows: ScoredRows, given: float | None) -> float:
    if given is not None:
        if not 0.0 < given <= 1.0:
            raise InvalidInput(f"prior={given!r}: P(Y=1) must be above 0 and at most 1.")
        return float(given)
    inverse = np.zeros(len(rows.labelled))
    inverse[rows.labelled] = 1.0 / rows.propensity[rows.labelled]
    return min(rows.mean(inverse), 1.0)


def _undefined(what: str, why: str) -> None:
    warnings.warn(f"{what} is ill-defined and set to 0: {why}.", UndefinedMetricWarning, stacklevel=3)
