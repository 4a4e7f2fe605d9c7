"""Spies: the unlabelled rows nearest to the labelled ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.estimators._inputs import Sample

__all__ = ["find_spies", "spy_threshold"]


def find_spies(sample: Sample) -> NDArray[np.intp]:
    """For each labelled row the number of its nearest unlabelled row (Euclidean, features as given)."""
    return sample.design.nearest(sample.labelled, ~sample.labelled)


def spy_threshold(sample: Sample, spies: NDArray[np.intp], log_odds: Any, quantile: float) -> float:
    """The quantile, over the labelled rows, of the log-odds of their spies; quantile 0 is the lowest."""
    values = sample.design.pick(log_odds, spies)
    if quantile == 0.0:
        return float(values.min())
    (votes,) = sample.gather(_votes, sample.labelled)
    order = np.argsort(values)
    cumulative = np.cumsum(votes[order])
    # The smallest value at or below which that share of the votes lies, so that weight 2 is two votes.
    position = np.searchsorted(cumulative, quantile * cumulative[-1] * (1.0 - 1e-12))
    return float(values[order[position]])


def _votes(labelled: Any, weights: Any) -> tuple[Any]:
    """The weights of the labelled rows."""
    return (weights[labelled],)
