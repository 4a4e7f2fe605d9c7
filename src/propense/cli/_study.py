"""`propense study`: run a plan, see how far it is, and read what it found."""

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from propense._files import write_atomically
from propense.errors import InvalidOption, LedgerError, MissingExtra

if TYPE_CHECKING:
    from propense.study import Cell, Record, RunProgress, Study

__all__ = ["study"]

# Failures that are listed.
_SHOWN = 20

study = typer.Typer(no_args_is_help=True, help="The paper's experiments, or your own: run, resume, compare.")

Plan = Annotated[Path, typer.Argument(help="A plan in TOML.", exists=True, dir_okay=False)]
LedgerFile = Annotated[Path | None, typer.Option("--ledger", help="The ledger; beside the plan unless given.")]
Format = Annotated[str, typer.Option("--format", help="csv, or table for the terminal.")]
Out = Annotated[Path | None, typer.Option("--out", help="A file to write to instead of standard output.")]


@study.command("run")
def run_study(
    plan: Plan,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Processes.")] = 1,
    dask: Annotated[str | None, typer.Option("--dask", help="The address of a Dask scheduler to use instead.")] = None,
    ledger: LedgerFile = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed before.")] = False,
    again: Annotated[
        list[str] | None,
        typer.Option("--again", help="Measure this method anew, after a change of its code; may be repeated."),
    ] = None,
) -> None:
    """Measure what the ledger lacks. Stop it at any moment and run it again: nothing is lost or done twice."""
    from rich.console import Console

    from propense.cli._progress import ProgressBar
    from propense.study import Ledger
    from propense.study import run as run_cells

    what = _read(plan)
    for name in again or []:
        _check_method("--again", name, what)
    console = Console(stderr=True)
    bar = ProgressBar(console, len(what))

    def on_start(state: "RunProgress") -> None:
        bar.begin(state.done, state.failed)

    def on_record(_: "Cell", record: "Record") -> None:
        bar.advance(failed=record.error is not None)

    with Ledger(_beside(plan, ledger)) as book:
        try:
            with bar.shown():
                progress = run_cells(
                    what,
                    book,
                    jobs=jobs,
                    dask=dask,
                    retry=retry,
                    again=again or [],
                    on_start=on_start,
                    on_record=on_record,
                )
        except KeyboardInterrupt:
            console.print("Stopped. What was measured is kept; the same command goes on from there.")
            raise typer.Exit(130) from None
    console.print(
        f"{progress.done} of {progress.total} records, {progress.failed} failed: {_beside(plan, ledger)}",
        soft_wrap=True,
        markup=False,
    )
    if progress.failed:
        console.print("propense study status shows what failed, and --retry tries it again.")
        raise typer.Exit(1)


@study.command("status")
def status(plan: Plan, ledger: LedgerFile = None) -> None:
    """How many records there are and how many to go, by data set, and what failed."""
    from rich.console import Console
    from rich.table import Table

    what = _read(plan)
    rows = _rows(plan, ledger, what, needed=False)
    table = Table(title=f"{len(rows)} of {len(what)} records")
    for column in ("data set", "done", "failed", "to go"):
        table.add_column(column, justify="left" if column == "data set" else "right")
    each = len(what) // len(what.datasets)
    for name in what.datasets:
        mine = [row for row in rows if row["dataset"] == name]
        failed = sum(row["error"] is not None for row in mine)
        table.add_row(name, str(len(mine) - failed), str(failed), str(each - len(mine)))
    console = Console()
    console.print(table)
    failed_rows = [row for row in rows if row["error"]]
    for row in failed_rows[:_SHOWN]:
        cell = f"{row['dataset']} {row['mechanism']} {row['frequency']} {row['method']} {row['repeat']}"
        console.print(f"{cell}: {row['error']}", markup=False, soft_wrap=True)
    if len(failed_rows) > _SHOWN:
        console.print(f"And {len(failed_rows) - _SHOWN} more; propense study export has them all.")


@study.command("export")
def export(
    plan: Plan,
    ledger: LedgerFile = None,
    form: Annotated[str, typer.Option("--format", help="csv, or parquet (to a file, --out).")] = "csv",
    out: Out = None,
) -> None:
    """Every record, one a row."""
    rows = _rows(plan, ledger, _read(plan))
    if form == "csv":
        _write_csv(rows, out)
    elif form == "parquet" and out is not None:
        _write_parquet(rows, out)
    else:
        raise InvalidOption(f"--format {form}: must be csv, or parquet with --out FILE.")


