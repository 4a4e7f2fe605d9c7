"""Reading what lies in this process's memory: arrays, lists, data frames, SciPy's sparse matrices."""

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from propense._inputs.labels import LabelReader
from propense._inputs.reader import LARGEST, place
from propense._maths.arrays import to_host
from propense.errors import InvalidFeatures, InvalidInput, InvalidLabels

__all__ = ["HostReader"]

# Rows looked at together where something is wrong with them.
_BLOCK = 4096


class HostReader:
    """What NumPy and scikit-learn can read."""

    def read_matrix(self, estimator: Any, X: Any, *, reset: bool) -> Any:
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

    def read_labels(self, y: Any, features: Any, read: LabelReader) -> tuple[Any, NDArray[Any]]:
        labelled, classes = read(y, None)
        _check_lengths(features, labelled, InvalidLabels)
        return labelled, classes

    def read_numbers(
        self, name: str, title: str, values: Any, features: Any, error_type: type[InvalidInput]
    ) -> NDArray[np.float64]:
        """One finite number per row, from an array or from one number for all."""
        values = to_host(values)
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

    def keep(self, mask: Any, *arrays: Any) -> list[Any]:
        rows = np.flatnonzero(mask)
        return [rows, *(None if array is None else array[rows] for array in arrays)]


def _check_finite(estimator: Any, features: Any) -> None:
    entries = features.data[:, np.newaxis] if sp.issparse(features) else features
    # NaN, inf and what is too large show in the extremes, which take no memory to find.
    if entries.size == 0 or max(float(entries.max()), -float(entries.min())) < LARGEST:
        return
    wrong, where = _find(lambda block: ~np.isfinite(block), entries)
    what = f"{wrong} entries that are NaN or infinite, the first"
    way_out = "Impute or drop them, for instance with sklearn.impute.SimpleImputer."
    if not wrong:
        wrong, where = _find(lambda block: np.abs(block) >= LARGEST, entries)
        what = f"{wrong} entries whose squares are too large to work with, the first"
        way_out = "Scale the column."
    value = entries[where]
    if sp.issparse(features):
        where = features.tocoo().row[where[0]], features.indices[where[0]]
    raise InvalidFeatures(f"X holds {what} ({value}) at {place(estimator, *where)}. {way_out}")


def _find(bad: Callable[[NDArray[Any]], NDArray[np.bool_]], entries: NDArray[Any]) -> tuple[int, tuple[int, int]]:
    """How many entries are bad, and where the first is; block by block, since X may be larger than memory."""
    count, first = 0, (-1, -1)
    for start in range(0, len(entries), _BLOCK):
        found = np.argwhere(bad(entries[start : start + _BLOCK]))
        if len(found) and not count:
            first = start + int(found[0, 0]), int(found[0, 1])
        count += len(found)
    return count, first


def _check_lengths(features: Any, other: NDArray[Any], error_type: type[ValueError]) -> None:
    try:
        check_consistent_length(features, other)
    except ValueError as error:
        raise error_type(str(error)) from None
