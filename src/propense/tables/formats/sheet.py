"""The rows of a sheet of an Excel workbook, cell by cell, as they are read."""

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from propense.errors import InvalidTable
from propense.tables.formats.xlsx_parts import Parts, parse, plain

__all__ = ["Book", "SheetRows", "column_letters"]

_ROWS, _COLUMNS = 1 << 20, 1 << 14
_REFERENCE = re.compile("([A-Z]{1,3})([0-9]{1,7})")
# Days of Excel that Python's calendar has.
_LAST_DAY = 2_958_466


@dataclass(frozen=True)
class Book:
    """What a workbook says of its sheets and cells.

    Attributes
    ----------
    sheets : dict of str to str
        The part of each visible sheet, by its name.
    texts : list of str
        The texts that cells refer to.
    days, durations : frozenset of int
        The styles of cells that show dates or times, and durations.
    epoch : datetime
        The day that dates are counted from.
    """

    sheets: dict[str, str]
    texts: list[str]
    days: frozenset[int]
    durations: frozenset[int]
    epoch: dt.datetime


class SheetRows:
    """The rows that are not empty: their numbers, and their cells by column, from 0.

    Parameters
    ----------
    parts : Parts
    name : str
        The part of the sheet.
    book : Book
        What the workbook says of its cells.
    where : str
        What errors call the sheet.
    """

    def __init__(self, parts: Parts, name: str, book: Book, where: str) -> None:
        self._parts, self._name, self._book, self._where = parts, name, book, where
        self._unknown: tuple[int, int] | None = None
        self.head = 1

    def __iter__(self) -> Iterator[tuple[int, dict[int, Any]]]:
        found = _Cells(self._book)
        first = True
        for _ in self._parts.feed(self._name, parse(found.start, found.end, found.text)):
            for number, cells in found.take():
                if first:
                    self.head, first = number, False
                yield number, cells
            self._unknown = self._unknown or found.unknown

    def check_formulas(self) -> None:
        """Raise an error if a formula that was read has no value."""
        if self._unknown is not None:
            row, place = self._unknown
            raise InvalidTable(
                f"{self._where}, cell {column_letters(place)}{row} holds a formula without a value: it was never "
                "calculated. Open the workbook in Excel or LibreOffice and save it."
            )


class _Cells:
    """What a parser of a sheet calls."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._rows: list[tuple[int, dict[int, Any]]] = []
        self._row, self._column, self._count = 0, -1, 0
        self._cells: dict[int, Any] = {}
        self._kind, self._style = "n", 0
        self._held: list[str] = []
        self._collects = self._formula = self._in_data = self._in_cell = False
        self._phonetic = 0
        self.unknown: tuple[int, int] | None = None

    def take(self) -> list[tuple[int, dict[int, Any]]]:
        """The rows that are complete."""
        rows, self._rows = self._rows, []
        return rows

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "c" and self._in_data:
            self._in_cell = True
            self._held.clear()
            self._formula = False
            self._kind = attributes.get("t", "n")
            style = attributes.get("s", "0")
            self._style = int(style) if style.isdecimal() and len(style) < 9 else 0
            match = _REFERENCE.fullmatch(attributes.get("r", ""))
            self._column = self._column + 1 if match is None else _column_number(match[1])
        elif tag in ("v", "t"):
            self._collects = self._in_cell and not self._phonetic
        elif tag == "row" and self._in_data:
            number = attributes.get("r", "")
            self._row = int(number) if number.isdecimal() and len(number) < 9 else self._row + 1
            self._column, self._cells = -1, {}
            self._count += 1
            if self._count > _ROWS:
                raise ValueError(f"it has more than {_ROWS:,} rows, which sheets do not have")
        elif tag == "f":
            self._formula = self._in_cell
        elif tag == "rPh":
            self._phonetic += 1
        elif tag == "sheetData":
            self._in_data = True

    def text(self, words: str) -> None:
        if self._collects:
            self._held.append(words)

    def end(self, tag: str) -> None:
        if tag == "c" and self._in_cell:
            self._in_cell = False
            value = self._value("".join(self._held))
            if value is not None and value != "":
                if self._column >= _COLUMNS:
                    raise ValueError(f"a cell in column {self._column + 1}, and sheets have {_COLUMNS:,}")
                self._cells[self._column] = value
            elif self._formula and self._kind == "n" and self.unknown is None:
                # A formula whose value is an empty text has the kind str.
                self.unknown = self._row, self._column
        elif tag in ("v", "t"):
            self._collects = False
        elif tag == "row" and self._in_data:
            if self._cells:
                self._rows.append((self._row, self._cells))
            self._cells = {}
        elif tag == "rPh":
            self._phonetic -= 1
        elif tag == "sheetData":
            self._in_data = False

    def _value(self, words: str) -> Any:
        """A number, a text, true or false, a date, a time or a duration."""
        kind = self._kind
        if words == "":
            return None
        if kind == "n":
            return self._number(words)
        if kind == "s":
            place = int(words)
            if not 0 <= place < len(self._book.texts):
                raise ValueError(f"a cell refers to text {place}, and there are {len(self._book.texts)}")
            return self._book.texts[place]
        if kind == "b":
            return words.strip() in ("1", "true")
        if kind == "d":
            return _day(dt.datetime.fromisoformat(words.strip().replace("Z", "")))
        # A text in the cell, the text of a formula, or an error such as #N/A, which counts as text.
        return plain(words)

    def _number(self, words: str) -> Any:
        number = float(words)
        if self._style in self._book.durations and abs(number) < _LAST_DAY:
            return dt.timedelta(milliseconds=round(number * 86_400_000))
        if self._style in self._book.days and 0 <= number < _LAST_DAY:
            return self._date(number)
        return int(number) if number.is_integer() and abs(number) < 1e15 else number

    def _date(self, number: float) -> Any:
        # Excel counts to the thousandth of a second.
        moment = self._book.epoch + dt.timedelta(milliseconds=round(number * 86_400_000))
        if number < 1:
            return moment.time()
        if number < 60 and self._book.epoch.year == 1899:
            # Excel takes 1900 for a leap year, so days before its 29 February are one later than they seem.
            moment += dt.timedelta(days=1)
        return _day(moment)


def _day(moment: dt.datetime) -> dt.date:
    """A day where the time is midnight."""
    moment = moment.replace(tzinfo=None)
    return moment.date() if moment.time() == dt.time() else moment


def _column_number(letters: str) -> int:
    """A is 0, Z is 25, AA is 26."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


def column_letters(place: int) -> str:
    """0 is A, 25 is Z, 26 is AA."""
    letters, place = "", place + 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
