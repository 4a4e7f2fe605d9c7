"""`propense audit draw` and `read`: have people check some rows, and learn from their verdicts."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from propense.cli._methods import find_method
from propense.cli._options import Decimal, Defuse, Method, ModelFile, Table, load_model, split_names
from propense.cli._outputs import keep_apart
from propense.cli._printing import harmless, say
from propense.errors import InvalidOption

__all__ = ["audit"]

audit = typer.Typer(no_args_is_help=True, help="Have people check some rows, and learn from their verdicts.")


@audit.command()
def draw(
    table: Table,
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", help="The file for the reviewers (CSV, …).")],
    size: Annotated[int, typer.Option("--size", min=1, help="How many rows to draw.")] = 200,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**32 - 1, help="The random seed: the same seed draws the same rows.")
    ] = 0,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            min=1,
            max=2**32 - 1,
            help="The length of the list that you will review: at least a quarter of the rows come from it.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            help="The columns that a reviewer needs to see: A,B. May be repeated. Default: all but the label.",
        ),
    ] = None,
    decimal: Decimal = None,
    defuse: Defuse = False,
    method: Method = None,
) -> None:
    """Draw unlabelled rows at random for people to check, and write them with an empty column verdict."""
    from propense.tables import TableFile, draw_audit, write_audit

    fitted, code = _load(model, method)
    source = TableFile(table)
    keep_apart([table, model], {"--out": out})
    drawn = draw_audit(
        fitted,
        source.read(),
        size,
        seed=seed,
        top=top,
        columns=split_names("--columns", columns, source.columns),
        model_code=code,
        where=str(table),
        decimal=decimal,
    )
    write_audit(drawn, source, out, decimal=decimal, defuse=defuse)
    if fitted.id is None:
        say("Note: The model has no id, so the column row has the numbers of the rows. Keep the table in this order.")
    if drawn.num_rows < size:
        say(f"Note: Only {drawn.num_rows:,} unlabelled rows were left to draw.")
    given = [] if decimal is None else ["--decimal", decimal]
    given += [] if method is None else ["--method", method]
    then = shlex.join(["propense", "audit", "read", str(out), "--table", str(table), "--model", str(model), *given])
    say(
        f"Wrote {drawn.num_rows:,} row{'' if drawn.num_rows == 1 else 's'} to {out}, in random order. Fill in the "
        "column verdict: yes, no, or ? if you cannot say. Keep the last three columns.",
        f"Then: {then}",
    )


@audit.command()
def read(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="The files of propense audit draw, with verdicts.")
    ],
    table: Annotated[Path, typer.Option("--table", help="The table that the rows were drawn from.")],
    model: ModelFile,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    positive: Annotated[
        str | None, typer.Option("--positive", help="The verdict on a positive row, if that is not clear.")
    ] = None,
    negative: Annotated[
        str | None,
        typer.Option("--negative", help='The verdict on a negative row; "" if an empty cell means negative.'),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", help="How often intervals should hold the truth, in per cent.")
    ] = 95.0,
    weights: Annotated[
        str | None,
        typer.Option("--weights", help="If the table is a survey's sample: the column of its weights."),
    ] = None,
    strata: Annotated[str | None, typer.Option("--strata", help="The column of the survey's strata.")] = None,
    clusters: Annotated[str | None, typer.Option("--clusters", help="The column of the survey's clusters.")] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Correct the model by the verdicts, and save it to this file.")
    ] = None,
    decimal: Decimal = None,
    method: Method = None,
) -> None:
    """Estimate from verdicts how many rows are positive and how good the list is, whatever the model got wrong."""
    from propense.cli._audit_summary import as_json, corrected_in_words, in_words
    from propense.model_files import save_corrected
    from propense.tables import TableFile, correct_model, read_audit

    if not 50.0 <= confidence < 100.0:
        raise InvalidOption(f"--confidence {confidence:g}: give per cent, from 50 to below 100, such as 95.")
    fitted, code = _load(model, method, quiet=json)
    source = TableFile(table)
    keep_apart([table, model, *files], {"--save": save})
    found = read_audit(
        fitted,
        source.read(),
        files,
        positive=positive,
        negative=negative,
        confidence=confidence / 100.0,
        weights=weights,
        strata=strata,
        clusters=clusters,
        model_code=code,
        where=str(table),
        decimal=decimal,
    )
    corrected = None
    if save is not None:
        corrected = correct_model(fitted, found)
        save_corrected(corrected, model, save)
    if json:
        print(as_json(found))
        return
    say(*in_words(found))
    if corrected is not None and save is not None:
        say(*corrected_in_words(corrected, save))


def _load(path: Path, method: str | None, *, quiet: bool = False) -> tuple[Any, str]:
    """The model of a table, and the code that it is recognised by."""
    from propense.model_files import inspect

    if method is not None:
        find_method(method)
    fitted = load_model(path, notes=(lambda line: print(harmless(line), file=sys.stderr)) if quiet else say)
    return fitted, inspect(path)["sha256"][:8]
