"""Label rates by group: the share of the positives in each group of a column that are labelled."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from propense._inputs.columns import date_of
from propense._inputs.moments import duration_words
from propense.tables.schema import MISSING, Column, Schema

__all__ = ["Group", "Grouping", "group_labels"]

# Numbers are cut into this many groups of about equal size.
_PARTS = 4


@dataclass(frozen=True)
class Group:
    """The number of rows in a group, of labelled rows, and of positives as the model estimates them.

    `low` and `high` are the least and the most positives, None if the method gives no range.
    """

    name: str
    rows: int
    labelled: int
    positives: float
    low: float | None = None
    high: float | None = None

    @property
    def frequency(self) -> float:
        """The share of the positives that are labelled."""
        return self.labelled / self.positives if self.positives else float("nan")

    @property
    def frequency_range(self) -> tuple[float, float] | None:
        """The least and the most that this share is likely to be, None if the method gives no range."""
        if self.low is None or self.high is None or not self.low:
            return None
        return self.labelled / self.high, self.labelled / self.low


@dataclass(frozen=True)
class Grouping:
    """The groups of one column, and how much their label rates differ."""

    column: str
    groups: tuple[Group, ...]

    @property
    def spread(self) -> float:
        """The standard deviation of the labelled share over the positives; 0 if it is the same in every group."""
        positives = np.array([group.positives for group in self.groups])
        shares = np.array([group.labelled for group in self.groups]) / np.maximum(positives, 1e-12)
        if positives.sum() == 0:
            return 0.0
        mean = np.average(shares, weights=positives)
        return float(np.sqrt(np.average((shares - mean) ** 2, weights=positives)))


def group_labels(
    schema: Schema,
    matrix: NDArray[np.float64],
    labelled: NDArray[np.bool_],
    positive: NDArray[np.float64],
    hidden_range: NDArray[np.float64] | None = None,
) -> list[Grouping]:
    """The groups of every column, the largest `spread` first.

    `positive` is P(Y=1 | x, s) of every row, and `hidden_range` the range of it for unlabelled rows.
    """
    groupings = []
    ends = None if hidden_range is None else np.where(labelled[:, np.newaxis], 1.0, hidden_range)
    for j, column in enumerate(schema.columns):
        names, codes = _cut(column, matrix[:, j])
        groups = [
            Group(
                name,
                int(rows.sum()),
                int(labelled[rows].sum()),
                float(positive[rows].sum()),
                *([] if ends is None else ends[rows].sum(axis=0).tolist()),
            )
            for name, rows in ((name, codes == code) for code, name in enumerate(names))
            if rows.any()
        ]
        groupings.append(Grouping(column.name, tuple(groups)))
    return sorted(groupings, key=lambda grouping: -grouping.spread)


def _cut(column: Column, values: NDArray[np.float64]) -> tuple[Sequence[str], NDArray[np.intp]]:
    """The names of the groups, and the group of each row."""
    if column.kind == "category":
        return column.levels, values.astype(np.intp)
    missing = np.isnan(values)
    known = values[~missing]
    written = {"date": date_of, "duration": duration_words}.get(column.kind, _written)
    if column.kind == "truth":
        names, codes = ["false", "true"], np.where(missing, 2, values > 0)
    elif len(distinct := np.unique(known)) <= _PARTS:
        names, codes = [written(value) for value in distinct], np.searchsorted(distinct, values)
    else:
        # Cuts are values that occur, so that rows with the same value stay in one group.
        shares = np.linspace(0, 1, _PARTS + 1)[1:-1]
        cuts = np.unique(np.quantile(known, shares, method="inverted_cdf"))
        cuts = cuts[cuts < known.max()]
        ends = [f"≤ {written(cuts[0])}", *(f"{written(low)} to {written(high)}" for low, high in pairwise(cuts))]
        names, codes = [*ends, f"> {written(cuts[-1])}"], np.searchsorted(cuts, values)
    codes = np.where(missing, len(names), codes)
    return [*names, MISSING], codes.astype(np.intp)


def _written(value: float) -> str:
    """Whole numbers in full, others with four digits."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.4g}"
