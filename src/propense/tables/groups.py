"""Label rates by group: the share of the positives in each group of a column that are labelled."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from propense._inputs.columns import date_of
from propense._inputs.moments import duration_words
from propense.tables.schema import MISSING, Column, Schema

__all__ = ["LEAST", "Group", "Grouping", "group_labels"]

# Numbers are cut into this many groups of about equal size.
_PARTS = 4
# Groups with fewer expected positives are pooled: their labelled share says next to nothing.
LEAST = 10.0


@dataclass(frozen=True)
class Group:
    """A group of rows, and how many of them are labelled and positive.

    Attributes
    ----------
    name : str
    rows, labelled : int
    positives : float
        The estimated number of positives.
    low, high : float or None
        The least and the most positives. None if the method gives no range.
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
    """The groups of one column, and how much their label rates differ.

    Attributes
    ----------
    column : str
    groups : tuple of Group
    """

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
    share_range: tuple[float, float] | None = None,
) -> list[Grouping]:
    """The groups of every column, the largest `spread` first; those with few positives are pooled.

    `positive` is P(Y=1 | x, s) of every row, and `hidden_range` the range of it for unlabelled rows. The
    groups add up to no less than `share_range`, the range of the share of positives among all rows. Small neighbours of
    numbers and dates are joined, and so are small categories, as one group of others.
    """
    groupings = []
    ends = None if hidden_range is None else np.where(labelled[:, np.newaxis], 1.0, hidden_range)
    if ends is not None and share_range is not None:
        # Lists are promised at another level than the share of all rows.
        least, most = (max(len(labelled) * share - labelled.sum(), 0.0) for share in share_range)
        low, rest = float(ends[~labelled, 0].sum()), float((1.0 - ends[~labelled, 1]).sum())
        ends[~labelled, 0] *= min(1.0, least / max(low, 1e-12))
        ends[:, 1] = 1.0 - (1.0 - ends[:, 1]) * min(1.0, max((~labelled).sum() - most, 0.0) / max(rest, 1e-12))
    for j, column in enumerate(schema.columns):
        names, codes = _pool(column, matrix[:, j], positive)
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


def _pool(
    column: Column, values: NDArray[np.float64], positive: NDArray[np.float64]
) -> tuple[Sequence[str], NDArray[np.intp]]:
    """The groups of a column as names and as a code for each row, small ones joined."""
    if column.kind in ("number", "date", "duration"):
        known = ~np.isnan(values)
        cuts = _cuts(values[known])
        while len(cuts):
            sums = np.bincount(np.searchsorted(cuts, values[known]), positive[known], len(cuts) + 1)
            if sums.min() >= LEAST:
                break
            # The smallest part joins its smaller neighbour: the cut between them goes.
            part = int(sums.argmin())
            left = part == len(cuts) or (part > 0 and sums[part - 1] < sums[part + 1])
            cuts = np.delete(cuts, part - 1 if left else part)
        return _named(column, values, cuts)
    names, codes = _levels(column, values)
    sums = np.bincount(codes, positive, len(names))
    here = np.bincount(codes, minlength=len(names)) > 0
    small = np.flatnonzero(here & (sums < LEAST))
    if len(small) < 2:
        return names, codes
    return [*names, f"other ({len(small)} small groups)"], np.where(np.isin(codes, small), len(names), codes)


def _levels(column: Column, values: NDArray[np.float64]) -> tuple[Sequence[str], NDArray[np.intp]]:
    """The levels of categories and of truth values."""
    if column.kind == "category":
        return column.levels, values.astype(np.intp)
    return ["false", "true", MISSING], np.where(np.isnan(values), 2, values > 0).astype(np.intp)


def _cuts(known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where numbers are cut: values that occur, so that rows with the same value stay in one group."""
    distinct = np.unique(known)
    if len(distinct) <= _PARTS:
        return np.asarray(distinct[:-1])
    shares = np.linspace(0, 1, _PARTS + 1)[1:-1]
    cuts = np.unique(np.quantile(known, shares, method="inverted_cdf"))
    return np.asarray(cuts[cuts < distinct[-1]])


def _named(
    column: Column, values: NDArray[np.float64], cuts: NDArray[np.float64]
) -> tuple[Sequence[str], NDArray[np.intp]]:
    """The names of the parts between cuts, and the part of each row; missing values are a part of their own."""
    # Years have no commas.
    commas = bool(np.nanmax(np.abs(values), initial=0.0) >= 10_000)
    written = {"date": date_of, "duration": duration_words}.get(column.kind, partial(_written, commas=commas))
    names = ["any value"]
    if len(cuts):
        middle = [f"{written(low)} to {written(high)}" for low, high in pairwise(cuts)]
        names = [f"≤ {written(cuts[0])}", *middle, f"> {written(cuts[-1])}"]
    distinct = np.unique(values[~np.isnan(values)])
    parts, first, counts = np.unique(np.searchsorted(cuts, distinct), return_index=True, return_counts=True)
    for part in np.flatnonzero(counts == 1):
        # A part with one value is called this value: 0 rather than ≤ 0.
        names[parts[part]] = written(distinct[first[part]])
    codes = np.where(np.isnan(values), len(names), np.searchsorted(cuts, values))
    return [*names, MISSING], codes.astype(np.intp)


def _written(value: float, *, commas: bool) -> str:
    """Whole numbers in full, others with four digits; 21,280 rather than 2.128e+04."""
    rounded = value if value == round(value) else float(f"{value:.4g}")
    if rounded != round(rounded) or abs(rounded) >= 1e15:
        return f"{rounded:.4g}"
    return f"{rounded:,.0f}" if commas else f"{rounded:.0f}"
