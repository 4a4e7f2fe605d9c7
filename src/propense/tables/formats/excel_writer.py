"""Write a table to an Excel workbook (.xlsx), row by row, with texts that no spreadsheet runs."""

import datetime as dt
import math
import re
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

from propense.errors import InvalidTable, MissingExtra

__all__ = ["TITLE", "ExcelWriter", "check_sheet"]

# The name of the sheet that is written.
TITLE = "table"
# What a sheet holds.
_ROWS, _COLUMNS, _SIGNS = 1_048_576, 16_384, 32_767
# Whole numbers beyond lose digits in a spreadsheet.
_LARGEST = 10**15
# What XML does not have or would change is written as Excel writes it; a text that looks so already, too.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
# A number as a person or a program writes it, not a code such as 007.
_NUMBER = re.compile(r"[-+]?(0|[1-9]\d{0,14})(\.\d+)?([eE][-+]?\d{1,3})?|[-+]?\.\d+")


def check_sheet(name: str, columns: int, rows: int = 0) -> None:
    """Raise an error if a sheet cannot hold so many columns or rows, or if workbooks cannot be written here."""
    _need_openpyxl()
    if columns > _COLUMNS:
        raise InvalidTable(
            f"{name}: a sheet holds {_COLUMNS:,} columns, and the table has {columns:,}. Write a .csv file."
        )
    if rows >= _ROWS:
        raise InvalidTable(
            f"{name}: a sheet holds {_ROWS:,} rows, the names included, and these are more. Write a .csv or .parquet "
            "file, or fewer rows."
        )


class ExcelWriter:
    """Writes batches to a sheet.

    Parameters
    ----------
    path : Path
    schema : pyarrow.Schema
    numbers : collection of str
        Columns of text that hold numbers, which are written as numbers.
    decimal : str
        The decimal sign of these texts.
    """

    def __init__(self, path: Path, schema: Any, numbers: Collection[str] = (), decimal: str = ".") -> None:
        self._path, self._names, self._count = path, list(schema.names), 1
        check_sheet(path.name, len(self._names))
        self._numbers = [name in numbers for name in self._names]
        self._decimal = decimal
        openpyxl = _need_openpyxl()
        self._book = openpyxl.Workbook(write_only=True)
        self._sheet = self._book.create_sheet(TITLE)
        self._sheet.freeze_panes = "A2"
        self._sheet.append([self._cell(name, name, 0) for name in self._names])

    def write(self, rows: Any) -> None:
        """Append a table or a batch."""
        check_sheet(self._path.name, len(self._names), self._count + rows.num_rows - 1)
        rows = _with_times_as_text(rows)
        columns = [column.to_pylist() for column in rows.columns]
        numeric = any(self._numbers)
        for values in zip(*columns, strict=True):
            self._count += 1
            if numeric:
                values = tuple(
                    self._as_number(value) if wanted else value
                    for value, wanted in zip(values, self._numbers, strict=True)
                )
            self._sheet.append(
                [self._cell(value, name, self._count) for value, name in zip(values, self._names, strict=True)]
            )

    def close(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._book.save(self._path)

    def discard(self) -> None:
        """Remove what was kept for a sheet that is not written."""
        self._sheet.close()
        Path(self._sheet._writer.out).unlink(missing_ok=True)

    def _as_number(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        words = value.strip()
        if self._decimal == ",":
            words = words.replace(".", "").replace(",", ".") if "," in words else words
        return float(words) if _NUMBER.fullmatch(words) else value

    def _cell(self, value: Any, name: str, row: int) -> Any:
        """A value as openpyxl writes it: a number, a date, true or false; anything else is text, never a formula."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, float):
            # As Excel writes it: openpyxl's sixteen digits are another number, beyond the largest even infinite.
            if math.isfinite(value):
                return self._as_is(f"{value:.17g}", "n")
            return None if math.isnan(value) else str(value)
        if isinstance(value, int) and abs(value) < _LARGEST:
            return value
        if isinstance(value, dt.date) and value.year >= 1900 and getattr(value, "tzinfo", None) is None:
            return value
        if isinstance(value, dt.timedelta | dt.time):
            return value
        text = value.isoformat() if isinstance(value, dt.date) else str(value)
        if text == "":
            return None
        text = _ILLEGAL.sub(lambda match: f"_x{ord(match[0]):04X}_", text)
        if len(text) > _SIGNS:
            raise InvalidTable(
                f"{self._path.name}, column {name[:40]!r}, row {row - 1}: a cell of a sheet holds {_SIGNS:,} "
                f"characters, and this text has {len(text):,}. Leave out the column, or write a .csv file."
            )
        # As text, whatever it looks like: = would begin a formula, and #N/A would be an error.
        return self._as_is(text, "s") if text[0] in "=#" else text

    def _as_is(self, text: str, kind: str) -> Any:
        """A cell with this very text, of openpyxl's kind "n", a number, or "s", a text."""
        from openpyxl.cell import WriteOnlyCell

        cell = WriteOnlyCell(self._sheet, value=None)
        cell._value, cell.data_type = text, kind
        return cell


def _with_times_as_text(rows: Any) -> Any:
    """Moments in a time zone, which sheets do not have, and parts of a second beyond Python's, as text."""
    import pyarrow as pa

    for place, field in enumerate(rows.schema):
        kind = field.type
        fine = pa.types.is_timestamp(kind) and kind.unit == "ns"
        if fine or (pa.types.is_timestamp(kind) and kind.tz is not None):
            rows = rows.set_column(place, field.name, rows.column(place).cast(pa.string()))
        elif pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise pa.ArrowNotImplementedError(f"column {field.name!r} holds {kind}")
    return rows


def _need_openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra(
            'openpyxl is needed to write .xlsx files. Install it: pip install "propense[excel]".'
        ) from None
    return openpyxl
