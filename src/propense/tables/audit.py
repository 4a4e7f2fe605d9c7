"""Audits of a table: draw rows for people to check, read their verdicts, and correct the model by them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._files import write_atomically
from propense._representation import Readable, Sheet
from propense.audit import Draw, Findings, ListFinding, correct, draw, read
from propense.errors import InvalidOption, InvalidTable
from propense.estimators import Naive
from propense.tables.audit_files import COLUMNS, ROW, Plan, design_of, make_file, read_file
from propense.tables.audit_rows import AuditRows, read_design, read_rows
from propense.tables.audit_words import describe_audit
from propense.tables.files import TableFile, TableWriter
from propense.tables.folder import TableFolder
from propense.tables.model import ADDED, TableModel, lists_by_class, prior_range
from propense.tables.past_audits import PastDraw, answers
from propense.tables.pooled_audits import agree, as_audit, check_strata, check_verdicts, count_verdicts, pool
from propense.tables.promise import too_little_learned
from propense.tables.verdicts import OPEN

__all__ = ["TableAudit", "Verdicts", "correct_model", "draw_audit", "read_audit", "write_audit"]

# Columns that lists and scores add to a table: a reviewer who sees them is not blind.
_TELLING = (*ADDED, "rank", "hidden_low", "hidden_high")
# The longest list that is looked at, if there are so many rows.
_LENGTHS = tuple(factor * 10**power for power in range(1, 8) for factor in (1, 2, 5) if factor * 10**power >= 50)


@dataclass(frozen=True)
class Verdicts:
    """How many rows were drawn, and what was said of them; a row without a verdict is open."""

    drawn: int
    positive: int
    negative: int
    cannot_say: int
    open: int


@dataclass(frozen=True, repr=False)
class TableAudit(Readable):
    """What the verdicts on rows of a table say; ``str()`` says it in words.

    Attributes
    ----------
    findings : Findings
        The estimates, with their intervals: ``positives``, ``hidden`` and ``label_frequency``.
    verdicts : Verdicts
        How many rows were drawn, and what was said of them.
    lists : list of ListFinding
        How good the list of rows to review is, at several lengths.
    of_rows : Findings
        The same estimates for the rows of the table; they differ if the table is a survey's sample.
    model_share : float
        The share of positives that the model alone gives.
    model_range : (float, float) or None
        The range of that share; None if the method gives none, or if the rows have weights.
    model_unsure : bool
        Whether the fit gave no number, because too little was learned.
    if_all_no, if_all_yes : float
        The estimated share of positives if every row of which nobody can say were negative, or positive.
    rows : AuditRows
        The rows of the table, for `correct_model`.
    draws : tuple of PastDraw
        What the corrected model will remember of the draws, earlier ones included.
    missing : int
        How many of the open rows are in no file.
    earlier : int
        How many draws the model remembered.
    """

    findings: Findings
    verdicts: Verdicts
    lists: list[ListFinding]
    of_rows: Findings
    model_share: float
    model_range: tuple[float, float] | None
    model_unsure: bool
    if_all_no: float
    if_all_yes: float
    rows: AuditRows
    draws: tuple[PastDraw, ...]
    missing: int
    earlier: int

    def __str__(self) -> str:
        return "\n".join(describe_audit(self))

    def _headline(self) -> str:
        return self.findings._headline()

    def _sheets(self) -> list[Sheet]:
        return list(self.findings._sheets())


def draw_audit(
    model: TableModel,
    table: Any,
    size: int = 200,
    *,
    seed: int = 0,
    top: int | None = None,
    columns: Sequence[str] | None = None,
    model_code: str = "0" * 8,
    where: str = "the table",
    decimal: str | None = None,
) -> Any:
    """Draw unlabelled rows of a table for people to check.

    Parameters
    ----------
    model : TableModel
        Rows that it has verdicts on are not drawn.
    table : pyarrow.Table
    size : int, default=200
        How many rows to draw.
    seed : int, default=0
    top : int, default=None
        The length of the list that will be reviewed: at least a quarter of the rows are drawn from it.
    columns : list of str, default=None
        What a reviewer needs to see. Default: all columns but the label.
    model_code : str, default="00000000"
        Eight letters and digits that stand for the model, so that `read_audit` recognises it.
    where : str, default="the table"
        The name of the table in errors.
    decimal : {".", ","}, default=None
        The decimal sign of numbers written as text. None means the one that they show, or else that of the table of the
        fit.

    Returns
    -------
    pyarrow.Table
        The rows in random order: the id, an empty column verdict, the columns, and audit_stratum, audit_weight and
        audit_code, which `read_audit` needs.
    """
    shown = _shown(model, table.column_names, columns, where)
    rows = read_rows(model, table, where, decimal)
    asked = _whole("seed", seed, 0), _whole("size", size), 0 if top is None else _whole("top", top)
    _check_memory(model, rows, where)
    drawn = _draw(rows, *asked, answers(model.audits, rows.keys) != OPEN, where)
    return make_file(drawn, Plan(rows.code, model_code, *asked, design_of(drawn)), rows, table, model.id, shown, where)


def write_audit(
    rows: Any,
    source: TableFile | TableFolder,
    out: Path,
    *,
    decimal: str | None = None,
    defuse: bool = False,
    numbers: Sequence[str] = (),
) -> None:
    """Write the rows of `draw_audit` to a file.

    Parameters
    ----------
    rows : pyarrow.Table
    source : TableFile or TableFolder
        The table that they were drawn from: a CSV file gets its separator and byte order mark.
    out : Path
        The format follows from its name.
    decimal : {".", ","}, default=None
        The decimal sign of a CSV file. None means a comma where semicolons separate the cells, and a point elsewhere.
    defuse : bool, default=False
        As in `score_file`.
    numbers : list of str, default=()
        Columns of text that hold numbers. Excel gets them as numbers.
    """
    with (
        write_atomically(Path(out), InvalidTable) as path,
        TableWriter.like(path, source, defuse=defuse, decimal=decimal, numbers=numbers) as output,
    ):
        output.write(rows)


def read_audit(
    model: TableModel,
    table: Any,
    files: Sequence[Path],
    *,
    positive: str | None = None,
    negative: str | None = None,
    confidence: float = 0.95,
    weights: str | None = None,
    strata: str | None = None,
    clusters: str | None = None,
    model_code: str = "0" * 8,
    where: str = "the table",
    decimal: str | None = None,
) -> TableAudit:
    """What the verdicts in files that `draw_audit` made say about all rows of the table.

    Parameters
    ----------
    model : TableModel
        The model that the rows were drawn with. Verdicts that it remembers count too.
    table : pyarrow.Table
        The table that the rows were drawn from.
    files : list of Path
        The files with the verdicts. A draw may be spread over several files.
    positive, negative : str, default=None
        The words for positive and negative rows, if they are not clear.
    confidence : float, default=0.95
        How often the intervals should hold the truth, if every verdict is right and every labelled row is positive.
    weights, strata, clusters : str, default=None
        If the table is a survey's sample: the columns of the weights, strata and clusters. Shares are then those of the
        population. The model is corrected for the rows of the table all the same.
    model_code, where, decimal
        As in `draw_audit`.

    Returns
    -------
    TableAudit
    """
    rows = read_rows(model, table, where, decimal)
    _check_memory(model, rows, where)
    again, known = partial(_draw_again, model, rows, model_code, where), {each.code: each for each in model.audits}
    plans: dict[str, Draw] = {}
    words = positive, negative, model.label
    returned = [read_file(Path(each), rows, plans, model.id, again, *words) for each in files]
    check_verdicts(returned, rows, list(map(str, files)))
    draws = dict(known)
    for code, drawn in plans.items():
        draws[code] = pool(code, drawn, [each for each in returned if each.plan.code == code], rows, known.get(code))
    past = agree(tuple(draws.values()), rows)
    check_strata(past, rows, where)
    missing = sum(max(len(drawn.rows) - len(draws[code].rows), 0) for code, drawn in plans.items())
    every, yes, no, unsure, still_open = count_verdicts(past)
    count = Verdicts(every + missing, yes, no, unsure, still_open + missing)
    if not count.positive + count.negative:
        what = "nobody can say of any row" if count.cannot_say else "no row has a verdict yet"
        raise InvalidTable(f"{', '.join(map(str, files))}: {what}. Fill in the column verdict.")
    design = read_design(table, weights, strata, clusters, where, decimal or model.spelling.decimal)
    survey = {name: values[rows.places] for name, values in design.items()}
    plain = partial(read, hidden=rows.hidden, labelled=rows.labelled, order=rows.order, confidence=confidence)
    find = partial(plain, **survey)
    findings = find([as_audit(each, rows) for each in past])
    unlabelled = int((~rows.labelled).sum())
    lengths = [length for length in _LENGTHS if length <= unlabelled] or [unlabelled]
    ends = [
        find([as_audit(each, rows, unsure) for each in past]).positives.estimate if count.cannot_say else math.nan
        for unsure in (0.0, 1.0)
    ]
    positives = findings.positives.estimate
    return TableAudit(
        findings=findings,
        verdicts=count,
        lists=findings.at(lengths),
        of_rows=plain([as_audit(each, rows) for each in past]) if survey else findings,
        model_share=_model_share(model, rows, survey.get("sample_weight")),
        # The range of a model that was corrected before is that of the earlier audit.
        model_range=None if survey or hasattr(model.estimator, "audit_") else prior_range(model.estimator),
        model_unsure=too_little_learned(model.estimator),
        if_all_no=ends[0] if count.cannot_say else positives,
        if_all_yes=ends[1] if count.cannot_say else positives,
        rows=rows,
        draws=past,
        missing=missing,
        earlier=len(known),
    )


def correct_model(model: TableModel, found: TableAudit) -> TableModel:
    """The model with its chances corrected by the verdicts, which it remembers.

    Parameters
    ----------
    model : TableModel
        The model that `found` was read with.
    found : TableAudit

    Returns
    -------
    TableModel
    """
    along = "posterior" if lists_by_class(model.estimator) else "hidden"
    estimator = correct(model.estimator, found.of_rows, along=along, unsure=found.verdicts.cannot_say)
    return replace(model, estimator=estimator, audits=found.draws)


def _model_share(model: TableModel, rows: AuditRows, weights: NDArray[np.float64] | None) -> float:
    """The share of positives that the model alone gives; to `Naive` the labelled rows are all there are."""
    if isinstance(model.estimator, Naive):
        return float(np.average(rows.labelled, weights=weights))
    return rows.share(weights)


def _shown(model: TableModel, names: Sequence[str], columns: Sequence[str] | None, where: str) -> list[str]:
    """The columns that a reviewer sees."""
    id = model.id or ROW
    taken = [name for name in (*COLUMNS, *([] if model.id else [ROW])) if name in names and name != model.id]
    hidden = {*model.label.columns, id, *_TELLING}
    chosen = [name for name in names if name not in hidden] if columns is None else list(columns)
    taken = [name for name in taken if name in chosen]
    if taken:
        raise InvalidTable(f"{where} has a column {taken[0]!r}, which the audit would add. Rename it.")
    missing = [name for name in chosen if name not in names]
    if missing:
        raise InvalidTable(
            f"{where} has no column {missing[0]!r} (columns=). Its columns: {', '.join(map(repr, names[:20]))}"
            f"{' …' if len(names) > 20 else ''}."
        )
    return [name for name in dict.fromkeys(chosen) if name != id]


def _whole(name: str, value: int, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value < 2**32:
        raise InvalidOption(f"{name}={value!r} is not a whole number of at least {least}, and below 2³².")
    return int(value)


def _draw(rows: AuditRows, seed: int, size: int, top: int, checked: NDArray[np.bool_], where: str) -> Draw:
    if (checked | rows.labelled).all():
        raise InvalidTable(f"{where}: every unlabelled row has a verdict already, so there is nothing to draw.")
    return draw(
        rows.hidden,
        size,
        labelled=rows.labelled,
        checked=checked,
        order=rows.order,
        top=top or None,
        random_state=seed,
    )


def _check_memory(model: TableModel, rows: AuditRows, where: str) -> None:
    """Raise an error if the model remembers verdicts on rows of another table."""
    if any(not each.code.startswith(f"t{rows.code}-") for each in model.audits):
        raise InvalidTable(
            f"{where} is not the table of the model's earlier audit, or its ids or labels have changed since. Use that "
            "table, or a model without an audit."
        )


def _draw_again(model: TableModel, rows: AuditRows, model_code: str, table: str, plan: Plan, where: str) -> Draw:
    """The draw of a file; an error if it belongs to another table or model."""
    if plan.table != rows.code:
        what = "ids or labels" if model.id is not None else "rows, their order or the labels"
        raise InvalidTable(
            f"{where} was drawn from another table than {table}, or the {what} of the table have changed since. "
            "Use the table as it was."
        )
    past = next((each for each in model.audits if each.code == plan.code), None)
    if past is None and plan.model != model_code:
        raise InvalidTable(f"{where} was drawn with another model. Pass the model file that it was drawn with.")
    checked = answers(model.audits, rows.keys) != OPEN if past is None else np.isin(rows.keys, past.known)
    drawn = _draw(rows, plan.seed, plan.size, plan.top, checked, table)
    if design_of(drawn) != plan.design:
        raise InvalidTable(
            f"{where} was drawn by another version of propense, whose strata differ. Read it with that version."
        )
    return drawn
