"""The one reader of y: who is labelled, and what the two classes are called."""

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from propense._maths.arrays import to_host
from propense.errors import InvalidLabels, NoLabelledInstances, NoUnlabelledInstances

__all__ = [
    "Gaps",
    "LabelReader",
    "fill_missing",
    "missing_values",
    "read_classes",
    "read_labels",
    "read_labels_as",
    "separate_known_negatives",
]

# How many values of y are missing, and the first such row.
Gaps = tuple[int, int]
# y → (who is labelled, the two classes). Of a y that is elsewhere its distinct values stand for it, a missing one among
# them if there are any; the gaps then say what they cannot.
LabelReader = Callable[[Any, Gaps | None], tuple[NDArray[np.bool_], NDArray[Any]]]

# What NumPy makes of a missing value among strings, and how a word is denied.
_WORDS_FOR_MISSING = {"nan", "None", "<NA>", "NaT"}
_DENIALS = ("un", "not", "non", "no")
# Letters of a value that an error shows.
_LONGEST = 40


def read_labels(y: Any, gaps: Gaps | None = None) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Who is labelled, and the two classes, the labelled one last.

    Two values: the larger is the label ({0, 1}, {−1, 1}, {False, True}, {"no", "yes"}). One value beside missing
    ones (NaN, None, pandas NA, an empty string): that value is the label, and the other class is 0, False or "".
    """
    y, missing, values = _read_values(y)
    classes = _beside_missing(values) if missing.any() else _two_labels(y, values)
    labelled = np.zeros(len(y), dtype=bool)
    labelled[~missing] = y[~missing] == classes[1]
    return labelled, classes


def separate_known_negatives(y: Any) -> tuple[Any, NDArray[np.bool_] | None]:
    """y in two values, and who is known to be negative: of two values beside missing ones the smaller says so.

    Other y are returned as they are. Negatives that outnumber the missing values may be unlabelled rows of a table with
    gaps, and are refused.
    """
    array = _as_array(y)
    if getattr(array, "ndim", 1) != 1:
        return y, None
    array, missing, values = _read_values(array)
    if len(values) != 2 or not missing.any():
        return y, None
    negative = ~missing
    negative[negative] = array[~missing] == values[0]
    if negative.sum() > missing.sum():
        raise InvalidLabels(
            f"y holds {_shown(values[0])} in {int(negative.sum())} rows and nothing in {int(missing.sum())}. Beside "
            f"missing values, which mean unlabelled, {_shown(values[0])} means known to be negative. If it does, "
            "make it missing and tell fit by known_negative=; if it means unlabelled, make it missing as well."
        )
    return np.where(missing, values[0], array).astype(values.dtype), negative


def read_classes(y: Any, gaps: Gaps | None = None) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Who is positive, and the two classes, the positive one (the larger) last; every row must have one."""
    y, missing, values = _read_values(y)
    if missing.any():
        count, first = (int(missing.sum()), int(missing.argmax())) if gaps is None else gaps
        raise InvalidLabels(
            f"y holds no class for {count} rows, the first row {first}. The oracle is fitted on the true class of "
            "every row; drop the others, or use a method for unlabelled data."
        )
    if len(values) == 1:
        raise InvalidLabels(f"y holds one class only ({values[0]}) where the oracle needs both.")
    _check_two(y, values)
    return y == values[1], values


def read_labels_as(y: Any, classes: NDArray[Any], name: str = "y") -> NDArray[np.bool_]:
    """Who is of the second class, where the two are known, as they are from a fit; a missing value is the first."""
    y, missing, values = _read_values(y)
    strange = [value for value in values.tolist() if value not in classes.tolist()]
    if strange:
        raise InvalidLabels(
            f"{name} holds {_shown(strange[0])} where {_shown(classes[0])} and {_shown(classes[1])} are the classes."
        )
    labelled = np.zeros(len(y), dtype=bool)
    labelled[~missing] = y[~missing] == classes[1]
    return labelled


def fill_missing(y: Any, value: Any) -> Any:
    """y with `value` where it is missing."""
    y = _as_array(y)
    missing = missing_values(y)
    if not missing.any():
        return y
    filled = y.copy()
    filled[missing] = value
    return np.array(filled.tolist())


def _read_values(y: Any) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[Any]]:
    """y as an array, where it is missing, and its distinct values in order."""
    try:
        y = column_or_1d(_as_array(y), warn=True)
    except ValueError as error:
        raise InvalidLabels(str(error)) from None
    missing = missing_values(y)
    present = y[~missing]
    if y.dtype.kind not in "biufU":
        _check_kinds({type(value) for value in present.tolist()})
    values = np.unique(present)
    if any(value in (np.inf, -np.inf) for value in values[:1].tolist() + values[-1:].tolist()):
        raise InvalidLabels("y contains infinity. A label is a finite value; NaN means unlabelled.")
    return y, missing, values


