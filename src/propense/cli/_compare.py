"""`propense compare`: what several methods say of one table."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from propense._files import write_atomically
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
from propense.cli._options import Decimal, Encoding, Format, Sheet, Table
from propense.cli._outputs import keep_apart
from propense.cli._printing import say
from propense.cli._streams import name_of, open_table, said_of
from propense.errors import InvalidOption

if TYPE_CHECKING:
    from propense.tables import Comparison

__all__ = ["compare"]

_FIGURES = (".svg", ".png", ".pdf")


def compare(
    context: typer.Context,
    table: Table,
    label: Annotated[
        str,
        typer.Option(
            "--label",
            help="The column that shows which rows are labelled: 1/0, yes/empty, …",
            autocompletion=complete_columns,
        ),
    ],
    positive: Positive = None,
    id: Id = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--methods",
            help="The methods to compare: A,B. Names listed by propense methods, pu-linear (pu with linear learners), "
            "or classes of your own, such as my_methods.MyMethod. Default: pu, pu-linear, sar-em, joint-mle, pglin, "
            "tm, jerm, naive.",
            autocompletion=complete_methods,
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
    top: Annotated[int, typer.Option("--top", min=1, help="The length of the lists that are compared.")] = 100,
    rows: Annotated[
        int,
        typer.Option(
            "--rows", min=1, help="The most rows to compare on. If the table has more, this many are drawn at random."
        ),
    ] = 50_000,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", help="How many methods are fitted at the same time; -1: one for each processor."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw the comparison to this file (SVG, PNG or PDF).")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a page to this file (HTML).")] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Fit several methods to a table, and show where they agree on the positives and on the rows to review."""
    from propense.cli._fit_progress import show_progress
    from propense.tables import compare_table
    from propense.tables.compare import COMPARED
    from propense.tables.configuration import write_toml

    source = open_table(table, format=format, sheet=sheet, encoding=encoding, holding=[label])
    keep_apart([table, *([] if config is None else [config])], {"--figure": figure, "--report": report})
    if figure is not None and figure.suffix.lower() not in _FIGURES:
        raise InvalidOption(f"--figure {figure}: the name must end in {', '.join(_FIGURES)}.")
    if report is not None or figure is not None:
        from propense.report import check_extra

        check_extra()
    named = None if methods is None else [name.strip() for text in methods for name in text.split(",")]
    for name in named or []:
        # Classes of the user's own are looked for in this folder too.
        if "." in name:
            find_method(name)
    options = read_options(
        source.columns,
        label,
        positive=positive,
        id=id,
        drop=drop,
        categorical=categorical,
        keep=keep,
        decision=decision,
        class_features=class_features,
        propensity_features=propensity_features,
        prior=prior,
        prior_groups=prior_groups,
        decimal=decimal,
        dates=dates,
        missing=missing,
        missing_words=missing_words,
        duplicates=duplicates,
    )
    with show_progress(_in_words) as progress:
        read = source.read()
        if progress is not None:
            progress("", 0, len(COMPARED if named is None else dict.fromkeys(named)))
        found = compare_table(
            read,
            options,
            methods=named,
            top=top,
            max_rows=rows,
            jobs=jobs,
            where=source.where,
            progress=progress,
        )
    toml = write_toml("compare", configuration(context, {**names_in(options), "methods": named}))
    say(*said_of(source))
    _write(found, name_of(table), figure, report, toml)
    if json:
        facts = _as_result(found, name_of(table))
        print_json("compare", {**facts, "files": {"figure": figure, "report": report}, "configuration": toml})
    else:
        _show(found, table, figure, report)
    if not found.answered:
        raise typer.Exit(1)


def _in_words(name: str, done: int, total: int) -> str:
    return f"Fitting methods: {done} of {total} done" + (f", the last one {name}" if name else "")


def _write(found: "Comparison", name: str, figure: Path | None, report: Path | None, toml: str) -> None:
    if report is not None:
        from propense.report import gather_comparison, render

        render(gather_comparison(found, f"{name}: methods compared", toml)).write(report)
    if figure is not None:
        from matplotlib import pyplot

        from propense.plots import ComparisonDisplay

        with write_atomically(figure, InvalidOption) as path, warnings.catch_warnings():
            # Matplotlib warns of letters that the font lacks; the figure is readable all the same.
            warnings.simplefilter("ignore", UserWarning)
            drawn = ComparisonDisplay(found).plot().ax_.figure
            drawn.savefig(path, dpi=200)
            pyplot.close(drawn)


def _show(found: "Comparison", table: Path, figure: Path | None, report: Path | None) -> None:
    from rich.table import Table as Shown

    from propense.cli._console import Console

    say(f"{name_of(table)}: {found.rows_of_table:,} rows.")
    # A terminal has room for these; the page and --json have all.
    wanted = ["method", "positive rows", "range", f"first {found.top:,} shared", "same prediction", "doubts"]
    sheet, shown = found.summary(), Shown(title="What each method says")
    places = [sheet.head.index(name) for name in wanted]
    lines = [
        [*(line[place] for place in places[:-1]), "no answer, see below" if each.failure else line[places[-1]]]
        for line, each in zip(sheet.lines, found.results, strict=True)
    ]
    for column in wanted:
        left = column in ("method", "doubts")
        shown.add_column(
            column,
            justify="left" if left else "right",
            no_wrap=column == "positive rows",
            overflow="fold",
            # The longest words of the heads, and of the doubts.
            min_width=max(map(len, " ".join([column, *(line[-1] for line in lines if column == "doubts")]).split())),
        )
    for line in lines:
        shown.add_row(*line)
    Console().print(shown)
    say(*(with_flags(line) for line in str(found).splitlines()))
    say(*(f"Wrote the {what} {path}." for what, path in (("figure", figure), ("report", report)) if path is not None))


def _as_result(found: "Comparison", table: str) -> dict[str, Any]:
    """The comparison in plain values."""
    results = []
    for place, each in enumerate(found.results):
        results.append(
            {
                "name": each.name,
                "positives": {"estimate": each.share * found.rows, "low": each.low * found.rows}
                | {"high": each.high * found.rows},
                "share": {"estimate": each.share, "low": each.low, "high": each.high},
                "label_frequency": each.label_frequency,
                "predicted_positive": None if each.failure else each.predicted,
                "list_shared": found.with_others(found.overlap, place),
                "same_prediction": found.with_others(found.agreement, place),
                "rank_correlation": found.with_others(found.correlation, place),
                "doubts": each.doubts,
                "notes": each.notes,
                "ignored": each.ignored,
                "assumes": each.assumes,
                "seconds": each.seconds,
                "failure": each.failure or None,
            }
        )
    return {
        "table": table,
        "rows": found.rows,
        "rows_of_table": found.rows_of_table,
        "labelled": found.labelled,
        "top": found.top,
        "methods": results,
        "overlap": found.overlap,
        "agreement": found.agreement,
        "correlation": found.correlation,
        "on_all_lists": len(found.on_all),
        "words": str(found).splitlines(),
        "notes": [with_flags(note) for note in found.notes],
    }