@study.command("table")
def table_study(
    plan: Plan,
    ledger: LedgerFile = None,
    form: Annotated[str, typer.Option("--format", help="table, markdown, latex or csv.")] = "table",
    of: Annotated[
        str | None, typer.Option("--of", help="The method whose wins are counted: jerm, or the plan's last.")
    ] = None,
    score: Annotated[
        str, typer.Option("--score", help="Any score of a record, such as auc, log_loss, propensity_error or seconds.")
    ] = "balanced_accuracy",
    out: Out = None,
) -> None:
    """The paper's tables: mean ± sd and average ranks for each labelling, then wins, losses and draws."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from propense.study.grids import HIGHER_IS_BETTER, WRITERS, duel_grid, favourite, mean_grids, win_grid
    from propense.study.summaries import SCORES, summarise

    _check_format(form, out, list(WRITERS))
    what = _read(plan)
    if of is not None:
        _check_method("--of", of, what)
    if score not in SCORES:
        raise InvalidOption(f"--score {score}: there is no such score. There are: {', '.join(SCORES)}.")
    rows = _rows(plan, ledger, what)
    summaries, champion = summarise(rows, score), of or favourite(what)
    grids = mean_grids(summaries, score)
    if score in HIGHER_IS_BETTER:
        grids += [duel_grid(summaries, champion), win_grid(summaries, champion)]
    if form == "table":
        for grid in grids:
            shown = Table(title=escape(grid.title))
            for column in grid.head:
                shown.add_column(escape(column), justify="left" if column == grid.head[0] else "right")
            for line in grid.lines:
                shown.add_row(*map(escape, line))
            Console().print(shown)
        print(f"From {len(rows)} of {len(what)} records.")
        return
    with _stream(out) as file:
        file.write(WRITERS[form](grids))


@study.command("compare")
def compare_study(plan: Plan, ledger: LedgerFile = None, form: Format = "table", out: Out = None) -> None:
    """Our means beside the paper's: by cell (csv), or by method with the cells that differ most (table)."""
    from rich.console import Console
    from rich.table import Table

    from propense.study.compare import caveats, compare, per_method, published_methods
    from propense.study.summaries import summarise

    _check_format(form, out, ["csv"])
    what = _read(plan)
    differences = compare(summarise(_rows(plan, ledger, what)), published_methods(what))
    for sentence in caveats(what):
        print(f"Note: {sentence}", file=sys.stderr)
    if not differences:
        raise LedgerError(f"The paper has no cell that is in the ledger of {plan}.")
    if form == "csv":
        _write_csv([asdict(each) for each in differences], out)
        return
    console = Console()
    table = Table(title="Balanced accuracy: ours and the paper's, over cells")
    for column in ("method", "cells", "mean |difference|", "mean difference"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for method, (size, off, cells) in per_method(differences).items():
        table.add_row(method, str(cells), f"{size:.4f}", f"{off:+.4f}")
    console.print(table)
    most = Table(title="The cells that differ most")
    for column in ("data set", "labels", "method", "ours", "paper", "difference"):
        most.add_column(column)
    for each in sorted(differences, key=lambda each: -abs(each.difference))[:15]:
        values = f"{each.mean:.3f} ± {each.sd:.3f}", f"{each.published_mean:.3f} ± {each.published_sd:.3f}"
        most.add_row(
            each.dataset, f"{each.mechanism} {each.frequency}", each.method, *values, f"{each.difference:+.3f}"
        )
    console.print(most)


@study.command("report")
def report(
    plan: Plan,
    ledger: LedgerFile = None,
    out: Annotated[Path | None, typer.Option("--out", help="The page; beside the plan unless given.")] = None,
) -> None:
    """One HTML page with every table and figure, which needs no network."""
    from propense.report import gather_study, render_study

    what = _read(plan)
    page = render_study(gather_study(what, _rows(plan, ledger, what), f"Study {plan.stem}"))
    out = plan.with_suffix(".html") if out is None else out
    with write_atomically(out, InvalidOption) as path:
        path.write_text(page, encoding="utf-8")
    print(out)


def _read(plan: Path) -> "Study":
    """The plan; estimators of the user's own stand beside it."""
    from propense.study import Study

    sys.path.insert(0, str(plan.resolve().parent))
    return Study.from_toml(plan)


def _check_method(option: str, name: str, what: "Study") -> None:
    known = [method.name for method in what.methods]
    if name not in known:
        raise InvalidOption(f"{option} {name}: the plan has no such method. It has: {', '.join(known)}.")


def _check_format(form: str, out: Path | None, written: Sequence[str]) -> None:
    """Refuse a format there is not, and a file for what is only shown."""
    if form not in ("table", *written):
        raise InvalidOption(f"--format {form}: must be table, {', '.join(written)}.")
    if form == "table" and out is not None:
        raise InvalidOption(f"--out {out}: a table is only shown; to write, say --format {' or '.join(written)}.")


def _beside(plan: Path, ledger: Path | None) -> Path:
    return plan.with_suffix(".ledger") if ledger is None else ledger


def _rows(plan: Path, ledger: Path | None, what: "Study", *, needed: bool = True) -> list[dict[str, Any]]:
    """The plan's records; none is an error where they are needed."""
    from propense.study import Ledger

    path = _beside(plan, ledger)
    if not path.exists():
        raise LedgerError(f"There is no ledger {path} yet. Run the study first: propense study run {plan}")
    with Ledger(path) as book:
        rows = book.rows(what.cells())
    if needed and not any(row["error"] is None for row in rows):
        raise LedgerError(f"There is no record of {plan} in {path}. Run the study first: propense study run {plan}")
    return rows


def _write_csv(rows: list[dict[str, Any]], out: Path | None) -> None:
    with _stream(out) as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_parquet(rows: list[dict[str, Any]], out: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow is needed to write Parquet. Install it: pip install 'propense[study]'.") from None
    with write_atomically(out, InvalidOption) as path:
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)


@contextmanager
def _stream(out: Path | None) -> Iterator[TextIO]:
    if out is None:
        yield sys.stdout
        return
    with write_atomically(out, InvalidOption) as path, path.open("w", newline="", encoding="utf-8") as file:
        yield file
