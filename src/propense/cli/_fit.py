"""`propense fit`: fit a method to a table."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from propense.cli._flags import with_flags
from propense.cli._methods import find_method
from propense.cli._options import Decimal, Defuse, split_names
from propense.cli._outputs import keep_apart
from propense.cli._printing import say
from propense.errors import InvalidOption

if TYPE_CHECKING:
    from propense.tables import FitOptions, TableFit

__all__ = ["fit"]

Tables = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A CSV (also .gz), Parquet or Arrow file, or a folder of Parquet files.")
]


def fit(
    table: Tables,
    label: Annotated[
        str,
        typer.Option(
            "--label",
            help="The column that shows which rows are labelled: 1/0, yes/empty, … Or those of several sources: A,B, "
            "with 1/0, and empty where a source did not look at the row.",
        ),
    ],
    positive: Annotated[
        str | None, typer.Option("--positive", help="The value that means labelled, if that is not clear.")
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", help="The column that names the rows. It is not used as a feature.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="A name listed by propense methods, or the import path of a class of your own. Default: pu, or "
            "sources with several label columns.",
        ),
    ] = None,
    learners: Annotated[
        str | None,
        typer.Option(
            "--learners",
            help="What learns the labels, for the method pu: auto (logistic regression and trees) or linear (fast, has "
            "coefficients). Default: auto.",
        ),
    ] = None,
    class_features: Annotated[
        list[str] | None,
        typer.Option(
            "--class-features",
            help="The columns that being positive depends on: A,B. May be repeated. Default: all columns.",
        ),
    ] = None,
    propensity_features: Annotated[
        list[str] | None,
        typer.Option(
            "--propensity-features",
            help="The columns that the chance of a label depends on: A,B. May be repeated. Default: all columns.",
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            "--prior",
            help="The share of rows that are positive, if you know it: 0.15, or a range: 0.1-0.2. The estimate meets "
            "it, and the SCAR test becomes more powerful. By group: f=0.12,m=0.15-0.2 with --prior-groups.",
        ),
    ] = None,
    prior_groups: Annotated[
        str | None,
        typer.Option("--prior-groups", help="The column that shows the groups of --prior, such as sex."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="Columns to leave out: A,B. May be repeated.")
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option("--categorical", help="Columns whose numbers are names, such as postcodes: A,B. May be repeated."),
    ] = None,
    decision: Annotated[
        str,
        typer.Option(
            "--decision",
            help="Predict positive above the share of positives (balanced) or above ½ (posterior).",
        ),
    ] = "balanced",
    decimal: Decimal = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the method: NAME=VALUE, such as ridge=10. May be repeated."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            help="For Parquet larger than memory: local (processes on this machine) or the address of a scheduler.",
        ),
    ] = None,
    scar_test: Annotated[
        bool | None,
        typer.Option(
            "--scar-test/--no-scar-test",
            help="Test whether every positive row has the same chance of a label. Default: up to 30 features.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", help="How many fits run at the same time; -1: one for each processor. Default: 1."),
    ] = None,
    review: Annotated[
        Path | None,
        typer.Option(
            "--list", help="Write the unlabelled rows to review first, with their chances, to this file (CSV, …)."
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many rows to list.")] = 50,
    defuse: Defuse = False,
    model: Annotated[Path | None, typer.Option("--model", help="Save the model to this file.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a report to this file (HTML).")] = None,
) -> None:
    """Estimate which rows of a table are positive, when only some of the positives are labelled."""
    from propense.cli._fit_summary import show_fit
    from propense.tables import FitOptions, TableFile, TableFolder, list_rows, write_list
    from propense.tables.prior_words import read_prior
    from propense.tables.review import check_list

    in_pieces = dask is not None or table.is_dir()
    source = TableFolder(table) if in_pieces else TableFile(table)
    read = [piece.path for piece in source.pieces] if isinstance(source, TableFolder) else [table]
    keep_apart(read, {"--list": review, "--model": model, "--report": report})
    if report is not None:
        from propense.report import check_extra

        check_extra()
    labels = split_names("--label", [label], source.columns) or [label]
    options = FitOptions(
        label=labels if len(labels) > 1 else labels[0],
        positive=positive,
        id=id,
        drop=split_names("--drop", drop, source.columns) or [],
        categorical=split_names("--categorical", categorical, source.columns) or [],
        method=method,
        decision=decision,
        class_features=split_names("--class-features", class_features, source.columns),
        propensity_features=split_names("--propensity-features", propensity_features, source.columns),
        learners=learners,
        prior=read_prior(prior),
        prior_groups=prior_groups,
        jobs=jobs,
        parameters=_parameters(settings or []),
        decimal=decimal,
        scar_test=scar_test,
    )
    kind, _ = find_method(options.method_name)
    if review is not None:
        if dask is not None:
            raise InvalidOption("--list needs the table in memory, so it cannot be used with --dask. Use score --top.")
        check_list(kind, source.columns, review, str(table))
    rows, found = _fit(source, options, dask)
    found = replace(found, notes=[with_flags(note) for note in found.notes])
    written = _write_fit(found, table, model, report, decimal)
    listed = None
    if review is not None:
        listed = list_rows(found, top)
        write_list(listed, rows, source, review, defuse=defuse)
        written.insert(0, f"Wrote the list {review}.")
    show_fit(found, table, model, listed, decimal)
    if not written:
        written = ["Nothing was written. Use --list FILE for rows to review, --model FILE and --report FILE."]
    say(*written)


def _fit(source: Any, options: "FitOptions", dask: str | None) -> tuple[Any, "TableFit"]:
    """Fit in this process, or on Dask; the table, where it is in memory, and the fit."""
    if dask is not None:
        from propense._cluster import on_dask
        from propense.tables import fit_folder

        with on_dask(dask):
            return None, fit_folder(source, options)
    from propense.cli._fit_progress import show_progress
    from propense.tables import fit_table

    with show_progress() as progress:
        table = source.read()
        return table, fit_table(table, options, where=str(source.path), progress=progress)


def _write_fit(
    found: "TableFit", table: Path, model: Path | None, report: Path | None, decimal: str | None
) -> list[str]:
    """Write the model and the report, if wanted, and return a line on each."""
    words = []
    if model is not None:
        from propense.model_files import save

        about = {"table": table.name, "rows": found.counts.rows}
        if found.scar is not None:
            about |= {"scar_p_value": found.scar.p_value}
        save(found.model, model, about=about)
        words.append(f"Wrote the model {model}.")
    if report is not None:
        from propense.report import gather_fit, render

        files = None if table.is_dir() else (str(table), model)
        render(gather_fit(found, table.name, files=files, decimal=decimal)).write(report)
        words.append(f"Wrote the report {report}.")
    return words


def _parameters(given: list[str]) -> dict[str, Any]:
    """NAME=VALUE, with the value in TOML, or else a string."""
    found = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise InvalidOption(f"--set {text}: use NAME=VALUE, such as ridge=10.")
        try:
            found[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name.strip()] = None if value == "None" else value
        except (ValueError, RecursionError):
            raise InvalidOption(f"--set {name}: the value has too many digits or brackets to be read.") from None
    return found
