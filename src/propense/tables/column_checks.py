"""Columns that are probably not features, and too few rows. What speaks against a fit is in the estimator's doubts."""

import re

import numpy as np
from numpy.typing import NDArray

from propense.tables.schema import Schema

__all__ = ["doubtful_columns", "merge_notes"]

_NAMED = re.compile(r"""The column ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*") """)
# Columns with the same note that are named in the first of them.
_SHOWN = 8


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
        elif len(distinct) == 2 and len(known) == len(values) and abs(np.corrcoef(values, labelled)[0, 1]) > 1 - 1e-9:
            notes.append(
                f"The column {column.name!r} shows exactly which rows are labelled. "
                f"Pass drop=[{column.name!r}] if it is known only after the label is given."
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
