"""Spies, the unlabelled rows nearest to the labelled ones, and the rows that are as likely positive as they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.estimators._inputs import Sample

__all__ = ["best_rows", "find_spies", "rows_above", "rows_from", "spy_threshold"]

# Log-odds this close, relatively, are the same: equal rows may differ by the rounding of their products with β and γ.
_TIE = 1e-10


def find_spies(sample: Sample) -> NDArray[np.intp]:
    """For each labelled row the number of its nearest unlabelled row (Euclidean, features as given)."""
    return sample.design.nearest(sample.labelled, ~sample.labelled)


def spy_threshold(sample: Sample, spies: NDArray[np.intp], log_odds: Any, quantile: float) -> float:
    """The quantile, over the labelled rows, of the log-odds of their spies; quantile 0 is the lowest."""
    values = sample.design.bring(log_odds[spies])
    if quantile == 0.0:
        return float(values.min())
    votes = sample.bring_weights()[sample.design.bring(sample.labelled)]
    order = np.argsort(values)
    cumulative = np.cumsum(votes[order])
    # The smallest value at or below which that share of the votes lies, so that weight 2 is two votes.
    position = np.searchsorted(cumulative, quantile * cumulative[-1] * (1.0 - 1e-12))
    return float(values[order[position]])


def rows_above(sample: Sample, log_odds: Any, threshold: float) -> Any:
    """The unlabelled rows more likely positive than the threshold: Â of the authors' code, without the lowest spy."""
    return ~sample.labelled & (log_odds > threshold + _tie(threshold))


def rows_from(sample: Sample, log_odds: Any, threshold: float) -> Any:
    """The unlabelled rows at least as likely positive as the threshold: SP ∪ Â of Algorithm 1, line 8."""
    return ~sample.labelled & (log_odds >= threshold - _tie(threshold))


def best_rows(sample: Sample, log_odds: Any, count: float) -> Any:
    """The unlabelled rows with the highest log-odds, down to the one at which their weights reach `count`."""
    values = sample.design.bring(log_odds)[~sample.design.bring(sample.labelled)]
    weights = sample.bring_weights()[~sample.design.bring(sample.labelled)]
    order = np.argsort(-values)
    position = min(int(np.searchsorted(np.cumsum(weights[order]), count)), len(order) - 1)
    return rows_from(sample, log_odds, float(values[order[position]]))


def _tie(value: float) -> float:
    """What two equal log-odds may differ by."""
    return _TIE * (1.0 + abs(value)) if np.isfinite(value) else 0.0
