"""Simulate which positives are labelled: propensities that follow a score, with an exact label frequency.

A mechanism defines the score (how clearly positive a row is, one of its features, a random direction) and how the
propensity depends on it: e(x) = cdf(slope·score + a) ** power. The offset a makes the mean of e over the positives
equal to the label frequency c.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import cauchy
from sklearn.utils.validation import check_array, check_consistent_length

from propense._designs import as_design, column_moments
from propense._maths.logistic import logit, sigmoid
from propense._risks import LogisticRisk
from propense._solvers import newton
from propense.errors import InvalidFeatures, InvalidInput, InvalidLabels, InvalidOption

__all__ = ["MECHANISMS", "Labelling", "LabellingMechanism", "class_score", "draw_labels", "simulate"]

Vector = NDArray[np.float64]

# Beyond this offset any cdf in use is 0 or 1 to the last digit. Heavy tails such as Cauchy's need the largest offsets.
_FARTHEST = 1e15


@dataclass(frozen=True)
class LabellingMechanism:
    """e(x) = cdf(slope·score + a) ** power.

    Parameters
    ----------
    cdf : callable
        An increasing function from the real line to (0, 1) that takes and returns an array.
    slope : float
        How the propensity follows the score: 0 labels completely at random; with a negative slope it falls.
    power : float
        Above 1, labels concentrate on the highest scores.
    follows : {"class", "feature", "direction"} or int
        The score: the log-odds of being positive ("class"); a random feature, or the one with this index; or a random
        direction among the standardised features. Features and directions are standardised.
    """

    cdf: Callable[[Any], Any]
    slope: float = 1.0
    power: float = 1.0
    follows: str | int = "class"

    def propensity(self, score: Any, positive: Any, frequency: float) -> Vector:
        """e(x) of every row, with mean `frequency` over the positive rows.

        Parameters
        ----------
        score : array-like of shape (n,)
        positive : bool array-like of shape (n,)
            Which rows are positive.
        frequency : float in (0, 1)
            c = P(S=1 | Y=1).
        """
        score, positive = np.asarray(score, dtype=np.float64), np.asarray(positive, dtype=bool)
        _check_frequency(frequency)
        if score.shape != positive.shape:
            raise InvalidInput(f"score has shape {score.shape} and positive {positive.shape}; they must be the same.")
        if not positive.any():
            raise InvalidInput("positive is False in every row, so there is no row to label.")
        if not np.isfinite(score).all():
            raise InvalidInput("score holds NaN or infinity; a mechanism needs a finite score for every row.")

        def at(offset: float, scores: Vector) -> Vector:
            return np.asarray(self.cdf(self.slope * scores + offset) ** self.power)

        reach = 1.0 + abs(self.slope) * float(np.abs(score[positive]).max())
        return at(_offset(lambda a: at(a, score[positive]), frequency, reach), score)


# S1 to S4 are the paper's. Their propensity never falls with the class score, which flatters methods that only rank.
MECHANISMS = {
    "S1": LabellingMechanism(sigmoid, slope=0.0),
    "S2": LabellingMechanism(sigmoid),
    "S3": LabellingMechanism(cauchy.cdf),
    "S4": LabellingMechanism(sigmoid, power=10.0),
    "falling": LabellingMechanism(sigmoid, slope=-1.0),
    "feature": LabellingMechanism(sigmoid, slope=2.0, follows="feature"),
    "direction": LabellingMechanism(sigmoid, slope=2.0, follows="direction"),
}


@dataclass(frozen=True)
class Labelling:
    """Which rows are labelled, and the propensities with which labels were drawn.

    Attributes
    ----------
    labelled : bool ndarray of shape (n,)
    propensity : ndarray of shape (n,)
        e(x) of every row, positive or not.
    """

    labelled: NDArray[np.bool_]
    propensity: Vector


def simulate(X: Any, y: Any, mechanism: Any = "S2", frequency: float | None = 0.5, rng: Any = None) -> Labelling:
    """Label some of the positives of a data set whose true classes are known.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The features; all values must be finite.
    y : array-like of shape (n_samples,)
        The true classes: 1 or True for positive, 0 or False for negative.
    mechanism : str, LabellingMechanism or callable, default="S2"
        A name from ``MECHANISMS``, your own mechanism, or any function from the class score (log-odds of being
        positive, one number per row) to propensities between 0 and 1.
    frequency : float or None, default=0.5
        c = P(S=1 | Y=1), the mean of e over the positives. It is met exactly: by the mechanism's offset or, for a
        function, by shifting the log-odds of its values. None uses a function's values as they are.
    rng : numpy Generator, int or None, default=None
        The source of randomness.

    Returns
    -------
    Labelling

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from propense.labelling import simulate
    >>> data = load_breast_cancer()
    >>> malignant = data.target == 0
    >>> drawn = simulate(scale(data.data), malignant, "S2", 0.3, rng=0)
    >>> print(f"{malignant.sum()} malignant, {drawn.labelled.sum()} labelled")
    212 malignant, 60 labelled
    >>> print(f"mean propensity of the malignant {drawn.propensity[malignant].mean():.4f}")
    mean propensity of the malignant 0.3000
    """
    try:
        X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
    except ValueError as error:
        raise InvalidFeatures(str(error)) from None
    positive = _read_truth(y, X)
    rng = np.random.default_rng(rng)
    if isinstance(mechanism, str):
        if mechanism not in MECHANISMS:
            raise InvalidOption(f"mechanism={mechanism!r}: must be one of {', '.join(map(repr, MECHANISMS))}.")
        mechanism = MECHANISMS[mechanism]
    if isinstance(mechanism, LabellingMechanism):
        if frequency is None:
            raise InvalidOption("frequency=None: a mechanism needs a label frequency; only a function works without.")
        propensity = mechanism.propensity(_score(X, positive, mechanism.follows, rng), positive, frequency)
    elif callable(mechanism):
        propensity = _called(mechanism, class_score(X, positive), positive, frequency)
    else:
        raise InvalidOption(f"mechanism={mechanism!r}: must be a name, a LabellingMechanism or a function.")
    return Labelling(draw_labels(propensity, positive, rng), propensity)


def class_score(X: Any, positive: Any) -> Vector:
    """The log-odds of being positive, from logistic regression (ridge 1) of the true classes: the paper's score."""
    design = as_design(X)
    risk = LogisticRisk(design, np.asarray(positive, dtype=bool), ridge=1.0)
    return np.asarray(design.matvec(newton(risk, np.zeros(design.shape[1]), tol=1e-8, max_iter=1000).coef))


