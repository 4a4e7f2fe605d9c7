"""JSON lines: one object per line, whose keys are the columns."""

import json
import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from propense.errors import InvalidTable
from propense.tables.cells import first_line
from propense.tables.formats.csv_files import open_sink
from propense.tables.formats.python_cells import Kinds
from propense.tables.formats.text import BLOCK, TextFile
from propense.tables.formats.typed_files import ROWS

__all__ = ["JsonReader", "JsonWriter"]

# Cells of a batch, missing ones included; and of a file, with so many more for each sign of it: each of its keys may be
# in few of its rows.
_CELLS, _PER_SIGN = 4 << 20, 50
_LONGEST = 40


class JsonReader:
    """The columns and rows of JSON lines.

    A column exists from the first row that has its key; in other rows it is missing. The file is read twice: once for
    the columns and their types, and once for the rows.
    """

    def __init__(self, text: TextFile) -> None:
        self._text, self._where = text, text.where
        self._kinds: dict[str, Kinds] = {}
        count = size = 0
        for rows, length in self._blocks(ROWS):
            cells: dict[str, list[Any]] = {}
            for row in rows:
                for name, value in row.items():
                    cells.setdefault(name, []).append(value)
            for name, values in cells.items():
                self._kinds.setdefault(name, Kinds()).look(values)
            count, size = count + len(rows), size + length
            if len(self._kinds) > 1 and count * len(self._kinds) > _CELLS + _PER_SIGN * size:
                raise InvalidTable(
                    f"{self._where} has {len(self._kinds):,} different keys in {count:,} rows, most of which are "
                    "missing in most rows: too many for the columns of a table."
                )
        self.columns = list(self._kinds)

    def batches(self, wanted: list[str]) -> Iterator[Any]:
        """Record batches with the types of the whole file."""
        import pyarrow as pa

        schema = pa.schema({name: self._kinds[name].type for name in wanted})
        for rows, _ in self._blocks(max(_CELLS // max(len(wanted), 1), 1)):
            cells = [self._kinds[name].array([row.get(name) for row in rows]) for name in wanted]
            yield pa.RecordBatch.from_arrays(cells, schema=schema)

    def _blocks(self, most: int) -> Iterator[tuple[list[dict[str, Any]], int]]:
        """Rows that take some megabytes of text, no more of them than `most`, and the length of their text."""
        rows: list[dict[str, Any]] = []
        size = 0
        for number, line in enumerate(self._text.lines(), 1):
            # What other readers take for a line break may stand within a text.
            if not (line := line.strip(" \t\r\n\ufeff")):
                continue
            rows.append(self._row(line, number))
            size += len(line)
            if size > BLOCK or len(rows) >= min(ROWS, most):
                yield rows, size
                rows, size = [], 0
        if rows:
            yield rows, size

    def _row(self, line: str, number: int) -> dict[str, Any]:
        where = f"{self._where}, line {number}"
        try:
            row = json.loads(line, object_pairs_hook=_Pairs)
        except (ValueError, RecursionError) as error:
            if number == 1 and line.startswith("["):
                raise InvalidTable(_ONE_LIST.format(self._where)) from None
            raise InvalidTable(f"{where} is not JSON: {first_line(error)[:200]}.") from None
        if not isinstance(row, _Pairs):
            if number == 1 and isinstance(row, list):
                raise InvalidTable(_ONE_LIST.format(self._where))
            raise InvalidTable(f'{where} is not an object, such as {{"age": 41, "sex": "f"}}.')
        found = dict(row)
        if len(found) < len(row):
            names = [name for name, _ in row]
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidTable(f"{where} has the key {twice[:_LONGEST]!r} twice. Keep one.")
        for name, value in found.items():
            if isinstance(value, _Pairs | list):
                what = "an object" if isinstance(value, _Pairs) else "a list"
                without = shlex.quote(f"del(.[{json.dumps(name)}])")
                raise InvalidTable(
                    f"{where}, column {name[:_LONGEST]!r} holds {what}, not a number, a text or true/false. Give each "
                    f"of its values a column of its own, or leave it out: jq -c {without}"
                )
        _check_text(line, found, where)
        return found


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, also if a key is there twice."""


_ONE_LIST = (
    "{} holds one list, and JSON lines hold one object per line. Convert it: jq -c '.[]', or to_json(orient='records', "
    "lines=True) in pandas."
)


def _check_text(line: str, row: dict[str, Any], where: str) -> None:
    """Raise an error if a text has half a character, which only an escape in the line can make."""
    if "\\u" not in line:
        return
    for name, value in row.items():
        try:
            f"{name}{value}".encode()
        except UnicodeEncodeError:
            shown = ascii(name[:_LONGEST])
            raise InvalidTable(
                f"{where}, column {shown} has half of a character (a lone surrogate). Correct it."
            ) from None


class JsonWriter:
    """Writes batches as JSON lines in UTF-8: numbers, true and false as they are, missing cells as null."""

    def __init__(self, path: Path) -> None:
        self._sink = open_sink(path)

    def write(self, rows: Any) -> None:
        names = rows.schema.names
        cells = [_plain_cells(column) for column in rows.columns]
        for row in zip(*cells, strict=True):
            self._sink.write(f"{_encode(dict(zip(names, row, strict=True)))}\n".encode())

    def close(self) -> None:
        self._sink.close()


_encode = json.JSONEncoder(ensure_ascii=False).encode


def _plain_cells(column: Any) -> list[Any]:
    import pyarrow as pa

    types, values = pa.types, column.to_pylist()
    if any(same(column.type) for same in (types.is_string, types.is_integer, types.is_boolean, types.is_null)):
        return list(values)
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    """What JSON has: no infinities, no dates, no bytes."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return str(value)
