"""`propense fit`: fit a method to a table."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from propense.cli._capacity import (
    CapacityRows,
    CostAlarm,
    CostMiss,
    check_costs,
    describe_capacity,
    list_length,
)
from propense.cli._completion import complete_columns, complete_methods
from propense.cli._config import Config, configuration
from propense.cli._fit_options import (
    Categorical,
    ClassFeatures,
    Dates,
    Decision,
    Drop,
    Duplicates,
    Id,
    Keep,
    Missing,
    MissingWords,
    Positive,
    Prior,
    PriorGroups,
    PropensityFeatures,
    names_in,
    read_options,
)
from propense.cli._flags import with_flags
from propense.cli._json import Json, print_json
from propense.cli._methods import find_method
from propense.cli._options import Decimal, Defuse, Encoding, Format, Sheet, Table
from propense.cli._outputs import keep_apart
from propense.cli._printing import say
from propense.cli._streams import STANDARD, name_of, open_folder, open_table, said_of, standard_output
from propense.errors import InvalidOption

if TYPE_CHECKING:
    from propense.tables import FitOptions, TableFit

__all__ = ["fit"]


def fit(
    context: typer.Context,
    table: Table,
    label: Annotated[
        str,
        typer.Option(
            "--label",
            help="The column that shows which rows are labelled: 1/0, yes/empty, … For several sources of labels, "
            "name several columns: A,B, with 1/0, and empty where a source did not look at the row.",
            autocompletion=complete_columns,
        ),
    ],
    positive: Positive = None,
    id: Id = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="A name listed by propense methods, or where Python finds a class of your own, such as "
            "my_methods.MyMethod. Default: pu, or sources with several label columns.",
            autocompletion=complete_methods,
        ),
    ] = None,
    learners: Annotated[
        str | None,
        typer.Option(
            "--learners",
            help="What learns the labels, for the method pu: auto (logistic regression and trees) or linear (logistic "
            "regression alone, fast). Default: auto.",
        ),
    ] = None,
    class_features: ClassFeatures = None,
    propensity_features: PropensityFeatures = None,
    prior: Prior = None,
    prior_groups: PriorGroups = None,
    drop: Drop = None,
    categorical: Categorical = None,
    keep: Keep = None,
    dates: Dates = None,
    missing: Missing = None,
    missing_words: MissingWords = True,
    duplicates: Duplicates = None,
    decision: Decision = "balanced",
    decimal: Decimal = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    format: Format = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the method: NAME=VALUE, such as ridge=10. May be repeated."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            help="For Parquet larger than memory: local (processes on this machine), or the address of the scheduler "
            "of a Dask cluster, such as tcp://host:8786.",
        ),
    ] = None,
    scar_test: Annotated[
        bool | None,
        typer.Option(
            "--scar-test/--no-scar-test",
            help="Test whether every positive row has the same chance of a label (SCAR). Default: tested if there "
            "are at most 30 features, or if --prior gives one share or range for all rows.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", help="How many fits run at the same time; -1: one for each processor. Default: 1."),
    ] = None,
    review: Annotated[
        Path | None,
        typer.Option(
            "--list",
            help="Write the unlabelled rows to review first, with their chances, to this file (CSV, Excel, …) or to -.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            min=1,
            help="How many rows to list. Default: --capacity; with costs, the cheapest number; otherwise 50.",
        ),
    ] = None,
    capacity: CapacityRows = None,
    cost_miss: CostMiss = None,
    cost_alarm: CostAlarm = None,
    defuse: Defuse = False,
    model: Annotated[Path | None, typer.Option("--model", help="Save the model to this file.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a report to this file (HTML).")] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Estimate which rows of a table are positive, when only some of the positives are labelled."""
    from propense.cli._fit_summary import show_fit
    from propense.tables import capacity as find_capacity
    from propense.tables import list_rows, write_list
    from propense.tables.audit_advice import sign_to_repeat
    from propense.tables.configuration import write_toml
    from propense.tables.review import check_list

    source = (
        open_table(table, format=format, sheet=sheet, encoding=encoding, holding=[label, *label.split(",")])
        if dask is None
        else open_folder(table, sheet=sheet, encoding=encoding)
    )
    outputs = {"--list": review, "--model": model, "--report": report}
    keep_apart([table, *([] if config is None else [config])], outputs)
    if report is not None:
        from propense.report import check_extra

        check_extra()
    options = read_options(
        source.columns,
        label,
        positive=positive,
        id=id,
        drop=drop,
        categorical=categorical,
        keep=keep,
        method=method,
        decision=decision,
        class_features=class_features,
        propensity_features=propensity_features,
        learners=learners,
        prior=prior,
        prior_groups=prior_groups,
        jobs=jobs,
        parameters=_parameters(settings or []),
        decimal=decimal,
        scar_test=scar_test,
        dates=dates,
        missing=missing,
        missing_words=missing_words,
        duplicates=duplicates,
    )
    kind, _ = find_method(options.method_name)
    check_costs(cost_miss, cost_alarm)
    costs, reviewed = (cost_miss, cost_alarm), capacity is not None or cost_miss is not None
    if reviewed and dask is not None:
        raise InvalidOption(
            "--capacity and costs need the table in memory, so they cannot be used with --dask. Use score --top, which "
            "says what to expect of its rows."
        )
    if review is not None and dask is not None:
        raise InvalidOption("--list needs the table in memory, so it cannot be used with --dask. Use score --top.")
    given = configuration(context, names_in(options))
    with standard_output(review, source, format) as out:
        if review is not None:
            check_list(kind, source.columns, out, source.where, list_length(top, capacity, costs, None))
        rows, found = _fit(source, options, dask)
        found = replace(found, notes=[with_flags(each) for each in found.notes])
        if rows is not None and found.model is not None:
            # From here on for commands that are printed, which take the model.
            decimal = sign_to_repeat(found.model, decimal, rows, source.where)
        written = _write_fit(found, table, model, report, decimal, given)
        listed, lengths = None, find_capacity(found) if reviewed else None
        if review is not None:
            listed = list_rows(found, list_length(top, capacity, costs, lengths), rows)
            numbers = [column.name for column in found.schema.columns if column.kind == "number"]
            sign = None if found.model is None else found.model.spelling.decimal
            write_list(listed, rows, source, out, defuse=defuse, decimal=sign, numbers=numbers)
            written.insert(0, f"Wrote the list {'to standard output' if review == STANDARD else review}.")
        promised = None if listed is None else len(listed.rows)
        lines = [] if lengths is None else describe_capacity(lengths, capacity, cost_miss, cost_alarm, promised)
        if json:
            from propense.cli._results import fit_result

            say(*said_of(source))
            files = {"list": review, "model": model, "report": report}
            more = {"capacity": lines, "files": files, "configuration": write_toml("fit", given)}
            print_json("fit", {**fit_result(found, name_of(table), listed), **more})
            return
        show_fit(found, table, model, listed, decimal)
        say(*lines, *said_of(source))
        if not written:
            written = ["Nothing was written. Use --list FILE for rows to review, --model FILE and --report FILE."]
        say(*written)


