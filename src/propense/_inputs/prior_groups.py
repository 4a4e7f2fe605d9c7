"""The groups whose share of positives is known: the column that they are in, and how the features show each of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design
from propense._inputs.columns import MISSING, Column
from propense._inputs.groups import shown_groups
from propense._inputs.preparation import Preparation
from propense._maths.arrays import Index, Matrix, Rows, Vector, namespace
from propense.errors import InvalidOption

__all__ = ["PriorGroups", "read_prior_groups"]

_WORDS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class PriorGroups:
    """The groups of `prior`, in its order; a row belongs to the group whose values its features have, or to none.

    Attributes
    ----------
    columns : int ndarray of shape (n_columns,)
        The features that show the group: one, or those that a preparation makes of it.
    values : ndarray of shape (n_groups, n_columns)
        Their values in each group.
    """

    columns: Index
    values: Matrix

    def member(self, group: int, rows: NDArray[np.floating]) -> Vector:
        """1 for the rows of a group, by number, and 0 for others; `rows` are the features above."""
        return np.asarray((rows == self.values[group]).all(axis=1), dtype=np.float64)

    def spread(self, numbers_: tuple[float, ...], rows: NDArray[np.floating]) -> Vector:
        """The number of each row's group, from one for each group; 0 for a row of none."""
        out = np.zeros(len(rows))
        for group, number in enumerate(numbers_):
            out += number * self.member(group, rows)
        return out

    def prepared(self, preparation: Preparation) -> "PriorGroups":
        """The same groups as the prepared features show them."""
        rows = np.zeros((len(self.values), len(preparation.levels)))
        rows[:, self.columns] = self.values
        columns = np.flatnonzero(np.isin(preparation.sources, self.columns))
        return PriorGroups(columns, preparation.transform(rows)[:, columns])


def read_prior_groups(estimator: Any, design: Design) -> PriorGroups | None:
    """The groups of the estimator's `prior`, found in its column `prior_groups`; None if the prior has no groups."""
    if not hasattr(estimator, "prior_groups"):
        # A prior of a method of one's own may be anything.
        return None
    prior, wanted = estimator.prior, estimator.prior_groups
    who = type(estimator).__name__
    if not isinstance(prior, Mapping):
        if wanted is None:
            return None
        raise InvalidOption(
            f"{who}(prior_groups={wanted!r}): pass the share of positives in each group of this column as prior, such "
            "as {'f': 0.12, 'm': 0.18}."
        )
    if wanted is None:
        raise InvalidOption(
            f"{who}(prior={prior!r}): pass the column that shows the groups as prior_groups, by its name or number."
        )
    place = _find_column(estimator, wanted)
    argument = f"{who}(prior={prior!r}, prior_groups={wanted!r})"
    learned = getattr(estimator, "_columns", None)
    column = Column(str(wanted), "number") if learned is None else learned[place]
    if column.kind in ("date", "duration", "empty"):
        held = "nothing" if column.kind == "empty" else f"{column.kind}s"
        raise InvalidOption(f"{argument}: the column holds {held}, so it does not show groups. Name another column.")
    present, counts = _distinct_cells(design, place)
    missing = np.isnan(present) if MISSING not in column.levels else present == column.levels.index(MISSING)
    if missing.any():
        raise InvalidOption(
            f"{argument}: the group of {int(counts[missing].sum())} rows is missing, so it is not known which share "
            "they belong to. Fill in the group, or leave the rows out."
        )
    narrow = "float32" in str(design.features.dtype)
    values = np.array([[_value_of(group, column, present, narrow, argument)] for group in prior])
    if len(np.unique(values)) < len(values):
        raise InvalidOption(f"{argument}: two of the groups are the same. Leave out one of them.")
    return PriorGroups(np.array([place], dtype=np.intp), values)


def _find_column(estimator: Any, wanted: Any) -> int:
    """The number of a column, from its name or number, which `ColumnOption` allows."""
    names, count = getattr(estimator, "feature_names_in_", None), estimator.n_features_in_
    argument = f"{type(estimator).__name__}(prior_groups={wanted!r})"
    if isinstance(wanted, str):
        if names is not None and wanted in names:
            return int(np.flatnonzero(names == wanted)[0])
        known = "X has no column names" if names is None else f"the columns are {shown_groups(map(str, names))}"
    else:
        if int(wanted) < count:
            return int(wanted)
        known = f"the columns are numbered 0 to {count - 1}"
    raise InvalidOption(f"{argument}: there is no such column; {known}.")


def _distinct_cells(design: Design, place: int) -> tuple[Vector, Index]:
    """The different values in a column, ascending, and how many rows have each."""
    # A product with 1 is the column itself, wherever it lives.
    rows = design.columns(np.array([place])).matvec(np.array([0.0, 1.0]))
    found, counts = design.gather(_distinct, rows)
    values, places = np.unique(found, return_inverse=True)
    return values, np.bincount(places, counts).astype(np.intp)


def _distinct(rows: Rows) -> list[Rows]:
    return list(namespace(rows).unique(rows, return_counts=True))


def _value_of(group: Any, column: Column, present: Vector, narrow: bool, argument: str) -> float:
    """The number that stands for a group in its column; an error if no row has it."""
    value = _as_level(group, column) if column.kind == "category" else _as_number(group, column, narrow)
    if value is not None and value in present:
        return value
    few = ""
    if column.kind == "category":
        found: list[Any] = [column.levels[int(number)] for number in present if number >= 0]
        few = " A value with fewer than 5 rows is not a group of its own."
    elif column.kind == "truth":
        found = [bool(each) for each in present]
    else:
        found = [int(each) if float(each).is_integer() else float(each) for each in present]
    raise InvalidOption(f"{argument}: no row is in the group {group!r}. The groups are {shown_groups(found)}.{few}")


def _as_level(group: Any, column: Column) -> float | None:
    """The place of a level; 3.0 and 3 are the level "3"."""
    word = str(int(group)) if isinstance(group, float | np.floating) and group.is_integer() else str(group)
    return float(column.levels.index(word)) if word in column.levels else None


def _as_number(group: Any, column: Column, narrow: bool) -> float | None:
    """The number that a group is, or that its text is, as a float32 if the column has those."""
    if isinstance(group, str) and column.kind == "truth" and group.lower() in _WORDS:
        return _WORDS[group.lower()]
    try:
        return float(np.float32(group) if narrow else group)
    except (TypeError, ValueError, OverflowError):
        return None
