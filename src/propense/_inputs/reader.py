"""What the readers of every kind of input share; where the feature matrix lives decides which one is used."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propense._inputs.labels import LabelReader
from propense._maths.arrays import Rows, library_of, namespace
from propense.errors import InvalidFeatures, InvalidInput, InvalidOption

__all__ = [
    "LARGEST",
    "LARGEST_IN_TREES",
    "Reader",
    "check_length",
    "check_places",
    "find_invalid",
    "invalid_entries",
    "refuse_classifiers",
    "refuse_lazy",
]

# Sums of squares of smaller numbers stay well within float64.
LARGEST = 1e100
# scikit-learn's trees compare numbers as float32.
LARGEST_IN_TREES = float(np.finfo(np.float32).max)

_REBUILD = "Build it again, for example from its rows, columns and values with scipy.sparse.coo_array."


class Reader(Protocol):
    """Checks one kind of input; what it returns lives where the features live."""

    def read_matrix(self, estimator: Any, X: Any, *, reset: bool) -> Any:
        """The features, float64 or float32, as `as_design` takes them; finite, or NaN where the estimator allows it.

        With `reset`, as in fit, the estimator learns the number and names of the columns; otherwise they are compared.
        """

    def read_labels(self, y: Any, features: Any, read: LabelReader) -> tuple[Rows, NDArray[Any]]:
        """Which rows are labelled, and the two classes."""

    def read_numbers(self, name: str, title: str, values: Any, features: Any, error_type: type[InvalidInput]) -> Rows:
        """One finite number per row, from an array or from one number for all rows."""

    def keep(self, mask: Rows, *arrays: Rows | None) -> list[Any]:
        """The numbers of the rows of a mask, then those rows of each array; None stays None."""


def refuse_lazy(name: str, values: Any, error_type: type[InvalidInput]) -> None:
    """Raise if polars has not read the rows yet."""
    if library_of(values) == "polars" and type(values).__name__ == "LazyFrame":
        raise error_type(f"{name} is a LazyFrame of polars, whose rows are not read yet. Call .collect() first.")


def check_length(features: Any, length: int, error_type: type[InvalidInput]) -> None:
    """Raise if an array has not one entry per row."""
    if length != features.shape[0]:
        raise error_type(f"Found input variables with inconsistent numbers of samples: [{features.shape[0]}, {length}]")


def check_places(X: Any) -> None:
    """Raise if an index of a SciPy sparse matrix points outside it: SciPy would read and write foreign memory."""
    if X.ndim != 2 or X.format not in ("csr", "csc", "bsr", "coo"):
        return
    rows, columns = X.shape
    if X.format == "coo":
        _check_indices("row", X.row, rows, len(X.data))
        _check_indices("column", X.col, columns, len(X.data))
        return
    lines, kind, count = (columns, "row", rows) if X.format == "csc" else (rows, "column", columns)
    if X.format == "bsr":
        lines, kind, count = rows // X.blocksize[0], "block column", columns // X.blocksize[1]
    ends = X.indptr
    if len(ends) != lines + 1 or ends[0] != 0 or bool((ends[1:] < ends[:-1]).any()):
        raise InvalidFeatures(
            f"X is a damaged sparse matrix: its indptr must be {lines + 1} numbers that ascend from 0. {_REBUILD}"
        )
    if ends[-1] > min(len(X.indices), len(X.data)):
        raise InvalidFeatures(
            f"X is a damaged sparse matrix: its indptr ends at {ends[-1]}, but there are {len(X.indices)} indices and "
            f"{len(X.data)} values. {_REBUILD}"
        )
    _check_indices(kind, X.indices[: ends[-1]], count, int(ends[-1]))


def _check_indices(kind: str, indices: NDArray[np.integer[Any]], count: int, entries: int) -> None:
    if len(indices) != entries:
        raise InvalidFeatures(
            f"X is a damaged sparse matrix: it has {len(indices)} {kind} indices for {entries} values. {_REBUILD}"
        )
    if entries and not 0 <= indices.min() <= indices.max() < count:
        wrong = indices[int(((indices < 0) | (indices >= count)).argmax())]
        raise InvalidFeatures(
            f"X is a damaged sparse matrix: it has the {kind} index {wrong}, but its {kind}s are numbered 0 to "
            f"{count - 1}. {_REBUILD}"
        )


def find_invalid(
    entries: Any, size: int, *, missing: bool = False, largest: float = LARGEST
) -> tuple[int, tuple[int, int], bool]:
    """The number of entries that are not finite or, if all are, too large; the place of the first; and which it is.

    NaN is allowed if `missing`; numbers from `largest` on are too large. `size` rows are searched at a time, since
    masks of the whole X might not fit in memory.
    """
    xp, count, first = namespace(entries), 0, (-1, -1)
    for infinite in (True, False):
        for start in range(0, len(entries), size):
            block = entries[start : start + size]
            wrong = xp.isinf(block) if missing else ~xp.isfinite(block)
            found = xp.argwhere(wrong if infinite else xp.abs(block) >= largest)
            if len(found) and not count:
                first = start + int(found[0, 0]), int(found[0, 1])
            count += len(found)
        if count:
            break
    return count, first, infinite


def invalid_entries(
    count: int,
    value: Any,
    row: Any,
    column: int,
    *,
    infinite: bool,
    names: NDArray[Any] | None = None,
    missing: bool = False,
    trees: bool = False,
) -> InvalidFeatures:
    """The error for entries of X that are not finite or, if all are, too large; value and place are of the first.

    NaN is allowed if `missing`. With `trees`, entries are too large that a tree cannot read.
    """
    wrong, advice = "whose squares are too large to compute with", "Scale the column."
    if trees:
        wrong = f"beyond {LARGEST_IN_TREES:.2g}, the largest number that trees read"
        advice = "Scale the column, or correct the entries."
    if infinite:
        wrong, advice = "that are NaN or infinite", "Drop or impute them, for example with sklearn's SimpleImputer."
        if missing:
            wrong, advice = "that are infinite", "Correct them, or make them NaN, which means missing."
    name = column if names is None else repr(names[column])
    return InvalidFeatures(f"X has {count} entries {wrong}, the first ({value}) at row {row}, column {name}. {advice}")


def refuse_classifiers(estimator: Any, why: str) -> None:
    """Raise if the method has classifiers inside, which cannot read X."""
    for name in ("estimator", "propensity_estimator", "learners"):
        # Learners that are chosen by a name are chosen for X.
        if not isinstance(getattr(estimator, name, None), str | None):
            raise InvalidOption(f"{type(estimator).__name__}({name}=…): {why}")
