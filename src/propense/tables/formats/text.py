"""Files of text: decompressed, decoded, and read by lines, in little memory."""

import bz2
import codecs
import gzip
import io
import itertools
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from propense.errors import InvalidTable
from propense.tables.formats.encodings import Found, find_encoding

__all__ = ["BLOCK", "BROKEN", "TextFile", "opened"]

# Bytes of text per batch: tens of megabytes as numbers.
BLOCK = 4 << 20
# Characters of a line: a row may extend over two blocks, but not three.
_LONGEST = 2 * BLOCK
# What readers of damaged archives raise.
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, RuntimeError)


class TextFile:
    """A text on disk.

    Parameters
    ----------
    path : Path
        Compressed if its name ends with .gz, .bz2, .xz or .zip.
    where : str
        What errors call it.
    encoding : str, default=None
        None means that it is found.
    expected : str, default=None
        The encoding of a text of the same kind, for a text that is not UTF-8.

    Attributes
    ----------
    encoding : str
    marked : bool
        Whether the text begins with a byte order mark.
    """

    def __init__(self, path: Path, where: str, encoding: str | None = None, expected: str | None = None) -> None:
        self.path, self.where = path, where
        found = Found(encoding) if encoding is not None else self._find(expected)
        self.encoding, self.marked = found.name, found.marked

    def lines(self, errors: str = "strict") -> Iterator[str]:
        """The lines; one that is too long is an error.

        A small compressed file may hold a line that would fill the memory.
        """
        with opened(self.path, self.where) as raw, io.TextIOWrapper(raw, self.encoding, errors, newline="") as file:
            for number in itertools.count(1):
                line = file.readline(_LONGEST)
                if not line:
                    return
                if len(line) == _LONGEST:
                    raise InvalidTable(
                        f"{self.where}, line {number}, is longer than {_LONGEST:,} characters, too long for a row of a "
                        "table. Check that the file is a table."
                    )
                yield line

    @contextmanager
    def as_utf8(self) -> Iterator[Any]:
        """What Arrow reads: the file itself where it can, or its bytes as UTF-8."""
        plain = self.path.suffix.lower() not in (".bz2", ".xz", ".zip")
        if self.encoding == "utf-8" and plain:
            yield self.path
            return
        with ExitStack() as held:
            raw = held.enter_context(opened(self.path, self.where))
            if self.encoding != "utf-8":
                raw = held.enter_context(io.BufferedReader(_AsUtf8(raw, self.encoding), 1 << 20))
            yield raw

    def undecodable(self) -> int:
        """The number of the first line that does not fit the encoding."""
        number = 0
        with suppress(*BROKEN, UnicodeError):
            for number, line in enumerate(self.lines("surrogateescape"), 1):  # noqa: B007
                if not is_decoded(line):
                    break
        return number

    def _find(self, expected: str | None) -> Found:
        def blocks() -> Iterator[bytes]:
            with opened(self.path, self.where) as raw:
                while block := raw.read(1 << 20):
                    yield block

        return find_encoding(blocks, self.path.stat().st_size, self.where, expected)


class _AsUtf8(io.RawIOBase):
    """Bytes of a text in another encoding, read as UTF-8."""

    def __init__(self, raw: Any, encoding: str) -> None:
        self._raw, self._decoder, self._rest = raw, codecs.getincrementaldecoder(encoding)(), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = self._raw.read(1 << 18)
            self._rest = self._decoder.decode(block, final=not block).encode("utf-8", "surrogatepass")
            if not block:
                break
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


@contextmanager
def opened(path: Path, where: str) -> Iterator[Any]:
    """The bytes of a file, decompressed."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(_only_member(archive, where)) as file:
            yield file
        return
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    with openers.get(suffix, open)(path, "rb") as file:
        yield file


def is_decoded(text: str) -> bool:
    """Whether a text has no byte that was escaped because it does not fit the encoding."""
    return text.isascii() or not any("\udc80" <= sign <= "\udcff" for sign in text)


def _only_member(archive: zipfile.ZipFile, where: str) -> zipfile.ZipInfo:
    """The one file in an archive; those that systems add do not count."""
    names = [each for each in archive.infolist() if not each.is_dir()]
    names = [each for each in names if not each.filename.startswith("__MACOSX/")]
    if len(names) != 1:
        shown = ", ".join(repr(each.filename) for each in names[:4]) + (" …" if len(names) > 4 else "")
        raise InvalidTable(f"{where} must hold one file, but holds {len(names)}: {shown}. Take the table out of it.")
    if names[0].flag_bits & 1:
        raise InvalidTable(f"{where} is protected by a password. Take the table out of it.")
    return names[0]
