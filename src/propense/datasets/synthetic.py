"""Simulated data, for which the true classes and probabilities are known."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from propense._maths.logistic import sigmoid
from propense.errors import InvalidInput

__all__ = ["DoubleLogistic", "make_double_logistic"]

Vector = NDArray[np.float64]

# Lengths of the default slope vectors. With normal features, the best balanced accuracy for the first is 0.85.
_LENGTH, _PROPENSITY_LENGTH = 3.4, 1.5


@dataclass(frozen=True)
class DoubleLogistic:
    """Rows drawn from the double-logistic model, with their true classes and probabilities.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    labelled : bool ndarray of shape (n_samples,)
        Which rows are labelled; all that a method sees of the classes.
    positive : bool ndarray of shape (n_samples,)
        The true classes.
    posterior, propensity : ndarray of shape (n_samples,)
        y(x) = P(Y=1 | x) and e(x) = P(S=1 | Y=1, x).
    coef, propensity_coef : ndarray of shape (n_features + 1,)
        β and γ, intercepts first.
    """

    X: NDArray[np.float64]
    labelled: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    posterior: Vector
    propensity: Vector
    coef: Vector
    propensity_coef: Vector


def make_double_logistic(
    n_samples: Any = 1000,
    n_features: Any = 10,
    *,
    coef: Any = None,
    propensity_coef: Any = None,
    random_state: Any = None,
) -> DoubleLogistic:
    """Draw rows with standard normal features, y(x) = σ(βᵀx) and e(x) = σ(γᵀx).

    Parameters
    ----------
    n_samples, n_features : int
        Number of rows and of columns; at least two columns.
    coef, propensity_coef : array-like of shape (n_features + 1,), default=None
        β and γ, intercepts first. By default y depends on the first half of the features and e on the second, with
        slopes of equal size and alternating sign, and about half of the positives are labelled.
    random_state : int, RandomState instance or None, default=None
        The source of randomness.

    Returns
    -------
    DoubleLogistic

    Examples
    --------
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(1000, random_state=0)
    >>> data.X.shape, int(data.positive.sum()), int(data.labelled.sum())
    ((1000, 10), 485, 254)
    """
    for name, value, least in (("n_samples", n_samples, 1), ("n_features", n_features, 2)):
        if not isinstance(value, Integral) or value < least:
            raise InvalidInput(f"{name}={value!r}: must be an integer ≥ {least} (y and e need a feature each).")
    half = n_features // 2
    beta = _read(coef, _alternating(n_features, range(half), _LENGTH), "coef")
    gamma = _read(
        propensity_coef, _alternating(n_features, range(half, n_features), _PROPENSITY_LENGTH), "propensity_coef"
    )
    random = check_random_state(random_state)
    X = random.standard_normal((n_samples, n_features))
    posterior, propensity = sigmoid(beta[0] + X @ beta[1:]), sigmoid(gamma[0] + X @ gamma[1:])
    positive = random.random_sample(n_samples) < posterior
    labelled = positive & (random.random_sample(n_samples) < propensity)
    return DoubleLogistic(X, labelled, positive, posterior, propensity, beta, gamma)


def _alternating(n_features: int, which: range, length: float) -> Vector:
    """Slopes ±length/√count on the features `which`, with intercept 0."""
    out = np.zeros(n_features + 1)
    out[1 + np.asarray(which)] = length / np.sqrt(len(which)) * (-1.0) ** np.arange(len(which))
    return out


def _read(given: Any, default: Vector, name: str) -> Vector:
    if given is None:
        return default
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name}={given!r}: must be numbers.") from None
    if values.shape != default.shape or not np.isfinite(values).all():
        raise InvalidInput(
            f"{name} has shape {values.shape}; pass finite numbers of shape {default.shape}: the intercept, then one "
            "slope per feature."
        )
    return values
