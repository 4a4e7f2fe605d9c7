"""`propense audit draw` and `read`: have people check some rows, and learn from their verdicts."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from propense.cli._flags import with_flags
from propense.cli._json import Json, print_json
from propense.cli._methods import find_method
from propense.cli._options import (
    Decimal,
    Defuse,
    Encoding,
    Format,
    Method,
    ModelFile,
    Sheet,
    Table,
    load_model,
    split_names,
)
from propense.cli._outputs import keep_apart
from propense.cli._printing import say
from propense.cli._streams import open_table, said_of, standard_output
from propense.errors import InvalidOption

__all__ = ["audit"]

audit = typer.Typer(no_args_is_help=True, help="Let people check some rows, and estimate from their verdicts.")


@audit.command()
def draw(
    table: Table,
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", help="The file for the reviewers (CSV, Excel, …).")],
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
    encoding: Encoding = None,
    sheet: Sheet = None,
    format: Format = None,
    defuse: Defuse = False,
    method: Method = None,
    json: Json = False,
) -> None:
    """Draw unlabelled rows for people to check, more of them from the top of the list; write them for verdicts."""
    from propense.cli._fit_progress import show_steps
    from propense.tables import draw_audit, write_audit
    from propense.tables.audit_advice import sign_to_repeat
    from propense.tables.audit_files import COLUMNS, check_no_verdicts
    from propense.tables.files import check_output

    fitted, code = _load(model, method)
    source = open_table(table, format=format, sheet=sheet, encoding=encoding, expected=fitted.spelling)
    keep_apart([table, model], {"--out": out})
    with standard_output(out, source, format) as path:
        check_output(path, len(source.columns) + len(COLUMNS), size)
        check_no_verdicts(path)
        with show_steps() as doing:
            rows = source.read()
            doing("Scoring the rows, and drawing some of them")
            drawn = draw_audit(
                fitted,
                rows,
                size,
                seed=seed,
                top=top,
                columns=split_names("--columns", columns, source.columns),
                model_code=code,
                where=source.where,
                decimal=decimal,
            )
        sign = fitted.decimal_sign(decimal, source.where)
        sign.points(rows, fitted.schema.names)
        numbers = [column.name for column in fitted.schema.columns if column.kind == "number"]
        write_audit(drawn, source, path, decimal=sign.sign, defuse=defuse, numbers=numbers)
        say(*said_of(source))
        if json:
            print_json("audit draw", {"rows": drawn.num_rows, "asked": size, "seed": seed, "files": {"out": out}})
        if fitted.id is None:
            words = "so the column row holds row numbers. Do not change the order of the table."
            say(f"Note: The model has no id, {words}")
        if drawn.num_rows < size:
            say(f"Note: Only {drawn.num_rows:,} unlabelled rows were left to draw.")
        options = {
            "--decimal": sign_to_repeat(fitted, decimal, rows, source.where),
            "--encoding": encoding,
            "--sheet": sheet,
            "--format": format,
        }
        options["--method"] = method
        given = [word for option, value in options.items() if value is not None for word in (option, value)]
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
    json: Json = False,
    positive: Annotated[
        str | None, typer.Option("--positive", help="The verdict on a positive row, if that is not clear.")
    ] = None,
    negative: Annotated[
        str | None,
        typer.Option("--negative", help='The verdict on a negative row; "" if an empty cell means negative.'),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", help="How often intervals should contain the truth, in per cent.")
    ] = 95.0,
    weights: Annotated[
        str | None,
        typer.Option("--weights", help="If the table is a survey's sample: the column of its weights."),
    ] = None,
    strata: Annotated[
        str | None,
        typer.Option(
            "--strata",
            help="If the survey was drawn by strata: the column that names them.",
        ),
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            help="If the survey was drawn by clusters: the column that names them.",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Correct the model by the verdicts, and save it to this file.")
    ] = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    format: Format = None,
    method: Method = None,
) -> None:
    """Estimate from verdicts how many rows are positive and how good the list is, even where the model is wrong."""
    from propense.cli._audit_summary import as_result, corrected_in_words
    from propense.cli._fit_progress import show_steps
    from propense.model_files import inspect
    from propense.model_files import save as save_model
    from propense.tables import correct_model, read_audit

    if not 50.0 <= confidence < 100.0:
        raise InvalidOption(f"--confidence {confidence:g}: give per cent, from 50 to below 100, such as 95.")
    fitted, code = _load(model, method)
    source = open_table(table, format=format, sheet=sheet, encoding=encoding, expected=fitted.spelling)
    keep_apart([table, model, *files], {"--save": save})
    corrected = None
    with show_steps() as doing:
        rows = source.read()
        doing("Scoring the rows, and reading the verdicts")
        found = read_audit(
            fitted,
            rows,
            files,
            positive=positive,
            negative=negative,
            confidence=confidence / 100.0,
            weights=weights,
            strata=strata,
            clusters=clusters,
            model_code=code,
            where=source.where,
            decimal=decimal,
        )
        if save is not None:
            doing("Correcting the model")
            corrected = correct_model(fitted, found)
            save_model(corrected, save, about=inspect(model)["about"])
    say(*said_of(source))
    if json:
        print_json("audit read", {**as_result(found), "files": {"save": save}})
        return
    say(*(with_flags(line) for line in str(found).splitlines()))
    if corrected is not None and save is not None:
        list_again = shlex.join(["propense", "score", str(table), "--model", str(save), "--top", "100", "--out"])
        say(
            *corrected_in_words(corrected, save),
            f"Then, for a list with the corrected chances: {list_again} review.csv",
        )
    else:
        say("To correct the model by these verdicts, run the same command with --save corrected.propense.")


def _load(path: Path, method: str | None) -> tuple[Any, str]:
    """The model of a table, and the code that it is recognised by."""
    from propense.model_files import inspect

    if method is not None:
        find_method(method)
    return load_model(path), inspect(path)["sha256"][:8]
