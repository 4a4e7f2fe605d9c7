"""Whether rows to score are spread like the rows of fit, column by column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, hypergeom

from propense._inputs.columns import Column, date_of
from propense._inputs.moments import duration_words
from propense.tables.schema import MISSING, OTHER, Schema

__all__ = ["Drift", "DriftWatch", "MovedColumn", "SeenColumn", "is_seen", "summarise_columns"]

# Shares of the rows of fit at which numbers are cut.
_SHARES = (0.01, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.99)
# No part of the rows that is counted has fewer, so that no single value is in a model file; and with fewer rows in all
# there is no summary.
_FEW, _FEWEST = 10, 20
# The chance of saying that something moved where nothing has, for all columns together, and the smallest difference
# of shares that is said, and the one with which no number is promised (benchmarks/drift.py).
_LEVEL, _SAID, _MUCH = 0.005, 0.10, 0.25
# Columns that are spelt out.
_SHOWN = 8
# Among more rows of fit a share is as good as known; the exact test would take the longer, the more there are.
_KNOWN = 10**9
# How far the share below a cut may be from a quarter, or three quarters, to stand for it.
_NEAR = 0.1


@dataclass(frozen=True)
class SeenColumn:
    """How the rows of fit are spread over a column.

    Attributes
    ----------
    cuts : ndarray of shape (n_cuts,)
        Numbers, dates and durations: where the column is cut, ascending and rounded; else empty.
    counts : int ndarray
        How many rows are missing or of no level, and then in each part: up to each cut and above the last, or of each
        level, or false and true.
    """

    cuts: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def middle(self) -> tuple[float, float] | None:
        """What about the middle half of the numbers lies between; None if the cuts are too far from its ends."""
        if not len(self.cuts):
            return None
        below = np.cumsum(self.counts[1:-1]) / max(self.counts[1:].sum(), 1)
        low, high = (int(np.abs(below - share).argmin()) for share in (0.25, 0.75))
        near = max(abs(below[low] - 0.25), abs(below[high] - 0.75)) <= _NEAR
        return (float(self.cuts[low]), float(self.cuts[high])) if near else None


@dataclass(frozen=True)
class MovedColumn:
    """A column whose values have moved since the fit; ``str()`` says how.

    Attributes
    ----------
    name : str
    shift : float
        The largest difference between the shares of rows, of those to score and those of fit, in a part of the column.
    words : str
    follows_time : bool
        Whether it is a date, which moves by itself.
    """

    name: str
    shift: float
    words: str
    follows_time: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.words}"


@dataclass(frozen=True)
class Drift:
    """Which columns of some rows have moved since the fit, the most first; ``str()`` says it in words.

    Attributes
    ----------
    rows : int
        How many rows were compared.
    columns : tuple of MovedColumn
        Empty if no column has moved further than chance and a difference of ten points in a share.
    checked : bool
        Whether there was something to compare with: model files of earlier versions have nothing.
    """

    rows: int
    columns: tuple[MovedColumn, ...] = ()
    checked: bool = True

    @property
    def much(self) -> bool:
        """Whether a column, other than a date, has moved so far that no number of positives should be relied on."""
        return any(column.shift >= _MUCH and not column.follows_time for column in self.columns)

    @property
    def reason(self) -> str:
        """Why no number of positives is promised; empty if that is not so."""
        if not self.much:
            return ""
        far = [repr(each.name) for each in self.columns if each.shift >= _MUCH and not each.follows_time]
        shown = ", ".join(far[:3]) + (f" and {len(far) - 3} other columns" if len(far) > 3 else "")
        return f"they differ much from the rows of the fit in {shown}"

    @property
    def lines(self) -> list[str]:
        """A line on each column that has moved, and on what follows."""
        if not self.checked:
            return [
                "The model does not know how the rows of its fit are spread, so these cannot be compared with them."
            ]
        out = [str(each) for each in self.columns[:_SHOWN]]
        if len(self.columns) > _SHOWN:
            out.append(f"{len(self.columns) - _SHOWN} other columns have moved too.")
        return out

    def __str__(self) -> str:
        if not self.checked or not self.columns:
            return self.lines[0] if not self.checked else "The rows are spread like those of the fit."
        return "\n".join(["These columns have moved since the fit:", *self.lines])


class DriftWatch:
    """Counts the rows of a table, batch by batch, and compares them with those of fit.

    Parameters
    ----------
    schema : Schema
    seen : sequence of SeenColumn, or None
        What `summarise_columns` found at the fit.
    """

    def __init__(self, schema: Schema, seen: Sequence[SeenColumn] | None) -> None:
        self._columns, self._seen = schema.columns, seen
        self._counts = [] if seen is None else [np.zeros(len(each.counts), dtype=np.int64) for each in seen]
        self._rows = 0

    def add(self, matrix: NDArray[np.float64]) -> None:
        """Count the rows of an encoded matrix."""
        self._rows += len(matrix)
        for j, counts in enumerate(self._counts):
            assert self._seen is not None
            counts += _count(self._columns[j], matrix[:, j], self._seen[j].cuts)

    def result(self) -> Drift:
        """What has moved in the rows so far."""
        if self._seen is None:
            return Drift(self._rows, checked=False)
        events = [_events(column, each) for column, each in zip(self._columns, self._seen, strict=True)]
        # One test for each part of each column, and all of them together are rarely wrong.
        level = _LEVEL / max(sum(map(len, events)), 1)
        moved = []
        for j, parts in enumerate(events):
            found = _moved(self._columns[j], self._seen[j], self._counts[j], parts, level)
            moved += [] if found is None else [found]
        return Drift(self._rows, tuple(sorted(moved, key=lambda each: -each.shift)))


def summarise_columns(schema: Schema, matrix: NDArray[np.float64]) -> tuple[SeenColumn, ...] | None:
    """How the rows of fit are spread over each column; None if there are too few.

    Cuts are quantiles, rounded, with at least ten rows between them, and no value of a single row.
    """
    if len(matrix) < _FEWEST:
        return None
    out = []
    for j, column in enumerate(schema.columns):
        values = matrix[:, j]
        cuts = np.empty(0) if column.kind in ("category", "truth") else _cuts(values[~np.isnan(values)])
        out.append(SeenColumn(cuts, _count(column, values, cuts)))
    return tuple(out)


def _cuts(known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded quantiles with enough rows in each part; above the last, none at all are enough."""
    found = np.unique(np.quantile(known, _SHARES, method="inverted_cdf")) if len(known) else np.empty(0)
    if not len(found):
        return found
    spread = np.subtract(*np.quantile(known, [0.9, 0.1])) or known.max() - known.min() or 1.0
    # Three digits of the spread.
    digits = int(np.clip(2 - np.floor(np.log10(spread)), -300, 300))
    step = 10.0**-digits
    rounded = np.unique(np.round(found / step) * step) if digits < 0 else np.unique(found.round(min(digits, 15)))
    below = np.searchsorted(np.sort(known), rounded, side="right")
    kept, last = [], 0
    for cut, count in zip(rounded.tolist(), below.tolist(), strict=True):
        rest = len(known) - count
        if count - last >= _FEW and (rest == 0 or rest >= _FEW):
            kept.append(cut)
            last = count
    return np.array(kept, dtype=np.float64)


