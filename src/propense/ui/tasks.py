"""What a worker process does with a table: look at it, fit it, draw an audit, use its verdicts."""

import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from propense.errors import InvalidOption, PropenseError
from propense.estimators import find_method
from propense.model_files import inspect, load, save
from propense.report import gather_fit, render
from propense.report.plain import plain_notes
from propense.tables import (
    FitOptions,
    TableFile,
    TableFit,
    correct_model,
    draw_audit,
    fit_table,
    list_rows,
    read_audit,
    score_file,
    write_audit,
    write_list,
)
from propense.tables.audit_words import describe_audit, describe_correction
from propense.tables.cells import plain_text
from propense.tables.formats.excel_files import sheet_names
from propense.tables.formats.names import find_format
from propense.tables.labels import read_label
from propense.tables.prepare import check_columns
from propense.tables.prior_words import read_prior
from propense.tables.review import check_list
from propense.tables.schema import infer_schema
from propense.ui.findings import describe_audit_result, describe_result
from propense.ui.folder import read_json, write_json
from propense.ui.words import FIELDS

__all__ = ["TASKS", "fit_options"]

Say = Callable[[str, int, int], None]
# Rows of the preview, the most values that are offered as those of a label, and the longest cell that is shown.
_ROWS, _VALUES, _LONGEST = 5, 6, 120
# Columns of an audit's row that are kept for the page.
_SHOWN = 400


def look(say: Say, table: str) -> dict[str, Any]:
    """The columns of a table: names, kinds, first cells, and the values of those that have few; and how it was read.

    If it cannot be read, but may be once somebody says how, that is its problem, and there are no columns.
    """
    path = Path(table)
    format = find_format(path)
    seen: dict[str, Any] = {"columns": [], "rows": 0, "problem": "", "text": format in ("csv", "tsv", "jsonl")}
    seen["sheets"] = sheet_names(path) if format == "xlsx" else []
    try:
        source = _open(table)
        rows = source.read()
    except PropenseError as error:
        several = len(seen["sheets"]) > 1
        if not several and ("encoding=" not in str(error) or _is_binary(path)):
            raise
        asked = several and "sheet=" in str(error)
        words = f"{table} has {len(seen['sheets'])} sheets. Choose the one that holds the table." if asked else error
        return {**seen, "problem": str(words)}
    seen["columns"] = [{"name": name, **_column(rows, name)} for name in source.columns]
    return {**seen, "rows": rows.num_rows, "sheet": source.sheet, "encoding": source.encoding if seen["text"] else None}


def _is_binary(path: Path) -> bool:
    """Whether a file begins as no text does, such as a picture under the name of a table."""
    with path.open("rb") as file:
        return b"\0" in file.read(1 << 12)


def _open(table: str) -> TableFile:
    """The table of a job, to be read as was chosen."""
    chosen = read_json(Path(table).with_name("reading.json")) or {}
    return TableFile(Path(table), sheet=chosen.get("sheet"), encoding=chosen.get("encoding"))


