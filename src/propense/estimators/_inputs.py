"""The only validation: what a user passes to fit or predict, read once."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data

from propense._designs import Design, as_design
from propense.errors import (
    InvalidFeatures,
    InvalidInput,
    InvalidLabels,
    InvalidOption,
    InvalidPropensity,
    InvalidWeights,
    NoLabelledInstances,
    NoUnlabelledInstances,
)
from propense.estimators._labels import LabelReader

__all__ = ["Sample", "read_features", "read_sample"]

# Sums of squares of anything smaller stay far inside float64.
_LARGEST = 1e100


@dataclass(frozen=True)
class Sample:
    """What a method is fitted on.

    Attributes
    ----------
    design : Design of shape (n, p)
        The features, intercept included.
    labelled : bool Rows of length n
        Who carries the label.
    weights : Rows of length n, or None
        What each row counts for; None is 1 for all. Never 0: such rows are left out.
    rows : int ndarray of shape (n,), or None
        The number of each row in what the user passed; None when none was left out.
    propensity : Rows of length n, or None
        e(x), where the user knows it.
    propensity_columns : int ndarray, or None
        The features that e may depend on; None is all.
    """

    design: Design
    labelled: Any
    weights: Any
    rows: NDArray[np.intp] | None
    propensity: Any = None
    propensity_columns: NDArray[np.intp] | None = None

    def numbers(self, index: NDArray[np.intp]) -> NDArray[np.intp]:
        """The user's row numbers for ours."""
        return index if self.rows is None else self.rows[index]

    def among(self, mask: Any) -> tuple[Design, Any, Any]:
        """The design, labels and weights of the rows of a mask.

        A minority is copied out; a majority stays in place and the other rows weigh 0, which takes no memory.
        """
        if 2 * int(mask.sum()) > self.design.shape[0]:
            return self.design, self.labelled, mask * 1.0 if self.weights is None else self.weights * mask
        weights = None if self.weights is None else self.weights[mask]
        return self.design.take(mask), self.labelled[mask], weights

    @property
    def total_weight(self) -> float:
        """The sum of the weights: the number of rows where there are none."""
        return float(self.design.shape[0] if self.weights is None else self.weights.sum())

    def bring_weights(self) -> NDArray[np.float64]:
        """One weight per row, on the host."""
        return np.ones(self.design.shape[0]) if self.weights is None else self.design.bring(self.weights)

    def weight_of(self, values: Any) -> float:
        """Σ wᵢ·valueᵢ; of a mask, the weight of its rows."""
        return float((values if self.weights is None else self.weights * values).sum())

    def mean(self, values: Any) -> float:
        """The weighted mean of one number per row."""
        return self.weight_of(values) / self.total_weight


