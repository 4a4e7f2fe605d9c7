"""A folder of Parquet files: one table in pieces, which need not fit into memory."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from propense.errors import InvalidTable
from propense.tables.cells import first_line
from propense.tables.files import TableFile, check_exists, need_arrow
from propense.tables.formats.typed_files import ROWS

__all__ = ["Piece", "TableFolder", "join_tables"]


@dataclass(frozen=True)
class Piece:
    """A row group of a file, which is read at once.

    Attributes
    ----------
    path : Path
    group : int
        Its number in the file.
    first_row : int
        The number of its first row in the file.
    rows : int
    """

    path: Path
    group: int
    first_row: int
    rows: int

    def read(self, columns: list[str]) -> Any:
        """Some columns of its rows, as an Arrow table."""
        with self._open() as file:
            table = file.read_row_group(self.group, columns=columns)
            table.validate(full=True)
            return table

    def batches(self, columns: list[str]) -> Iterator[Any]:
        """Some columns of its rows, as record batches."""
        with self._open() as file:
            for batch in file.iter_batches(ROWS, row_groups=[self.group], columns=columns):
                batch.validate(full=True)
                yield batch

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """Its file; errors name the file and the row group."""
        from pyarrow import ArrowException, parquet

        try:
            with parquet.ParquetFile(self.path) as file:
                yield file
        except (ArrowException, OSError) as error:
            raise InvalidTable(f"{self.path}, row group {self.group}, cannot be read: {first_line(error)}.") from None


class TableFolder:
    """The Parquet files of a folder and its subfolders, in the order of their names, as one table.

    Parameters
    ----------
    path : Path
        A folder, or one Parquet file. Names that begin with a point or an underscore are ignored.
    """

    def __init__(self, path: Path) -> None:
        need_arrow()
        self.path, self.where = Path(path), str(path)
        check_exists(self.path, "folder")
        if self.path.is_file() and self.path.suffix.lower() != ".parquet":
            raise InvalidTable(
                f"{self.path} is neither a folder of Parquet files nor a Parquet file, which Dask needs."
            )
        files = [self.path] if self.path.is_file() else _visible_files(self.path)
        if not files:
            raise InvalidTable(f"{self.path} contains no Parquet file (*.parquet).")
        self.columns = TableFile(files[0]).columns
        self.kinds = _kinds(files[0])
        for file in files[1:]:
            self._check_like(file, files[0])
        self.pieces = [piece for file in files for piece in _pieces(file)]
        self.rows = sum(piece.rows for piece in self.pieces)
        if not self.rows:
            raise InvalidTable(f"{self.path} has no rows. Check that it is the right folder or file.")

    def read(self) -> Any:
        """The whole table in memory."""
        return join_tables([piece.read(self.columns) for piece in self.pieces])

    def batches(self) -> Iterator[Any]:
        """Record batches in the order of the rows, each with the types that hold the values of every file."""
        import pyarrow as pa

        none = pa.schema([(name, self.kinds[name]) for name in self.columns]).empty_table()
        for piece in self.pieces:
            for batch in piece.batches(self.columns):
                # The files may have their columns in different orders.
                yield from join_tables([none, pa.Table.from_batches([batch])]).to_batches()

    def starts(self) -> NDArray[np.intp]:
        """The number of the first row of each piece in the whole table."""
        return np.cumsum([0, *(piece.rows for piece in self.pieces[:-1])])

    def draw(self, count: int, seed: int) -> list[NDArray[np.intp]]:
        """A simple random sample of `count` rows: the rows of each piece, in order."""
        chosen = np.random.default_rng(seed).choice(self.rows, min(count, self.rows), replace=False)
        chosen.sort()
        starts = self.starts()
        parts = np.split(chosen, np.searchsorted(chosen, starts[1:]))
        return [part - start for part, start in zip(parts, starts, strict=True)]

    def _check_like(self, file: Path, first: Path) -> None:
        columns = TableFile(file).columns
        odd = sorted(set(columns) ^ set(self.columns))
        if odd:
            without, having = (file, first) if odd[0] in self.columns else (first, file)
            raise InvalidTable(f"{without} has no column {odd[0]!r}, but {having} has.")
        import pyarrow as pa

        for name, kind in _kinds(file).items():
            try:
                pair = [pa.schema({name: each}) for each in (self.kinds[name], kind)]
                self.kinds[name] = pa.unify_schemas(pair, promote_options="permissive").field(0).type
            except pa.ArrowException:
                raise InvalidTable(
                    f"{file}, column {name!r}, holds {kind}, but in {first} it holds {self.kinds[name]}."
                ) from None


def join_tables(tables: Sequence[Any]) -> Any:
    """The rows of all tables, with types that hold the values of each."""
    import pyarrow as pa

    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def _visible_files(folder: Path) -> list[Path]:
    """The Parquet files whose names, and those of their folders, do not begin with a point or an underscore."""

    def refuse(error: OSError) -> NoReturn:
        # Rows must not be missing because a folder cannot be read.
        raise InvalidTable(f"{error.filename} cannot be read: {error.strerror}. Check the permissions of the folder.")

    found = []
    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if name[0] not in "._"]
        found += [Path(place, name) for name in names if name.lower().endswith(".parquet") and name[0] not in "._"]
    return sorted(found)


def _kinds(file: Path) -> dict[str, Any]:
    """The Arrow type of each column."""
    from pyarrow import parquet

    return {field.name: field.type for field in parquet.read_schema(file)}


def _pieces(file: Path) -> Iterator[Piece]:
    from pyarrow import parquet

    about, first_row = parquet.read_metadata(file), 0
    for group in range(about.num_row_groups):
        rows = about.row_group(group).num_rows
        if rows:
            yield Piece(file, group, first_row, rows)
        first_row += rows
