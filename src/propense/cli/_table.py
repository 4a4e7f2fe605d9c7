"""`propense fit`, `score`, `inspect` and `methods`: a table and the models of it."""

import importlib
import os
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from propense._files import write_atomically
from propense.cli._flags import with_flags
from propense.errors import InvalidOption

if TYPE_CHECKING:
    from propense.tables import FitOptions, TableFit

__all__ = ["fit", "inspect", "methods", "score"]

Table = Annotated[Path, typer.Argument(metavar="TABLE", help="CSV (also .gz), Parquet or Arrow; the name tells which.")]
Tables = Annotated[
    Path, typer.Argument(metavar="TABLE", help="CSV (also .gz), Parquet, Arrow, or a folder of Parquet files.")
]
Decimal = Annotated[
    str | None, typer.Option("--decimal", help="How decimals are written in a CSV file: a point or a comma.")
]
ModelFile = Annotated[Path, typer.Option("--model", help="A model file of propense fit.")]


def fit(
    table: Tables,
    label: Annotated[str, typer.Option("--label", help="The column that says who is labelled: 1/0, yes/empty, …")],
    positive: Annotated[
        str | None, typer.Option("--positive", help="The value that means labelled, where that is not plain.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="A column that names the rows and is no feature.")] = None,
    method: Annotated[
        str,
        typer.Option("--method", help="A name listed by propense methods, or the import path of a class of your own."),
    ] = "pu",
    propensity_features: Annotated[
        list[str] | None,
        typer.Option(
            "--propensity-features", help="Columns the chance of a label may depend on: A,B; may be repeated. Else all."
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
    decimal: Decimal = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the method: NAME=VALUE, such as spy_quantile=0.1; may be repeated."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            help="Work on Parquet larger than memory: local (processes on this machine) or a scheduler's address.",
        ),
    ] = None,
    scar_test: Annotated[
        bool | None,
        typer.Option(
            "--scar-test/--no-scar-test",
            help="Test whether labels look drawn at random among the positives; done by itself up to 30 features.",
        ),
    ] = None,
    prior: Annotated[
        float | None,
        typer.Option("--prior", help="The share of positives, if known from elsewhere: sharpens --scar-test."),
    ] = None,
    model: Annotated[Path | None, typer.Option("--model", help="Write the model to this file.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a page to read to this file (HTML).")] = None,
) -> None:
    """Learn from a table in which some rows are labelled who is positive, and who gets labelled."""
    from propense.cli._fit_summary import show_fit
    from propense.tables import FitOptions, TableFile, TableFolder

    in_pieces = dask is not None or table.is_dir()
    source = TableFolder(table) if in_pieces else TableFile(table)
    _keep_apart([table], {"--model": model, "--report": report})
    if report is not None:
        from propense.report import check_extra

        check_extra()
    import_modules(None)
    options = FitOptions(
        label=label,
        positive=positive,
        id=id,
        drop=drop or [],
        categorical=categorical or [],
        method=method,
        decision=decision,
        propensity_features=None if propensity_features is None else _names(propensity_features, source.columns),
        parameters=_parameters(settings or []),
        decimal=decimal,
        scar_test=scar_test,
        prior=prior,
    )
    found = _fit(source, options, dask)
    found = replace(found, notes=[with_flags(note) for note in found.notes])
    written = _write_fit(found, table, model, report)
    show_fit(found, table.name)
    print(*written, sep="\n")


def score(
    table: Table,
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", help="The file to write: CSV (also .gz), Parquet or Arrow.")],
    top: Annotated[
        int | None, typer.Option("--top", min=1, help="Only so many rows, the unlabelled most likely positive first.")
    ] = None,
    decimal: Decimal = None,
    modules: Annotated[
        list[str] | None,
        typer.Option("--import", help="The module of the model's method, if that is one of your own; may be repeated."),
    ] = None,
) -> None:
    """Add posterior, propensity and hidden to a table of any size, or list the rows to look at first."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from propense.tables import TableFile, score_file

    import_modules(modules)
    fitted = _load(model)
    source = TableFile(table)
    _keep_apart([table, model], {"--out": out})
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("rows", total=None)
        done = score_file(
            fitted, source, out, top=top, decimal=decimal, progress=lambda rows: bar.update(task, completed=rows)
        )
    words = f"{done.rows:,} rows, {done.labelled:,} labelled ({fitted.label})"
    print(f"{words}, about {done.positives:,.0f} positive: the labelled, and hidden summed over the others.")
    if fitted.label.column not in source.columns:
        print(f"There is no column {fitted.label.column!r}: every row counts as unlabelled.")
    for name, count in done.new_levels.items():
        words = f"{count:,} cells of the column {name!r} hold what was never seen in the fit"
        print(f"Note: {words}, and count as its most frequent level.")
    if top is not None:
        print(f"The {done.listed:,} rows listed hold about {done.hits:,.1f} positives.")
    print(f"Wrote {out} ({done.rows / done.seconds:,.0f} rows a second).")


def inspect(file: Annotated[Path, typer.Argument(metavar="FILE", help="A model file.")]) -> None:
    """What is in a model file: method, parameters, columns, date and versions, and the doubts of the fit."""
    from propense.model_files import inspect as look

    facts = look(file)
    doubts = facts.pop("doubts")
    for name, value in facts.items():
        print(f"{name + ':':<18} {_in_words(value)}")
    for doubt in doubts:
        print(f"Note: {doubt}")


def methods(
    modules: Annotated[
        list[str] | None,
        typer.Option("--import", help="A module whose methods to list too; may be repeated."),
    ] = None,
) -> None:
    """List the methods: the name to pass to propense fit or to write in a study plan, and what each assumes."""
    from rich.console import Console
    from rich.table import Table as Shown

    from propense.estimators import known_methods
    from propense.estimators._description import summary

    import_modules(modules)
    shown = Shown(show_lines=True)
    for head in ("method", "class"):
        shown.add_column(head, no_wrap=True)
    for head in ("what it does, and what it assumes", "takes"):
        shown.add_column(head)
    for name, (method, parameters) in known_methods().items():
        about = method.description
        if parameters:
            words = f"The same with {', '.join(f'{key}={value!r}' for key, value in parameters.items())}."
        else:
            needs = [f"Needs {about.needs}."] if about.needs else []
            words = " ".join([summary(method), *needs]) + "".join(f"\n- {each}" for each in about.assumes)
        shown.add_row(name, method.__name__, words, ", ".join(about.takes))
    Console(markup=False).print(shown)


def import_modules(names: list[str] | None) -> None:
    """Import modules of the user's own, from the current folder too, so that their methods are known."""
    sys.path.insert(0, os.getcwd())
    for name in names or []:
        try:
            importlib.import_module(name)
        except Exception as error:
            # A module of the user's own may fail in any way.
            raise InvalidOption(f"--import {name}: {type(error).__name__}: {error}.") from None


def _fit(source: Any, options: "FitOptions", dask: str | None) -> "TableFit":
    """Fit in this process, or on Dask."""
    if dask is not None:
        from propense._cluster import on_dask
        from propense.tables import fit_folder

        with on_dask(dask):
            return fit_folder(source, options)
    from propense.tables import fit_table

    return fit_table(source.read(), options, where=str(source.path))


def _write_fit(found: "TableFit", table: Path, model: Path | None, report: Path | None) -> list[str]:
    """Write what is wanted, and say so."""
    words = []
    if model is not None:
        from propense.model_files import save

        about = {"table": table.name, "rows": found.counts.rows}
        if found.scar is not None:
            about |= {"scar_p_value": found.scar.p_value}
        save(found.model, model, about=about)
        words.append(f"Wrote the model {model}.")
    if report is not None:
        from propense.report import gather_fit, render_fit

        page = render_fit(gather_fit(found, table.name))
        with write_atomically(report, InvalidOption) as path:
            path.write_text(page, encoding="utf-8")
        words.append(f"Wrote the report {report}.")
    return words or ["Nothing was written: --model FILE keeps the model, --report FILE makes a page to read."]


def _load(path: Path) -> Any:
    from propense.model_files import load
    from propense.tables import TableModel

    model = load(path)
    if not isinstance(model, TableModel):
        raise InvalidOption(f"{path} holds a {type(model).__name__}, no model of a table: propense fit writes those.")
    return model


def _keep_apart(read: list[Path], written: dict[str, Path | None]) -> None:
    """Refuse, before any work, to write over what is read, twice to one file, or where nothing can be written."""
    wanted = {option: path for option, path in written.items() if path is not None}
    for option, path in wanted.items():
        if path.is_dir():
            raise InvalidOption(f"{option} {path} is a folder. Give the name of a file.")
        if not path.parent.is_dir():
            raise InvalidOption(f"{option} {path}: there is no folder {path.parent}.")
        if path.exists() and any(each.exists() and path.samefile(each) for each in read):
            raise InvalidOption(f"{option} {path} is what is read, which is never written over. Give another name.")
    if len({path.resolve() for path in wanted.values()}) < len(wanted):
        raise InvalidOption(f"{' and '.join(wanted)} are one file. Give each a name of its own.")


def _names(given: list[str], columns: list[str]) -> list[str]:
    """Columns separated by commas; a name that holds a comma is one name."""
    names = [name for text in given for name in ([text] if text in columns else text.split(","))]
    stripped = [name if name in columns else name.strip() for name in names]
    if "" in stripped and "" not in columns:
        raise InvalidOption(f"--propensity-features {','.join(given)}: there is a name missing.")
    return stripped


def _parameters(given: list[str]) -> dict[str, Any]:
    """NAME=VALUE, the value as TOML writes it, or else a word."""
    found = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise InvalidOption(f"--set {text}: must be NAME=VALUE, such as spy_quantile=0.1.")
        try:
            found[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name.strip()] = None if value == "None" else value
    return found


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={inner!r}" for key, inner in value.items()) or "–"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "–"
    return str(value)
