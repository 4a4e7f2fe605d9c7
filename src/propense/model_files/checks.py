"""Checks of the values in a file, given the number of features p."""

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from propense._inputs.columns import KINDS, Column
from propense._inputs.moments import DATE_FORM
from propense.errors import ModelFileError
from propense.estimators._description import Check, is_array
from propense.tables.units import NUMBER_FORM

__all__ = [
    "LARGEST",
    "are_kinds",
    "are_lists",
    "build_columns",
    "check_facts",
    "describe_columns",
    "is_columns",
    "is_count",
    "is_names",
    "is_real",
    "is_truth",
    "is_whole",
]


# The largest coefficient of a file: sums of larger ones would be infinite, and their differences not a number.
LARGEST = 1e300


def check_facts(facts: Any, expected: dict[str, Check], optional: dict[str, Check], what: str) -> int:
    """Raise an error if fitted values are missing, unknown or not valid; return the number of features."""
    if not isinstance(facts, dict):
        raise ModelFileError(f"the fitted values of {what} are not a dictionary")
    count: Any = facts.get("n_features_in_")
    if not is_count(count, 0):
        raise ModelFileError(f"n_features_in_ of {what} is not an integer ≥ 1")
    known = {**expected, **optional, "n_features_in_": is_count, "feature_names_in_": is_names}
    missing = [name for name in expected if name not in facts]
    unknown = [name for name in facts if name not in known]
    if missing:
        raise ModelFileError(f"{what} lacks {missing[0]}")
    if unknown:
        raise ModelFileError(f"{what} has {unknown[0][:40]!r}, which is not one of its attributes")
    for name, value in facts.items():
        if not known[name](value, int(count)):
            raise ModelFileError(f"{name} of {what} is not valid")
    return int(count)


def is_truth(value: Any, p: int) -> bool:
    """True or False."""
    return isinstance(value, bool | np.bool_)


def is_whole(value: Any, p: int) -> bool:
    """A whole number ≥ 0."""
    return not isinstance(value, bool) and isinstance(value, numbers.Integral) and int(value) >= 0


def is_count(value: Any, p: int) -> bool:
    """A whole number ≥ 1."""
    return is_whole(value, p) and int(value) >= 1


def is_real(value: Any, p: int) -> bool:
    """A finite number."""
    return not isinstance(value, bool) and isinstance(value, numbers.Real) and math.isfinite(value)


def is_names(value: Any, p: int) -> bool:
    """One string per feature, as scikit-learn stores them."""
    return is_array("O", -1)(value, p) and all(isinstance(each, str) for each in value)


def are_kinds(value: Any, p: int) -> bool:
    """The name, kind, levels and, if it has one, form of each of p columns, or of any number of them if p is 0."""
    return isinstance(value, list) and (p == 0 or len(value) == p) and all(map(_is_column, value))


def describe_columns(columns: Iterable[Column]) -> list[tuple[Any, ...]]:
    """Columns in plain values: the name, kind and levels, and the form if there is one."""
    return [(each.name, each.kind, list(each.levels), *([each.form] if each.form else [])) for each in columns]


def build_columns(facts: list[tuple[Any, ...]]) -> tuple[Column, ...]:
    """The columns of their descriptions, which `are_kinds` has checked."""
    return tuple(Column(name, kind, tuple(levels), *form) for name, kind, levels, *form in facts)


def _is_column(column: Any) -> bool:
    if not isinstance(column, tuple) or len(column) not in (3, 4):
        return False
    name, kind, levels, *form = column
    words = isinstance(levels, list) and all(isinstance(level, str) for level in levels)
    fine = isinstance(name, str) and kind in KINDS and words and bool(levels) == (kind == "category")
    return fine and all(isinstance(each, str) and _is_form(kind, each) for each in form)


def _is_form(kind: str, form: str) -> bool:
    """Whether cells of a kind may be written in this form."""
    known = {"date": DATE_FORM, "number": NUMBER_FORM}.get(kind)
    return known is not None and form.isprintable() and known.fullmatch(form) is not None


def is_columns(value: Any, p: int) -> bool:
    """Columns by name or number, in a list, a tuple or an array of one dimension."""
    row = isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1)
    return row and all(isinstance(each, str) or is_whole(each, p) for each in value)


def are_lists(value: Any) -> bool:
    """Lists of columns, or None, in a list or a tuple: one for each of several sources."""
    return isinstance(value, list | tuple) and all(each is None or is_columns(each, 0) for each in value)
