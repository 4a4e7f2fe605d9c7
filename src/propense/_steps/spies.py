"""Spies: the unlabelled rows nearest to the labelled ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from propense._inputs.sample import Sample
from propense._maths.arrays import Index

__all__ = ["Spies", "find_spies", "spy_threshold"]


@dataclass(frozen=True)
class Spies:
    """The spies of the labelled rows, or of a sample of them.

    Attributes
    ----------
    rows : int ndarray
        The row number of the spy of each query row, in order; one row may be the spy of several.
    queries : bool Rows of length n
        The labelled rows whose spies these are.
    """

    rows: Index
    queries: Any


def find_spies(sample: Sample, count: int | None = None, random_state: Any = None) -> Spies:
    """For each labelled row, or for `count` of them drawn at random, its nearest unlabelled row (Euclidean).

    Only columns that y may depend on count: a row that is like a positive in those is probably positive too. With y and
    e on five columns each, both named, that halved the error of the prior at a quantile of .1, and changed it little at
    0, where the lowest spy decides.
    """
    queries = _draw(sample, count, random_state)
    # If y depends on none, every row is as near as any other.
    columns = sample.class_columns
    design = sample.design if columns is None or not len(columns) else sample.class_design
    return Spies(design.nearest(queries, sample.unlabelled), queries)


def spy_threshold(sample: Sample, spies: Spies, log_odds: Any, quantile: float) -> float:
    """The quantile, over the labelled rows, of the log-odds of their spies; quantile 0 is the lowest."""
    values = sample.design.pick(log_odds, spies.rows)
    if quantile == 0.0:
        return float(values.min())
    (votes,) = sample.gather(_votes, spies.queries)
    order = np.argsort(values)
    cumulative = np.cumsum(votes[order])
    # The smallest value at or below which that share of the votes lies; a row of weight 2 has two votes.
    position = np.searchsorted(cumulative, quantile * cumulative[-1] * (1.0 - 1e-12))
    return float(values[order[position]])


def _draw(sample: Sample, count: int | None, random_state: Any) -> Any:
    """A mask of `count` labelled rows, drawn with equal chances, or of all."""
    if count is None or count >= (total := int(sample.labelled.sum())):
        return sample.labelled
    drawn = np.sort(check_random_state(random_state).choice(total, count, replace=False))
    return sample.design.ranked(sample.labelled, drawn)


def _votes(queries: Any, weights: Any) -> tuple[Any]:
    """The weights of the query rows."""
    return (weights[queries],)
