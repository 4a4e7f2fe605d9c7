"""What `bounds` reads: the labels of rows, and the order in which a fit puts them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from propense._designs import Design
from propense._inputs.inside import method_inside
from propense._inputs.sample import Sample, read_features, read_sample
from propense._maths.arrays import Vector, as_float, library_of, to_host
from propense._maths.double_logistic import hidden_positive
from propense._maths.logistic import sigmoid
from propense.errors import InvalidFeatures, InvalidLabels, InvalidOption
from propense.estimators import SeveralSources
from propense.estimators._base import BasePUClassifier

__all__ = ["ReadRows", "read_rows"]

# The prior on the rows passed may differ from that of fit by this: sums in another order round differently.
_SAME = 1e-6


@dataclass(frozen=True)
class ReadRows:
    """The rows of weight above 0 as `bounds` sees them.

    Attributes
    ----------
    labelled : Vector
        1 for labelled rows, else 0.
    score : Vector
        y(x)·e(x), by a fit that has not seen the rows.
    weights : Vector
    estimate : float
        The fit's share of positives.
    """

    labelled: Vector
    score: Vector
    weights: Vector
    estimate: float


def read_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, scores: tuple[Vector, Vector, Vector] | None = None
) -> ReadRows:
    """Check the input of `bounds`, and compute what it needs; `scores` are y, e and h of all rows, if known already."""
    inside = method_inside(estimator)
    X, estimator = inside.transform(X), inside.method
    if not isinstance(estimator, BasePUClassifier):
        raise InvalidOption(f"model={type(estimator).__name__}: pass a fitted estimator of propense, or a pipeline.")
    if isinstance(estimator, SeveralSources):
        raise InvalidOption(
            "bounds is about one column of labels, but SeveralSources has several, which say more. Fit another method "
            "to one of them."
        )
    check_is_fitted(estimator)
    if library_of(X) == "dask":
        raise InvalidFeatures("bounds needs rows in memory, but X is a Dask array. Pass a sample of its rows.")
    design = read_features(estimator, X)
    # Reading sets the column names of an estimator: use a clone, and leave the fitted one unchanged.
    sample, classes = read_sample(clone(estimator), X, y, sample_weight, None, estimator._read_labels)
    if classes[1] != estimator.classes_[1]:
        raise InvalidLabels(f"y marks labelled rows by {classes[1]}, but in fit it was {estimator.classes_[1]}.")
    if sample.negative is not None:
        raise InvalidOption("bounds does not take known negatives: leave these rows out, or pass them as unlabelled.")
    kept = np.arange(len(to_host(y))) if sample.rows is None else np.asarray(to_host(sample.rows))
    found = _scores(estimator, design, sample, kept) if scores is None else tuple(each[kept] for each in scores)
    posterior, propensity, hidden = found
    labelled = np.asarray(to_host(as_float(sample.labelled)), dtype=np.float64)
    weights = np.ones(len(kept)) if sample.weights is None else np.asarray(to_host(sample.weights), dtype=np.float64)
    estimate = float(np.average(np.where(labelled > 0, 1.0, hidden), weights=weights))
    return ReadRows(labelled, posterior * propensity, weights, estimate)


def _scores(
    estimator: BasePUClassifier, design: Design, sample: Sample, kept: NDArray[np.intp]
) -> tuple[Vector, Vector, Vector]:
    """y, e and h of the rows of weight above 0, by models that have not seen them if these are the rows of fit."""
    held = [getattr(estimator, f"oof_{name}_", None) for name in ("posterior", "propensity", "hidden")]
    if held[0] is not None and len(held[0]) == len(kept):
        prior = sample.mean(as_float(sample.labelled) + ~sample.labelled * held[2])
        if abs(prior - estimator.prior_) <= _SAME:
            posterior, propensity, hidden = (np.asarray(to_host(each), dtype=np.float64) for each in held)
            return posterior, propensity, hidden
    a, b = (np.asarray(to_host(each), dtype=np.float64)[kept] for each in estimator._log_odds(design))
    return sigmoid(a), sigmoid(b), hidden_positive(a, b)
