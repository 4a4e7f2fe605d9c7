"""The columns of a table and their kinds, and the table as a matrix of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.errors import InvalidTable
from propense.tables.cells import (
    as_booleans,
    as_levels,
    as_numbers,
    as_text,
    check_feature,
    first_refused,
    is_categorical,
    is_dated,
    looks_numeric,
    naming_the_column,
)

__all__ = ["MISSING", "OTHER", "Column", "Schema", "infer_schema"]

# Levels that are not a value of the column.
MISSING, OTHER = "(missing)", "(other)"
# A category has at most 30 levels, each with at least 5 rows; the other values are OTHER.
_LEVELS, _ROWS = 30, 5
# Sums of squares of larger numbers overflow float64.
_LARGEST = 1e100


@dataclass(frozen=True)
class Column:
    """One column of the table.

    Attributes
    ----------
    name : str
    kind : {"number", "truth", "category"}
        "truth" is true or false, as the numbers 1 and 0.
    levels : tuple of str
        The levels of a category, the most frequent first.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()

    def encode(self, cells: Any, where: str, first_row: int) -> NDArray[np.float64]:
        """Numbers, NaN where missing; for a category the number of the level, −1 if it is not a level of the fit."""
        with naming_the_column(cells, self.name, where):
            if self.kind == "category":
                return self._encode_levels(cells)
            numbers = as_booleans(cells) if self.kind == "truth" else as_numbers(cells)
            if numbers is None:
                place, value = first_refused(cells, as_booleans if self.kind == "truth" else as_numbers)
                wanted = "true or false" if self.kind == "truth" else "a number"
                row = first_row + place + 1
                raise InvalidTable(f"{where}, column {self.name!r}, row {row}: {value!r} is not {wanted}.")
        large = np.abs(numbers) >= _LARGEST
        if large.any():
            place = int(np.flatnonzero(large)[0])
            raise InvalidTable(
                f"{where}, column {self.name!r}, row {first_row + place + 1}: {numbers[place]:g} is too large. "
                "Correct the cell, or leave it empty."
            )
        return numbers

    def _encode_levels(self, cells: Any) -> NDArray[np.float64]:
        import pyarrow as pa
        from pyarrow import compute

        text = as_levels(cells)
        codes = compute.index_in(text, value_set=pa.array(self.levels, pa.string()))
        codes = codes.fill_null(self.levels.index(OTHER) if OTHER in self.levels else -1)
        missing = self.levels.index(MISSING) if MISSING in self.levels else -1
        codes = compute.if_else(compute.is_null(text), pa.scalar(missing, pa.int32()), codes)
        return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.float64)


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
        return np.array([len(column.levels) for column in self.columns], dtype=np.int64)

    def check(self, names: Sequence[str], where: str) -> None:
        """Raise an error if a column is missing."""
        found = set(names)
        missing = [name for name in self.names if name not in found]
        if missing:
            shown = ", ".join(map(repr, missing[:5])) + (" …" if len(missing) > 5 else "")
            raise InvalidTable(f"{where} does not have these columns, which the model needs: {shown}.")

    def encode(self, table: Any, where: str, first_row: int = 0) -> NDArray[np.float64]:
        """The table as a matrix with the same columns; `where` and `first_row` are used in errors."""
        out = np.empty((table.num_rows, len(self.columns)), order="F")
        for j, column in enumerate(self.columns):
            out[:, j] = column.encode(table.column(column.name), where, first_row)
        return out


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


def _infer_column(name: str, cells: Any, where: str, categorical: bool, points: bool) -> Column | None:
    if is_dated(cells):
        raise InvalidTable(
            f"{where}, column {name!r} holds dates. Turn them into numbers, such as an age, or leave it out with "
            f"drop=[{name!r}]."
        )
    if as_text(cells).null_count == len(cells):
        return None
    if not categorical and not is_categorical(cells):
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


def _levels(name: str, text: Any, where: str) -> tuple[str, ...]:
    """The levels of a category, the most frequent first, ties by name."""
    counts = {pair["values"]: pair["counts"] for pair in text.value_counts().to_pylist()}
    missing = counts.pop(None, 0)
    if len(counts) > _LEVELS and sum(count == 1 for count in counts.values()) > len(counts) / 2:
        raise InvalidTable(
            f"{where}, column {name!r} holds {len(counts)} different texts, most of them once: not a category. Pass "
            f"id={name!r} if it names the rows, or leave it out with drop=[{name!r}]."
        )
    ordered = sorted(counts, key=lambda value: (-counts[value], value))
    kept = [value for value in ordered[:_LEVELS] if counts[value] >= _ROWS] or ordered[:1]
    return (*kept, *[OTHER] * (len(kept) < len(counts)), *[MISSING] * bool(missing))
