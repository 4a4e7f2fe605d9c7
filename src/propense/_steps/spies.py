"""Spies: the unlabelled rows nearest to the labelled ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from propense._inputs.sample import Sample

__all__ = ["Spies", "find_spies", "spy_threshold"]


@dataclass(frozen=True)
class Spies:
    """The spy of each labelled row that was asked for one.

    Attributes
    ----------
    rows : int ndarray
        The number of the spy of each asking row, in their order; a row may be the spy of several.
    asking : bool Rows of length n
        The labelled rows that have a spy: all of them, or a sample.
    """

    rows: NDArray[np.intp]
    asking: Any


def find_spies(sample: Sample, count: int | None = None, random_state: Any = None) -> Spies:
    """For each labelled row, or for `count` of them drawn at random, its nearest unlabelled row (Euclidean)."""
    asking = sample.labelled if count is None else _draw(sample, count, random_state)
    return Spies(sample.design.nearest(asking, sample.unlabelled), asking)


def spy_threshold(sample: Sample, spies: Spies, log_odds: Any, quantile: float) -> float:
    """The quantile, over the labelled rows, of the log-odds of their spies; quantile 0 is the lowest."""
    values = sample.design.pick(log_odds, spies.rows)
    if quantile == 0.0:
        return float(values.min())
    (votes,) = sample.gather(_votes, spies.asking)
    order = np.argsort(values)
    cumulative = np.cumsum(votes[order])
    # The smallest value at or below which that share of the votes lies, so that weight 2 is two votes.
    position = np.searchsorted(cumulative, quantile * cumulative[-1] * (1.0 - 1e-12))
    return float(values[order[position]])


def _draw(sample: Sample, count: int, random_state: Any) -> Any:
    """A mask of `count` labelled rows, each as likely as any other."""
    total = int(sample.labelled.sum())
    if count >= total:
        return sample.labelled
    drawn = check_random_state(random_state).choice(total, count, replace=False)
    return sample.design.ranked(sample.labelled, np.sort(drawn))


def _votes(asking: Any, weights: Any) -> tuple[Any]:
    """The weights of the asking rows."""
    return (weights[asking],)
