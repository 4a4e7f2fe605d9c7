"""Columns that name rows, or what rows are about, rather than describe them: by their names and their numbers."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propense._inputs.columns import Column

__all__ = ["row_numbers", "says_id"]

_SAYS = {"id", "ids", "uuid", "guid", "key", "pk", "mrn", "ssn", "seqn", "rowid", "idx"}
# With a different number in every row these say it too.
_ALSO = {"nr", "no", "number", "num", "code", "ref", "row", "record", "kennung", "nummer"}
_JOINED = re.compile(
    r"(patient|person|customer|client|user|member|case|record|row|subject|account|order|employee|student|visit)(id|nr|no)"
)
# Such numbers are different in every row by nature.
_TIMES = {"time", "timestamp", "date", "datetime", "epoch", "unix", "created", "updated"}
# Below, numbers are different by chance.
_FEW = 20
_MANY = 0.2


def says_id(name: str) -> bool:
    """Whether the name of a column says that it names things: id, patient_id, customerId, uuid."""
    words = _words(name)
    return bool(_SAYS.intersection(words)) or any(_JOINED.fullmatch(word) for word in words)


def row_numbers(
    columns: Sequence[Column], matrix: NDArray[np.float64], wanted: Sequence[str] = ()
) -> tuple[list[int], list[str]]:
    """The places of columns that certainly name rows, and notes on these and on those that may.

    Certain are whole numbers, a different one in every row, that count the rows one by one or whose name says so.
    Columns that are wanted are neither.
    """
    left, notes = [], []
    for j, column in enumerate(columns):
        values = matrix[:, j]
        if column.kind != "number" or column.form or column.name in wanted or len(values) <= _FEW:
            continue
        if np.isnan(values).any() or (values % 1 != 0).any():
            continue
        name, distinct = column.name, np.unique(values)
        if len(distinct) < len(values):
            if says_id(name) and len(distinct) > max(_FEW, _MANY * len(values)):
                notes.append(
                    f"The column {name!r} has {len(distinct):,} different whole numbers and seems to name what the "
                    f"rows are about. Pass id={name!r}, or leave it out with drop=[{name!r}]."
                )
            continue
        steps = np.diff(values)
        counts = bool((steps == 1).all())
        if counts or says_id(name) or _ALSO.intersection(_words(name)):
            left.append(j)
            why = "counts the rows one by one" if counts else "has a different whole number in every row"
            notes.append(
                f"The column {name!r} {why} and was left out. Pass id={name!r} if it names the rows, or "
                f"keep=[{name!r}] if it describes them."
            )
        elif _TIMES.isdisjoint(_words(name)) and (
            (steps > 0).all() or (steps < 0).all() or distinct[-1] - distinct[0] == len(values) - 1
        ):
            notes.append(
                f"The column {name!r} has a different whole number in every row. Pass id={name!r} if it names the rows."
            )
    return left, notes


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-zäöüß]+|[A-Z]+(?![a-z])", name)}
