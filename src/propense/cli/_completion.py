"""What a shell offers when Tab is pressed: the columns of the table, and the methods."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

__all__ = ["complete_columns", "complete_methods"]


def complete_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The columns of TABLE, if it has been typed before; after a comma, the next name of the list."""
    given = ctx.params.get("table")
    if given is None:
        return []
    before, comma, begun = incomplete.rpartition(",")
    # Nothing that is wrong with a file should print into a line that is being typed.
    with suppress(Exception):
        from propense.tables.files import TableFile
        from propense.tables.folder import TableFolder

        table = Path(given).expanduser()
        source: Any = TableFolder(table) if table.is_dir() else TableFile(table)
        return [f"{before}{comma}{name}" for name in source.columns if name.startswith(begun) and name.isprintable()]
    return []


def complete_methods(incomplete: str) -> list[str]:
    """The methods that can be fitted to a table; after a comma, the next name of the list."""
    from propense.estimators import known_methods

    before, comma, begun = incomplete.rpartition(",")
    names = [name for name, (method, _) in known_methods().items() if not method.description.needs]
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]
