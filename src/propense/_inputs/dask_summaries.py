"""Summaries of one block of a Dask array: the little that the client needs to know about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._inputs.labels import Gaps, missing_values
from propense._inputs.reader import LARGEST, check_places, invalid_entries

__all__ = [
    "BlockOfX",
    "FeatureSummary",
    "LabelSummary",
    "is_labelled",
    "label_summary",
    "stand_in",
    "to_numbers",
]

# Two values are expected; a column with this many in one block does not contain labels.
_MOST_VALUES = 1000


@dataclass(frozen=True)
class FeatureSummary:
    """A block's rows, its entries that are not finite or too large, and the row, column and value of the first one."""

    rows: int
    infinite: int = 0
    large: int = 0
    first: tuple[int, int, float] | None = None


@dataclass(frozen=True)
class BlockOfX:
    """How a block of X is read, as float64 or float32."""

    dtype: np.dtype[Any]
    names: NDArray[Any] | None = None

    def convert(self, block: Any) -> Any:
        if not hasattr(block, "iloc"):
            return block.astype(self.dtype, copy=False)
        if all(isinstance(dtype, np.dtype) for dtype in block.dtypes):
            return block.to_numpy(dtype=self.dtype)
        return block.to_numpy(dtype=self.dtype, na_value=np.nan)

    def summary(self, block: Any) -> FeatureSummary:
        if sp.issparse(block):
            check_places(block)
        entries = block.data if sp.issparse(block) else block
        # NaN, inf and values that are too large show in the extremes, which take no memory to find.
        if entries.size == 0 or max(float(entries.max()), -float(entries.min())) < LARGEST:
            return FeatureSummary(block.shape[0])
        infinite = ~np.isfinite(entries)
        large = ~infinite & (np.abs(entries) >= LARGEST)
        where = np.argwhere(infinite if infinite.any() else large)[0]
        if sp.issparse(block):
            block = block.tocoo()
            row, column = block.row[where[0]], block.col[where[0]]
        else:
            row, column = where
        first = int(row), int(column), float(entries[tuple(where)])
        return FeatureSummary(block.shape[0], int(infinite.sum()), int(large.sum()), first)

    def checked(self, block: Any) -> Any:
        """A block, converted; an error if it is not finite."""
        block = self.convert(block)
        self.refuse([self.summary(block)], " of a block")
        return block

    def refuse(self, blocks: Sequence[FeatureSummary], of: str = "") -> None:
        """Raise for the first entry that is not finite, or else too large."""
        kind = "infinite" if any(block.infinite for block in blocks) else "large"
        count = sum(getattr(block, kind) for block in blocks)
        if count == 0:
            return
        start = 0
        for block in blocks:
            if getattr(block, kind):
                break
            start += block.rows
        row, column, value = block.first or (0, 0, np.nan)
        raise invalid_entries(count, value, f"{start + row}{of}", column, infinite=kind == "infinite", names=self.names)


@dataclass(frozen=True)
class LabelSummary:
    """The rows of a block of y, its distinct values, the number of missing ones, and the first row with one."""

    rows: int
    values: NDArray[Any]
    missing: int
    first: int


def label_summary(y: Any) -> LabelSummary:
    """The summary of a block of y."""
    y = np.asarray(y)
    missing = missing_values(y)
    first = int(missing.argmax()) if missing.any() else 0
    return LabelSummary(len(y), _distinct(y[~missing])[:_MOST_VALUES], int(missing.sum()), first)


def stand_in(blocks: Sequence[LabelSummary]) -> tuple[NDArray[Any], Gaps | None]:
    """A short y with the same distinct values, one of them missing if any is, and the number and place of those."""
    kinds = {block.values.dtype.kind for block in blocks if len(block.values)}
    values = [block.values for block in blocks if len(block.values) or not kinds]
    y = _distinct(np.concatenate([each.astype(object) for each in values] if len(kinds) > 1 else values))
    missing = sum(block.missing for block in blocks)
    if missing == 0:
        return y, None
    start = 0
    for block in blocks:
        if block.missing:
            break
        start += block.rows
    gap: Any = {"f": np.nan, "U": ""}.get(y.dtype.kind)
    with_gap = np.empty(len(y) + 1, dtype=object if gap is None else y.dtype)
    with_gap[:-1], with_gap[-1] = y, gap
    return with_gap, (missing, start + block.first)


def is_labelled(y: Any, *, label: Any) -> NDArray[np.bool_]:
    """Which rows of a block of y are labelled."""
    y = np.asarray(y)
    present = ~missing_values(y)
    labelled = np.zeros(len(y), dtype=bool)
    labelled[present] = y[present] == label
    return labelled


def to_numbers(values: Any, *, summary: bool = False) -> Any:
    """A block as float64, or as a summary: the number of rows, and of those that are not finite."""
    values = np.asarray(values, dtype=np.float64)
    return (len(values), int((~np.isfinite(values)).sum())) if summary else values


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The distinct values, in order if they have one."""
    if values.dtype.kind != "O":
        return np.unique(values)
    # By type too, since 1 and True are equal. A value that cannot be hashed is not a label; one of each type is kept.
    found = {(type(value), value if value.__hash__ else None): value for value in values}
    out = np.empty(len(found), dtype=object)
    out[:] = list(found.values())
    return out