def _fit(source: Any, options: "FitOptions", dask: str | None) -> tuple[Any, "TableFit"]:
    """Fit in this process, or on Dask; the table, where it is in memory, and the fit."""
    if dask is not None:
        return None, _fit_on_dask(source, options, dask)
    from propense.cli._fit_progress import fit_in_words, show_progress
    from propense.tables import TableFile, fit_table

    with show_progress(fit_in_words) as progress:
        table = source.read()
        found = fit_table(table, options, where=source.where, progress=progress)
    return table, found.written_as(source.spelling) if isinstance(source, TableFile) else found


def _fit_on_dask(source: Any, options: "FitOptions", dask: str) -> "TableFit":
    from propense._cluster import on_dask
    from propense.cli._fit_progress import show_passes
    from propense.tables import fit_folder

    with on_dask(dask), show_passes() as progress:
        return fit_folder(source, options, progress=progress)


def _write_fit(
    found: "TableFit",
    table: Path,
    model: Path | None,
    report: Path | None,
    decimal: str | None,
    given: dict[str, Any],
) -> list[str]:
    """Write the model and the report, if wanted, and return a line on each."""
    from propense.tables.configuration import write_toml

    words = []
    if model is not None:
        from propense.model_files import save

        # Models are passed on: they say how, and not in which folders.
        kept = {name: value for name, value in given.items() if not isinstance(value, Path)}
        about = {"table": name_of(table), "rows": found.counts.rows}
        about |= {"configuration": write_toml("fit", {"table": table.name, **kept})}
        if found.scar is not None:
            about |= {"scar_p_value": found.scar.p_value}
        save(found.model, model, about=about)
        words.append(f"Wrote the model {model}.")
    if report is not None:
        from propense.report import gather_fit, render

        files = None if table.is_dir() or table == STANDARD else (str(table), model)
        repeat = "" if table == STANDARD else write_toml("fit", given)
        render(gather_fit(found, name_of(table), files=files, decimal=decimal, configuration=repeat)).write(report)
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
