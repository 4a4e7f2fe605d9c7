"""What came back of the draws of a table, pooled with what a model remembers, counted, and free of contradictions."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from propense.audit import Audit, Draw
from propense.audit._draw import count_moved
from propense.errors import InvalidTable
from propense.tables.audit_files import Returned
from propense.tables.audit_rows import AuditRows
from propense.tables.past_audits import PastDraw
from propense.tables.verdicts import NO, OPEN, UNSURE, YES, said

__all__ = ["agree", "as_audit", "check_strata", "check_verdicts", "count_verdicts", "pool"]

# From what says least about a row to what says most.
_KNOWN = (OPEN, UNSURE, NO, YES)


def check_verdicts(returned: list[Returned], rows: AuditRows, names: list[str]) -> None:
    """Raise an error if two files differ in a verdict."""
    found: dict[int, tuple[int, str]] = {}
    for each, name in zip(returned, names, strict=True):
        for row, verdict in zip(each.rows.tolist(), each.verdict.tolist(), strict=True):
            before, where = found.get(row, (OPEN, name))
            if OPEN not in (before, verdict) and before != verdict:
                raise InvalidTable(
                    f"{rows.ids[row]!r} has two verdicts that differ: {said(before)} in {where} and {said(verdict)} in "
                    f"{name}. Keep the right one."
                )
            if verdict != OPEN:
                found[row] = verdict, name


def pool(code: str, drawn: Draw, returned: list[Returned], rows: AuditRows, known: PastDraw | None) -> PastDraw:
    """A draw and all that came back of it; a verdict that the model remembers may not change, but from cannot say."""
    verdicts: dict[int, tuple[int, int]] = {}
    if known is not None:
        for row, stratum, verdict in zip(rows.find(known.rows), known.stratum, known.verdict, strict=True):
            verdicts[int(row)] = int(stratum), int(verdict)
    for each in returned:
        for row, stratum, verdict in zip(each.rows.tolist(), each.stratum.tolist(), each.verdict.tolist(), strict=True):
            before = verdicts.get(row, (stratum, OPEN))[1]
            if known is not None and {before, verdict} == {YES, NO}:
                raise InvalidTable(
                    f"{rows.ids[row]!r}: the model remembers the verdict {said(before)}, and a file says "
                    f"{said(verdict)}. Read all files again with the model as it was before the audit."
                )
            verdicts[row] = stratum, before if verdict == OPEN or before in (YES, NO) else verdict
    # In the order of the table, so that the same verdicts give the same file.
    places = sorted(verdicts)
    return PastDraw(
        code,
        rows.keys[places],
        np.array([verdicts[row][0] for row in places], dtype=np.int64),
        drawn.sizes.astype(np.int64),
        np.array([verdicts[row][1] for row in places], dtype=np.int32),
        rows.keys[drawn.known] if known is None else known.known,
    )


def agree(past: Sequence[PastDraw], rows: AuditRows) -> tuple[PastDraw, ...]:
    """The draws, in which a row that was drawn twice has one verdict; an error if one says yes and one says no.

    Somebody may be able to say what somebody else was not.
    """
    found: dict[int, int] = {}
    for each in past:
        for key, verdict in zip(each.rows.tolist(), each.verdict.tolist(), strict=True):
            before = found.get(key, OPEN)
            if {before, verdict} == {YES, NO}:
                name = rows.ids[rows.find(np.array([key]))[0]]
                raise InvalidTable(
                    f"{name!r} was drawn twice and has two verdicts that differ, {said(before)} and {said(verdict)}. "
                    "Keep the right one in both files."
                )
            found[key] = max(before, verdict, key=_KNOWN.index)
    return tuple(
        replace(each, verdict=np.array([found[key] for key in each.rows.tolist()], dtype=np.int32)) for each in past
    )


def check_strata(past: Sequence[PastDraw], rows: AuditRows, where: str) -> None:
    """Raise an error if the values of rows have changed since they were drawn."""
    for each in past:
        moved = count_moved(as_audit(each, rows).draw, rows.labelled, rows.order)
        if moved:
            raise InvalidTable(
                f"{where}: by their values, {moved} of the {len(each.rows)} rows drawn are not in the part of the list "
                "that they were drawn from, so the table has changed since. Use the table as it was."
            )


def count_verdicts(past: Sequence[PastDraw]) -> list[int]:
    """The rows that were drawn, and those of each verdict, of draws that agree; a row drawn twice counts once."""
    told = list({key: word for each in past for key, word in zip(each.rows, each.verdict, strict=True)}.values())
    return [len(told), *(told.count(each) for each in (YES, NO, UNSURE, OPEN))]


def as_audit(past: PastDraw, rows: AuditRows, unsure: float = math.nan) -> Audit:
    """A draw with its verdicts as numbers; `unsure` stands for rows of which nobody can say."""
    numbers = {YES: 1.0, NO: 0.0, OPEN: math.nan, UNSURE: unsure}
    places = rows.find(past.rows)
    drawn = Draw(places, past.stratum.astype(np.intp), past.sizes.astype(np.intp), np.sort(rows.find(past.known)))
    return Audit(drawn, np.array([numbers[each] for each in past.verdict.tolist()]))
