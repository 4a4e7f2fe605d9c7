"""Reading what is in this process's memory: arrays, lists, data frames, SciPy's sparse matrices."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, validate_data

from propense._inputs.frames import all_numbers, encode_frame, is_frame, is_mixed, learn_columns, refuse_mixed
from propense._inputs.labels import LabelReader
from propense._inputs.reader import (
    LARGEST,
    LARGEST_IN_TREES,
    check_length,
    check_places,
    find_invalid,
    invalid_entries,
)
from propense._maths.arrays import Vector, to_host
from propense.errors import InvalidFeatures, InvalidInput, InvalidLabels

__all__ = ["HostReader"]

# Rows checked at a time when an invalid entry is located.
_BLOCK = 4096


@dataclass(frozen=True)
class HostReader:
    """Reads what NumPy and scikit-learn can read, and data frames of mixed columns.

    Attributes
    ----------
    weights : array-like of shape (n_samples,), or None
        The weights of the rows of fit, unchecked: levels of categories are learned from rows whose weight is not 0.
    """

    weights: Any = None

    def read_matrix(self, estimator: Any, X: Any, *, reset: bool) -> Any:
        tags = get_tags(estimator).input_tags
        if tags.categorical and is_frame(X) and (is_mixed(X) or (not reset and estimator._columns is not None)):
            return self._read_frame(estimator, X, reset=reset)
        if sp.issparse(X) and not tags.sparse:
            raise InvalidFeatures(
                f"X is sparse, but a classifier inside this {type(estimator).__name__} accepts only dense features. "
                "Pass X.toarray(), or a classifier that accepts sparse features."
            )
        if sp.issparse(X):
            # Before scikit-learn converts X: SciPy's compiled code trusts the indices.
            check_places(X)
        try:
            features = validate_data(
                estimator,
                X,
                reset=reset,
                accept_sparse="csr",
                # float32 stays float32 in memory; a Design reads it block by block as float64.
                dtype=(np.float64, np.float32),
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
        except OverflowError:
            raise InvalidFeatures(f"X {_beyond_float(X)} Scale the column.") from None
        except (TypeError, ValueError) as error:
            refuse_mixed(X, estimator)
            if isinstance(error, TypeError):
                raise
            raise InvalidFeatures(str(error)) from None
        if sp.issparse(features) and features is not X:
            check_places(features)
        _check_finite(estimator, features, missing=tags.allow_nan and not sp.issparse(features))
        return features

    def _read_frame(self, estimator: Any, X: Any, *, reset: bool) -> Any:
        try:
            # Learns or compares the number of columns and their names, with scikit-learn's error messages.
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            if reset:
                estimator._columns, features = learn_columns(X, self._counted(len(X)))
            else:
                features = encode_frame(estimator._columns or all_numbers(X), X)
            check_array(features, ensure_all_finite=False, ensure_min_samples=2 if reset else 1)
        except InvalidFeatures:
            raise
        except ValueError as error:
            raise InvalidFeatures(str(error)) from None
        _check_finite(estimator, features, missing=True)
        return features

    def _counted(self, rows: int) -> NDArray[np.bool_] | None:
        """The rows whose weight is not 0; weights that cannot be read are refused later."""
        weights = np.asarray(to_host(self.weights))
        if weights.shape != (rows,) or weights.dtype.kind not in "biuf":
            return None
        return np.asarray(weights != 0)

    def read_labels(self, y: Any, features: Any, read: LabelReader) -> tuple[Any, NDArray[Any]]:
        labelled, classes = read(y, None)
        check_length(features, len(labelled), InvalidLabels)
        return labelled, classes

    def read_numbers(self, name: str, title: str, values: Any, features: Any, error_type: type[InvalidInput]) -> Vector:
        values = to_host(values)
        if isinstance(values, numbers.Real) or (isinstance(values, np.ndarray) and values.ndim == 0):
            values = np.full(features.shape[0], values)
        try:
            out = check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)
        except OverflowError:
            raise error_type(f"{name} {_beyond_float(values)}") from None
        except ValueError as error:
            raise error_type(str(error)) from None
        if out.ndim != 1:
            raise error_type(f"{title} must be 1D array or scalar, got an array of shape {out.shape}.")
        check_length(features, len(out), error_type)
        return np.asarray(out)

    def keep(self, mask: Any, *arrays: Any) -> list[Any]:
        rows = np.flatnonzero(mask)
        return [rows, *(None if array is None else array[rows] for array in arrays)]


def _beyond_float(values: Any) -> str:
    """What is wrong with values that float64 cannot hold, and where the first of them is."""
    for place, value in np.ndenumerate(np.asarray(values, dtype=object)):
        try:
            float(value)
        except (TypeError, ValueError):
            continue
        except OverflowError:
            names = ", ".join(f"{name} {number}" for name, number in zip(("row", "column"), place, strict=False))
            return f"contains a number beyond float64, which ends at 1.8e308, at {names}."
    return "contains a number beyond float64, which ends at 1.8e308."


def _check_finite(estimator: Any, features: Any, *, missing: bool) -> None:
    """Raise an error for entries that are not finite, or too large; NaN is allowed if `missing`."""
    entries = features.data[:, np.newaxis] if sp.issparse(features) else features
    if entries.size == 0:
        return
    # NaN, inf and values that are too large show in the extremes, which take no memory to find; fmax and fmin pass over
    # NaN unless there is nothing else.
    pair = (np.fmax, np.fmin) if missing else (np.maximum, np.minimum)
    largest, least = (float(extreme.reduce(entries, axis=None)) for extreme in pair)
    # Methods that take columns of every kind fit trees to them.
    limit = LARGEST_IN_TREES if getattr(estimator, "_takes_mixed_columns", bool)() else LARGEST
    if max(largest, -least) < limit or (missing and np.isnan(largest)):
        return
    count, where, infinite = find_invalid(entries, _BLOCK, missing=missing, largest=limit)
    value = entries[where]
    if sp.issparse(features):
        where = features.tocoo().row[where[0]], features.indices[where[0]]
    names = getattr(estimator, "feature_names_in_", None)
    raise invalid_entries(count, value, *where, infinite=infinite, names=names, missing=missing, trees=limit < LARGEST)
