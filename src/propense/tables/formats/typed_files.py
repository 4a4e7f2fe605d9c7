"""Parquet and Arrow files, whose columns have types."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["ROWS", "ArrowReader", "ArrowWriter", "ParquetReader", "ParquetWriter"]

# Rows per batch: tens of megabytes as numbers.
ROWS = 1 << 16


class ParquetReader:
    """The names and rows of a Parquet file."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self._path = path
        self.columns = list(parquet.read_schema(path).names)

    def batches(self, wanted: list[str]) -> Iterator[Any]:
        from pyarrow import parquet

        with parquet.ParquetFile(self._path) as file:
            for batch in file.iter_batches(ROWS, columns=wanted):
                batch.validate(full=True)
                yield batch


class ArrowReader:
    """The names and rows of an Arrow file."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        self._path = path
        with pa.OSFile(str(path)) as source:
            self.columns = list(pa.ipc.open_file(source).schema.names)

    def batches(self, wanted: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        with pa.memory_map(str(self._path)) as source:
            reader = pa.ipc.open_file(source)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number).select(wanted)
                # The offsets of texts and the codes of categories are read as they are: in a damaged file they point
                # outside its memory, and using them would crash the process.
                batch.validate(full=True)
                for start in range(0, batch.num_rows, ROWS):
                    yield batch.slice(start, ROWS)


class ParquetWriter:
    """Writes batches to a Parquet file."""

    def __init__(self, path: Path, schema: Any) -> None:
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(path, schema)

    def write(self, rows: Any) -> None:
        self._writer.write(rows)

    def close(self) -> None:
        self._writer.close()


class ArrowWriter:
    """Writes batches to an Arrow file."""

    def __init__(self, path: Path, schema: Any) -> None:
        import pyarrow as pa

        # Closed in close(), after the writer.
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)

    def write(self, rows: Any) -> None:
        self._writer.write(rows)

    def close(self) -> None:
        self._writer.close()
        self._sink.close()
