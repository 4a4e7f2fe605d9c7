"""The columns of a table and their kinds, and the table with columns of these kinds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.columns import MISSING, OTHER, Column, choose_levels, level_counts
from propense._inputs.frames import encode_frame
from propense._inputs.reader import LARGEST
from propense.errors import InvalidTable
from propense.tables.cells import (
    as_booleans,
    as_dates,
    as_levels,
    as_numbers,
    as_text,
    check_feature,
    first_refused,
    is_categorical,
    is_dated,
    looks_numeric,
    naming_the_column,
    with_points,
)

__all__ = ["MISSING", "OTHER", "Column", "Schema", "infer_schema", "read_kind"]

# What the cells of a kind are read by, and what a cell is that cannot be read.
_READERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "number": (as_numbers, "a number"),
    "truth": (as_booleans, "true or false"),
    "date": (as_dates, "a date"),
}


@dataclass(frozen=True)
class Schema:
    """The columns a model was fitted on, in their order."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def level_counts(self) -> NDArray[np.int64]:
        """The number of levels of each column, 0 for numbers."""
        return level_counts(self.columns)

    def check(self, names: Sequence[str], where: str) -> None:
        """Raise an error if a column is missing."""
        found = set(names)
        missing = [name for name in self.names if name not in found]
        if missing:
            shown = ", ".join(map(repr, missing[:5])) + (" …" if len(missing) > 5 else "")
            raise InvalidTable(f"{where} does not have these columns, which the model needs: {shown}.")

    def read(self, table: Any, where: str, first_row: int = 0) -> Any:
        """The columns as an Arrow table of numbers, booleans, dates and text; errors name `where` and the row."""
        import pyarrow as pa

        cells = [read_kind(column, table.column(column.name), where, first_row) for column in self.columns]
        return pa.table(cells, names=self.names)

    def encode(self, table: Any) -> NDArray[np.float64]:
        """The table that `read` makes, in numbers: see `Column.encode`."""
        return encode_frame(self.columns, table)


def infer_schema(
    table: Any, names: Sequence[str], where: str, categorical: Sequence[str] = (), *, points: bool = False
) -> tuple[Schema, list[str]]:
    """The kinds of the named columns, and the names of empty columns, which are left out.

    If `points`, a point in a number is certainly a decimal point.
    """
    columns = []
    for name in names:
        cells = table.column(name)
        check_feature(cells.type, name, where)
        with naming_the_column(cells, name, where):
            columns.append(_infer_column(name, cells, where, name in categorical, points))
    empty = [name for name, column in zip(names, columns, strict=True) if column is None]
    return Schema(tuple(column for column in columns if column is not None)), empty


def read_kind(column: Column, cells: Any, where: str, first_row: int) -> Any:
    """The cells of an Arrow column as numbers, booleans, dates or text, whatever the kind of the column is."""
    import pyarrow as pa

    with naming_the_column(cells, column.name, where):
        if column.kind == "category":
            # As a category by its type: text of dates would be read as dates.
            return as_levels(cells).dictionary_encode()
        read, wanted = _READERS[column.kind]
        values = read(cells)
        if values is None:
            place, value = first_refused(cells, read)
            comma = column.kind == "number" and read(with_points(pa.array([value]))) is not None
            sign = " If the comma is a decimal sign, pass decimal=','." if comma else ""
            raise InvalidTable(
                f"{where}, column {column.name!r}, row {first_row + place + 1}: {value!r} is not {wanted}.{sign}"
            )
    if column.kind == "date":
        return values
    if column.kind == "truth":
        return pa.array(values == 1, mask=np.isnan(values))
    large = np.abs(values) >= LARGEST
    if large.any():
        place = int(np.flatnonzero(large)[0])
        raise InvalidTable(
            f"{where}, column {column.name!r}, row {first_row + place + 1}: {values[place]:g} is too large. "
            "Correct the cell, or leave it empty."
        )
    return pa.array(values)


def _infer_column(name: str, cells: Any, where: str, categorical: bool, points: bool) -> Column | None:
    if as_text(cells).null_count == len(cells):
        return None
    if not categorical and not is_categorical(cells):
        if is_dated(cells):
            _check_dates(name, cells, where)
            return Column(name, "date")
        if as_booleans(cells) is not None:
            return Column(name, "truth")
        odd = looks_numeric(cells)
        if odd is not None and not (points and as_numbers(cells) is not None):
            raise InvalidTable(
                f"{where}, column {name!r}: {odd}. Correct or empty the cells, give the decimal sign (decimal=',' or "
                f"decimal='.'), or pass categorical=[{name!r}] if the values are names."
            )
        if as_numbers(cells) is not None:
            return Column(name, "number")
    return Column(name, "category", _levels(name, as_levels(cells), where))


def _check_dates(name: str, cells: Any, where: str) -> None:
    """Raise an error if the days of dates or times cannot be read."""
    if as_dates(cells) is not None:
        return
    place, value = first_refused(cells, as_dates)
    raise InvalidTable(
        f"{where}, column {name!r} holds dates or times such as {value!r}, in row {place + 1}. Write dates as "
        f"2020-12-31 and times as numbers, or leave the column out with drop=[{name!r}]."
    )


def _levels(name: str, text: Any, where: str) -> tuple[str, ...]:
    """The levels of a category, the most frequent first, ties by name."""
    counts = {pair["values"]: pair["counts"] for pair in text.value_counts().to_pylist()}
    missing = counts.pop(None, 0) > 0
    levels = choose_levels(counts, missing)
    if levels is None:
        raise InvalidTable(
            f"{where}, column {name!r} holds {len(counts)} different texts, most of them once: not a category. Pass "
            f"id={name!r} if it names the rows, or leave it out with drop=[{name!r}]."
        )
    return levels
