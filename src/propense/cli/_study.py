"""`propense study`: run a plan, show its progress, and read its results."""

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from propense._files import write_atomically
from propense.cli._json import Json, print_error, print_json
from propense.cli._outputs import keep_apart
from propense.cli._printing import harmless, say
from propense.errors import InvalidOption, LedgerError, MissingExtra

if TYPE_CHECKING:
    from propense.study import Study
    from propense.study.grids import Grid

__all__ = ["study"]

# The number of failures listed, and what a cell is named by.
_SHOWN = 20
_CELL = ("dataset", "mechanism", "frequency", "method", "repeat")

study = typer.Typer(
    no_args_is_help=True, help="Run, resume and compare experiments: those of the JERM paper, or your own."
)

Plan = Annotated[Path, typer.Argument(help="The plan of the study, a TOML file.", exists=True, dir_okay=False)]
LedgerFile = Annotated[Path | None, typer.Option("--ledger", help="The file of results. Default: next to the plan.")]
Format = Annotated[str, typer.Option("--format", help="csv, or table for the terminal.")]
Out = Annotated[Path | None, typer.Option("--out", help="Write to this file instead of standard output.")]


@study.command("run")
def run_study(
    plan: Plan,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="The number of processes.")] = 1,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            help="Use a Dask cluster instead of processes: the address of its scheduler, such as tcp://host:8786.",
        ),
    ] = None,
    ledger: LedgerFile = None,
    retry: Annotated[bool, typer.Option("--retry", help="Repeat the experiments that failed before.")] = False,
    again: Annotated[
        list[str] | None,
        typer.Option("--again", help="Measure this method again, after a change to its code. May be repeated."),
    ] = None,
    json: Json = False,
) -> None:
    """Run the experiments that are not in the file of results yet. If stopped, the same command continues."""
    from propense.cli._console import Console
    from propense.cli._progress import ProgressBar
    from propense.study import Ledger
    from propense.study import run as run_cells

    what = _read(plan)
    # Python files next to the plan can be imported, for methods of the user. Only this command imports them.
    sys.path.insert(0, str(plan.resolve().parent))
    for name in again or []:
        _check_method("--again", name, what)
    console = Console(stderr=True)
    shown = ProgressBar(console, len(what))
    with Ledger(_ledger_path(plan, ledger)) as book:
        try:
            # rich before 14.3 ends a bar that is disabled with an empty line.
            with shown.bar if console.is_terminal else nullcontext():
                progress = run_cells(
                    what,
                    book,
                    jobs=jobs,
                    dask=dask,
                    retry=retry,
                    again=again or [],
                    on_start=shown.on_start,
                    on_record=shown.on_record,
                )
        except KeyboardInterrupt:
            console.print("Stopped. The records so far are kept; run the same command to continue.")
            print_error("Interrupted", "The command was stopped. The records so far are kept.")
            raise typer.Exit(130) from None
    console.print(
        f"{progress.done} of {progress.total} records, {progress.failed} failed: {_ledger_path(plan, ledger)}",
        soft_wrap=True,
    )
    if json:
        facts = {"done": progress.done, "total": progress.total, "failed": progress.failed}
        print_json("study run", {**facts, "files": {"ledger": _ledger_path(plan, ledger)}})
    if progress.failed:
        console.print("propense study status lists the failures; --retry repeats them.")
        raise typer.Exit(1)


@study.command("status")
def status(plan: Plan, ledger: LedgerFile = None, json: Json = False) -> None:
    """Show how many records there are, how many are missing, and what failed."""
    from rich.table import Table

    from propense.cli._console import Console

    what = _read(plan)
    rows = _rows(plan, ledger, what, needed=False)
    each = len(what) // len(what.datasets)
    if json:
        print_json("study status", _status(what, rows, each))
        return
    table = Table(title=f"{len(rows)} of {len(what)} records")
    for column in ("data set", "done", "failed", "missing"):
        table.add_column(column, justify="left" if column == "data set" else "right")
    for name in what.datasets:
        mine = [row for row in rows if row["dataset"] == name]
        failed = sum(row["error"] is not None for row in mine)
        table.add_row(name, str(len(mine) - failed), str(failed), str(each - len(mine)))
    console = Console()
    console.print(table)
    failed_rows = [row for row in rows if row["error"]]
    for row in failed_rows[:_SHOWN]:
        cell = " ".join(str(row[name]) for name in _CELL if row[name] is not None)
        console.print(f"{cell}: {row['error']}", soft_wrap=True)
    if len(failed_rows) > _SHOWN:
        console.print(f"And {len(failed_rows) - _SHOWN} more: propense study export lists them all.")


