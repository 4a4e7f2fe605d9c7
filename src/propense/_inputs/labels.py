"""The one reader of y: which rows are labelled, and what the two classes are called."""

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from propense._inputs.label_words import labelled_word, means_unlabelled, never_labelled, number_word
from propense._maths.arrays import library_of, to_host
from propense.errors import InvalidLabels, NoLabelledInstances, NoUnlabelledInstances

__all__ = [
    "Gaps",
    "LabelReader",
    "fill_missing",
    "holds",
    "missing_values",
    "read_classes",
    "read_labels",
    "read_labels_as",
    "separate_known_negatives",
]

# The number of missing values of y, and the first row with one.
Gaps = tuple[int, int]
# y → (which rows are labelled, the two classes). A y that is not in memory is represented by its distinct values,
# with one missing if any is; the gaps then say how many are missing, and where.
LabelReader = Callable[[Any, Gaps | None], tuple[NDArray[np.bool_], NDArray[Any]]]

# How NumPy writes a missing value among strings.
_WORDS_FOR_MISSING = {"nan", "None", "<NA>", "NaT"}
# The most characters of a value that an error shows.
_LONGEST = 40


def read_labels(y: Any, gaps: Gaps | None = None, positive: Any = None) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which rows are labelled, and the two classes, the labelled one last.

    `positive` is the value of labelled rows, if it was said. Otherwise the larger of two numbers is the label ({0, 1},
    {−1, 1}, {False, True}), and of two words the one that means labelled ({"no", "yes"}, {"case", "control"}); two
    words whose meaning is not certain are an error. If y has missing values (NaN, None, pandas NA, an empty string) and
    one other, the latter is the label, and the other class is 0, False or "".
    """
    y, missing, values = _read_values(y)
    classes = _classes_with_missing(values, positive) if missing.any() else _two_labels(y, values, positive)
    labelled = np.zeros(len(y), dtype=bool)
    labelled[~missing] = y[~missing] == classes[1]
    return labelled, classes


def separate_known_negatives(y: Any, positive: Any = None) -> tuple[Any, NDArray[np.bool_] | None]:
    """y in two values, and which rows are known negatives: if y has two values and missing ones, those of the other.

    Any other y is returned unchanged, and so is one whose second value says that a row has no label, such as
    "unknown". More known negatives than missing values are an error, since they may be unlabelled rows of a table with
    gaps.
    """
    array = _as_array(y)
    if getattr(array, "ndim", 1) != 1:
        return y, None
    array, missing, values = _read_values(array)
    if len(values) != 2 or not missing.any() or (positive is not None and _place(positive, values) is None):
        return y, None
    other, _ = _in_order(values, positive)
    if isinstance(other, str) and means_unlabelled(other):
        return y, None
    negative = ~missing
    negative[negative] = array[~missing] == other
    if negative.sum() > missing.sum():
        raise InvalidLabels(
            f"y is {_shown(other)} in {int(negative.sum())} rows and missing in {int(missing.sum())}. Missing "
            f"means unlabelled, so {_shown(other)} would mean a known negative. If it does, set these rows to "
            "missing and pass them as `known_negative=`. If it means unlabelled, set these rows to missing too."
        )
    return np.where(missing, other, array).astype(values.dtype), negative


def read_classes(y: Any, gaps: Gaps | None = None, positive: Any = None) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which rows are positive, and the two classes, the positive one last; every row must have a class."""
    y, missing, values = _read_values(y)
    if missing.any():
        count, first = (int(missing.sum()), int(missing.argmax())) if gaps is None else gaps
        raise InvalidLabels(
            f"y is missing in {count} rows, first in row {first}. Oracle needs the true class of every row. Drop these "
            "rows, or use a method for unlabelled data."
        )
    if len(values) == 1:
        raise InvalidLabels(f"y has only one class ({values[0]}). Oracle needs rows of both classes.")
    _check_two(y, values)
    unknown = [str(value) for value in values.tolist() if isinstance(value, str) and means_unlabelled(value)]
    if unknown and positive is None:
        raise InvalidLabels(
            f"y contains {unknown[0]!r}. Oracle needs the true class of every row, not the labels. Use a method for "
            "unlabelled data, or pass positive_label= if the other value is the positive class."
        )
    classes = _in_order(values, positive)
    return y == classes[1], classes


