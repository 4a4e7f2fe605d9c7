"""What a fact in a file may be: small questions to a value and the number of features, and one way to ask them."""

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from propense.errors import ModelFileError

__all__ = [
    "Check",
    "array_of",
    "check_facts",
    "is_columns",
    "is_count",
    "is_names",
    "is_pair",
    "is_real",
    "is_truth",
    "is_whole",
    "one_of",
]

# (value, number of features) → whether it will do.
Check = Callable[[Any, int], bool]


def check_facts(facts: Any, expected: dict[str, Check], optional: dict[str, Check], what: str) -> int:
    """Refuse facts that are missing, unknown or not what they may be; return the number of features they tell."""
    if not isinstance(facts, dict):
        raise ModelFileError(f"what {what} has learnt is no table")
    count: Any = facts.get("n_features_in_")
    if not is_count(count, 0):
        raise ModelFileError(f"n_features_in_ of {what} is no number of features")
    known = {"n_features_in_": is_count, "feature_names_in_": is_names, **expected, **optional}
    missing = [name for name in expected if name not in facts]
    unknown = [name for name in facts if name not in known]
    if missing:
        raise ModelFileError(f"{what} has not learnt its {missing[0]}")
    if unknown:
        raise ModelFileError(f"{what} has learnt {unknown[0][:40]!r}, which it cannot")
    for name, value in facts.items():
        if not known[name](value, int(count)):
            raise ModelFileError(f"{name} of {what} is not what it must be")
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


def is_pair(value: Any, p: int) -> bool:
    """Two finite numbers."""
    return isinstance(value, tuple | list) and len(value) == 2 and all(is_real(each, p) for each in value)


def is_names(value: Any, p: int) -> bool:
    """One word per feature, as scikit-learn keeps them."""
    return array_of("O", -1)(value, p) and all(isinstance(each, str) for each in value)


def is_columns(value: Any, p: int) -> bool:
    """Columns by name or number, in a list, a tuple or an array of one dimension."""
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return False
    whole = (isinstance(each, str) or is_whole(each, p) for each in value) if _is_row(value) else ()
    return _is_row(value) and all(whole)


def one_of(*words: Any) -> Check:
    """One of a few values."""
    return lambda value, p: any(type(value) is type(word) and value == word for word in words)


def array_of(kinds: str, *shape: int | None) -> Check:
    """An array of these kinds of dtype and this shape, in which −1 is the number of features and None any length."""

    def check(value: Any, p: int) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds or value.ndim != len(shape):
            return False
        wanted = [p if length == -1 else length for length in shape]
        return all(length in (None, found) for length, found in zip(wanted, value.shape, strict=True))

    return check


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)