def read_sample(
    estimator: Any, X: Any, y: Any, sample_weight: Any, propensity: Any, read_labels: LabelReader
) -> tuple[Sample, NDArray[Any]]:
    """Check what was passed to fit; return the sample and the two classes."""
    features = _read_matrix(estimator, X, reset=True)
    if y is None:
        raise InvalidLabels(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    labelled, classes = read_labels(y)
    weights = None if sample_weight is None else _read_weights(sample_weight, features)
    _check_lengths(features, labelled, InvalidLabels)
    if propensity is not None:
        propensity = _read_propensity(propensity, features, labelled)
    rows = None
    if weights is not None and not weights.all():
        # A row of weight 0 is a row that is not there: it can be nobody's spy and set no threshold.
        rows = np.flatnonzero(weights)
        features, labelled, weights = features[rows], labelled[rows], weights[rows]
        propensity = None if propensity is None else propensity[rows]
        if not labelled.any():
            raise NoLabelledInstances(f"No instance of the labelled class {classes[1]} has a sample_weight above 0.")
        if labelled.all():
            raise NoUnlabelledInstances(
                f"No instance of the unlabelled class {classes[0]} has a sample_weight above 0."
            )
    design = as_design(features)
    weights, propensity = (None if each is None else design.send(each) for each in (weights, propensity))
    return Sample(design, design.send(labelled), weights, rows, propensity, _read_columns(estimator)), classes


def read_features(estimator: Any, X: Any) -> Design:
    """Check what was passed to a predict method, columns against those of fit."""
    check_is_fitted(estimator)
    return as_design(_read_matrix(estimator, X, reset=False))


def _read_matrix(estimator: Any, X: Any, *, reset: bool) -> Any:
    if sp.issparse(X) and not get_tags(estimator).input_tags.sparse:
        raise InvalidFeatures(
            f"X is sparse, and a classifier inside this {type(estimator).__name__} takes dense features only. Pass "
            "X.toarray(), or another estimator or propensity_estimator."
        )
    try:
        features = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            # float32 stays float32 in memory; Designs read it block by block as float64.
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
    except ValueError as error:
        raise InvalidFeatures(str(error)) from None
    _check_finite(estimator, features)
    return features


def _check_finite(estimator: Any, features: Any) -> None:
    entries = features.data if sp.issparse(features) else features
    # NaN, inf and what is too large show in the extremes, which take no memory to find.
    if entries.size == 0 or max(float(entries.max()), -float(entries.min())) < _LARGEST:
        return
    bad = ~np.isfinite(entries)
    wrong = f"{int(bad.sum())} entries that are NaN or infinite, the first"
    way_out = "Impute or drop them, for instance with sklearn.impute.SimpleImputer."
    if not bad.any():
        bad = np.abs(entries) >= _LARGEST
        wrong = f"{int(bad.sum())} entries whose squares are too large to work with, the first"
        way_out = "Scale the column."
    where = np.argwhere(bad)[0]
    row, column = where if entries is features else (features.tocoo().row[where[0]], features.indices[where[0]])
    names = getattr(estimator, "feature_names_in_", None)
    name = f"column {column}" if names is None else f"column {names[column]!r}"
    raise InvalidFeatures(f"X holds {wrong} ({entries[tuple(where)]}) at row {row}, {name}. {way_out}")


def _read_weights(sample_weight: Any, features: Any) -> NDArray[np.float64]:
    weights = _read_numbers("sample_weight", "Sample weights", sample_weight, features, InvalidWeights)
    if (weights < 0).any():
        first = int(np.flatnonzero(weights < 0)[0])
        raise InvalidWeights(f"sample_weight is negative ({weights[first]:g}) at row {first}; weights must be ≥ 0.")
    if not weights.any():
        raise InvalidWeights(
            "sample_weight is zero for every row; at least one labelled and one unlabelled row must count."
        )
    return weights


def _read_propensity(propensity: Any, features: Any, labelled: NDArray[np.bool_]) -> NDArray[np.float64]:
    values = _read_numbers("propensity", "Propensities", propensity, features, InvalidPropensity)
    outside = np.flatnonzero((values < 0) | (values > 1))
    if len(outside):
        raise InvalidPropensity(
            f"propensity is {values[outside[0]]:g} at row {outside[0]}; e(x) = P(S=1 | Y=1, x) lies between 0 and 1."
        )
    impossible = np.flatnonzero(labelled & (values == 0))
    if len(impossible):
        raise InvalidPropensity(
            f"propensity is 0 at row {impossible[0]}, which is labelled. Give such rows the small chance they have."
        )
    return values


def _read_numbers(
    name: str, title: str, values: Any, features: Any, error_type: type[InvalidInput]
) -> NDArray[np.float64]:
    """One finite number per row, from an array or from one number for all."""
    if isinstance(values, numbers.Real) or (isinstance(values, np.ndarray) and values.ndim == 0):
        values = np.full(features.shape[0], values)
    try:
        out = check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)
    except ValueError as error:
        raise error_type(str(error)) from None
    if out.ndim != 1:
        raise error_type(f"{title} must be 1D array or scalar, got an array of shape {out.shape}.")
    _check_lengths(features, out, error_type)
    return np.asarray(out)


def _read_columns(estimator: Any) -> NDArray[np.intp] | None:
    """The numbers of the features that `propensity_features` names, ascending; None is all of them."""
    wanted = getattr(estimator, "propensity_features", None)
    if wanted is None:
        return None
    said = f"{type(estimator).__name__}(propensity_features={wanted!r})"
    if isinstance(wanted, str | bytes) or not hasattr(wanted, "__len__"):
        raise InvalidOption(f"{said}: pass a list of column names or of column numbers.")
    names = getattr(estimator, "feature_names_in_", None)
    count = estimator.n_features_in_
    found: list[int] = []
    for column in wanted:
        if isinstance(column, str):
            places = [] if names is None else np.flatnonzero(names == column).tolist()
            known = "X has no column names" if names is None else f"the columns are {_some(names)}"
        else:
            whole = isinstance(column, numbers.Integral) and not isinstance(column, bool | np.bool_)
            places = [int(column)] if whole and 0 <= column < count else []
            known = f"the columns are numbered 0 to {count - 1}"
        if not places:
            raise InvalidOption(f"{said}: there is no column {column!r}; {known}.")
        found += places
    return np.unique(np.asarray(found, dtype=np.intp))


def _some(names: NDArray[Any]) -> str:
    return ", ".join(repr(str(name)) for name in names[:8]) + (", …" if len(names) > 8 else "")


def _check_lengths(features: Any, other: NDArray[Any], error_type: type[ValueError]) -> None:
    try:
        check_consistent_length(features, other)
    except ValueError as error:
        raise error_type(str(error)) from None
