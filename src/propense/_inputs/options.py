"""Constructor arguments: each estimator declares what they may be, and fit checks them."""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from propense.errors import InvalidOption

__all__ = [
    "PRIOR",
    "Choice",
    "ClassifierOption",
    "ColumnOption",
    "Count",
    "FoldsOption",
    "Jobs",
    "LearnersOption",
    "Number",
    "Option",
    "PriorOption",
    "Seed",
    "Truth",
    "ValueOption",
    "check_options",
]


class Option(Protocol):
    """What an argument may be; `str(option)` completes the sentence 'must be …'."""

    def allows(self, value: Any) -> bool:
        """Whether the value is allowed."""


@dataclass(frozen=True)
class Choice:
    """One of a few names."""

    names: tuple[str, ...]

    def allows(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.names

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(name) for name in self.names)


@dataclass(frozen=True)
class Number:
    """A finite number between two bounds, inclusive, or None if `optional`."""

    low: float
    high: float = math.inf
    optional: bool = False

    def allows(self, value: Any) -> bool:
        if value is None:
            return self.optional
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        return real and self.low <= value <= self.high and _is_finite(value)

    def __str__(self) -> str:
        bounds = f"a number ≥ {self.low:g}" if self.high == math.inf else f"a number from {self.low:g} to {self.high:g}"
        return bounds + (" or None" if self.optional else "")


@dataclass(frozen=True)
class Count:
    """A whole number between two bounds, inclusive, or None if `optional`."""

    optional: bool = False
    low: int = 1
    # More than anyone waits for, and less than what a 64-bit integer holds.
    high: int = 10**9

    def allows(self, value: Any) -> bool:
        if value is None:
            return self.optional
        whole = not isinstance(value, bool) and isinstance(value, numbers.Integral)
        return whole and self.low <= int(value) <= self.high

    def __str__(self) -> str:
        return f"a whole number from {self.low} to {self.high}" + (" or None" if self.optional else "")


@dataclass(frozen=True)
class Jobs:
    """What joblib accepts as `n_jobs`."""

    def allows(self, value: Any) -> bool:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return value is None or (whole and int(value) != 0)

    def __str__(self) -> str:
        return "None or a whole number other than 0; -1 means as many as there are processors"


@dataclass(frozen=True)
class Truth:
    """True or False."""

    def allows(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_)

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class Seed:
    """What scikit-learn accepts as `random_state`."""

    def allows(self, value: Any) -> bool:
        if isinstance(value, bool):
            return False
        whole = isinstance(value, numbers.Integral) and 0 <= int(value) < 2**32
        return value is None or whole or isinstance(value, np.random.RandomState)

    def __str__(self) -> str:
        return "None, a whole number from 0 to 2³² − 1 or a numpy.random.RandomState"


@dataclass(frozen=True)
class ClassifierOption:
    """A classifier with predict_proba that can be fitted to weighted rows, or None for our own."""

    def allows(self, value: Any) -> bool:
        last = value.steps[-1][1] if isinstance(value, Pipeline) and value.steps else value
        able = hasattr(value, "predict_proba") and hasattr(value, "get_params") and not isinstance(value, type)
        return value is None or (able and has_fit_parameter(last, "sample_weight"))

    def __str__(self) -> str:
        return (
            "None or a scikit-learn classifier with predict_proba whose fit takes sample_weight (or a pipeline that "
            "ends in one)"
        )


@dataclass(frozen=True)
class FoldsOption:
    """A number of folds, or the folds themselves; None leaves the number to the table."""

    def allows(self, value: Any) -> bool:
        if value is None:
            return True
        pairs = isinstance(value, list | tuple) and all(hasattr(each, "__len__") and len(each) == 2 for each in value)
        return (pairs and len(value) > 1) or Count(low=2, high=1000).allows(value)

    def __str__(self) -> str:
        return (
            "None, a whole number from 2 to 1000, or a list of pairs (rows to fit, rows to score), such as "
            "list(GroupKFold(5).split(X, y, groups))"
        )


@dataclass(frozen=True)
class LearnersOption:
    """The name of a choice of learners, or a list of classifiers."""

    names: tuple[str, ...]

    def allows(self, value: Any) -> bool:
        if isinstance(value, str):
            return value in self.names
        several = isinstance(value, list | tuple) and len(value) > 0
        return several and all(each is not None and ClassifierOption().allows(each) for each in value)

    def __str__(self) -> str:
        names = ", ".join(repr(name) for name in self.names)
        return f"one of {names}, or a list of scikit-learn classifiers with predict_proba whose fit takes sample_weight"


@dataclass(frozen=True)
class ColumnOption:
    """The name or the number of a column, or None."""

    def allows(self, value: Any) -> bool:
        return value is None or isinstance(value, str) or Count(low=0).allows(value)

    def __str__(self) -> str:
        return "None, or the name or the number of a column of X"


@dataclass(frozen=True)
class ValueOption:
    """A value of y, or None."""

    def allows(self, value: Any) -> bool:
        if isinstance(value, numbers.Real | np.bool_):
            return _is_finite(value)
        return value is None or (isinstance(value, str) and value != "")

    def __str__(self) -> str:
        return "None, or the value of y that marks the labelled rows: a finite number, a Boolean or a text"


@dataclass(frozen=True)
class PriorOption:
    """A share of the rows, a pair of them, either for each of some groups, or None."""

    def allows(self, value: Any) -> bool:
        if value is None:
            return True
        if isinstance(value, Mapping):
            return len(value) > 0 and all(self._is_share(each) for each in value.values())
        return self._is_share(value)

    def _is_share(self, value: Any) -> bool:
        ends = tuple(value) if isinstance(value, tuple | list) else (value, value)
        share = Number(0.0, 1.0)
        return len(ends) == 2 and all(share.allows(each) and each > 0 for each in ends) and ends[0] <= ends[1]

    def __str__(self) -> str:
        return (
            "None, a number above 0 and at most 1, two of them in a tuple, the smaller one first, or a dictionary of "
            "one or more groups with such a share for each"
        )


# The arguments of methods that can meet a known share of positives.
PRIOR: dict[str, Option] = {"prior": PriorOption(), "prior_groups": ColumnOption()}


def check_options(estimator: Any, options: dict[str, Option]) -> None:
    """Raise an error for the first argument of `estimator` that is not allowed."""
    for name, option in options.items():
        value = getattr(estimator, name)
        if not option.allows(value):
            raise InvalidOption(f"{type(estimator).__name__}({name}={_shown(value)}): {name} must be {option}.")


def _is_finite(value: Any) -> bool:
    """Whether float64 can hold a number; a whole number may be finite and too large for it."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _shown(value: Any) -> str:
    """The value as Python writes it, except for numbers that nobody would read."""
    if isinstance(value, int) and not _is_finite(value):
        # Python refuses to write more than 4 300 digits.
        return f"a whole number of about {int(value.bit_length() * math.log10(2)) + 1} digits, beyond float64"
    return repr(value)
