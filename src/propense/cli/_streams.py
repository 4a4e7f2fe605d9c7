"""Tables on standard input and standard output, written as - on the command line."""

import shutil
import sys
import tempfile
import weakref
import zlib
from bz2 import BZ2Decompressor
from collections.abc import Collection, Iterator
from contextlib import contextmanager, redirect_stdout
from lzma import LZMADecompressor, LZMAError
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propense.cli._printing import json_wanted
from propense.errors import InvalidOption

if TYPE_CHECKING:
    from propense.tables import TableFile, TableFolder
    from propense.tables.spelling import Spelling

__all__ = ["STANDARD", "name_of", "open_folder", "open_table", "said_of", "standard_output"]

STANDARD = Path("-")
_INPUT = "standard input"


def open_table(
    table: Path,
    *,
    format: str | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
    expected: "Spelling | None" = None,
    holding: Collection[str] = (),
) -> "TableFile | TableFolder":
    """The table in a file or folder, or on standard input, which is kept on disk while it is used."""
    from propense.tables import TableFile
    from propense.tables.formats.names import check_format, sniff

    chosen: dict[str, Any] = {"sheet": sheet, "encoding": encoding, "expected": expected, "holding": holding}
    if table.is_dir():
        # A format is that of standard output here.
        return open_folder(table, sheet=sheet, encoding=encoding)
    if table != STANDARD:
        return TableFile(table, format=format, **chosen)
    check_format(format)
    folder = Path(tempfile.mkdtemp(prefix="propense-"))
    try:
        with (folder / "table").open("wb") as file:
            shutil.copyfileobj(_binary(sys.stdin), file, 1 << 20)
        with (folder / "table").open("rb") as file:
            found, suffix = sniff(file.read(1 << 16), format, _unpacked)
        path = (folder / "table").rename(folder / f"table{suffix}")
        source = TableFile(path, format=found, where=_INPUT, **chosen)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # The rows are read when they are needed, and the file goes when nobody needs it any more.
    weakref.finalize(source, shutil.rmtree, folder, True)
    return source


def open_folder(table: Path, **given: str | None) -> "TableFolder":
    """The table in a folder of Parquet files, or in one such file; `given` are options that only other files need."""
    from propense.tables import TableFolder

    for option, value in given.items():
        if value is not None:
            raise InvalidOption(f"--{option} is for a file, and Parquet files in a folder or on Dask do not need it.")
    return TableFolder(table)


def name_of(table: Path) -> str:
    """What a table is called."""
    return _INPUT if table == STANDARD else table.name


def said_of(source: Any) -> list[str]:
    """What was found out about a file, where it is not what is usual."""
    if getattr(source, "sheet_found", False):
        return [
            f"Note: The sheet {source.sheet!r} of {source.where} was read: no other has the label column. For another "
            "one, pass --sheet."
        ]
    if getattr(source, "encoding", "utf-8") in ("utf-8", "ascii"):
        return []
    return [f"Note: {source.where} was read as {source.encoding}. If its letters are wrong, pass --encoding."]


@contextmanager
def standard_output(out: Path | None, source: Any, format: str | None) -> Iterator[Path]:
    """The file to write; for -, a file that is copied to standard output at the end.

    What is printed meanwhile goes to standard error, so that the output holds the table alone.
    """
    from propense.tables.formats.names import FORMATS, check_format

    check_format(format)
    if out != STANDARD:
        yield Path() if out is None else out
        return
    if json_wanted():
        raise InvalidOption("--json and - both need standard output. Write the table to a file, or leave --json out.")
    found = str(format or getattr(source, "format", "csv"))
    if found in ("xlsx", "parquet", "arrow") and sys.stdout.isatty():
        raise InvalidOption(f"{found} is not for a terminal. Pass --format csv, or the name of a file instead of -.")
    target = sys.stdout
    with tempfile.TemporaryDirectory(prefix="propense-") as folder, redirect_stdout(sys.stderr):
        path = Path(folder, f"standard output{FORMATS[found]}")
        yield path
        with path.open("rb") as file:
            if hasattr(target, "buffer"):
                target.flush()
                shutil.copyfileobj(file, target.buffer, 1 << 20)
            else:
                target.write(file.read().decode())
            target.flush()


def _binary(stream: Any) -> Any:
    """The bytes of standard input; a stream of text, as tests have, is encoded."""
    if stream.isatty():
        raise InvalidOption("The table - is standard input, and nothing is piped into it. Use: … | propense fit - …")
    if hasattr(stream, "buffer"):
        return stream.buffer
    import io

    return io.BytesIO(stream.read().encode())


def _unpacked(start: bytes) -> bytes:
    """The first bytes of what a compressed stream holds."""
    try:
        if start.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(31).decompress(start, 4096)
        if start.startswith(b"BZh"):
            return BZ2Decompressor().decompress(start, 4096)
        return LZMADecompressor().decompress(start, 4096)
    except (zlib.error, OSError, LZMAError, EOFError):
        return b""
