"""Options that several commands take, and how they are read."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from propense.cli._completion import complete_methods
from propense.cli._printing import say
from propense.errors import InvalidOption

__all__ = [
    "FILES",
    "Decimal",
    "Defuse",
    "Encoding",
    "Format",
    "Method",
    "ModelFile",
    "Sheet",
    "Table",
    "load_model",
    "split_names",
]

# The files that hold tables.
FILES = "CSV, JSON lines (both also .gz), Excel (.xlsx), Parquet or Arrow"
Table = Annotated[
    Path,
    typer.Argument(metavar="TABLE", help=f"A file: {FILES}; a folder of Parquet files; or - for standard input."),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        help="The decimal sign of numbers written as text: . or , (a model remembers the sign of its own table).",
    ),
]
Sheet = Annotated[
    str | None, typer.Option("--sheet", help="The sheet of an Excel workbook, if more than one has cells.")
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="The encoding of a text file, such as cp1252, if it is not recognised."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="The format of a table whose name does not show it, and of standard output: csv, tsv, jsonl, xlsx, "
        "parquet or arrow.",
    ),
]
Defuse = Annotated[
    bool,
    typer.Option(
        "--defuse",
        help="In the CSV file written, put ' before text that a spreadsheet would run as a formula (= + - @).",
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        help="Where Python finds the method of the model, if it is a class of your own: my_methods.MyMethod.",
        autocompletion=complete_methods,
    ),
]
ModelFile = Annotated[Path, typer.Option("--model", help="A model file written by propense fit.")]


def load_model(path: Path, notes: Callable[[str], None] = say) -> Any:
    """The model of a table in a file; notes on it are printed."""
    from propense.model_files import load
    from propense.tables import TableModel

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load(path)
    for each in caught:
        notes(f"Note: {each.message}")
    if not isinstance(model, TableModel):
        raise InvalidOption(
            f"{path} holds a {type(model).__name__}, not a model of a table. Use a file written by propense fit."
        )
    return model


def split_names(option: str, given: list[str] | None, columns: list[str]) -> list[str] | None:
    """Columns separated by commas; a column whose name contains a comma is one column."""
    if given is None:
        return None
    names = [name for text in given for name in ([text] if text in columns else text.split(","))]
    stripped = [name if name in columns else name.strip() for name in names]
    if "" in stripped and "" not in columns:
        raise InvalidOption(f"{option} {','.join(given)}: a name is missing.")
    return stripped
