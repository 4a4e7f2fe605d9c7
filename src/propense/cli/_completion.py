"""What a shell offers when Tab is pressed: the columns of the table, and the methods."""

import csv
import gzip
from contextlib import suppress
from pathlib import Path

import typer

__all__ = ["complete_columns", "complete_methods"]

# The most characters of a line of names.
_LONGEST = 1_000_000


def complete_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The columns of TABLE, if it has been typed before; after a comma, the next name of the list."""
    # Where the line ends in an option without its value, its words are not read as parameters yet.
    given = [each for each in (ctx.params.get("table"), *ctx.args) if each is not None]
    before, comma, begun = incomplete.rpartition(",")
    # Nothing that is wrong with a file should print into a line that is being typed.
    with suppress(Exception):
        names = _columns(next(path for path in map(Path, given) if path.exists()))
        return [f"{before}{comma}{name}" for name in names if name.startswith(begun) and name.isprintable()]
    return []


def _columns(table: Path) -> list[str]:
    """The names of its columns, read without what a fit needs: a shell waits for them at every press of Tab."""
    if table.is_dir():
        table = min(table.glob("**/*.parquet"))
    if table.suffix == ".parquet":
        from pyarrow import parquet

        return list(parquet.read_schema(table).names)
    if table.suffix in (".arrow", ".feather"):
        from pyarrow import ipc

        with ipc.open_file(table) as file:
            return list(file.schema.names)
    if not table.name.lower().endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")):
        from propense.tables import TableFile

        return TableFile(table).columns
    text = gzip.open if table.suffix == ".gz" else open
    with text(table, "rt", encoding="utf-8-sig", errors="strict") as file:
        first = file.readline(_LONGEST)
    separator = max(",;\t|", key=first.count)
    return next(csv.reader([first], delimiter=separator))


def complete_methods(incomplete: str) -> list[str]:
    """The methods that can be fitted to a table; after a comma, the next name of the list."""
    from propense.estimators import known_methods

    before, comma, begun = incomplete.rpartition(",")
    names = [name for name, (method, _) in known_methods().items() if not method.description.needs]
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]