def _check_kinds(kinds: set[type]) -> None:
    """Refuse values that are no labels, or not comparable with each other."""
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    words = [kind for kind in kinds if issubclass(kind, str)]
    if not all(kind in words or issubclass(kind, numbers.Real | np.bool_) for kind in kinds):
        raise InvalidLabels(f"y holds values of type {names}. A label is a number, a truth value or a word.")
    if words and len(kinds) > 1:
        raise InvalidLabels(f"y mixes values that cannot be compared: {names}. Use one type.")


def _two_labels(y: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """The classes of a y in which nothing is missing."""
    if len(values) == 1 and _looks_unlabelled(values[0]):
        raise NoLabelledInstances(
            f"y holds no labelled instance, only the class {values[0]}. Is y perhaps the other way round?"
        )
    if len(values) < 2:
        raise NoUnlabelledInstances(
            f"y holds no unlabelled instance, only the class {', '.join(map(str, values))}. "
            "Unlabelled rows carry a second value, such as 0, or none (NaN, None, empty)."
        )
    _check_two(y, values)
    if y.dtype.kind == "U" and not _WORDS_FOR_MISSING.isdisjoint(values.tolist()):
        raise InvalidLabels(
            f"y holds the words {str(values[0])!r} and {str(values[1])!r}, one of which is what NumPy writes for a "
            "missing value among words. Pass a list, a data frame column or an object array, or True and False."
        )
    if _denies(values[1], values[0]):
        raise InvalidLabels(
            f"Of two values the larger is the label, and {str(values[1])!r} comes after {str(values[0])!r}. "
            f"Pass y == {str(values[0])!r}."
        )
    return values


def _check_two(y: NDArray[Any], values: NDArray[Any]) -> None:
    if len(values) > 2:
        shown = ", ".join(map(_shown, values[:4])) + (", …" if len(values) > 4 else "")
        raise InvalidLabels(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y holds "
            f"{len(values)} values ({shown}) where two are expected, one for labelled and one for unlabelled. "
            "Rows known to be negative are told to fit by known_negative=."
        )


def _beside_missing(values: NDArray[Any]) -> NDArray[Any]:
    """The classes of a y in which some values are missing."""
    if len(values) == 0:
        raise NoLabelledInstances(
            "y holds no labelled instance: every value is missing, and with it the positive class."
        )
    if len(values) > 1:
        shown = ", ".join(map(_shown, values[:4]))
        raise InvalidLabels(
            f"y holds missing values beside {len(values)} labels ({shown}) where one is expected. "
            "Missing means unlabelled; if a value means unlabelled too, make it missing as well. If one means known to "
            "be negative, make it missing and tell fit by known_negative=."
        )
    value = values[0].item() if isinstance(values[0], np.generic) else values[0]
    if _looks_unlabelled(value):
        raise InvalidLabels(
            f"y holds only {value} and missing values, so {value} would mean labelled. If it does, pass y == {value}."
        )
    return np.array([type(value)(), value], dtype=None if values.dtype.kind == "O" else values.dtype)


def _shown(value: Any) -> str:
    """A value in an error: one line, and not a page of it."""
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _looks_unlabelled(value: Any) -> bool:
    """Whether a value would usually mean 'no label': 0, False, −1, an empty string."""
    return bool(value in ("", 0) or value == -1)


def _denies(word: Any, other: Any) -> bool:
    """Whether one word is the denial of another: unlabelled of labelled, not flagged of flagged."""
    if not (isinstance(word, str) and isinstance(other, str)) or not word.lower().endswith(other.lower()):
        return False
    return word[: len(word) - len(other)].lower().rstrip(" -_") in _DENIALS


def _as_array(y: Any) -> Any:
    """Lists as arrays that keep their values: NumPy would write None and NaN beside strings as words."""
    y = to_host(y)
    if not isinstance(y, list | tuple):
        return np.asarray(y) if hasattr(y, "__array__") else y
    array = np.asarray(y)
    if array.dtype.kind == "U" and not all(isinstance(value, str) for value in y):
        array = np.empty(len(y), dtype=object)
        array[:] = y
    return array


def missing_values(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Where y holds NaN, None, pandas NA or an empty string."""
    if y.dtype.kind == "f":
        return np.asarray(np.isnan(y))
    if y.dtype.kind == "U":
        return np.asarray(y == "")
    if y.dtype.kind in "OT":
        return np.fromiter((_is_missing(value) for value in y), dtype=bool, count=len(y))
    return np.zeros(len(y), dtype=bool)


def _is_missing(value: Any) -> bool:
    # pandas NA is known by its type's name: it has no truth value, and pandas is no dependency.
    return value is None or type(value).__name__ == "NAType" or bool(value != value) or bool(value == "")
