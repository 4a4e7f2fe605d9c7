"""Cells of a column, whatever their type, as numbers, truths or text; what cannot be is told by None."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_numbers", "as_text", "as_truths", "as_values", "first_refused", "is_categorical", "is_dated", "is_flat"]

Numbers = NDArray[np.float64]

# Words for a missing cell, in any case, beside the empty one.
_MISSING = ("", "na", "n/a", "nan", "null", "none", "<na>")
_DATE = r"^\d{4}-\d{2}-\d{2}([T ].*)?$"


def as_text(cells: Any) -> Any:
    """Arrow strings, trimmed, null where missing."""
    import pyarrow as pa
    from pyarrow import compute

    cells = _plain(cells)
    if pa.types.is_floating(cells.type):
        cells = compute.if_else(compute.is_nan(cells), pa.scalar(None, cells.type), cells)
        # 3.0 is written 3, as whole numbers are: a column of those becomes one of floats where cells are missing.
        whole = compute.and_(compute.equal(cells, compute.floor(cells)), compute.less(compute.abs(cells), 2**53))
        if compute.all(whole, min_count=0).as_py():
            cells = cells.cast(pa.int64())
    text = cells.cast(pa.string())
    if pa.types.is_boolean(cells.type):
        return text
    text = compute.utf8_trim_whitespace(text)
    missing = compute.is_in(compute.utf8_lower(text), value_set=pa.array(_MISSING))
    return compute.if_else(missing, pa.scalar(None, pa.string()), text)


def as_numbers(cells: Any) -> Numbers | None:
    """float64, NaN where missing; None if some cell is no number."""
    import pyarrow as pa

    cells = _plain(cells)
    if pa.types.is_temporal(cells.type):
        return None
    try:
        values = as_text(cells) if _is_text(cells.type) else cells
        return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None


def as_truths(cells: Any) -> Numbers | None:
    """1 for true, 0 for false, NaN where missing; None if some cell is neither, in any case of letters."""
    import pyarrow as pa
    from pyarrow import compute

    cells = _plain(cells)
    if pa.types.is_boolean(cells.type):
        return np.asarray(cells.cast(pa.float64()).to_numpy(zero_copy_only=False))
    if not _is_text(cells.type):
        return None
    text = compute.utf8_lower(as_text(cells))
    codes = compute.index_in(text, value_set=pa.array(["false", "true"]))
    if codes.null_count > text.null_count:
        return None
    return np.asarray(codes.cast(pa.float64()).to_numpy(zero_copy_only=False))


def as_values(cells: Any) -> NDArray[Any]:
    """Truths, numbers or words, whichever they all are, as an array with None or NaN where missing."""
    for kind in (as_truths, as_numbers):
        values = kind(cells)
        if values is not None:
            break
    else:
        return np.asarray(as_text(cells).to_pylist(), dtype=object)
    if np.isnan(values).any():
        return values
    if kind is as_truths:
        return values.astype(bool)
    return values.astype(np.int64) if (np.mod(values, 1) == 0).all() else values


def first_refused(cells: Any, kind: Callable[[Any], Numbers | None]) -> tuple[int, str]:
    """Where the first cell stands that is not of the kind, and its text; by halving."""
    low, high = 0, len(cells)
    while high - low > 1:
        middle = (low + high) // 2
        if kind(cells.slice(low, middle - low)) is None:
            high = middle
        else:
            low = middle
    return low, str(as_text(cells)[low].as_py())


def is_flat(cells: Any) -> bool:
    """Whether each cell is one value."""
    import pyarrow as pa

    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    return not pa.types.is_nested(kind) and not pa.types.is_binary(kind)


def is_categorical(cells: Any) -> bool:
    """Whether the file itself says that the column is a category."""
    import pyarrow as pa

    return bool(pa.types.is_dictionary(cells.type))


def is_dated(cells: Any) -> bool:
    """Whether the cells are dates or times, by type or as ISO text."""
    import pyarrow as pa
    from pyarrow import compute

    cells = _plain(cells)
    if pa.types.is_temporal(cells.type):
        return True
    if not _is_text(cells.type):
        return False
    text = as_text(cells).drop_null()
    return len(text) > 0 and bool(compute.all(compute.match_substring_regex(text, _DATE)).as_py())


def _plain(cells: Any) -> Any:
    """One array, dictionaries decoded."""
    import pyarrow as pa

    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    return cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
