"""Tables on disk, read and written in batches: CSV (also gzipped), Parquet and Arrow."""

import csv
import gzip
import io
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from propense.errors import InvalidTable, MissingExtra
from propense.tables.cells import defused, first_line

__all__ = ["SUFFIXES", "TableFile", "TableWriter", "check_exists", "need_arrow"]

# The format by the end of the file name.
SUFFIXES = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
# Bytes of text, and rows of the other formats, per batch: tens of megabytes as numbers.
_BLOCK, _ROWS = 4 << 20, 1 << 16
# Characters of a line: a row may extend over two blocks, but not three.
_LONGEST = 2 * _BLOCK
# The memory that the cells of a file may take: this much, and so many bytes for each of its own. Text that is not
# compressed takes up to 5, and tables seldom compress to a hundredth; a file made to fill the memory, to a thousandth.
_ALLOWANCE, _PER_BYTE = 16 << 20, 100
_SEPARATORS = ",;\t|"


def need_arrow() -> Any:
    """pyarrow, or an error that explains how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("pyarrow is needed to read tables. Install it: pip install 'propense[cli]'.") from None
    return pyarrow


class TableFile:
    """A table that stays on disk.

    The cells of a CSV file are read as text; the other formats keep their types.

    Parameters
    ----------
    path : Path
        The format follows from its name.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.separator, self._head, self.marked = ",", 1, False
        check_exists(self.path, "file")
        self._format = _format_of(self.path)
        self._arrow = need_arrow()
        if not self.path.is_file():
            raise InvalidTable(f"{self.path} is not a file.")
        self.columns = self._read_names()

    def batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Record batches in the order of the file, with all columns or some."""
        wanted = self.columns if columns is None else columns
        with self._naming_the_file():
            if self._format == "csv":
                yield from self._csv_batches(wanted)
            elif self._format == "parquet":
                from pyarrow import parquet

                with parquet.ParquetFile(self.path) as file:
                    for batch in file.iter_batches(_ROWS, columns=wanted):
                        batch.validate(full=True)
                        yield batch
            else:
                yield from self._arrow_batches(wanted)

    def read(self, columns: list[str] | None = None) -> Any:
        """The whole table, or some columns, in memory."""
        batches, taken = [], 0
        with self._naming_the_file():
            most = _ALLOWANCE + _PER_BYTE * self.path.stat().st_size
        for batch in self.batches(columns):
            taken += sum(map(_cell_bytes, batch.columns))
            if taken > most:
                raise InvalidTable(
                    f"{self.path} unpacks to more than {most >> 20:,} MB, {_PER_BYTE} times its size, as files do that "
                    "are made to fill the memory. If it is a table, save it as a .csv file, which is not compressed."
                )
            batches.append(batch)
        if not sum(batch.num_rows for batch in batches):
            raise InvalidTable(f"{self.path} has no rows.")
        with self._naming_the_file():
            return self._arrow.Table.from_batches(batches).combine_chunks()

    def _read_names(self) -> list[str]:
        with self._naming_the_file():
            names = self._csv_names() if self._format == "csv" else self._typed_names()
        twice = next((name for name, count in Counter(names).items() if count > 1), None)
        if twice is not None:
            raise InvalidTable(f"{self.path} has two columns called {twice!r}. Rename one of them.")
        return names

    def _csv_names(self) -> list[str]:
        # Only the first line is read here; errors further down are found when the rows are read.
        first: list[str] = []
        quotes = length = self._head = 0
        for line in self._lines():
            self._head += 1
            if not first:
                self.marked |= line.startswith("\ufeff")
                line = line.lstrip("\ufeff")
                # Blank lines are skipped; Excel writes sep=; before the names.
                if not line.strip("\r\n ") or line.lower().startswith("sep="):
                    continue
            first.append(line)
            quotes, length = quotes + line.count('"'), length + len(line)
            # A quoted name may contain a line break.
            if quotes % 2 == 0 or length > _BLOCK:
                break
        text = "".join(first)
        if not text.strip():
            raise InvalidTable(f"{self.path} is empty: the first line must contain the column names.")
        bare = re.sub('"[^"]*"', "", text)
        self.separator = max(_SEPARATORS, key=bare.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.separator)
        problem = None
        try:
            names = next(reader)
        except csv.Error as error:
            problem = str(error)
        if quotes % 2 and (problem or reader.line_num == len(first)):
            problem = 'a quotation mark (") is not closed'
        if problem:
            raise InvalidTable(f"{self.path}: the first line, the column names, cannot be read: {problem}.")
        # A quotation mark inside a name, as in 5", opens nothing: the lines after it are rows.
        self._head -= len(first) - reader.line_num
        return [" ".join(name.split()) for name in names]

    def _open_text(self) -> Any:
        return gzip.open(self.path, "rb") if self.path.name.endswith(".gz") else self.path.open("rb")

    def _lines(self, errors: str = "strict") -> Iterator[str]:
        """The lines of a text file; one that is too long is an error.

        A small compressed file may hold a line that would fill the memory.
        """
        with self._open_text() as raw, io.TextIOWrapper(raw, encoding="utf-8", errors=errors, newline="") as file:
            for number in itertools.count(1):
                line = file.readline(_LONGEST)
                if not line:
                    return
                if len(line) == _LONGEST:
                    raise InvalidTable(
                        f"{self.path}, line {number}, is longer than {_LONGEST:,} characters, too long for a row of a "
                        "table. Check that the file is a table."
                    )
                yield line

    def _undecodable(self) -> int:
        """The number of the first line that is not UTF-8."""
        number = 0
        with suppress(EOFError, OSError, zlib.error):
            for number, line in enumerate(self._lines("surrogateescape"), 1):  # noqa: B007
                if not _is_decoded(line):
                    break
        return number

    def _first_bad_line(self) -> str:
        """The first line with the wrong number of cells, if Python's reader finds it."""
        reader = csv.reader(self._lines("surrogateescape"), delimiter=self.separator)
        try:
            for row in reader:
                if not all(map(_is_decoded, row)):
                    return f" (line {reader.line_num} is not UTF-8)"
                if row and reader.line_num > self._head and len(row) != len(self.columns):
                    return f" (line {reader.line_num}: {len(row)} cells under {len(self.columns)} names)"
        except (csv.Error, EOFError, OSError, zlib.error):
            pass
        return ""

    def _typed_names(self) -> list[str]:
        if self._format == "parquet":
            from pyarrow import parquet

            return list(parquet.read_schema(self.path).names)
        with self._arrow.OSFile(str(self.path)) as source:
            return list(self._arrow.ipc.open_file(source).schema.names)

    def _csv_batches(self, wanted: list[str]) -> Iterator[Any]:
        from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

        text = self._arrow.string()
        try:
            yield from open_csv(
                self.path,
                # The header is skipped, since its names are known.
                read_options=ReadOptions(block_size=_BLOCK, column_names=self.columns, skip_rows=self._head),
                parse_options=ParseOptions(delimiter=self.separator, newlines_in_values=True),
                convert_options=ConvertOptions(
                    column_types=dict.fromkeys(self.columns, text), strings_can_be_null=False, include_columns=wanted
                ),
            )
        except self._arrow.ArrowInvalid as error:
            raise InvalidTable(
                f"{self.path} cannot be read as csv: {first_line(error)}{self._first_bad_line()}."
            ) from None

    def _arrow_batches(self, wanted: list[str]) -> Iterator[Any]:
        with self._arrow.memory_map(str(self.path)) as source:
            reader = self._arrow.ipc.open_file(source)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number).select(wanted)
                # The offsets of texts and the codes of categories are read as they are: in a damaged file they point
                # outside its memory, and using them would crash the process.
                batch.validate(full=True)
                for start in range(0, batch.num_rows, _ROWS):
                    yield batch.slice(start, _ROWS)

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        """Raise errors of the reader again with the name of the file."""
        try:
            yield
        except UnicodeDecodeError as error:
            if self._format != "csv":
                raise InvalidTable(f"{self.path} cannot be read as {self._format}: {first_line(error)}.") from None
            raise InvalidTable(
                f"{self.path}, line {self._undecodable()}, is not UTF-8. Save it as UTF-8, in Excel as 'CSV UTF-8'."
            ) from None
        except (self._arrow.ArrowException, OSError, EOFError, zlib.error) as error:
            raise InvalidTable(f"{self.path} cannot be read as {self._format}: {first_line(error)}.") from None


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
    """

    def __init__(self, path: Path, *, separator: str | None = None, marked: bool = False, defuse: bool = False) -> None:
        self._path, self._marked, self._defuse = path, marked, defuse
        self._separator = separator or ("\t" if ".tsv" in path.suffixes else ",")
        self._format = _format_of(Path(path.name))
        self._sink: Any = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def write(self, rows: Any) -> None:
        """Append a table or a batch."""
        try:
            if self._defuse and self._format == "csv":
                rows = defused(rows)
            if self._writer is None:
                self._writer = self._open(rows.schema)
            self._writer.write(rows)
        except need_arrow().ArrowException as error:
            raise InvalidTable(
                f"{self._path.name} cannot be written as {self._format}: {first_line(error)}. Leave out the column, or "
                "choose another format."
            ) from None

    def __exit__(self, *_: object) -> None:
        for each in (self._writer, self._sink):
            if each is not None:
                each.close()

    def _open(self, schema: Any) -> Any:
        arrow = need_arrow()
        if self._format == "parquet":
            from pyarrow import parquet

            return parquet.ParquetWriter(self._path, schema)
        if self._format == "arrow":
            self._sink = arrow.OSFile(str(self._path), "wb")
            return arrow.ipc.new_file(self._sink, schema)
        from pyarrow.csv import CSVWriter, WriteOptions

        # Closed in __exit__, after the writer.
        self._sink = gzip.open(self._path, "wb", 6) if self._path.suffix == ".gz" else self._path.open("wb")  # noqa: SIM115
        if self._marked:
            self._sink.write("\ufeff".encode())
        options = WriteOptions(delimiter=self._separator, quoting_style="needed", include_header=True)
        return CSVWriter(self._sink, schema, write_options=options)


def check_exists(path: Path, kind: str) -> None:
    """Raise an error if there is no such file or folder, or it cannot be seen."""
    try:
        if not path.exists():
            raise InvalidTable(f"{path}: there is no such {kind}.")
    except OSError as error:
        raise InvalidTable(f"{path} cannot be opened: {error.strerror}. Check its name and permissions.") from None


def _cell_bytes(cells: Any) -> int:
    """The memory that cells take, without the categories, which the batches of a file share."""
    return int(getattr(cells, "indices", cells).nbytes)


def _is_decoded(text: str) -> bool:
    """Whether a text has no byte that was escaped because it is not UTF-8."""
    return text.isascii() or not any("\udc80" <= sign <= "\udcff" for sign in text)


def _format_of(path: Path) -> str:
    for suffix, name in SUFFIXES.items():
        if path.name.lower().endswith(suffix):
            return name
    raise InvalidTable(f"{path}: the name must end with {', '.join(SUFFIXES)}.")