def read_labels_as(y: Any, classes: NDArray[Any], name: str = "y") -> NDArray[np.bool_]:
    """Which rows are of the second of two known classes, such as those of a fit; a missing value means the first."""
    y, missing, values = _read_values(y)
    unknown = [value for value in values.tolist() if value not in classes.tolist()]
    if unknown:
        raise InvalidLabels(
            f"{name} contains {_shown(unknown[0])}, but the classes are {_shown(classes[0])} and {_shown(classes[1])}."
        )
    labelled = np.zeros(len(y), dtype=bool)
    labelled[~missing] = y[~missing] == classes[1]
    return labelled


def fill_missing(y: Any, value: Any) -> Any:
    """y with missing values replaced by `value`."""
    y = _as_array(y)
    missing = missing_values(y)
    if not missing.any():
        return y
    filled = y.copy()
    filled[missing] = value
    return np.array(filled.tolist())


def holds(y: Any, value: Any) -> bool:
    """Whether a y that was read contains a value."""
    if library_of(y) == "dask":
        return bool((y == value).any().compute())
    array = np.ravel(_as_array(y))
    return bool((array[~missing_values(array)] == value).any())


def _read_values(y: Any) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[Any]]:
    """y as an array, a mask of its missing values, and its distinct values in order."""
    try:
        y = column_or_1d(_as_array(y), warn=True)
    except ValueError as error:
        several = " For a column of labels from each of several sources, use SeveralSources." if np.ndim(y) == 2 else ""
        raise InvalidLabels(f"{error}{several}") from None
    missing = missing_values(y)
    present = y[~missing]
    if y.dtype.kind not in "biufU":
        _check_kinds({type(value) for value in present.tolist()})
    values = np.unique(present)
    if any(value in (np.inf, -np.inf) for value in values[:1].tolist() + values[-1:].tolist()):
        raise InvalidLabels("y contains infinity. A label is a finite value; NaN means unlabelled.")
    return y, missing, values


def _check_kinds(kinds: set[type]) -> None:
    """Refuse values that cannot be labels, or cannot be compared with each other."""
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    words = [kind for kind in kinds if issubclass(kind, str)]
    if not all(kind in words or issubclass(kind, numbers.Real | np.bool_) for kind in kinds):
        raise InvalidLabels(f"y contains values of type {names}. A label must be a number, a Boolean or a string.")
    if words and len(kinds) > 1:
        raise InvalidLabels(f"y mixes types that cannot be compared: {names}. Use one type.")


def _two_labels(y: NDArray[Any], values: NDArray[Any], positive: Any) -> NDArray[Any]:
    """The classes of a y without missing values."""
    if positive is not None and len(values) < 3 and _place(positive, values) is None:
        raise _absent(positive, values)
    if len(values) == 1 and positive is None and _looks_unlabelled(values[0]):
        raise NoLabelledInstances(
            f"y has no labelled rows, only the class {values[0]}. If it marks the unlabelled rows, invert it."
        )
    if len(values) < 2:
        raise NoUnlabelledInstances(
            f"y has no unlabelled rows, only the class {', '.join(map(str, values))}. "
            "Give unlabelled rows a second value, such as 0, or leave them missing (NaN, None, empty)."
        )
    _check_two(y, values)
    if positive is None and y.dtype.kind == "U" and not _WORDS_FOR_MISSING.isdisjoint(values.tolist()):
        raise InvalidLabels(
            f"y contains the strings {str(values[0])!r} and {str(values[1])!r}. NumPy writes one of them for a missing "
            "value among strings. Pass a list, a data frame column or an object array, or True and False."
        )
    return _in_order(values, positive)


def _in_order(values: NDArray[Any], positive: Any) -> NDArray[Any]:
    """Two values, the labelled one last: the one that was named, the larger number, or the word that means it."""
    if positive is not None:
        place = _place(positive, values)
        if place is None:
            raise _absent(positive, values)
        return values[[1 - place, place]]
    one, other = values.tolist()
    if not isinstance(one, str):
        return values
    first, second = number_word(one), number_word(other)
    if first is not None and second is not None:
        # As of two numbers, the larger one.
        return values if first < second else values[::-1].copy()
    word = labelled_word(one, other)
    if word is None:
        ways = " or ".join(f"positive_label={_quoted(each)}" for each in (one, other))
        raise InvalidLabels(
            f"y contains {_quoted(one)} and {_quoted(other)}, and it is not certain which of them marks the labelled "
            f"rows. Pass {ways}, or truth values: y == {_quoted(one)} or y == {_quoted(other)}."
        )
    return values if word == other else values[::-1].copy()


