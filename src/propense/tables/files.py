"""Tables on disk, read and written in batches: CSV, JSON lines, Excel, Parquet and Arrow."""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from propense.errors import InvalidOption, InvalidTable, MissingExtra, PropenseError
from propense.tables.cells import defused, first_line
from propense.tables.formats.csv_files import CsvReader, CsvWriter
from propense.tables.formats.encodings import check_encoding
from propense.tables.formats.excel_files import ExcelReader
from propense.tables.formats.excel_writer import ExcelWriter, check_sheet
from propense.tables.formats.json_files import JsonReader, JsonWriter
from propense.tables.formats.names import READ_ONLY, SUFFIXES, WRITTEN, check_format, find_format, format_of
from propense.tables.formats.text import BROKEN, TextFile
from propense.tables.formats.typed_files import ArrowReader, ArrowWriter, ParquetReader, ParquetWriter
from propense.tables.spelling import Spelling, with_sign

__all__ = ["SUFFIXES", "TableFile", "TableWriter", "check_exists", "check_output", "need_arrow"]

# The memory that the cells of a file may take: this much, and so many bytes for each of its own. Text that is not
# compressed takes up to 5, and tables seldom compress to a hundredth; a file made to fill the memory, to a thousandth.
_ALLOWANCE, _PER_BYTE = 16 << 20, 100


def need_arrow() -> Any:
    """pyarrow, or an error that explains how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra('pyarrow is needed to read tables. Install it: pip install "propense[cli]".') from None
    return pyarrow


class TableFile:
    """A table that stays on disk.

    The cells of a CSV file are read as text; the other formats keep their types.

    Parameters
    ----------
    path : Path
        The format follows from its name.
    format : {"csv", "tsv", "jsonl", "xlsx", "parquet", "arrow"}, default=None
        The format of a file whose name does not show it.
    sheet : str, default=None
        The sheet of an Excel workbook. None means the only one that is not empty.
    encoding : str, default=None
        The encoding of a text file, such as "cp1252". None means that it is found; if that is not safe, it is an error.
    holding : collection of str, default=()
        Columns by which the sheet is found, if several have cells and none is named: the only one that has any of them.
    expected : Spelling, default=None
        How a table of the same kind was written, such as the one that a model was fitted to. It counts where the file
        itself does not show it.
    where : str, default=None
        What errors call the file. None means its path.

    Attributes
    ----------
    columns : list of str
    format : str
    separator : str
        What separates the cells of a CSV file; a comma in other formats.
    marked : bool
        Whether a text begins with a byte order mark, by which Excel recognises UTF-8.
    encoding : str
        The encoding of the text; "utf-8" in other formats.
    sheet : str or None
        The sheet of a workbook that was read, if there are others.
    """

    def __init__(
        self,
        path: Path,
        *,
        format: str | None = None,
        sheet: str | None = None,
        encoding: str | None = None,
        expected: Spelling | None = None,
        holding: Collection[str] = (),
        where: str | None = None,
    ) -> None:
        self.path = Path(path)
        self.where = str(path) if where is None else where
        self.separator, self.marked, self.encoding = ",", False, "utf-8"
        self.sheet: str | None = None
        self.sheet_found, self._holding = False, holding
        check_format(format)
        encoding = check_encoding(encoding)
        check_exists(self.path, "file")
        self.format = find_format(self.path) or format or format_of(self.path, self.where)
        self._arrow = need_arrow()
        if not self.path.is_file():
            raise InvalidTable(f"{self.where} is not a file.")
        if sheet is not None and self.format != "xlsx":
            raise InvalidOption(f"sheet={sheet!r} is for Excel workbooks, and {self.where} is not one.")
        if encoding is not None and self.format not in ("csv", "tsv", "jsonl"):
            raise InvalidOption(f"encoding={encoding!r} is for files of text, and {self.where} is not one.")
        self._text: TextFile | None = None
        with self._naming_the_file():
            self._reader: Any = self._open(sheet, encoding, expected or Spelling())
        self.columns: list[str] = self._reader.columns
        twice = next((name for name, count in Counter(self.columns).items() if count > 1), None)
        if twice is not None:
            raise InvalidTable(f"{self.where} has two columns called {twice!r}. Rename one of them.")

    @property
    def spelling(self) -> Spelling:
        """How the table is written, as far as the file shows it without its rows."""
        return Spelling(encoding=None if self.encoding == "utf-8" else self.encoding, sheet=self.sheet)

    def batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Record batches in the order of the file, with all columns or some."""
        with self._naming_the_file():
            yield from self._reader.batches(self.columns if columns is None else columns)

    def read(self, columns: list[str] | None = None) -> Any:
        """The whole table, or some columns, in memory."""
        batches, taken = [], 0
        with self._naming_the_file():
            most = _ALLOWANCE + _PER_BYTE * self.path.stat().st_size
        for batch in self.batches(columns):
            taken += sum(map(_cell_bytes, batch.columns))
            if taken > most:
                raise InvalidTable(
                    f"{self.where} unpacks to more than {most >> 20:,} MB, {_PER_BYTE} times its size, as files do "
                    "that are made to fill the memory. If it is a table, save it as a .csv file, which is not "
                    "compressed."
                )
            batches.append(batch)
        if not sum(batch.num_rows for batch in batches):
            raise InvalidTable(f"{self.where} has no rows. Check that it is the right file, and that it was saved.")
        with self._naming_the_file():
            return self._arrow.Table.from_batches(batches).combine_chunks()

    def _open(self, sheet: str | None, encoding: str | None, expected: Spelling) -> Any:
        if self.format == "parquet":
            return ParquetReader(self.path)
        if self.format == "arrow":
            return ArrowReader(self.path)
        if self.format == "xlsx":
            book = ExcelReader(self.path, self.where, sheet, expected.sheet, self._holding)
            self.sheet, self.sheet_found = None if book.only else book.sheet, book.found
            return book
        text = self._text = TextFile(self.path, self.where, encoding, expected.encoding)
        self.encoding, self.marked = text.encoding, text.marked
        if self.format == "jsonl":
            return JsonReader(text)
        reader = CsvReader(text)
        self.separator, self.marked = reader.separator, reader.marked
        return reader

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        """Raise errors of the reader again with the name of the file."""
        name = "csv" if self.format == "tsv" else self.format
        try:
            yield
        except PropenseError:
            raise
        except UnicodeError as error:
            if self._text is None:
                raise InvalidTable(f"{self.where} cannot be read as {name}: {first_line(error)}.") from None
            encoding = self.encoding.upper()
            advice = "Save it as UTF-8, in Excel as 'CSV UTF-8', or pass encoding='cp1252' or another."
            raise InvalidTable(f"{self.where}, line {self._text.undecodable()}, is not {encoding}. {advice}") from None
        except (self._arrow.ArrowException, *BROKEN) as error:
            raise InvalidTable(f"{self.where} cannot be read as {name}: {first_line(error)}.") from None