def _status(what: "Study", rows: list[dict[str, Any]], each: int) -> dict[str, Any]:
    """The records of a study in plain values."""
    sets = []
    for name in what.datasets:
        mine = [row for row in rows if row["dataset"] == name]
        failed = sum(row["error"] is not None for row in mine)
        sets.append({"name": name, "done": len(mine) - failed, "failed": failed, "missing": each - len(mine)})
    failures = [{**{name: row[name] for name in _CELL}, "error": row["error"]} for row in rows if row["error"]]
    return {"records": len(rows), "total": len(what), "datasets": sets, "failures": failures}


@study.command("export")
def export(
    plan: Plan,
    ledger: LedgerFile = None,
    form: Annotated[str, typer.Option("--format", help="csv, or parquet (with --out).")] = "csv",
    out: Out = None,
    json: Json = False,
) -> None:
    """Write every record, one per row."""
    keep_apart([plan, _ledger_path(plan, ledger)], {"--out": out})
    rows = _rows(plan, ledger, _read(plan), needed=False)
    if not rows:
        path = _ledger_path(plan, ledger)
        raise LedgerError(f"There is no record of {plan} in {path}. Run the study first: propense study run {plan}")
    if json and out is None and form == "csv":
        print_json("study export", {"records": rows, "files": {"out": None}})
        return
    if form == "csv":
        _write_csv(rows, out)
    elif form == "parquet" and out is not None:
        _write_parquet(rows, out)
    else:
        raise InvalidOption(f"--format {form}: use csv, or parquet with --out FILE.")
    if json:
        print_json("study export", {"records": rows, "files": {"out": out}})


@study.command("table")
def table_study(
    plan: Plan,
    ledger: LedgerFile = None,
    form: Annotated[str, typer.Option("--format", help="table, markdown, latex or csv.")] = "table",
    of: Annotated[
        str | None, typer.Option("--of", help="Count the wins of this method. Default: jerm, or the last of the plan.")
    ] = None,
    score: Annotated[
        str, typer.Option("--score", help="The score to show, such as auc, log_loss, propensity_error or seconds.")
    ] = "balanced_accuracy",
    out: Out = None,
    json: Json = False,
) -> None:
    """Show tables as in the paper: mean ± standard deviation, average ranks, and wins, losses and draws."""
    from propense.study.grids import HIGHER_IS_BETTER, WRITERS, duel_grid, favourite, mean_grids, win_grid
    from propense.study.natural_scores import NATURAL_SCORES
    from propense.study.summaries import SCORES, summarise

    _check_format(form, out, list(WRITERS))
    keep_apart([plan, _ledger_path(plan, ledger)], {"--out": out})
    what = _read(plan)
    if of is not None:
        _check_method("--of", of, what)
    scores = (*SCORES, *NATURAL_SCORES) if what.protocol == "natural" else SCORES
    if score not in scores:
        raise InvalidOption(f"--score {score}: there is no such score. The scores: {', '.join(scores)}.")
    rows = _rows(plan, ledger, what)
    summaries, champion = summarise(rows, score), of or favourite(what)
    grids = mean_grids(summaries, score)
    if score in HIGHER_IS_BETTER:
        grids += [duel_grid(summaries, champion), win_grid(summaries, champion)]
    if json:
        if out is not None:
            with _stream(out) as file:
                file.write(WRITERS[form](grids))
        facts = {"score": score, "tables": grids, "records": len(rows), "total": len(what)}
        print_json("study table", {**facts, "files": {"out": out}})
        return
    if form == "table":
        _show(grids)
        print(f"From {len(rows)} of {len(what)} records.")
        return
    with _stream(out) as file:
        file.write(WRITERS[form](grids))


