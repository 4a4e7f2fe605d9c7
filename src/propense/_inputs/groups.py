"""Reading which group each row belongs to: a stratum, a cluster, or a group whose prevalence is known."""

from contextlib import suppress
from typing import Any

import numpy as np

from propense._inputs.labels import missing_values
from propense._maths.arrays import Index, to_host
from propense.errors import InvalidInput, InvalidOption

__all__ = ["read_groups", "shown_groups"]

# The most groups that an error lists, and the most characters of one.
_SHOWN, _LONGEST = 8, 40


def read_groups(name: str, values: Any, rows: int) -> tuple[Index, list[Any]]:
    """The number of each row's group, and the groups themselves, in ascending order where they have one."""
    array = to_host(values)
    if isinstance(array, list | tuple):
        # NumPy would turn None and NaN among strings into strings.
        array = _objects(array)
    array = np.asarray(array)
    if array.ndim != 1:
        raise InvalidInput(f"{name} has {array.ndim} dimensions; it must have one entry for each of the {rows} rows.")
    if len(array) != rows:
        raise InvalidInput(f"{name} has {len(array)} entries for {rows} rows; it must have one for each row of X.")
    missing = np.isnat(array) if array.dtype.kind in "mM" else missing_values(array)
    if missing.any():
        raise InvalidInput(
            f"{name} is missing in {int(missing.sum())} rows, first in row {int(missing.argmax())}. Each row must "
            "belong to a group: make one of these rows, or leave them out."
        )
    if array.dtype.kind != "O":
        levels, codes = np.unique(array, return_inverse=True)
        return codes.astype(np.intp, copy=False), levels.tolist()
    return _number_objects(name, array.tolist())


def shown_groups(groups: Any) -> str:
    """Groups as an error lists them."""
    words = [repr(each) for each in groups]
    short = [word if len(word) <= _LONGEST else f"{word[:_LONGEST]}…" for word in words[:_SHOWN]]
    return ", ".join(short) + (f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else "")


def _number_objects(name: str, values: list[Any]) -> tuple[Index, list[Any]]:
    try:
        groups = list(dict.fromkeys(values))
    except TypeError:
        raise InvalidOption(f"{name} holds values that cannot be groups; use numbers or text.") from None
    # Numbers and text stay in the order in which they occur.
    with suppress(TypeError):
        groups.sort()
    places = {group: place for place, group in enumerate(groups)}
    return np.fromiter((places[value] for value in values), dtype=np.intp, count=len(values)), groups


def _objects(values: Any) -> Any:
    out = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        out[place] = value
    return out
