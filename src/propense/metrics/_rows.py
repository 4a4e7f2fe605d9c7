"""Read and check the arguments of a metric, once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.labels import read_labels, read_labels_as
from propense._maths.arrays import to_host
from propense.errors import InvalidInput, InvalidPropensity, InvalidWeights, NoLabelledInstances

__all__ = ["ScoredRows", "read_predictions", "read_probabilities"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class ScoredRows:
    """The rows with weight above 0: their labels, predictions, propensities and weights.

    Attributes
    ----------
    labelled : bool ndarray of shape (n,)
    predicted : ndarray of shape (n,)
        P(Y=1 | x), or whether the row is predicted positive.
    propensity : ndarray of shape (n,)
    weights : ndarray of shape (n,)
    """

    labelled: NDArray[np.bool_]
    predicted: NDArray[Any]
    propensity: Vector
    weights: Vector

    def mean(self, values: NDArray[Any]) -> float:
        return float(np.average(values, weights=self.weights))


def read_probabilities(
    s: Any, y_proba: Any, propensity: Any, sample_weight: Any, positive_label: Any = None
) -> ScoredRows:
    """Rows with P(Y=1 | x), given as one column or as the two of `predict_proba`."""
    labelled, _ = _read_labels(s, positive_label)
    values = np.asarray(to_host(y_proba), dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 2:
        values = values[:, 1]
    values = _check_length("y_proba", values, len(labelled), InvalidInput)
    _check_probabilities("y_proba", values, InvalidInput)
    return _scored_rows(labelled, values, propensity, sample_weight)


def read_predictions(
    s: Any, y_pred: Any, propensity: Any, sample_weight: Any, positive_label: Any = None
) -> ScoredRows:
    """Rows with predicted classes. At least one row must be labelled, and no labelled row may have propensity 0."""
    labelled, classes = _read_labels(s, positive_label)
    y_pred = np.asarray(to_host(y_pred))
    if y_pred.dtype.kind == "f" and np.isnan(y_pred).any():
        raise InvalidInput("y_pred holds NaN; every row needs a predicted class.")
    positive = y_pred if y_pred.dtype.kind == "b" else read_labels_as(y_pred, classes, "y_pred")
    positive = _check_length("y_pred", positive, len(labelled), InvalidInput)
    rows = _scored_rows(labelled, positive, propensity, sample_weight)
    if not rows.labelled.any():
        raise NoLabelledInstances("s has no labelled row with positive weight; the metric needs at least one.")
    impossible = rows.labelled & (rows.propensity == 0.0)
    if impossible.any():
        raise InvalidPropensity("propensity is 0 for a labelled row. Give it a small positive value.")
    return rows


def _read_labels(s: Any, positive_label: Any) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Read s as the estimators read y, except that booleans may all be the same."""
    s = to_host(s)
    if positive_label is None and getattr(s, "dtype", None) == np.bool_ and np.ndim(s) == 1:
        return np.asarray(s), np.array([False, True])
    return read_labels(s, None, positive_label)


def _scored_rows(
    labelled: NDArray[np.bool_], predicted: NDArray[Any], propensity: Any, sample_weight: Any
) -> ScoredRows:
    n = len(labelled)
    weights = np.ones(n) if sample_weight is None else np.asarray(to_host(sample_weight), dtype=np.float64)
    weights = _check_length("sample_weight", weights, n, InvalidWeights)
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and (weights > 0.0).any()):
        raise InvalidWeights("sample_weight must be finite and not negative, with at least one value above 0.")
    values = np.asarray(to_host(propensity), dtype=np.float64)
    values = _check_length("propensity", np.full(n, values) if values.ndim == 0 else values, n, InvalidPropensity)
    _check_probabilities("propensity", values, InvalidPropensity)
    if (weights > 0.0).all():
        return ScoredRows(labelled, predicted, values, weights)
    kept = weights > 0.0
    return ScoredRows(labelled[kept], predicted[kept], values[kept], weights[kept])


def _check_length(name: str, values: NDArray[Any], n: int, error_type: type[InvalidInput]) -> NDArray[Any]:
    if values.shape != (n,):
        raise error_type(f"{name} has shape {values.shape} but s has {n} rows; pass one value for each row.")
    return values


def _check_probabilities(name: str, values: Vector, error_type: type[InvalidInput]) -> None:
    wrong = ~((values >= 0.0) & (values <= 1.0))
    if wrong.any():
        first = int(wrong.argmax())
        raise error_type(f"{name} is {values[first]:g} at row {first}; a probability lies between 0 and 1.")