@study.command("compare")
def compare_study(
    plan: Plan, ledger: LedgerFile = None, form: Format = "table", out: Out = None, json: Json = False
) -> None:
    """Compare the means with those of the paper: by cell (csv), or by method, with the largest differences (table)."""
    from propense.study.compare import caveats, compare, difference_grids, published_methods
    from propense.study.summaries import summarise

    _check_format(form, out, ["csv"])
    keep_apart([plan, _ledger_path(plan, ledger)], {"--out": out})
    what = _read(plan)
    differences = compare(summarise(_rows(plan, ledger, what)), published_methods(what))
    for sentence in caveats(what):
        print(f"Note: {harmless(sentence)}", file=sys.stderr)
    if not differences:
        raise LedgerError(f"The paper has no results for the experiments of {plan}.")
    if form == "csv" and not (json and out is None):
        _write_csv([asdict(each) for each in differences], out)
    elif not json:
        _show(difference_grids(differences, 15))
    if json:
        facts = [asdict(each) for each in differences]
        print_json("study compare", {"caveats": caveats(what), "differences": facts, "files": {"out": out}})


@study.command("report")
def report(
    plan: Plan,
    ledger: LedgerFile = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The HTML file to write. Default: next to the plan.")
    ] = None,
    json: Json = False,
) -> None:
    """Write an HTML page with every table and figure. It can be read offline."""
    from propense.report import gather_study, render

    out = plan.with_suffix(".html") if out is None else out
    keep_apart([plan, _ledger_path(plan, ledger)], {"--out": out})
    what = _read(plan)
    render(gather_study(what, _rows(plan, ledger, what), f"Study {plan.stem}")).write(out)
    if json:
        print_json("study report", {"files": {"out": out}})
        return
    say(str(out))


def _read(plan: Path) -> "Study":
    from propense.study import Study

    return Study.from_toml(plan)


def _check_method(option: str, name: str, what: "Study") -> None:
    known = [method.name for method in what.methods]
    if name not in known:
        raise InvalidOption(f"{option} {name}: the plan has no such method. Its methods: {', '.join(known)}.")


def _check_format(form: str, out: Path | None, written: Sequence[str]) -> None:
    """Raise an error for an unknown format, and for a file of what is only shown."""
    known = ["table", *written]
    if form not in known:
        raise InvalidOption(f"--format {form}: use {' or '.join(known)}.")
    if form == "table" and out is not None:
        raise InvalidOption(f"--out {out}: a table cannot be written. Use --format {' or '.join(written)}.")


def _ledger_path(plan: Path, ledger: Path | None) -> Path:
    return plan.with_suffix(".ledger") if ledger is None else ledger


def _rows(plan: Path, ledger: Path | None, what: "Study", *, needed: bool = True) -> list[dict[str, Any]]:
    """The records of the plan; an error if they are needed and there are none."""
    from propense.study import Ledger

    path = _ledger_path(plan, ledger)
    if not path.exists():
        raise LedgerError(f"There is no ledger {path} yet. Run the study first: propense study run {plan}")
    with Ledger(path) as book:
        rows = book.rows(what.cells())
    if needed and not any(row["error"] is None for row in rows):
        if rows:
            raise LedgerError(f"Every record of {plan} in {path} failed. See why: propense study status {plan}")
        raise LedgerError(f"There is no record of {plan} in {path}. Run the study first: propense study run {plan}")
    return rows


def _show(grids: "Sequence[Grid]") -> None:
    from rich.table import Table

    from propense.cli._console import Console

    for grid in grids:
        shown = Table(title=grid.title)
        for column in grid.head:
            shown.add_column(column, justify="left" if column == grid.head[0] else "right")
        for line in grid.lines:
            shown.add_row(*line)
        Console().print(shown)


def _write_csv(rows: list[dict[str, Any]], out: Path | None) -> None:
    with _stream(out) as file:
        # The records of natural labels have further measures, which differ between methods.
        writer = csv.DictWriter(file, dict.fromkeys(name for row in rows for name in row), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_parquet(rows: list[dict[str, Any]], out: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra('pyarrow is needed to write Parquet. Install it: pip install "propense[study]".') from None
    with write_atomically(out, InvalidOption) as path:
        names = dict.fromkeys(name for row in rows for name in row)
        parquet.write_table(pyarrow.Table.from_pylist([dict.fromkeys(names) | row for row in rows]), path)


@contextmanager
def _stream(out: Path | None) -> Iterator[TextIO]:
    if out is None:
        if not sys.stdout.isatty():
            yield sys.stdout
            return
        text = io.StringIO()
        yield text
        say(*text.getvalue().removesuffix("\n").split("\n"))
        return
    with write_atomically(out, InvalidOption) as path, path.open("w", newline="", encoding="utf-8") as file:
        yield file
