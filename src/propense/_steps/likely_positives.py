"""The unlabelled rows that are likely positive, and the propensity fitted on them."""

from functools import partial
from typing import Any

import numpy as np

from propense._designs import Predictor
from propense._inputs.sample import Sample
from propense._steps.learners import Learner
from propense._steps.predictors import certain

__all__ = ["fit_propensity_on", "rows_above", "rows_at_least", "top_rows"]

# Values this close, relatively, are equal: equal rows may differ by the rounding of their products with β and γ.
_TIE = 1e-10


def rows_above(sample: Sample, values: Any, threshold: float) -> Any:
    """The unlabelled rows whose value is above the threshold."""
    return sample.unlabelled & (values > threshold + _tie(threshold))


def rows_at_least(sample: Sample, values: Any, threshold: float) -> Any:
    """The unlabelled rows whose value is at least the threshold."""
    return sample.unlabelled & (values >= threshold - _tie(threshold))


def top_rows(sample: Sample, values: Any, count: float) -> Any:
    """The unlabelled rows with the highest values, down to the one at which their weights reach `count`."""
    candidates, weights = sample.gather(partial(_best, count=count), values, sample.unlabelled)
    order = np.argsort(-candidates)
    position = min(int(np.searchsorted(np.cumsum(weights[order]), count)), len(order) - 1)
    return rows_at_least(sample, values, float(candidates[order[position]]))


def _best(values: Any, unlabelled: Any, weights: Any, *, count: float) -> tuple[Any, Any]:
    """The values and weights of the top unlabelled rows, enough for a total weight of `count`."""
    values, weights = values[unlabelled], weights[unlabelled]
    if len(values) == 0:
        return values, weights
    order = (-values).argsort()
    enough = int((weights[order].cumsum(0) < count).sum()) + 1
    return values[order[:enough]], weights[order[:enough]]


def fit_propensity_on(sample: Sample, likely: Any, learner: Learner, start: Predictor) -> tuple[Predictor, bool]:
    """e(x) as the regression of the label on P̂, the labelled and the likely rows, and whether it converged.

    If P̂ has no unlabelled row, there is nothing to regress, and e(x) = 1.
    """
    if not bool(likely.any()):
        return certain(sample.design.shape[1]), True
    return learner.fit(*sample.among(sample.labelled | likely), start)


def _tie(value: float) -> float:
    """How much two equal values may differ."""
    return _TIE * (1.0 + abs(value)) if np.isfinite(value) else 0.0
