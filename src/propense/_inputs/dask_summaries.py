"""What is told of one block of a Dask array: the little that the client needs to know of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._inputs.labels import Gaps, missing_values
from propense._inputs.reader import LARGEST
from propense.errors import InvalidFeatures

__all__ = [
    "BlockOfX",
    "FeatureSummary",
    "LabelSummary",
    "is_labelled",
    "label_summary",
    "stand_in",
    "to_numbers",
]

# Two values are expected; what has so many in one block is no label.
_MOST_VALUES = 1000


@dataclass(frozen=True)
class FeatureSummary:
    """The rows of a block, how many entries are not finite or too large, and the row, column and value of the first."""

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
        entries = block.data if sp.issparse(block) else block
        # NaN, inf and what is too large show in the extremes, which take no memory to find.
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
        """A block, where it is finite."""
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
        name = f"column {column}" if self.names is None else f"column {self.names[column]!r}"
        wrong, way_out = {
            "infinite": (
                "entries that are NaN or infinite",
                "Impute or drop them, for instance with sklearn.impute.SimpleImputer.",
            ),
            "large": ("entries whose squares are too large to work with", "Scale the column."),
        }[kind]
        raise InvalidFeatures(
            f"X holds {count} {wrong}, the first ({value}) at row {start + row}{of}, {name}. {way_out}"
        )


@dataclass(frozen=True)
class LabelSummary:
    """The rows of a block of y, its distinct values, how many are missing, and the first of these."""

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
    """A short y of the same distinct values, with a missing one if there are any, and where those are."""
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
    """Where a block of y holds the label."""
    y = np.asarray(y)
    present = ~missing_values(y)
    labelled = np.zeros(len(y), dtype=bool)
    labelled[present] = y[present] == label
    return labelled


def to_numbers(values: Any, *, summary: bool = False) -> Any:
    """A block as float64; of its summary, the rows and how many of them are not finite."""
    values = np.asarray(values, dtype=np.float64)
    return (len(values), int((~np.isfinite(values)).sum())) if summary else values


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The distinct values, in order where there is one."""
    if values.dtype.kind != "O":
        return np.unique(values)
    # By type too: 1 and True are equal. What cannot be hashed is no label either, and its type tells.
    found = {(type(value), value if value.__hash__ else None): value for value in values}
    out = np.empty(len(found), dtype=object)
    out[:] = list(found.values())
    return out
