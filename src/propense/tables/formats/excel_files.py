"""Excel workbooks (.xlsx): the cells of a sheet, with their types."""

import datetime as dt
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from propense.errors import InvalidOption, InvalidTable, PropenseError
from propense.tables.formats.python_cells import Kinds, as_words
from propense.tables.formats.sheet import Book, SheetRows, column_letters
from propense.tables.formats.text import BROKEN
from propense.tables.formats.typed_files import ROWS
from propense.tables.formats.xlsx_parts import Parts, parse, read_texts

__all__ = ["ExcelReader", "sheet_names"]

# Cells of a table, empty ones included: these, and so many for each byte of the file.
_CELLS, _PER_BYTE = 1 << 20, 12
# Number formats of dates, of times and of durations that have no text of their own.
_DAYS, _DURATIONS = {*range(14, 23), *range(27, 37), 45, 47, *range(50, 59)}, {46}
# What is not a part of a date in the text of a number format.
_QUOTED = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|General', re.IGNORECASE)
_DURATION = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)


class ExcelReader:
    """The table in a sheet of a workbook: names in its first row that is not empty, and a row below for each row.

    Parameters
    ----------
    path : Path
    where : str
        What errors call it.
    sheet : str, default=None
        The name of the sheet. None means the only one that is not empty.
    expected : str, default=None
        The sheet to take if there are several and none is named.
    holding : collection of str, default=()
        Columns that only the table has, such as its label: if one sheet alone has any of them, it is taken.

    Attributes
    ----------
    columns : list of str
    sheet : str
        The sheet that was read.
    only : bool
        Whether no other sheet could have been meant.
    found : bool
        Whether the sheet was taken for a column that it holds.
    """

    def __init__(
        self,
        path: Path,
        where: str,
        sheet: str | None = None,
        expected: str | None = None,
        holding: Collection[str] = (),
    ) -> None:
        self._where, self.found = where, False
        most = _CELLS + _PER_BYTE * path.stat().st_size
        with Parts(path, where) as parts:
            book = _read_book(parts)
            self.sheet, self.only = self._choose(parts, book, sheet, expected, holding)
            self._place = f"{where}, sheet {self.sheet!r}"
            self._read(SheetRows(parts, book.sheets[self.sheet], book, self._place), most)

    def batches(self, wanted: list[str]) -> Iterator[Any]:
        for start in range(0, self._table.num_rows, ROWS):
            yield from self._table.select(wanted).slice(start, ROWS).combine_chunks().to_batches()

    def _choose(
        self, parts: Parts, book: Book, sheet: str | None, expected: str | None, holding: Collection[str]
    ) -> tuple[str, bool]:
        if not book.sheets:
            raise InvalidTable(f"{self._where} has no sheet with cells.")
        if sheet is not None:
            by_name = {name.lower(): name for name in book.sheets}
            if sheet.lower() not in by_name:
                raise InvalidTable(f"{self._where} has no sheet {sheet!r}. Its sheets: {_listed(book.sheets)}.")
            return by_name[sheet.lower()], len(book.sheets) == 1
        filled = list(book.sheets)
        if len(filled) > 1:
            heads = {name: _head(SheetRows(parts, part, book, "")) for name, part in book.sheets.items()}
            filled = [name for name in heads if heads[name]]
        if len(filled) > 1 and expected in filled:
            return str(expected), False
        if len(filled) > 1 and len(holders := [name for name in filled if not heads[name].isdisjoint(holding)]) == 1:
            self.found = True
            return holders[0], False
        if len(filled) > 1:
            raise InvalidOption(
                f"{self._where} has {len(filled)} sheets: {_listed(filled)}. Pass the one that holds the table: "
                # Remarks have a cell or two in their first row, and tables have their names there.
                f"sheet={max(filled, key=lambda name: len(heads[name]))!r}"
            )
        return (filled or list(book.sheets))[0], True

    def _read(self, rows: SheetRows, most: int) -> None:
        """Read the sheet once, into Arrow columns."""
        import pyarrow as pa

        found = iter(rows)
        _, head = next(found, (0, {}))
        if not head:
            raise InvalidTable(f"{self._place} is empty: its first row must contain the column names.")
        places = range(min(head), max(head) + 1)
        names = [_name(head.get(place)) for place in places]
        block: list[tuple[Any, ...]] = []
        kinds = [Kinds() for _ in places]
        count = 0
        parts: list[list[Any]] = [[] for _ in places]
        for number, cells in found:
            outside = [place for place in cells if place not in places]
            if outside:
                self._refuse_nameless(number, outside[0], cells[outside[0]])
            block.append(tuple(cells.get(place) for place in places))
            count += len(places)
            if count > most:
                raise InvalidTable(
                    f"{self._place} has far more cells than its {most // _PER_BYTE:,} bytes could fill. Delete empty "
                    "rows and columns, or save the table as .csv."
                )
            if len(block) >= 1 << 13:
                _keep(block, kinds, parts)
                block = []
        _keep(block, kinds, parts)
        rows.check_formulas()
        empty = [place for place, name in zip(places, names, strict=True) if name == ""]
        for place in empty:
            if any(len(each) - each.null_count for each in parts[place - places[0]]):
                self._refuse_nameless(rows.head, place, "")
        kept = [j for j, name in enumerate(names) if name != ""]
        self.columns = [names[j] for j in kept]
        arrays = [_unified(parts[j], kinds[j].type) for j in kept]
        self._table = pa.Table.from_arrays(arrays, names=self.columns)

    def _refuse_nameless(self, row: int, place: int, value: Any) -> None:
        said = f" ({str(value)[:30]!r} in row {row})" if value != "" else ""
        raise InvalidTable(
            f"{self._place}: column {column_letters(place)} has cells{said} but no name. The names must be in the "
            "first row that is not empty, one in each column: undo merged cells, and delete titles above the names and "
            "remarks next to the table."
        )


