"""`propense fit`, `score`, `inspect` and `methods`: a table and the models of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from propense.errors import InvalidOption, InvalidTable

if TYPE_CHECKING:
    from propense.tables import TableFit

__all__ = ["fit", "inspect", "methods", "score"]

Table = Annotated[Path, typer.Argument(metavar="TABLE", help="CSV (also .gz), Parquet or Arrow; the name tells which.")]
ModelFile = Annotated[Path, typer.Option("--model", help="A model file of propense fit.")]


def fit(
    table: Table,
    label: Annotated[str, typer.Option("--label", help="The column that says who is labelled: 1/0, yes/empty, …")],
    id: Annotated[str | None, typer.Option("--id", help="A column that names the rows and is no feature.")] = None,
    method: Annotated[str, typer.Option("--method", help="A name of propense methods.")] = "jerm",
    propensity_features: Annotated[
        str | None,
        typer.Option(
            "--propensity-features", help="Columns the chance of a label may depend on: A,B. All if not given."
        ),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option("--drop", help="A column to leave out; may be repeated.")] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option("--categorical", help="A column of numbers that are names, such as postcodes; may be repeated."),
    ] = None,
    decision: Annotated[
        str, typer.Option("--decision", help="Where the class is cut: balanced (at the prior) or posterior (at ½).")
    ] = "balanced",
    model: Annotated[Path | None, typer.Option("--model", help="Write the model to this file.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a page to read to this file (HTML).")] = None,
) -> None:
    """Learn from a table in which some rows are labelled who is positive, and who gets labelled."""
    from propense.cli._fit_summary import show_fit
    from propense.tables import TableFile, fit_table

    _keep_apart(table, {"--model": model, "--report": report})
    if report is not None:
        from propense.report import check_extra

        check_extra()
    source = TableFile(table)
    found = fit_table(
        source.read(),
        label,
        where=str(table),
        id=id,
        drop=drop or [],
        categorical=categorical or [],
        method=method,
        decision=decision,
        propensity_features=None if propensity_features is None else _names(propensity_features, source.columns),
    )
    show_fit(found, table.name)
    _write_fit(found, table, model, report)


def score(
    table: Table,
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", help="The file to write: CSV (also .gz), Parquet or Arrow.")],
    top: Annotated[
        int | None, typer.Option("--top", min=1, help="Only so many rows, the unlabelled most likely positive first.")
    ] = None,
) -> None:
    """Add posterior, propensity and hidden to a table of any size, or list the rows to look at first."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from propense.tables import TableFile, score_file

    fitted = _load(model)
    _keep_apart(model, {"--out": out})
    source = TableFile(table)
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("rows", total=None)
        done = score_file(fitted, source, out, top=top, tell=lambda rows: bar.update(task, completed=rows))
    print(f"{done.rows:,} rows, {done.labelled:,} labelled, about {done.positives:,.0f} positive.")
    if fitted.label not in source.columns:
        print(f"There is no column {fitted.label!r}: every row counts as unlabelled.")
    if top is not None:
        print(f"The {done.listed:,} rows listed hold about {done.hits:,.1f} positives.")
    print(f"Wrote {out} ({done.rows / done.seconds:,.0f} rows a second).")


def inspect(file: Annotated[Path, typer.Argument(metavar="FILE", help="A model file.")]) -> None:
    """What is in a model file: method, parameters, columns, date and versions."""
    from propense import model_files

    for name, value in model_files.inspect(file).items():
        print(f"{name + ':':<18} {_in_words(value)}")


def methods() -> None:
    """The methods that propense fit knows, and what each supposes."""
    from rich.console import Console
    from rich.table import Table as Shown

    from propense.tables import METHODS

    shown = Shown()
    shown.add_column("method", no_wrap=True)
    shown.add_column("class", no_wrap=True)
    shown.add_column("what it is")
    for name, method in METHODS.items():
        shown.add_row(name, method.__name__, (method.__doc__ or "").splitlines()[0])
    Console().print(shown)


def _write_fit(found: "TableFit", table: Path, model: Path | None, report: Path | None) -> None:
    if model is not None:
        from propense import model_files

        model_files.save(found.model, model, about={"table": table.name, "rows": len(found.labelled)})
        print(f"Wrote the model {model}.")
    if report is not None:
        from propense.report import gather_fit, render_fit
        from propense.tables import written_whole

        page = render_fit(gather_fit(found, table.name))
        with written_whole(report) as path:
            path.write_text(page, encoding="utf-8")
        print(f"Wrote the report {report}.")
    if model is None and report is None:
        print("Nothing was written: --model FILE keeps the model, --report FILE makes a page to read.")


def _load(path: Path) -> Any:
    from propense import model_files
    from propense.tables import TableModel

    model = model_files.load(path)
    if not isinstance(model, TableModel):
        raise InvalidOption(f"{path} holds a {type(model).__name__}, no model of a table: propense fit writes those.")
    return model


def _keep_apart(read: Path, written: dict[str, Path | None]) -> None:
    """Refuse to write over what is read, or into a folder that is not there."""
    for option, path in written.items():
        if path is None:
            continue
        if path.exists() and path.samefile(read):
            raise InvalidTable(f"{option} {path} is what is read, which is never written over. Give another name.")
        if not path.parent.is_dir():
            raise InvalidTable(f"{option} {path}: there is no folder {path.parent}.")


def _names(text: str, columns: list[str]) -> list[str]:
    """Columns separated by commas; a name that holds a comma is one name."""
    return [text] if text in columns else [name.strip() for name in text.split(",") if name.strip()]


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={inner!r}" for key, inner in value.items()) or "–"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "–"
    return str(value)
