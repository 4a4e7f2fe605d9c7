"""Reading Dask arrays and data frames: each block is checked where it is, and only a summary comes to the client."""

import numbers
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import tokenize
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from propense._designs.dask.blocks import Blocks, hold, layer, same
from propense._designs.dask.design import rows_of
from propense._inputs.dask_summaries import (
    BlockOfX,
    LabelSummary,
    is_labelled,
    label_summary,
    stand_in,
    to_numbers,
)
from propense._inputs.host import HostReader
from propense._inputs.labels import LabelReader
from propense._inputs.reader import check_length, refuse_classifiers
from propense._maths.arrays import library_of
from propense.errors import InvalidFeatures, InvalidInput, InvalidLabels

__all__ = ["DaskReader"]

_NOT_IN_MEMORY = (
    "the classifier needs its rows in memory and cannot be fitted to a Dask array or data frame. Fit to a sample, such "
    "as X.sample(frac=0.01).compute(); the fitted model can predict on Dask arrays and data frames."
)


class DaskReader:
    """Reads Dask arrays and data frames; the one-dimensional inputs may be Dask's or in memory."""

    def read_matrix(self, estimator: Any, X: Any, *, reset: bool) -> da.Array:
        if reset:
            refuse_classifiers(estimator, _NOT_IN_MEMORY)
        dtype = _check_types(X)
        try:
            # The empty sample of a data frame has the column names.
            validate_data(estimator, X._meta if hasattr(X, "columns") else X, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise InvalidFeatures(str(error)) from None
        read = BlockOfX(dtype, getattr(estimator, "feature_names_in_", None))
        return _known(_blocks(X, read.convert, dtype), read) if reset else _blocks(X, read.checked, dtype)

    def read_labels(self, y: Any, features: da.Array, read: LabelReader) -> tuple[da.Array, NDArray[Any]]:
        if library_of(y) != "dask":
            labelled, classes = HostReader().read_labels(y, features, read)
            return _chunked(features, labelled), classes
        rows = _column(y, "y", InvalidLabels)
        summaries: list[LabelSummary] = Blocks(rows).all(label_summary)
        lengths = tuple(summary.rows for summary in summaries)
        check_length(features, sum(lengths), InvalidLabels)
        _, classes = read(*stand_in(summaries))
        name = f"propense-labelled-{tokenize(rows.name, classes)}"
        labelled = layer(name, partial(is_labelled, label=classes[1]), rows, (lengths,), np.empty(0, bool))
        return hold(labelled.rechunk(features.chunks[:1])), classes

    def read_numbers(
        self, name: str, title: str, values: Any, features: da.Array, error_type: type[InvalidInput]
    ) -> da.Array:
        if isinstance(values, numbers.Real) or (isinstance(values, np.ndarray) and values.ndim == 0):
            # Not by math.isfinite, which converts a whole number to a float first.
            size: Any = abs(values)
            if not size <= sys.float_info.max:
                raise error_type(f"{name} must be a finite number that float64 can hold, at most 1.8e308 in size.")
            return hold(da.full(features.shape[0], float(values), chunks=features.chunks[:1]))
        if library_of(values) != "dask":
            return _chunked(features, HostReader().read_numbers(name, title, values, features, error_type))
        rows = _column(values, title, error_type)
        if getattr(rows.dtype, "kind", "O") not in "biuf":
            raise error_type(f"{name} contains values of type {rows.dtype}; it must contain numbers.")
        summaries = Blocks(rows).all(partial(to_numbers, summary=True))
        check_length(features, sum(length for length, _ in summaries), error_type)
        bad = sum(count for _, count in summaries)
        if bad:
            raise error_type(f"{name} contains NaN or infinity in {bad} rows; every row needs a finite number.")
        lengths = tuple(length for length, _ in summaries)
        finite = layer(f"propense-numbers-{tokenize(rows.name)}", to_numbers, rows, (lengths,), np.empty(0))
        return hold(finite.rechunk(features.chunks[:1]))

    def keep(self, mask: da.Array, *arrays: Any) -> list[Any]:
        mask = hold(mask)
        counts = tuple(Blocks(mask).all(np.count_nonzero))
        numbers_ = da.arange(mask.shape[0], chunks=mask.chunks)
        return [None if row is None else hold(rows_of(row, mask, counts)) for row in (numbers_, *arrays)]


def _check_types(X: Any) -> np.dtype[Any]:
    """The type to which the entries of X are converted; an error if X is not a table of numbers."""
    if X.ndim != 2:
        raise InvalidFeatures(f"Expected 2D array, got {X.ndim}D array instead: X is a Dask {type(X).__name__}.")
    if X.shape[1] == 0:
        raise InvalidFeatures("X has no columns; at least one feature is required.")
    if isinstance(X, da.Array):
        return _float([X.dtype], ["X"])
    return _float(list(X.dtypes), [f"The column {name!r}" for name in X.columns])


def _blocks(X: Any, read: Callable[[Any], Any], dtype: np.dtype[Any]) -> da.Array:
    """X, read in blocks of all its columns; nothing is computed."""
    width = X.shape[1]
    if not isinstance(X, da.Array):
        # Part of the data frame's own plan, so that only these columns are read from files.
        return X.map_partitions(read, meta=np.empty((0, width), dtype), enforce_metadata=False)
    X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
    meta = X._meta.astype(dtype) if sp.issparse(X._meta) else np.empty((0, width), dtype)
    return layer(f"propense-read-{tokenize(X.name, read)}", read, X, (X.chunks[0], (width,)), meta)


def _float(dtypes: Sequence[Any], names: Sequence[str]) -> np.dtype[Any]:
    """float32 if it represents every entry exactly, otherwise float64."""
    for dtype, name in zip(dtypes, names, strict=True):
        if getattr(dtype, "kind", "O") not in "biuf":
            raise InvalidFeatures(
                f"{name} contains values of type {dtype}; X must contain numbers. Encode or leave out categories, "
                "and convert numbers stored as another type, for example with astype('float64')."
            )
    kinds = [np.dtype(getattr(dtype, "numpy_dtype", dtype)) for dtype in dtypes]
    exact = all(kind.kind == "f" and kind.itemsize <= 4 for kind in kinds)
    return np.dtype(np.float32 if exact else np.float64)


def _known(features: da.Array, read: BlockOfX) -> da.Array:
    """The features, finite, in blocks of known length, none of them empty."""
    if _is_here(features):
        features = features.persist()
    blocks = Blocks(features).all(read.summary)
    read.refuse(blocks)
    lengths = [block.rows for block in blocks]
    if sum(lengths) < 2:
        raise InvalidFeatures(f"Found {sum(lengths)} sample(s) in X while a minimum of 2 is required.")
    kept = [number for number, length in enumerate(lengths) if length]
    chunks = tuple(lengths[number] for number in kept), features.chunks[1]
    name = f"propense-features-{tokenize(features.name, lengths)}"
    return layer(name, same, features, chunks, features._meta, kept)


def _is_here(features: da.Array) -> bool:
    """Whether the graph contains the entries themselves, which should be sent to a cluster once, not in every pass."""
    nodes = dict(features.__dask_graph__()).values()
    values = (getattr(node, "value", node) for node in nodes)
    return sum(getattr(value, "nbytes", 0) for value in values if isinstance(value, np.ndarray)) > 1 << 20


def _column(values: Any, title: str, error_type: type[InvalidInput]) -> da.Array:
    """A Dask array or series as an array of one dimension."""
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel().",
            DataConversionWarning,
            stacklevel=2,
        )
        values = values[:, 0] if isinstance(values, da.Array) else values[values.columns[0]]
    if values.ndim != 1:
        raise error_type(f"{title} should be a 1d array, got an array of {values.ndim} dimensions instead.")
    if isinstance(values, da.Array):
        return values
    dtype = values.dtype
    kind = np.dtype(getattr(dtype, "numpy_dtype", dtype) if getattr(dtype, "kind", "O") in "biuf" else object)
    return values.map_partitions(np.asarray, meta=np.empty(0, kind), enforce_metadata=False)


def _chunked(features: da.Array, rows: NDArray[Any]) -> da.Array:
    """Rows in memory as a Dask array with the chunks of X."""
    return hold(da.from_array(rows, chunks=features.chunks[:1], name=False))
