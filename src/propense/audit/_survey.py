"""Verdicts on rows that are themselves a survey's sample: what they say about the population."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from propense._maths.arrays import Vector
from propense.audit._part import Ends, share_interval
from propense.errors import InvalidWeights
from propense.inference import Interval
from propense.inference._survey import Survey, read_survey

__all__ = ["Population", "Weighted", "read_weighted"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Weighted:
    """The weights of rows, and the strata and clusters they were drawn from."""

    weight: Vector
    survey: Survey

    def ratio(self, above: Vector, below: Vector, stands_for: Vector, confidence: float) -> Interval:
        """The population's ratio of two sums, a share, with its interval.

        Wilson's interval, with as many verdicts as would give the linearised variance, and Student's t. `stands_for` is
        how many rows each verdict stands for that the share rests on, 0 elsewhere.
        """
        total, weights = float(self.weight @ below), self.weight * stands_for
        if total <= 0.0 or not weights.any():
            return Interval(math.nan, 0.0, 1.0)
        share = float(self.weight @ above) / total
        moves = self.weight * (above - share * below) / total
        variance = float(self.survey.covariance(moves[:, np.newaxis])[0, 0])
        share = min(max(share, 0.0), 1.0)
        # If all verdicts are alike, nothing else tells how many they are worth.
        alike = share in (0.0, 1.0) or variance <= 0.0
        size = float(weights.sum() ** 2 / (weights**2).sum()) if alike else share * (1.0 - share) / variance
        t = float(stdtrit(self.survey.degrees_of_freedom, 0.5 + confidence / 2))
        middle = (share + t**2 / (2 * size)) / (1 + t**2 / size)
        half = t / (1 + t**2 / size) * math.sqrt(share * (1 - share) / size + t**2 / (4 * size**2))
        return Interval(share, min(max(middle - half, 0.0), share), max(min(middle + half, 1.0), share))


@dataclass(frozen=True)
class Population:
    """What verdicts on a survey's sample say about its population.

    Shares of all rows make use of h, those of a list rest on its verdicts alone. Intervals are never narrower than what
    labels and verdicts leave open by themselves: where verdicts are few or all alike, or agree with the model, the
    spread of the values does not show it.

    Attributes
    ----------
    survey : Weighted
    values : ndarray of shape (n_rows,)
        An unbiased guess whether each row is positive, 1 or 0; single guesses may lie outside.
    labelled : ndarray of bool of shape (n_rows,)
    known : ndarray of shape (n_rows,)
        The verdicts, NaN where there is none.
    stands_for : ndarray of shape (n_rows,)
        How many rows each verdict stands for, 0 without one.
    confidence : float
    """

    survey: Weighted
    values: Vector
    labelled: Mask
    known: Vector
    stands_for: Vector
    confidence: float

    def hidden(self) -> Interval:
        """The share of the unlabelled rows that are positive."""
        return self._share(~self.labelled, self.values * ~self.labelled, (~self.labelled).astype(float))

    def precision(self, rows: Mask) -> Interval:
        """The share of some unlabelled rows that are positive."""
        return self._share(rows, self._found * rows, self.stands_for * rows)

    def positives(self) -> Interval:
        """The share of all rows that are positive."""
        everyone = np.ones(len(self.values))
        found = self.survey.ratio(self.values, everyone, self.stands_for, self.confidence)
        labels = self.survey.ratio(self.labelled.astype(float), everyone, everyone, self.confidence)
        rest = self.hidden()
        below, above = (
            math.hypot(
                (1.0 - labels.estimate) * (of_rest - rest.estimate),
                (1.0 - rest.estimate) * (of_labels - labels.estimate),
            )
            for of_rest, of_labels in ((rest.low, labels.low), (rest.high, labels.high))
        )
        middle = found.estimate
        return Interval(middle, min(found.low, max(middle - below, 0.0)), max(found.high, min(middle + above, 1.0)))

    def label_frequency(self) -> Interval:
        """The share of the positives that are labelled."""
        labels = float(self.survey.weight @ self.labelled)
        return self._of_positives(self.values, self.labelled, ~self.labelled, (labels, labels, labels), self.hidden())

    def recall(self, rows: Mask) -> Interval:
        """The share of the hidden positives that are among some rows."""
        rest = ~rows & ~self.labelled
        if not rest.any():
            return Interval(1.0, 1.0, 1.0)
        one, other = self.precision(rows), self.precision(rest)
        if math.isnan(one.estimate) or math.isnan(other.estimate):
            return Interval(math.nan, 0.0, 1.0)
        return self._of_positives(self._found, rows, rest, self._number(one, rows), other)

    @property
    def _found(self) -> Vector:
        """How many positive rows each verdict stands for."""
        return np.where(self.known == 1.0, self.stands_for, 0.0)

    def _share(self, rows: Mask, above: Vector, below: Vector) -> Interval:
        found = self.survey.ratio(above, below, self.stands_for * rows, self.confidence)
        # Verdicts that are all alike do not rule out that all rows are.
        known = self.known[rows & np.isfinite(self.known)]
        return Interval(found.estimate, found.low if known.any() else 0.0, 1.0 if known.all() else found.high)

    def _of_positives(self, values: Vector, rows: Mask, rest: Mask, number: Ends, share: Interval) -> Interval:
        """The share of the positives that are among `rows`, of which there are so many, and not in the rest."""
        both = rows | rest
        found = self.survey.ratio(values * rows, values * both, self.stands_for * both, self.confidence)
        _, low, high = share_interval(number, self._number(share, rest))
        return Interval(found.estimate, min(found.low, low), max(found.high, high))

    def _number(self, share: Interval, rows: Mask) -> Ends:
        """A share of some rows as a number of members of the population."""
        weight = float(self.survey.weight @ rows)
        return share.estimate * weight, share.low * weight, share.high * weight


def read_weighted(sample_weight: Any, strata: Any, clusters: Any, rows: int) -> Weighted | None:
    """The survey that the rows were drawn by; None if nothing is said of it."""
    if sample_weight is None and strata is None and clusters is None:
        return None
    weight = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (rows,) or not bool((np.isfinite(weight) & (weight >= 0.0)).all()) or not weight.any():
        raise InvalidWeights(f"sample_weight must be {rows} numbers of at least 0, one per row and not all of them 0.")
    return Weighted(weight, read_survey(strata, clusters, rows))
