"""How well y(x)·e(x) foretells the labels."""

from typing import Any

import numpy as np

from propense.metrics._evidence import read_chances

__all__ = ["joint_brier", "joint_risk"]

# As in scikit-learn's log_loss: a label that was called impossible costs 36, not infinity.
_LEAST = float(np.finfo(np.float64).eps)


def joint_risk(s: Any, y_proba: Any, *, propensity: Any, sample_weight: Any = None) -> float:
    """The joint risk: the mean of −log of the chance y(x)·e(x), or 1 − y(x)·e(x), that a row had to be as it is.

    On held-out labels it is a proper score of the product y(x)·e(x), the chance of a label; the smaller the better. It
    cannot tell apart two pairs of y and e with one product.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Who is labelled, as in ``fit``: two values of which the larger is the label, or one beside missing values.
    y_proba : array-like of shape (n_samples,) or (n_samples, 2)
        y(x) = P(Y=1 | x), or both columns of ``predict_proba``.
    propensity : array-like of shape (n_samples,) or float
        e(x) = P(S=1 | Y=1, x), known or from ``predict_propensity``.
    sample_weight : array-like of shape (n_samples,), default=None
        What each row counts for: weight 2 is the row twice, weight 0 is no row.

    Returns
    -------
    float
        At least 0. The product is held within [ε, 1 − ε], ε = 2.2e-16, as scikit-learn's ``log_loss`` does.

    Examples
    --------
    >>> from propense.metrics import joint_risk
    >>> print(f"{joint_risk([1, 0, 0], [0.9, 0.8, 0.1], propensity=0.5):.3f}")
    0.454
    """
    rows = read_chances(s, y_proba, propensity, sample_weight)
    chance = np.clip(rows.said * rows.propensity, _LEAST, 1.0 - _LEAST)
    return rows.mean(-np.where(rows.labelled, np.log(chance), np.log1p(-chance)))


def joint_brier(s: Any, y_proba: Any, *, propensity: Any, sample_weight: Any = None) -> float:
    """The mean of (s − y(x)·e(x))², the Brier score of the labels.

    Proper as `joint_risk` is, and blind to the same; no single row can cost more than 1.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Who is labelled, as in ``fit``.
    y_proba : array-like of shape (n_samples,) or (n_samples, 2)
        y(x) = P(Y=1 | x), or both columns of ``predict_proba``.
    propensity : array-like of shape (n_samples,) or float
        e(x) = P(S=1 | Y=1, x).
    sample_weight : array-like of shape (n_samples,), default=None
        What each row counts for.

    Returns
    -------
    float
        From 0 to 1; the smaller the better.

    Examples
    --------
    >>> from propense.metrics import joint_brier
    >>> print(f"{joint_brier([1, 0, 0], [0.9, 0.8, 0.1], propensity=0.5):.3f}")
    0.155
    """
    rows = read_chances(s, y_proba, propensity, sample_weight)
    return rows.mean((rows.labelled - rows.said * rows.propensity) ** 2)
