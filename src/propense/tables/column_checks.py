"""Columns that are probably not features, and too few rows. What speaks against a fit is in the estimator's doubts."""

import re
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from propense.errors import InvalidTable
from propense.tables.schema import Column, Schema

__all__ = ["check_copies", "doubtful_columns", "merge_notes"]

_NAMED = re.compile(r"""The column ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*") """)
# Columns with the same note that are named in the first of them.
_SHOWN = 8
# With fewer labelled or unlabelled rows, a column may separate them by chance.
_FEWEST = 5


def check_copies(
    schema: Schema, matrix: NDArray[np.float64], labelled: NDArray[np.bool_], kept: Collection[str], where: str
) -> None:
    """Raise an error if a column shows exactly which rows are labelled, unless it is to be kept.

    Nothing else would be learned from such a table, and every number would follow from the copy.
    """
    if not _FEWEST <= labelled.sum() <= len(labelled) - _FEWEST:
        return
    copies = [
        column.name
        for column, values in zip(schema.columns, matrix.T, strict=True)
        if column.name not in kept and _separates(column, values, labelled)
    ]
    if not copies:
        return
    one = len(copies) == 1
    names = f"column {copies[0]!r} shows" if one else f"each of the columns {', '.join(map(repr, copies))} shows"
    raise InvalidTable(
        f"{where}, {names} exactly which rows are labelled, so nothing could be learned from the others. Pass "
        f"drop={copies!r} if {'it was' if one else 'they were'} filled in with the label or after it, or "
        f"keep={copies!r} if {'it was' if one else 'they were'} known before."
    )


def _separates(column: Column, values: NDArray[np.float64], labelled: NDArray[np.bool_]) -> bool:
    """Whether a column separates labelled from unlabelled rows without a mistake; missing cells count as a value."""
    missing = np.isnan(values)
    if missing.any() and np.ptp(labelled[missing].astype(int)):
        return False
    known, marked = values[~missing], labelled[~missing]
    if marked.all() or not marked.any():
        # The cells are filled in only where there is a label, or where there is none.
        return True
    if column.kind in ("category", "truth"):
        return not np.intersect1d(known[marked], known[~marked]).size
    return bool(known[marked].min() > known[~marked].max() or known[marked].max() < known[~marked].min())


def doubtful_columns(
    schema: Schema, matrix: NDArray[np.float64], labelled: NDArray[np.bool_], n_features: int
) -> list[str]:
    """A note on each column that is probably not a feature, and on a table with more features than rows."""
    notes = []
    for j, column in enumerate(schema.columns):
        values = matrix[:, j]
        known = values[~np.isnan(values)]
        distinct = np.unique(known)
        if len(distinct) == 1 and len(known) == len(values):
            notes.append(f"The column {column.name!r} has the same value in every row, so it has no effect.")
        elif len(known) and _separates(column, values, labelled):
            notes.append(
                f"The column {column.name!r} shows exactly which rows are labelled: every estimate rests on it."
            )
    if n_features >= len(labelled):
        notes.append(f"There are {n_features} features but only {len(labelled)} rows: too few to estimate anything.")
    return notes


def merge_notes(notes: list[str]) -> list[str]:
    """The notes, those that say the same of several columns as one."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for note in notes:
        found = _NAMED.match(note)
        name = "" if found is None else found[1]
        key = re.sub(r"\d[\d,]*", "#", note.replace(name, "…")) if name else note
        alike.setdefault(key, []).append((name, note))
    out = []
    for same in alike.values():
        (_, first), *others = same
        if not others:
            out.append(first)
            continue
        names = ", ".join(name for name, _ in others[:_SHOWN]) + (" …" if len(others) > _SHOWN else "")
        which = "another column" if len(others) == 1 else f"{len(others)} other columns"
        out.append(f"{first} The same holds for {which}: {names}.")
    return out