def sheet_names(path: Path) -> list[str]:
    """The names of the visible sheets of a workbook; none if it cannot be read."""
    try:
        with Parts(path, path.name) as parts:
            return list(_read_book(parts).sheets)
    except (PropenseError, UnicodeError, *BROKEN):
        return []


def _keep(block: list[tuple[Any, ...]], kinds: list[Kinds], parts: list[list[Any]]) -> None:
    """Keep a block of rows as Arrow columns, of the types that it needs by itself."""
    if not block:
        return
    for kind, kept, values in zip(kinds, parts, zip(*block, strict=True), strict=True):
        kind.look(values)
        own = Kinds()
        own.look(values)
        kept.append(own.array(values))


def _unified(arrays: list[Any], kind: Any) -> Any:
    """The blocks of a column, with the type of the whole column."""
    import pyarrow as pa

    text = pa.types.is_string(kind)
    same = [
        each
        if each.type == kind
        else pa.array([as_words(value) for value in each.to_pylist()], kind)
        if text
        else each.cast(kind)
        for each in arrays
    ]
    return pa.chunked_array(same, kind)


def _name(value: Any) -> str:
    return " ".join((as_words(value) or "").split())


def _head(rows: SheetRows) -> set[str]:
    """The cells of the first row that is not empty, as names; none if the sheet is."""
    _, cells = next(iter(rows), (0, {}))
    return {_name(cell) for cell in cells.values()}


def _listed(names: Any) -> str:
    names = list(names)
    return ", ".join(repr(name[:40]) for name in names[:12]) + (" …" if len(names) > 12 else "")


def _read_book(parts: Parts) -> Book:
    """The visible sheets, the shared texts, and which formats are dates."""
    main = next((name for kind, name in parts.related("").values() if kind == "officeDocument"), "xl/workbook.xml")
    if not parts.has(main):
        raise InvalidTable(f"{parts.where} cannot be read as xlsx: it holds no workbook.")
    listed: list[tuple[str, str]] = []
    epoch = dt.datetime(1899, 12, 30)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal epoch
        if tag == "sheet" and attributes.get("state", "visible") == "visible":
            # The id has a prefix, which files may choose.
            id = next((value for key, value in attributes.items() if key.endswith(":id")), "")
            listed.append((attributes.get("name", ""), id))
        elif tag == "workbookPr" and attributes.get("date1904") in ("1", "true", "on"):
            # Old Macs counted days from another day.
            epoch = dt.datetime(1904, 1, 1)

    for _ in parts.feed(main, parse(start)):
        pass
    related = parts.related(main)
    sheets = {}
    for name, id in listed:
        kind, part = related.get(id, ("", ""))
        if kind == "worksheet" and parts.has(part):
            sheets[name] = part
    by_kind = {kind: part for kind, part in related.values() if parts.has(part)}
    texts = read_texts(parts, by_kind["sharedStrings"]) if "sharedStrings" in by_kind else []
    days, durations = _date_formats(parts, by_kind["styles"]) if "styles" in by_kind else (set(), set())
    return Book(sheets, texts, frozenset(days), frozenset(durations), epoch)


def _date_formats(parts: Parts, name: str) -> tuple[set[int], set[int]]:
    """The styles of cells that show dates or times, and of those that show durations."""
    codes: dict[str, str] = {}
    styles: list[str] = []
    inside: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        inside.append(tag) if len(inside) < 100 else None
        if tag == "numFmt":
            codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
        elif tag == "xf" and "cellXfs" in inside:
            styles.append(attributes.get("numFmtId", "0"))

    def end(tag: str) -> None:
        if inside and inside[-1] == tag:
            inside.pop()

    for _ in parts.feed(name, parse(start, end)):
        pass
    days, durations = set(), set()
    for style, id in enumerate(styles):
        code = codes.get(id)
        number = int(id) if id.isascii() and id.isdigit() and len(id) < 9 else -1
        if (code is None and number in _DURATIONS) or (code is not None and _DURATION.search(_QUOTED.sub("", code))):
            durations.add(style)
        elif (code is None and number in _DAYS) or (code is not None and _is_date(code)):
            days.add(style)
    return days, durations


def _is_date(code: str) -> bool:
    """Whether a number format such as dd/mm/yyyy shows a date or a time; only its part for positive numbers counts."""
    return bool(re.search("[dmyhsDMYHS]", _QUOTED.sub("", code).split(";")[0]))
