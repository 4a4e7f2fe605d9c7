"""Labels from several sources: a column for each, with a gap where a source did not look at a row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.frames import is_frame, named_columns
from propense._inputs.labels import missing_values, read_labels
from propense._inputs.preparation import Preparation
from propense._maths.arrays import Index, Matrix, to_host
from propense.errors import InvalidLabels, InvalidOption

__all__ = ["Sources", "has_columns", "read_sources", "split_features"]


@dataclass(frozen=True)
class Sources:
    """The labels of each source.

    Attributes
    ----------
    labels : ndarray of shape (n, n_sources)
        1 where the source gave a label, 0 where it looked and gave none, NaN where it did not look.
    names : tuple of str
    columns : tuple of (int ndarray or None)
        For each source, the features that its labels may depend on; None means all.
    """

    labels: Matrix
    names: tuple[str, ...]
    columns: tuple[Index | None, ...]

    def take(self, rows: NDArray[Any]) -> "Sources":
        """The labels of some rows, by a mask or by their numbers."""
        return replace(self, labels=self.labels[rows])

    def prepared(self, preparation: Preparation) -> "Sources":
        """The same with columns that have become features."""
        return replace(self, columns=tuple(preparation.features_of(each) for each in self.columns))


def has_columns(y: Any) -> bool:
    """Whether y has several columns of labels."""
    shape = getattr(y, "shape", None)
    if shape is None:
        try:
            shape = np.asarray(y).shape
        except ValueError:
            # Rows of different lengths: the reader of one column says what is wrong.
            return False
    return len(shape) == 2 and shape[1] > 1


def read_sources(y: Any, positive: Any = None) -> tuple[NDArray[Any], Matrix, tuple[str, ...]]:
    """Which rows have a label of any source, in the two values of y; the labels of each; and the sources' names."""
    if is_frame(y):
        columns = [(str(name), np.asarray(column)) for name, column in named_columns(y)]
    else:
        columns = [(f"source {k + 1}", column) for k, column in enumerate(np.asarray(to_host(y)).T)]
    labels, classes = [], None
    for name, cells in columns:
        given, own = _read_column(name, cells, positive)
        if classes is not None and classes.tolist() != own.tolist():
            raise InvalidLabels(
                f"y, column {name!r} has the values {own[0]} and {own[1]}, but {columns[0][0]!r} has {classes[0]} and "
                f"{classes[1]}. Write the labels of all sources in the same two values."
            )
        labels.append(given)
        classes = own if classes is None else classes
    names = tuple(name for name, _ in columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidLabels(f"y has two columns {twice!r}. Give each source a name of its own.")
    both = np.column_stack(labels)
    assert classes is not None
    return classes[(both == 1.0).any(axis=1).astype(int)], both, names


def _read_column(name: str, cells: NDArray[Any], positive: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """The labels of one source, NaN where it did not look, and its two values."""
    missing = missing_values(cells)
    present = cells[~missing]
    if not len(present):
        raise InvalidLabels(f"y, column {name!r} is empty: the source looked at no row. Leave it out.")
    if cells.dtype.kind == "O":
        # The type that the values have without the missing ones.
        present = np.array(present.tolist())
    if missing.any() and len(np.unique(present)) == 1 and present[0] not in (0, ""):
        raise InvalidLabels(
            f"y, column {name!r} has only {present[0]} and missing values. With several sources, missing means that "
            "the source did not look at the row. Write 0 where it looked and gave no label."
        )
    try:
        labelled, classes = read_labels(present, None, positive)
    except InvalidLabels as error:
        raise type(error)(f"y, column {name!r}: {error}") from None
    out = np.full(len(cells), np.nan)
    out[~missing] = labelled
    return out, classes


def split_features(wanted: Any, count: int) -> list[Any] | None:
    """What `propensity_features` says of each source, if it has one list, or None, for each; else None."""
    if not isinstance(wanted, Sequence | np.ndarray) or isinstance(wanted, str | bytes):
        return None
    if not any(each is None or (hasattr(each, "__len__") and not isinstance(each, str | bytes)) for each in wanted):
        return None
    if len(wanted) != count:
        raise InvalidOption(
            f"propensity_features has {len(wanted)} lists of columns for {count} sources. Pass one list for each "
            "source, or one list of columns for all."
        )
    return list(wanted)
