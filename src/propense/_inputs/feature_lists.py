"""Lists of features that an argument of an estimator names: those that y or e may depend on."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.sources import Sources, split_features
from propense._maths.arrays import Index, Matrix
from propense.errors import InvalidOption

__all__ = ["read_columns", "read_source_columns"]


def read_columns(estimator: Any, option: str) -> Index | None:
    """The numbers of the features in `propensity_features` or `class_features`, ascending; None means all of them."""
    return _find_columns(estimator, option, getattr(estimator, option, None))


def read_source_columns(estimator: Any, labels: Matrix, names: tuple[str, ...]) -> Sources:
    """The sources, with the features that each may depend on."""
    option = "propensity_features"
    wanted = getattr(estimator, option, None)
    each = split_features(wanted, len(names)) or [wanted] * len(names)
    return Sources(labels, names, tuple(_find_columns(estimator, option, columns) for columns in each))


def _find_columns(estimator: Any, option: str, wanted: Any) -> Index | None:
    """The numbers of the features of a list of names or numbers."""
    if wanted is None:
        return None
    argument = f"{type(estimator).__name__}({option}={wanted!r})"
    if isinstance(wanted, str | bytes) or not hasattr(wanted, "__len__"):
        raise InvalidOption(f"{argument}: pass a list of column names or column numbers.")
    names = getattr(estimator, "feature_names_in_", None)
    count = estimator.n_features_in_
    found: list[int] = []
    for column in wanted:
        if isinstance(column, str):
            places = [] if names is None else np.flatnonzero(names == column).tolist()
            known = "X has no column names" if names is None else f"the columns are {_some(names)}"
        else:
            whole = isinstance(column, numbers.Integral) and not isinstance(column, bool | np.bool_)
            places = [int(column)] if whole and 0 <= column < count else []
            known = f"the columns are numbered 0 to {count - 1}"
        if not places:
            raise InvalidOption(f"{argument}: there is no column {column!r}; {known}.")
        found += places
    return np.unique(np.asarray(found, dtype=np.intp))


def _some(names: NDArray[Any]) -> str:
    return ", ".join(repr(str(name)) for name in names[:8]) + (", …" if len(names) > 8 else "")
