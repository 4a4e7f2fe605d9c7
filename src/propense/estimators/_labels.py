"""The one reader of y: who is labelled, and what the two classes are called."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from propense.errors import InvalidLabels, NoLabelledInstances, NoUnlabelledInstances

__all__ = ["read_labels"]


def read_labels(y: Any) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Who is labelled, and the two classes, the labelled one last.

    Two values: the larger is the label ({0, 1}, {−1, 1}, {False, True}, {"no", "yes"}). One value beside missing
    ones (NaN, None, pandas NA, an empty string): that value is the label, and the other class is 0, False or "".
    """
    try:
        y = column_or_1d(_as_array(y), warn=True)
    except ValueError as error:
        raise InvalidLabels(str(error)) from None
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise InvalidLabels("y contains infinity. A label is a finite value; NaN means unlabelled.")
    missing = _missing(y)
    try:
        values = np.unique(y[~missing])
    except TypeError:
        kinds = sorted({type(value).__name__ for value in y[~missing]})
        raise InvalidLabels(f"y mixes values that cannot be compared: {', '.join(kinds)}. Use one type.") from None
    classes = _beside_missing(values) if missing.any() else _two_values(y, values)
    labelled = np.zeros(len(y), dtype=bool)
    labelled[~missing] = y[~missing] == classes[1]
    return labelled, classes


def _as_array(y: Any) -> Any:
    """A list as an array that keeps its values: NumPy would write None and NaN beside strings as words."""
    if not isinstance(y, list | tuple):
        return y
    array = np.asarray(y)
    if array.dtype.kind in "US" and not all(isinstance(value, str | bytes) for value in y):
        array = np.empty(len(y), dtype=object)
        array[:] = y
    return array


def _two_values(y: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """The classes of a y in which nothing is missing."""
    if len(values) == 2:
        return values
    if len(values) > 2:
        shown = ", ".join(str(value) for value in values[:4]) + (", …" if len(values) > 4 else "")
        raise InvalidLabels(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y holds "
            f"{len(values)} values ({shown}) where two are expected, one for labelled and one for unlabelled."
        )
    if len(values) == 1 and _looks_unlabelled(values[0]):
        raise NoLabelledInstances(
            f"y holds no labelled instance, only the class {values[0]}. Is y perhaps the other way round?"
        )
    raise NoUnlabelledInstances(
        f"y holds no unlabelled instance, only the class {', '.join(map(str, values))}. "
        "Unlabelled rows carry a second value, such as 0, or none (NaN, None, empty)."
    )


def _beside_missing(values: NDArray[Any]) -> NDArray[Any]:
    """The classes of a y in which some values are missing."""
    if len(values) == 0:
        raise NoLabelledInstances(
            "y holds no labelled instance: every value is missing, so the positive class is empty."
        )
    if len(values) > 1:
        shown = ", ".join(str(value) for value in values[:4])
        raise InvalidLabels(
            f"y holds missing values beside {len(values)} labels ({shown}) where one is expected. "
            "Missing means unlabelled; if a value means unlabelled too, make it missing as well."
        )
    value = values[0].item() if isinstance(values[0], np.generic) else values[0]
    if isinstance(value, str):
        return np.array(["", value], dtype=values.dtype)
    if _looks_unlabelled(value):
        raise InvalidLabels(
            f"y holds only {value} and missing values, so {value} would mean labelled. If it does, pass y == {value}."
        )
    return np.array([type(value)(0), value], dtype=None if values.dtype.kind == "O" else values.dtype)


def _looks_unlabelled(value: Any) -> bool:
    """Whether a value would usually mean 'no label': 0, False, −1, an empty string."""
    return bool(value in ("", 0) or value == -1)


def _missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Where y holds NaN, None, pandas NA or an empty string."""
    if y.dtype.kind == "f":
        return np.asarray(np.isnan(y))
    if y.dtype.kind in "US":
        return np.asarray(y == np.array("", dtype=y.dtype))
    if y.dtype.kind == "O":
        return np.fromiter((_is_missing(value) for value in y), dtype=bool, count=len(y))
    return np.zeros(len(y), dtype=bool)


def _is_missing(value: Any) -> bool:
    # pandas NA is known by its type's name: it has no truth value, and pandas is no dependency.
    return value is None or type(value).__name__ == "NAType" or bool(value != value) or bool(value == "")
