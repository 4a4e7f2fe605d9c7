"""`propense score`: the scores of new rows."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from propense.cli._json import Json, print_json
from propense.cli._methods import find_method
from propense.cli._options import FILES, Decimal, Defuse, Encoding, Format, Method, ModelFile, Sheet, Table, load_model
from propense.cli._outputs import keep_apart
from propense.cli._printing import say
from propense.cli._streams import STANDARD, open_table, said_of, standard_output

__all__ = ["score"]


def score(
    table: Table,
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", help=f"The file to write: {FILES}; or - for standard output.")],
    top: Annotated[
        int | None,
        typer.Option("--top", min=1, help="Write only this many unlabelled rows, the most likely positives first."),
    ] = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    format: Format = None,
    defuse: Defuse = False,
    method: Method = None,
    json: Json = False,
) -> None:
    """Add the scores posterior, propensity and hidden to a table of any size, or list the rows to review first."""
    if method is not None:
        find_method(method)
    # Notes on the model must not stand in what goes to standard output.
    notes: list[str] = []
    fitted = load_model(model, notes.append)
    source = open_table(table, format=format, sheet=sheet, encoding=encoding, expected=fitted.spelling)
    keep_apart([table, model], {"--out": out})
    with standard_output(out, source, format) as path:
        say(*notes)
        done = _score(fitted, source, path, top=top, decimal=decimal, defuse=defuse)
        remarks = _remarks(fitted, source, done, top)
        if json:
            from propense.cli._results import score_result

            # The same is said below, on standard error.
            print_json("score", score_result(done, fitted, out, remarks))
        say(f"{done.rows:,} rows: {done.labelled:,} labelled ({fitted.label}).", *remarks)
        if top is None:
            say(done.promise.about(f"the {done.rows - done.labelled:,} unlabelled rows"))
            say(*_checks(fitted, done, table, model, decimal))
        elif done.listed:
            say(str(done.promise))
        else:
            say("No row is left to review: every row has a label or a verdict. The list is empty.")
        say(f"Wrote {'standard output' if str(out) == '-' else out} ({done.rows / done.seconds:,.0f} rows per second).")


def _checks(fitted: Any, done: Any, table: Path, model: Path, decimal: str | None) -> list[str]:
    """What checked rows would say of this table, and the command that draws them."""
    from propense.tables.audit_advice import AuditAdvice, widths_after

    if done.promise.unpromised or hasattr(fitted.estimator, "audit_") or table.is_dir() or table == STANDARD:
        return []
    advice = AuditAdvice(widths_after(done.rows, done.labelled, (done.labelled + done.promise.expected) / done.rows))
    return [advice.with_command(str(table), str(model), decimal)] if advice.widths else []


def _score(fitted: Any, source: Any, out: Path, **options: Any) -> Any:
    """Score the rows, with a count of them on a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from propense.cli._console import Console
    from propense.tables import score_file

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("rows", total=None)
    # rich before 14.3 ends a bar that is disabled with an empty line.
    with bar if console.is_terminal else nullcontext():
        return score_file(fitted, source, out, progress=lambda rows: bar.update(task, completed=rows), **options)


def _remarks(fitted: Any, source: Any, done: Any, top: int | None) -> list[str]:
    """Lines on what was read, and on what is known of the rows."""
    lines = said_of(source)
    if done.decimal is not None:
        here, before = ("commas", "points") if done.decimal == "," else ("points", "commas")
        words = f"The numbers of this table have decimal {here}, those of the fit had {before}"
        lines.append(f"Note: {words}. They were read accordingly.")
    for name in fitted.label.columns:
        if name not in source.columns:
            by = "" if len(fitted.label.columns) == 1 else " by it"
            lines.append(f"The table has no column {name!r}, so every row is treated as unlabelled{by}.")
    if not hasattr(fitted.estimator, "audit_"):
        lines += _fitted_rows(fitted, done.fitted, done.held_out)
    for name, count in done.new_levels.items():
        words = f"{count:,} cells of the column {name!r} hold a category that was not in the fit"
        lines.append(f"Note: {words}. They are treated as its most frequent category.")
    lines += [f"Changed since the fit: {line}" if done.drift.checked else f"Note: {line}" for line in done.drift.lines]
    if fitted.audits and fitted.id is not None and fitted.id not in source.columns:
        unknown = "so rows that the audit has a verdict on are not recognised"
        lines.append(f"Note: The table has no column {fitted.id!r}, {unknown}.")
    if (checked := done.known_positive + done.known_negative) > 0:
        found = f"{done.known_positive:,} of them positive, {done.known_negative:,} negative"
        listed = " They are not in the list: what is known needs no review." if top is not None else ""
        which = "1 unlabelled row has" if checked == 1 else f"{checked:,} unlabelled rows have"
        lines.append(f"{which} a verdict from the audit, {found}.{listed}")
    return lines


def _fitted_rows(model: Any, count: int | None, held_out: int) -> list[str]:
    """Lines on the rows that were used in the fit, if there are any, and on those whose scores are too certain."""
    if count is None:
        return ["Note: Rows that were used in the fit cannot be recognised here. Their scores would be too certain."]
    lines = []
    if held_out:
        lines.append(f"{held_out:,} of these rows are rows of the fit, scored by models that had not seen them.")
    if count > held_out:
        which = "have the same values as rows of the fit" if model.id is None else "were used in the fit"
        words = f"{count - held_out:,} of these rows {which}; their scores are too certain"
        changed = " Their values differ from those in the fit." if held_out and model.id is not None else ""
        lines.append(f"Note: {words}.{changed} To review them, use fit --list.")
    return lines
