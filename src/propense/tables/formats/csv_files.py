"""CSV files: cells separated by commas, semicolons, tabs or bars, read as text."""

import csv
import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from propense.errors import InvalidTable
from propense.tables.cells import first_line
from propense.tables.formats.text import BLOCK, BROKEN, TextFile, is_decoded

__all__ = ["CsvReader", "CsvWriter"]

_SEPARATORS = ",;\t|"


class CsvReader:
    """The names and rows of a CSV file.

    Attributes
    ----------
    columns : list of str
    separator : str
    """

    def __init__(self, text: TextFile) -> None:
        self._text, self._where = text, text.where
        self.separator, self._head = ",", 1
        self.marked = text.marked
        self.columns = self._names()

    def batches(self, wanted: list[str]) -> Iterator[Any]:
        """Record batches of text."""
        import pyarrow as pa
        from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

        try:
            with self._text.as_utf8() as source:
                yield from open_csv(
                    source,
                    # The header is skipped, since its names are known.
                    read_options=ReadOptions(block_size=BLOCK, column_names=self.columns, skip_rows=self._head),
                    parse_options=ParseOptions(delimiter=self.separator, newlines_in_values=True),
                    convert_options=ConvertOptions(
                        column_types=dict.fromkeys(self.columns, pa.string()),
                        strings_can_be_null=False,
                        include_columns=wanted,
                    ),
                )
        except pa.ArrowInvalid as error:
            raise InvalidTable(
                f"{self._where} cannot be read as csv: {first_line(error)}{self._first_bad_line()}."
            ) from None

    def _names(self) -> list[str]:
        # Only the first line is read here; errors further down are found when the rows are read.
        first: list[str] = []
        quotes = length = self._head = 0
        for line in self._text.lines():
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
            if quotes % 2 == 0 or length > BLOCK:
                break
        text = "".join(first)
        if not text.strip():
            raise InvalidTable(
                f"{self._where} is empty: the first line must contain the column names. "
                "Check that it is the right file."
            )
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
            raise InvalidTable(f"{self._where}: the first line, the column names, cannot be read: {problem}.")
        # A quotation mark inside a name, as in 5", opens nothing: the lines after it are rows.
        self._head -= len(first) - reader.line_num
        return [" ".join(name.split()) for name in names]

    def _first_bad_line(self) -> str:
        """The first line with the wrong number of cells, if Python's reader finds it."""
        reader = csv.reader(self._text.lines("surrogateescape"), delimiter=self.separator)
        try:
            for row in reader:
                if not all(map(is_decoded, row)):
                    return f" (line {reader.line_num} is not {self._text.encoding.upper()})"
                if row and reader.line_num > self._head and len(row) != len(self.columns):
                    return f" (line {reader.line_num}: {len(row)} cells under {len(self.columns)} names)"
        except (csv.Error, UnicodeError, *BROKEN):
            pass
        return ""


class CsvWriter:
    """Writes batches to a CSV file in UTF-8.

    Parameters
    ----------
    path : Path
        Compressed if its name ends with .gz, .bz2 or .xz.
    schema : pyarrow.Schema
    separator : str
    marked : bool
        Whether the file begins with a byte order mark.
    """

    def __init__(self, path: Path, schema: Any, separator: str, marked: bool) -> None:
        from pyarrow.csv import CSVWriter, WriteOptions

        # Closed in close(), after the writer.
        self._sink = open_sink(path)
        if marked:
            self._sink.write("\ufeff".encode())
        options = WriteOptions(delimiter=separator, quoting_style="needed", include_header=True)
        try:
            self._writer = CSVWriter(self._sink, schema, write_options=options)
        except BaseException:
            # A type that CSV does not have.
            self._sink.close()
            raise

    def write(self, rows: Any) -> None:
        self._writer.write(rows)

    def close(self) -> None:
        self._writer.close()
        self._sink.close()


def open_sink(path: Path) -> Any:
    """A file to write to, compressed as its name says."""
    import bz2
    import lzma

    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.open(path, "wb", 6)
    openers: dict[str, Any] = {".bz2": bz2.open, ".xz": lzma.open}
    return openers.get(suffix, open)(path, "wb")