def _place(positive: Any, values: NDArray[Any]) -> int | None:
    """The place of the value of labelled rows; 1 and True are the same, 1 and "1" are not."""
    found = [
        place
        for place, value in enumerate(values.tolist())
        if isinstance(value, str) == isinstance(positive, str) and value == positive
    ]
    return found[0] if found else None


def _absent(positive: Any, values: NDArray[Any]) -> NoLabelledInstances:
    """The error for a value of labelled rows that y does not contain."""
    shown = " and ".join(_quoted(value) for value in values.tolist())
    wanted = repr(positive.item() if isinstance(positive, np.generic) else positive)
    encoded = ""
    if isinstance(positive, str) and values.tolist() == [0, 1]:
        # As some of scikit-learn's own tools do to every y.
        encoded = (
            " Was y numbered in the order of the alphabet, as by LabelEncoder, VotingClassifier, StackingClassifier or "
            f"cross_val_predict? Then pass y == {wanted} to them, without positive_label."
        )
    return NoLabelledInstances(
        f"No row of y is positive_label={wanted}. The values of y: {shown}. Pass the one of labelled rows.{encoded}"
    )


def _check_two(y: NDArray[Any], values: NDArray[Any]) -> None:
    if len(values) > 2:
        shown = ", ".join(map(_shown, values[:4])) + (", …" if len(values) > 4 else "")
        raise InvalidLabels(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y has "
            f"{len(values)} values ({shown}) instead of two, one for labelled and one for unlabelled rows. "
            "If one value is the label and all others are not, pass y == that value. Pass known negatives as "
            "`known_negative=`."
        )


def _classes_with_missing(values: NDArray[Any], positive: Any) -> NDArray[Any]:
    """The classes of a y with missing values."""
    if len(values) == 0:
        raise NoLabelledInstances("y has no labelled rows: every value is missing.")
    if positive is not None and _place(positive, values) is None:
        raise _absent(positive, values[:4])
    if len(values) == 2 and any(isinstance(each, str) and means_unlabelled(each) for each in values.tolist()):
        classes = _in_order(values, positive)
        if means_unlabelled(classes[0]):
            return classes
    if len(values) > 1:
        shown = ", ".join(map(_shown, values[:4]))
        raise InvalidLabels(
            f"y has missing values and {len(values)} labels ({shown}) instead of one. Missing values mean unlabelled. "
            "If another value means unlabelled too, set it to missing. If one means a known negative, set it to "
            "missing and pass those rows as `known_negative=`."
        )
    value = values[0].item() if isinstance(values[0], np.generic) else values[0]
    if positive is None and _looks_unlabelled(value):
        raise InvalidLabels(
            f"y has only {_quoted(value)} and missing values, so {_quoted(value)} would mean labelled. If it does, "
            f"pass positive_label={_quoted(value)}, or pass y == {_quoted(value)}."
        )
    # The other class needs another name: 0, False or "", and where 0 or False is the label, 1 or True.
    other = type(value)() if type(value)() != value else type(value)(1)
    return np.array([other, value], dtype=None if values.dtype.kind == "O" else values.dtype)


def _shown(value: Any) -> str:
    """A value as an error shows it: one short line."""
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _quoted(value: Any) -> str:
    """A value as Python writes it, cut short."""
    return repr(_shown(value)) if isinstance(value, str) else _shown(value)


def _looks_unlabelled(value: Any) -> bool:
    """Whether a value usually means 'no label': 0, False, −1, an empty string, "no", "unlabelled"."""
    if isinstance(value, str):
        return not value or never_labelled(value)
    return bool(value in (0, -1))


def _as_array(y: Any) -> Any:
    """Lists as arrays that keep their values: among strings, NumPy would turn None and NaN into strings."""
    y = to_host(y)
    if not isinstance(y, list | tuple):
        return np.asarray(y) if hasattr(y, "__array__") else y
    array = np.asarray(y)
    if array.dtype.kind == "U" and not all(isinstance(value, str) for value in y):
        array = np.empty(len(y), dtype=object)
        array[:] = y
    return array


def missing_values(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Where y is NaN, None, pandas NA or an empty string."""
    if y.dtype.kind == "f":
        return np.asarray(np.isnan(y))
    if y.dtype.kind == "U":
        return np.asarray(y == "")
    if y.dtype.kind in "OT":
        return np.fromiter((_is_missing(value) for value in y), dtype=bool, count=len(y))
    return np.zeros(len(y), dtype=bool)


def _is_missing(value: Any) -> bool:
    # pandas NA is recognised by the name of its type: it has no truth value, and pandas is not a dependency.
    return value is None or type(value).__name__ == "NAType" or bool(value != value) or bool(value == "")
