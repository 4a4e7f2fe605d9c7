"""Verdicts on rows that are themselves a survey's sample: what they say about the population."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from propense._maths.arrays import Vector
from propense.errors import InvalidWeights
from propense.inference import Interval
from propense.inference._survey import Survey, read_survey

__all__ = ["Weighted", "read_weighted"]


@dataclass(frozen=True)
class Weighted:
    """The weights of rows, and the strata and clusters they were drawn from."""

    weight: Vector
    survey: Survey

    def ratio(self, above: Vector, below: Vector, checked: NDArray[np.bool_], confidence: float) -> Interval:
        """The population's ratio of two sums, a share, with its interval; `checked` are the verdicts it rests on.

        Wilson's interval, with as many verdicts as would give the linearised variance, and Student's t.
        """
        total = float(self.weight @ below)
        if total <= 0.0 or not checked.any():
            return Interval(math.nan, 0.0, 1.0)
        share = float(self.weight @ above) / total
        moves = self.weight * (above - share * below) / total
        variance = float(self.survey.covariance(moves[:, np.newaxis])[0, 0])
        share = min(max(share, 0.0), 1.0)
        weights = self.weight[checked]
        # If all verdicts are alike, nothing else tells how many they are worth.
        alike = share in (0.0, 1.0) or variance <= 0.0
        size = float(weights.sum() ** 2 / (weights**2).sum()) if alike else share * (1.0 - share) / variance
        t = float(stdtrit(self.survey.degrees_of_freedom, 0.5 + confidence / 2))
        middle = (share + t**2 / (2 * size)) / (1 + t**2 / size)
        half = t / (1 + t**2 / size) * math.sqrt(share * (1 - share) / size + t**2 / (4 * size**2))
        return Interval(share, min(max(middle - half, 0.0), share), max(min(middle + half, 1.0), share))


def read_weighted(sample_weight: Any, strata: Any, clusters: Any, rows: int) -> Weighted | None:
    """The survey that the rows were drawn by; None if nothing is said of it."""
    if sample_weight is None and strata is None and clusters is None:
        return None
    weight = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (rows,) or not bool((np.isfinite(weight) & (weight >= 0.0)).all()) or not weight.any():
        raise InvalidWeights(f"sample_weight must be {rows} numbers of at least 0, one per row and not all of them 0.")
    return Weighted(weight, read_survey(strata, clusters, rows))