def _column(rows: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": "", "problem": "", "values": [], "cells": []}
    try:
        schema, notes = infer_schema(rows.select([name]), [name], "")
        found["kind"] = schema.columns[0].kind if schema.columns else "left out"
        found["problem"] = "" if schema.columns else " ".join(notes).replace(" was left out", " is left out")
    except PropenseError as error:
        found["problem"] = str(error).removeprefix(", ")
    try:
        text = plain_text(rows.column(name))
        found["cells"] = [_short(cell) for cell in text.slice(0, _ROWS).to_pylist()]
        values = text.unique()
        if len(values) <= _VALUES:
            found["values"] = sorted(_short(value) for value in values.to_pylist() if value)
    except Exception:
        # Cells of a type that has no text. The column can still be left out.
        found["cells"] = ["…"] * min(_ROWS, rows.num_rows)
    return found


def _short(cell: Any) -> str:
    text = "" if cell is None else str(cell)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def fit_options(options: dict[str, Any]) -> FitOptions:
    """The options of a fit, as they were chosen on the page."""
    known = {each.name for each in fields(FitOptions)}
    chosen = {name: value for name, value in options.items() if name in known}
    return FitOptions(**{**chosen, "prior": read_prior(options.get("prior"), FIELDS["prior"])})


def check(say: Say, table: str, name: str, options: dict[str, Any]) -> None:
    """Raise an error if a fit with these options would fail before it begins to learn."""
    source = _open(table)
    chosen = fit_options(options)
    check_columns(source.columns, chosen, name)
    check_list(find_method(chosen.method_name)[0], source.columns, Path("list.csv"), name)
    if len(chosen.labels) == 1:
        label = chosen.labels[0]
        read_label(source.read([label]).column(label), label, name, chosen.positive)


def fit(say: Say, folder: str, table: str, name: str) -> None:
    """Fit, and write the model, the list, the report, the scored table and the summary into results."""
    job = Path(folder)
    options = read_json(job / "options.json") or {}
    source, chosen = _open(table), fit_options(options)
    decimal, defuse = chosen.decimal, bool(options.get("defuse"))
    check_list(find_method(chosen.method_name)[0], source.columns, Path("list.csv"), name)
    say("read", 0, 0)
    rows = source.read()
    # The model goes on with the sheet and the encoding elsewhere.
    found = fit_table(rows, chosen, where=name, progress=say).written_as(source.spelling)
    assert found.model is not None
    say("write", 0, 3)
    out = job / ".run"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    _save(found, name, out / "model.propense")
    listed = list_rows(found, int(options.get("top") or 50), rows)
    write_list(listed, rows, source, out / "list.csv", defuse=defuse, decimal=found.model.spelling.decimal)
    say("write", 1, 3)
    render(gather_fit(found, name)).write(out / "report.html")
    say("write", 2, 3)
    notes = plain_notes(found)
    try:
        score_file(found.model, source, out / "scored.csv", decimal=decimal, defuse=defuse)
    except PropenseError as error:
        notes.append(f"The scored table was not written. {error}")
    write_json(out / "result.json", describe_result(found, listed, notes))
    shutil.rmtree(job / "results", ignore_errors=True)
    out.rename(job / "results")


def _save(found: TableFit, name: str, path: Path) -> None:
    about: dict[str, Any] = {"table": name, "rows": found.counts.rows}
    if found.scar is not None:
        about |= {"scar_p_value": found.scar.p_value}
    save(found.model, path, about=about)


def draw(say: Say, table: str, name: str, folder: str, model: str, options: dict[str, Any]) -> int:
    """Draw rows for an audit into a folder; how many there are."""
    fitted, source = load(model), _open(table)
    rows = draw_audit(
        fitted,
        source.read(),
        options["size"],
        seed=options["seed"],
        top=options["top"],
        columns=options["columns"],
        model_code=_code(model),
        where=name,
        decimal=options["decimal"],
    )
    out = Path(folder)
    write_audit(rows, source, out / "drawn.arrow", decimal=options["decimal"])
    shown = rows.column_names[2:-3][:_SHOWN]
    cells = [[_short(cell) for cell in plain_text(rows.column(each)).to_pylist()] for each in shown]
    ids = plain_text(rows.column(0)).to_pylist()
    write_json(
        out / "rows.json",
        {
            "id": rows.column_names[0],
            "ids": ids,
            "columns": shown,
            "rows": [list(each) for each in zip(*cells, strict=True)],
        }
        if cells
        else {"id": rows.column_names[0], "ids": ids, "columns": [], "rows": [[] for _ in ids]},
    )
    return int(rows.num_rows)


def verdicts(
    say: Say, table: str, drawn: str, words: list[str], out: str, decimal: str | None, defuse: bool, answered: bool
) -> None:
    """Write the rows of an audit with the verdicts marked so far; `answered` leaves out rows without one."""
    import pyarrow as pa

    rows = TableFile(Path(drawn)).read()
    rows = rows.set_column(1, "verdict", pa.array(words, pa.string()))
    if answered:
        rows = rows.filter(pa.array([word != "" for word in words]))
    write_audit(rows, _open(table), Path(out), decimal=decimal, defuse=defuse)


def correct(
    say: Say,
    folder: str,
    table: str,
    name: str,
    model: str,
    words: list[str],
    decimal: str | None,
    defuse: bool,
    top: int,
) -> None:
    """Read the verdicts of an audit, and write the corrected model, its list and scores, and what was found."""
    if not {"yes", "no"} & set(words):
        raise InvalidOption("No row is marked positive or negative yet. Mark some rows first.")
    audit, source = Path(folder), _open(table)
    out = audit / ".run"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    say("read", 0, 0)
    # Where only positives are marked, a file with empty cells may mean that these are negative; here they are open.
    drawn, only = str(audit / "drawn.arrow"), not {"no", "?"} & set(words)
    verdicts(say, table, drawn, words, str(out / "check.arrow"), decimal, False, only)
    fitted = load(model)
    say("audit", 0, 1)
    found = read_audit(
        fitted, source.read(), [out / "check.arrow"], model_code=_code(model), where=name, decimal=decimal
    )
    corrected = correct_model(fitted, found)
    save(corrected, out / "corrected.propense", about=inspect(model)["about"])
    say("write", 1, 3)
    listed = score_file(corrected, source, out / "list.csv", top=top, decimal=decimal, defuse=defuse)
    say("write", 2, 3)
    score_file(corrected, source, out / "scored.csv", decimal=decimal, defuse=defuse)
    (out / "check.arrow").unlink()
    lines = [*describe_audit(found), describe_correction(corrected), str(listed.promise)]
    # It speaks of files, and here there are none.
    lines = [line for line in lines if "are in no file" not in line and "negative=''" not in line]
    write_json(
        out / "audit.json",
        {**describe_audit_result(found), "lines": lines, "words": words, "promise": str(listed.promise)},
    )
    shutil.rmtree(audit / "results", ignore_errors=True)
    out.rename(audit / "results")


def _code(model: str) -> str:
    """The code that a model file is recognised by."""
    return str(inspect(model)["sha256"][:8])


TASKS: dict[str, Callable[..., Any]] = {
    "look": look,
    "check": check,
    "fit": fit,
    "draw": draw,
    "verdicts": verdicts,
    "correct": correct,
}