class TableWriter:
    """Writes tables or batches of one schema to a file, inside a with statement.

    Parameters
    ----------
    path : Path
        The format follows from its name.
    separator : str, default=None
        The separator of a CSV file. None means a comma, or a tab for .tsv.
    marked : bool, default=False
        Whether a CSV file begins with the byte order mark by which Excel recognises UTF-8.
    defuse : bool, default=False
        Whether texts in a CSV file that a spreadsheet would run as a formula get an apostrophe in front.
    decimal : {".", ","}, default="."
        The decimal sign of numbers in a CSV file. It may be set until the first rows are written.
    numbers : collection of str, default=()
        Columns of text that hold numbers with this decimal sign. Excel gets them as numbers.
    """

    def __init__(
        self,
        path: Path,
        *,
        separator: str | None = None,
        marked: bool = False,
        defuse: bool = False,
        decimal: str = ".",
        numbers: Collection[str] = (),
    ) -> None:
        self._path, self._marked, self._defuse, self._numbers = path, marked, defuse, numbers
        self.decimal = decimal
        found = find_format(path)
        if found is None or path.name.lower().endswith(READ_ONLY):
            raise InvalidTable(f"{path}: the name of a file to write must end with {WRITTEN}.")
        self._format = found
        self._separator = separator or ("\t" if self._format == "tsv" else ",")
        if self._format == "xlsx":
            check_sheet(path.name, 0)
        self._writer: Any = None

    @classmethod
    def like(
        cls, path: Path, source: Any, *, defuse: bool = False, decimal: str | None = None, numbers: Collection[str] = ()
    ) -> Self:
        """A writer of a file for the same spreadsheet that made the source: with its semicolons, mark and decimal sign.

        If nothing shows the decimal sign, semicolons do: spreadsheets that write them have decimal commas, and take a
        chance of 9.25 for a month.
        """
        separator = getattr(source, "separator", ",")
        separator = None if separator in (",", "\t") else separator
        sign = decimal or ("," if separator == ";" else ".")
        marked = getattr(source, "marked", False)
        return cls(path, separator=separator, marked=marked, defuse=defuse, decimal=sign, numbers=numbers)

    def __enter__(self) -> Self:
        return self

    def write(self, rows: Any) -> None:
        """Append a table or a batch."""
        text = self._format in ("csv", "tsv")
        try:
            if text:
                rows = with_sign(rows, self.decimal)
                rows = defused(rows) if self._defuse else rows
            if self._writer is None:
                self._writer = self._open(rows.schema)
            self._writer.write(rows)
        except need_arrow().ArrowException as error:
            raise InvalidTable(
                f"{self._path.name} cannot be written as {self._format}: {first_line(error)}. Leave out the column, or "
                "choose another format."
            ) from None

    def __exit__(self, kind: object, *_: object) -> None:
        if self._writer is None:
            return
        if kind is not None and isinstance(self._writer, ExcelWriter):
            self._writer.discard()
        else:
            self._writer.close()

    def _open(self, schema: Any) -> Any:
        if self._format == "parquet":
            return ParquetWriter(self._path, schema)
        if self._format == "arrow":
            return ArrowWriter(self._path, schema)
        if self._format == "jsonl":
            return JsonWriter(self._path)
        if self._format == "xlsx":
            return ExcelWriter(self._path, schema, self._numbers, self.decimal)
        return CsvWriter(self._path, schema, self._separator, self._marked)


def check_output(path: Path, columns: int, rows: int = 0) -> None:
    """Raise an error, before any work, if a table of this size could not be written to a file of this name."""
    TableWriter(path)
    if find_format(path) == "xlsx":
        check_sheet(path.name, columns, rows)


def check_exists(path: Path, kind: str) -> None:
    """Raise an error if there is no such file or folder, or it cannot be seen."""
    try:
        if not path.exists():
            raise InvalidTable(
                f"{path}: there is no such {kind}. Check its name, and the folder you are in: {Path.cwd()}"
            )
    except OSError as error:
        raise InvalidTable(f"{path} cannot be opened: {error.strerror}. Check its name and permissions.") from None


def _cell_bytes(cells: Any) -> int:
    """The memory that cells take, without the categories, which the batches of a file share."""
    return int(getattr(cells, "indices", cells).nbytes)