def draw_labels(propensity: Vector, positive: Any, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw which rows are labelled: each positive with its own propensity, no negative."""
    return np.asarray(positive, dtype=bool) & (rng.random(len(propensity)) < propensity)


def _score(X: Any, positive: NDArray[np.bool_], follows: Any, rng: np.random.Generator) -> Vector:
    """The score that the propensity follows, one number per row."""
    if follows == "class":
        return class_score(X, positive)
    design = as_design(X)
    spreads = column_moments(design)[1]
    varying = np.flatnonzero(spreads)
    if len(varying) == 0:
        raise InvalidFeatures("Every column of X is constant, so the propensity cannot follow any.")
    slopes = np.zeros(design.shape[1])
    if follows == "direction":
        slopes[1 + varying] = rng.standard_normal(len(varying)) / spreads[varying]
    else:
        column = int(rng.choice(varying)) if follows == "feature" else follows
        if not isinstance(column, int | np.integer) or column not in varying:
            raise InvalidOption(
                f"follows={follows!r}: must be 'class', 'feature', 'direction' or the index of a column that varies."
            )
        slopes[1 + column] = 1.0 / spreads[column]
    score = np.asarray(design.matvec(slopes))
    return np.asarray((score - score.mean()) / score.std())


def _called(function: Callable[[Any], Any], score: Vector, positive: Any, frequency: float | None) -> Vector:
    """The propensities from a user's function, shifted to the frequency if one is given."""
    propensity = np.asarray(function(score), dtype=np.float64)
    if propensity.shape != score.shape or not ((propensity >= 0) & (propensity <= 1)).all():
        raise InvalidInput(
            "The mechanism must return one propensity between 0 and 1 for each score; it returned an array of shape "
            f"{propensity.shape} with values from {propensity.min():g} to {propensity.max():g}."
        )
    if frequency is None:
        return propensity
    _check_frequency(frequency)
    log_odds = logit(propensity)
    # No shift changes a propensity of 0 or 1.
    if not (log_odds[positive] == np.inf).mean() < frequency < (log_odds[positive] > -np.inf).mean():
        raise InvalidInput(f"No shift of the mechanism's propensities gives a mean of {frequency} over the positives.")
    return np.asarray(sigmoid(log_odds + _offset(lambda a: sigmoid(log_odds[positive] + a), frequency, 1.0)))


def _offset(at: Callable[[float], Vector], frequency: float, reach: float) -> float:
    """The offset at which the mean meets the frequency."""

    def excess(offset: float) -> float:
        return float(at(offset).mean()) - frequency

    # A cdf rises from 0 to 1 with the offset, so there is exactly one root. Widen the interval until it holds the root.
    while excess(-reach) > 0 or excess(reach) < 0:
        if reach > _FARTHEST:
            raise InvalidInput(
                f"No offset of the mechanism gives a mean propensity of {frequency} over the positives: its cdf must "
                "rise from 0 to 1."
            )
        reach *= 2
    return float(brentq(excess, -reach, reach, xtol=1e-13, rtol=1e-14))


def _check_frequency(frequency: Any) -> None:
    if not isinstance(frequency, int | float | np.number) or not 0 < frequency < 1:
        raise InvalidOption(f"frequency={frequency!r}: the label frequency must be above 0 and below 1.")


def _read_truth(y: Any, X: Any) -> NDArray[np.bool_]:
    y = np.asarray(y)
    try:
        check_consistent_length(X, y)
    except (TypeError, ValueError) as error:
        raise InvalidLabels(str(error)) from None
    if y.ndim != 1 or y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        raise InvalidLabels(
            "y must hold the true classes as 1 and 0, or True and False. Convert it, for instance with y == 'ill'."
        )
    if len(np.unique(y)) < 2:
        raise InvalidLabels(f"y holds only one class ({y[0]}); both are needed.")
    return np.asarray(y == 1)
