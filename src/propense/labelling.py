"""How positives come to be labelled: propensities as functions of a class score, with a frequency that is met exactly.

A mechanism takes a score (larger = more clearly positive), not a model: e(x) = cdf(slope·score + a) ** power, where
the offset a makes the mean of e over the positives equal to the wanted label frequency c.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import cauchy

from propense._maths.logistic import sigmoid
from propense.errors import InvalidInput, InvalidOption

__all__ = ["MECHANISMS", "LabellingMechanism", "draw_labels"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class LabellingMechanism:
    """e(x) = cdf(slope·score + a) ** power.

    Parameters
    ----------
    cdf : callable
        An increasing function from the line to (0, 1), array in, array out.
    slope : float
        How the propensity follows the score; 0 labels completely at random.
    power : float
        Above 1, the upper end of the score is favoured further.
    """

    cdf: Callable[[Any], Any]
    slope: float = 1.0
    power: float = 1.0

    def propensity(self, score: Any, positive: Any, frequency: float) -> Vector:
        """e of every row, with mean `frequency` over the positive rows.

        Parameters
        ----------
        score : array-like of shape (n,)
        positive : bool array-like of shape (n,)
            The true positives.
        frequency : float in (0, 1)
            c = P(S=1 | Y=1).
        """
        score, positive = np.asarray(score, dtype=np.float64), np.asarray(positive, dtype=bool)
        if not 0 < frequency < 1:
            raise InvalidOption(f"frequency={frequency!r}: the label frequency must be above 0 and below 1.")
        if score.shape != positive.shape:
            raise InvalidInput(f"score has shape {score.shape} and positive {positive.shape}; one of each per row.")
        if not positive.any():
            raise InvalidInput("positive holds no positive row, so there is nobody to label.")
        if not np.isfinite(score).all():
            raise InvalidInput("score holds NaN or infinity; a mechanism needs a finite score of every row.")

        def at(offset: float, scores: Vector) -> Vector:
            return np.asarray(self.cdf(self.slope * scores + offset) ** self.power)

        def excess(offset: float) -> float:
            return float(at(offset, score[positive]).mean()) - frequency

        # The mean rises with the offset from 0 to 1, so there is exactly one root; widen until it is enclosed.
        reach = 1.0 + abs(self.slope) * float(np.abs(score[positive]).max())
        while excess(-reach) > 0 or excess(reach) < 0:
            reach *= 2
        return at(brentq(excess, -reach, reach, xtol=1e-13, rtol=1e-14), score)


# The four strategies of the paper; its score is the log-odds of a logistic regression on the true classes.
MECHANISMS = {
    "S1": LabellingMechanism(sigmoid, slope=0.0),
    "S2": LabellingMechanism(sigmoid),
    "S3": LabellingMechanism(cauchy.cdf),
    "S4": LabellingMechanism(sigmoid, power=10.0),
}


def draw_labels(propensity: Vector, positive: Any, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Who is labelled: each positive with its own propensity, no negative."""
    return np.asarray(positive, dtype=bool) & (rng.random(len(propensity)) < propensity)
