"""How well y(x)·e(x) predicts the labels."""

from typing import Any

import numpy as np

from propense.metrics._rows import read_probabilities

__all__ = ["joint_brier", "joint_risk"]

# As in scikit-learn's log_loss: a label with predicted probability 0 costs 36, not infinity.
_LEAST = float(np.finfo(np.float64).eps)


def joint_risk(
    s: Any, y_proba: Any, *, propensity: Any, sample_weight: Any = None, positive_label: Any = None
) -> float:
    """The joint risk: the log loss of y(x)·e(x), the probability that a row is positive and labelled.

    On held-out labels it is a proper score of that product; smaller is better. It cannot distinguish two pairs of y
    and e with the same product.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        The labels, as in ``fit``: two values, one of which marks the labelled rows, or one value and missing values.
    y_proba : array-like of shape (n_samples,) or (n_samples, 2)
        y(x) = P(Y=1 | x), or both columns of ``predict_proba``.
    propensity : array-like of shape (n_samples,) or float
        e(x) = P(S=1 | Y=1, x), known or from ``predict_propensity``.
    sample_weight : array-like of shape (n_samples,), default=None
        The weight of each row: 2 counts it twice, 0 leaves it out.
    positive_label : int, float, bool or str, default=None
        The value of s that marks labelled rows, if s does not make it clear.

    Returns
    -------
    float
        At least 0. The product is clipped to [ε, 1 − ε], ε = 2.2e-16, as in scikit-learn's ``log_loss``.

    Examples
    --------
    >>> from propense.metrics import joint_risk
    >>> print(f"{joint_risk([1, 0, 0], [0.9, 0.8, 0.1], propensity=0.5):.3f}")
    0.454
    """
    rows = read_probabilities(s, y_proba, propensity, sample_weight, positive_label)
    product = np.clip(rows.predicted * rows.propensity, _LEAST, 1.0 - _LEAST)
    return rows.mean(-np.where(rows.labelled, np.log(product), np.log1p(-product)))


def joint_brier(
    s: Any, y_proba: Any, *, propensity: Any, sample_weight: Any = None, positive_label: Any = None
) -> float:
    """The mean of (s − y(x)·e(x))², the Brier score of the labels.

    Like `joint_risk` it is a proper score of the product only. A single row costs at most 1.

    Parameters
    ----------
    s, y_proba, propensity, sample_weight, positive_label
        As in `joint_risk`.

    Returns
    -------
    float
        From 0 to 1; smaller is better.

    Examples
    --------
    >>> from propense.metrics import joint_brier
    >>> print(f"{joint_brier([1, 0, 0], [0.9, 0.8, 0.1], propensity=0.5):.3f}")
    0.155
    """
    rows = read_probabilities(s, y_proba, propensity, sample_weight, positive_label)
    return rows.mean((rows.labelled - rows.predicted * rows.propensity) ** 2)