def _count(column: Column, values: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many rows are in each part of a column: see `SeenColumn.counts`."""
    if column.kind == "category":
        return np.bincount((values + 1).astype(np.intp), minlength=len(column.levels) + 1).astype(np.int64)
    missing = np.isnan(values)
    parts = values if column.kind == "truth" else np.searchsorted(cuts, values)
    places = np.where(missing, 0, parts + 1).astype(np.intp)
    return np.bincount(places, minlength=3 if column.kind == "truth" else len(cuts) + 2).astype(np.int64)


def _events(column: Column, seen: SeenColumn) -> list[int]:
    """What is compared: 0 is missing or no level; k is up to the cut k, or the level or truth k."""
    if column.kind == "category":
        return list(range(len(seen.counts)))
    return [0, 2] if column.kind == "truth" else list(range(len(seen.cuts) + 1))


def _moved(
    column: Column, seen: SeenColumn, counts: NDArray[np.int64], parts: list[int], level: float
) -> MovedColumn | None:
    """The part of a column in which the shares differ most, if that is more than chance."""
    by_level = column.kind in ("category", "truth")
    found = []
    for part in parts:
        pairs = [_share(each, part, by_level) for each in (seen.counts, counts)]
        (before, of_before), (now, of_now) = pairs
        if not of_before or not of_now:
            continue
        shift = now / of_now - before / of_before
        if abs(shift) >= _SAID and _chance(before, of_before, now, of_now) < level:
            # Of two levels that differ by the same, the one that has become more frequent.
            found.append((round(abs(shift), 9), shift > 0, part, now / of_now, before / of_before))
    if not found:
        return None
    shift, _, part, share, was = max(found)
    return MovedColumn(column.name, shift, _in_words(column, seen, part, share, was), column.kind == "date")


def _share(counts: NDArray[np.int64], part: int, by_level: bool) -> tuple[int, int]:
    """How many rows are in a part, and of how many."""
    if part == 0 or by_level:
        return int(counts[part]), int(counts.sum())
    return int(counts[1 : part + 1].sum()), int(counts[1:].sum())


def _chance(before: int, of_before: int, now: int, of_now: int) -> float:
    """Fisher's exact test: how often counts drawn at random from both together are as extreme."""
    both = hypergeom(of_before + of_now, before + now, of_now)
    if of_before > _KNOWN:
        both = binom(of_now, before / of_before)
    return float(2.0 * min(both.cdf(now), both.sf(now - 1)))


def _in_words(column: Column, seen: SeenColumn, part: int, share: float, was: float) -> str:
    """The share of the rows in a part, now and at the fit."""
    if column.kind == "category":
        if part == 0:
            return f"{_percent(share)} of the cells hold a category that was not in the fit"
        level = column.levels[part - 1]
        what = {MISSING: "are empty", OTHER: "hold another value than the frequent ones"}.get(level, f"are {level!r}")
        return f"{_percent(share)} of the rows {what}; at the fit, {_percent(was, 'none')} were"
    if part == 0:
        return f"{_percent(share)} of the cells are empty; at the fit, {_percent(was, 'none')} were"
    if column.kind == "truth":
        return f"{_percent(share)} of the rows are true; at the fit, {_percent(was, 'none')} were"
    cut = _written(column, float(seen.cuts[part - 1]))
    if share < was:
        above = "after" if column.kind == "date" else "above"
        return f"{_percent(1 - share)} of the rows are {above} {cut}; at the fit, {_percent(1 - was, 'none')} were"
    return f"{_percent(share)} of the rows are at most {cut}; at the fit, {_percent(was, 'none')} were"


def _written(column: Column, value: float) -> str:
    if column.kind == "date":
        return date_of(np.floor(value))
    if column.kind == "duration":
        return duration_words(value)
    return f"{value:,.6g} {column.unit}".rstrip()


def _percent(share: float, nothing: str = "0%") -> str:
    if share <= 0:
        return nothing
    if share < 0.005:
        return "fewer than 1%"
    return f"{share:.0%}" if share <= 0.995 or share == 1 else "more than 99%"


def is_seen(column: Column, cuts: Any, counts: Any) -> bool:
    """Whether a file describes how a column is spread."""
    width = {"category": len(column.levels) + 1, "truth": 3}.get(column.kind, len(cuts) + 2)
    named = column.kind in ("category", "truth")
    fine = bool(np.isfinite(cuts).all() and (np.diff(cuts) > 0).all() and (counts >= 0).all())
    # Seconds since 1970 as NumPy counts them.
    fine = fine and not (column.kind == "date" and bool((np.abs(cuts) >= 2**63 / 86_400).any()))
    return fine and len(counts) == width and not (named and len(cuts)) and bool((counts < 2**53).all())
