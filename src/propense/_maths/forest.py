"""Boosted trees as plain arrays: what they say of many rows at a time, and their form, which can be checked and kept.

The nodes of a tree are written one after the other: a split, then all of its left side, then all of its right side.
This order alone says what hangs together, so there are no numbers of children that could be wrong or lead in a circle.

Rows are scored without walking down. The leaves of a tree are numbered from the left, one bit each. A split that sends
a row to the right rules out the leaves of its left side; the first leaf that no split has ruled out is where the row
ends (Lucchese et al. 2015, QuickScorer). So a tree takes a comparison and two operations on bits for each split, on
whole columns of rows.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._maths.arrays import Index, Vector
from propense._maths.logistic import LARGEST_LOG_ODDS

__all__ = ["MOST_LEAVES", "Forest"]

# The leaves of a tree are the bits of one number, and so are the columns on the way to one of them, with a sign.
MOST_LEAVES = 63
# Rows scored at a time: their columns stay in cache.
_ROWS = 16_384
_KINDS = np.uint8, np.uint16, np.uint32, np.uint64


@dataclass(frozen=True)
class Forest:
    """Trees that add up to log-odds; every array but `sets` has one entry per node.

    Attributes
    ----------
    start : float
        The log-odds before the first tree.
    column : int32 ndarray
        What a split asks for; −1 for a leaf.
    number : float64 ndarray
        Of a split, cells up to this one go left; of a split by levels, the row of `sets`. Of a leaf, what it adds.
    missing_left : bool ndarray
        Where cells go that are missing, or of a level that `sets` does not have.
    by_level : bool ndarray
        Whether a split is by levels.
    cover : float64 ndarray
        How many rows of fit came there.
    sets : bool ndarray of shape (n_splits_by_level, n_levels)
        The levels that go left.
    """

    start: float
    column: NDArray[np.int32]
    number: Vector
    missing_left: NDArray[np.bool_]
    by_level: NDArray[np.bool_]
    cover: Vector
    sets: NDArray[np.bool_]

    def __getstate__(self) -> dict[str, Any]:
        """The arrays alone: what follows from them is found again sooner than it is sent."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def problem(self, columns: int) -> str:
        """Why these are not trees of so many columns; empty if they are."""
        count = self.column.size
        if self.sets.ndim != 2 or any(getattr(self, each.name).shape != (count,) for each in fields(self)[1:-1]):
            return "its arrays differ in length"
        with np.errstate(over="ignore"):
            most = abs(self.start) + np.abs(self.number[self.is_leaf]).sum()
        if not np.isfinite(most):
            return "it adds numbers that are not finite"
        if np.isnan(self.number).any() or not (np.isfinite(self.cover) & (self.cover >= 0.0)).all():
            return "it splits at, or covers, what is not a number"
        if count and (self.column.min() < -1 or self.column.max() >= columns):
            return f"it asks for columns that are not among {columns}"
        rows, there = self.number[self.by_level], len(self.sets) if self.sets.size else 0
        if self.by_level[self.is_leaf].any() or not ((rows >= 0) & (rows < there) & (np.floor(rows) == rows)).all():
            return "it splits by levels that are not there"
        # Each split opens one place more than it fills, each leaf fills one.
        places = np.cumsum(np.where(self.is_leaf, -1, 1))
        if count and places[-1] >= places[:-1].min(initial=0):
            return "its last tree has no end"
        if count and np.add.reduceat(self.is_leaf.astype(np.intp), self.roots).max() > MOST_LEAVES:
            return f"it has a tree of more than {MOST_LEAVES} leaves"
        return ""

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves."""
        return self.column < 0

    @cached_property
    def roots(self) -> Index:
        """Where each tree begins: after a leaf that leaves no place open."""
        places = np.cumsum(np.where(self.is_leaf, -1, 1))
        ends = np.flatnonzero(places < np.minimum.accumulate(np.append(0, places))[:-1])
        return np.append(0, ends[:-1] + 1) if len(ends) else ends

    @cached_property
    def right(self) -> Index:
        """Where the right side of each split begins; 0 for a leaf. The left side begins with the next node."""
        right, waiting = np.zeros(len(self.column), dtype=np.intp), []
        for node, is_leaf in enumerate(self.is_leaf.tolist()):
            if not is_leaf:
                waiting.append(node)
            elif waiting:
                right[waiting.pop()] = node + 1
        return right

    def log_odds(self, rows: NDArray[np.floating]) -> Vector:
        """The sum of the trees for each row, within the largest log-odds there are."""
        out = np.full(len(rows), self.start)
        for first in range(0, len(rows), _ROWS):
            block = rows[first : first + _ROWS]
            # Each column in one piece.
            cells = {column: np.ascontiguousarray(block[:, column]) for column in self._used}
            gaps = {column for column, each in cells.items() if np.isnan(each).any()}
            self._add(out[first : first + _ROWS], cells, gaps)
        return np.asarray(np.clip(out, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))

    def goes_left(self, nodes: Index, rows: NDArray[np.floating]) -> NDArray[np.bool_]:
        """The answers of some splits for each row: an array of shape (n_nodes, n_rows)."""
        out = np.empty((len(nodes), len(rows)), dtype=bool)
        for answers, node in zip(out, nodes.tolist(), strict=True):
            self._to_right(node, rows[:, self.column[node]], True, answers)
        return ~out

    def cuts(self, dtype: Any) -> NDArray[np.floating]:
        """Where the splits are, for cells of a dtype: the same cells of float32 are up to a number rounded down."""
        return self._narrow if dtype == np.float32 else self.number

    def importances(self, columns: int) -> Vector:
        """How far the splits on each column move rows apart: the squares of it, summed over the rows of fit."""
        out, leaf, right, end = np.zeros(columns), self.is_leaf, self.right, np.arange(1, len(self.column) + 1)
        for node in np.flatnonzero(~leaf)[::-1]:
            end[node] = end[right[node]]
        added = np.append(0.0, np.cumsum(np.where(leaf, self.cover * self.number, 0.0)))
        rows = np.append(0.0, np.cumsum(np.where(leaf, self.cover, 0.0)))
        at = np.flatnonzero(~leaf)
        count, mean = [], []
        for first, last in ((at + 1, right[at]), (right[at], end[at])):
            count.append(rows[last] - rows[first])
            mean.append((added[last] - added[first]) / np.maximum(count[-1], 1e-300))
        apart = count[0] * count[1] / np.maximum(count[0] + count[1], 1e-300) * (mean[0] - mean[1]) ** 2
        np.add.at(out, self.column[at], apart)
        return out

    def _add(self, out: Vector, cells: dict[int, NDArray[np.floating]], gaps: set[int]) -> None:
        """Add what every tree says of some rows."""
        goes_right = np.empty(len(out), dtype=bool)
        for splits, values, kind in self._plan:
            gone, answer = np.zeros(len(out), kind), np.empty(len(out), kind)
            for node, column, bits in splits:
                self._to_right(node, cells[column], column in gaps, goes_right)
                np.multiply(goes_right, bits, out=answer, dtype=kind)
                np.bitwise_or(gone, answer, out=gone)
            if kind is np.uint8:
                # A table has every combination.
                out += values[gone]
                continue
            np.invert(gone, out=gone)
            # The lowest bit alone, which is a power of two: its exponent says which.
            np.bitwise_and(gone, np.negative(gone), out=gone)
            exponent = gone.astype(np.float32).view(np.int32) >> np.finfo(np.float32).nmant
            out += values[exponent - (np.finfo(np.float32).maxexp - 1)]

    @cached_property
    def _used(self) -> list[int]:
        return [int(each) for each in np.unique(self.column[~self.is_leaf])]

    @cached_property
    def _plan(self) -> list[tuple[list[tuple[int, int, int]], Vector, type[np.unsignedinteger]]]:
        """For each tree its splits, with their columns and the bits that they rule out, and what its leaves add."""
        before, plan = np.append(0, np.cumsum(self.is_leaf)), []
        for root, end in pairwise(np.append(self.roots, len(self.column))):
            nodes = np.arange(root, end)
            splits, values = nodes[~self.is_leaf[root:end]], self.number[nodes[self.is_leaf[root:end]]]
            first, count = before[splits] - before[root], before[self.right[splits]] - before[splits]
            bits = [((1 << many) - 1) << place for place, many in zip(first.tolist(), count.tolist(), strict=True)]
            kind = next(each for each in _KINDS if len(values) <= 8 * each().itemsize)
            if kind is np.uint8:
                last = len(values) - 1
                values = values[[min(_lowest_zero(gone), last) for gone in range(256)]]
            plan.append((list(zip(splits.tolist(), self.column[splits].tolist(), bits, strict=True)), values, kind))
        return plan

    def _to_right(self, node: int, cell: NDArray[np.floating], gaps: bool, out: NDArray[np.bool_]) -> None:
        """Which rows a split sends to the right."""
        if self.by_level[node]:
            own = self.sets[int(self.number[node])]
            known = (cell >= 0) & (cell < len(own)) & (np.floor(cell) == cell)
            out[:] = ~np.where(known, own[np.where(known, cell, 0).astype(np.intp)], self.missing_left[node])
            return
        cut = self.cuts(cell.dtype)[node]
        if gaps and not self.missing_left[node]:
            np.less_equal(cell, cut, out=out)
            np.invert(out, out=out)
        else:
            np.greater(cell, cut, out=out)

    @cached_property
    def _narrow(self) -> NDArray[np.float32]:
        with np.errstate(over="ignore"):
            near = self.number.astype(np.float32)
        return np.where(near > self.number, np.nextafter(near, np.float32(-np.inf)), near)


def _lowest_zero(number: int) -> int:
    """The place of the first bit that is 0."""
    return (~number & (number + 1)).bit_length() - 1
