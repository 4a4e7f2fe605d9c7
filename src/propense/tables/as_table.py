"""What may be passed as a table: an Arrow table, a data frame, or the name of a file."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from propense._inputs.reader import refuse_lazy
from propense.errors import InvalidTable
from propense.tables.cells import first_line
from propense.tables.files import TableFile, need_arrow
from propense.tables.spelling import UNKNOWN, Spelling

__all__ = ["as_table"]


def as_table(
    table: Any, where: str | None = None, expected: Spelling | None = None, holding: Collection[str] = ()
) -> tuple[Any, str, Spelling]:
    """An Arrow table; what errors call it: the file it was read from, or "the table"; and how the file is written.

    A file is read with the encoding and the sheet that are expected, if it has them, or with the only sheet that has
    one of the columns in `holding`.
    """
    arrow = need_arrow()
    if isinstance(table, str | Path):
        path = Path(table)
        if path.is_dir():
            raise InvalidTable(f"{path} is a folder. Pass a file, or fit a folder of Parquet files with fit_folder.")
        source = TableFile(path, expected=expected, holding=holding)
        return source.read(), str(path) if where is None else where, source.spelling
    where = "the table" if where is None else where
    if isinstance(table, arrow.Table):
        return table, where, UNKNOWN
    if isinstance(table, arrow.RecordBatch):
        return arrow.Table.from_batches([table]), where, UNKNOWN
    refuse_lazy(where, table, InvalidTable)
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(table).__mro__}
    try:
        if ("polars", "DataFrame") in kinds:
            return table.to_arrow(), where, UNKNOWN
        if ("pandas", "DataFrame") in kinds:
            return arrow.Table.from_pandas(table, preserve_index=False), where, UNKNOWN
    except (arrow.ArrowException, ValueError, TypeError) as error:
        raise InvalidTable(f"{where} cannot be read as columns of one kind each: {first_line(error)}") from None
    raise InvalidTable(
        f"{where} is a {type(table).__name__}. Pass an Arrow table, a data frame of pandas or polars, or the name of a "
        "file."
    )
