"""What a metric is computed from: read and checked once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.labels import read_labels, read_labels_as
from propense._maths.arrays import to_host
from propense.errors import InvalidInput, InvalidPropensity, InvalidWeights, NoLabelledInstances

__all__ = ["Evidence", "read_chances", "read_decisions"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """What labels, a model and propensities say of the rows that count, those of weight above 0.

    Attributes
    ----------
    labelled : bool ndarray of shape (n,)
    said : ndarray of shape (n,)
        What the model says: P(Y=1 | x), or whether the row is called positive.
    propensity : ndarray of shape (n,)
    weights : ndarray of shape (n,)
    """

    labelled: NDArray[np.bool_]
    said: NDArray[Any]
    propensity: Vector
    weights: Vector

    def mean(self, values: NDArray[Any]) -> float:
        return float(np.average(values, weights=self.weights))


def read_chances(s: Any, y_proba: Any, propensity: Any, sample_weight: Any) -> Evidence:
    """With P(Y=1 | x), from one column or from the two of `predict_proba`."""
    labelled, _ = _read_labels(s)
    chances = np.asarray(to_host(y_proba), dtype=np.float64)
    if chances.ndim == 2 and chances.shape[1] == 2:
        chances = chances[:, 1]
    chances = _one_each("y_proba", chances, len(labelled), InvalidInput)
    _check_chances("y_proba", chances, InvalidInput)
    return _evidence(labelled, chances, propensity, sample_weight)


def read_decisions(s: Any, y_pred: Any, propensity: Any, sample_weight: Any) -> Evidence:
    """With who is called positive; somebody among them is labelled, and none of those has a propensity of 0."""
    labelled, classes = _read_labels(s)
    y_pred = np.asarray(to_host(y_pred))
    if y_pred.dtype.kind == "f" and np.isnan(y_pred).any():
        raise InvalidInput("y_pred holds NaN; every row is called positive or not.")
    positive = y_pred if y_pred.dtype.kind == "b" else read_labels_as(y_pred, classes, "y_pred")
    rows = _evidence(labelled, _one_each("y_pred", positive, len(labelled), InvalidInput), propensity, sample_weight)
    if not rows.labelled.any():
        raise NoLabelledInstances("s holds no labelled instance of weight above 0, by which to judge.")
    impossible = rows.labelled & (rows.propensity == 0.0)
    if impossible.any():
        raise InvalidPropensity("propensity is 0 for a labelled row. Give such rows the small chance they have.")
    return rows


def _read_labels(s: Any) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """As the estimators read y; but truth values say what they say, be they all the same."""
    s = to_host(s)
    if getattr(s, "dtype", None) == np.bool_ and np.ndim(s) == 1:
        return np.asarray(s), np.array([False, True])
    return read_labels(s)


def _evidence(labelled: NDArray[np.bool_], said: NDArray[Any], propensity: Any, sample_weight: Any) -> Evidence:
    n = len(labelled)
    weights = np.ones(n) if sample_weight is None else np.asarray(to_host(sample_weight), dtype=np.float64)
    weights = _one_each("sample_weight", weights, n, InvalidWeights)
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and (weights > 0.0).any()):
        raise InvalidWeights("sample_weight holds a negative or infinite number, NaN, or nothing above 0.")
    values = np.asarray(to_host(propensity), dtype=np.float64)
    values = _one_each("propensity", np.full(n, values) if values.ndim == 0 else values, n, InvalidPropensity)
    _check_chances("propensity", values, InvalidPropensity)
    if (weights > 0.0).all():
        return Evidence(labelled, said, values, weights)
    kept = weights > 0.0
    return Evidence(labelled[kept], said[kept], values[kept], weights[kept])


def _one_each(name: str, values: NDArray[Any], n: int, error_type: type[InvalidInput]) -> NDArray[Any]:
    if values.shape != (n,):
        raise error_type(f"{name} has shape {values.shape} where s has {n} rows; one value for each row is needed.")
    return values


def _check_chances(name: str, values: Vector, error_type: type[InvalidInput]) -> None:
    wrong = ~((values >= 0.0) & (values <= 1.0))
    if wrong.any():
        first = int(wrong.argmax())
        raise error_type(f"{name} is {values[first]:g} at row {first}; a chance lies between 0 and 1.")
