"""The parts of an .xlsx file, which is an archive of XML: parsed as they are read, without a tree in memory."""

import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from xml.parsers import expat

from propense.errors import InvalidTable, PropenseError
from propense.tables.formats.text import BROKEN

__all__ = ["Parts", "parse", "plain", "read_texts"]

# What the parts of a file may unpack to: this much, and so many times its size.
_ALLOWANCE, _PER_BYTE = 8 << 20, 100
# How files of old Excel begin, and what those of new Excel hold that are protected.
_OLE, _PROTECTED = b"\xd0\xcf\x11\xe0", "EncryptedPackage".encode("utf-16-le")
# Characters that XML does not have, as Excel writes them: _x000B_.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


class Parts:
    """The parts of a workbook, inside `with`.

    Parameters
    ----------
    path : Path
    where : str
        What errors call it.
    """

    def __init__(self, path: Path, where: str) -> None:
        self._path, self.where = path, where
        # Also what is open when a reader of a part is left before its end.
        self._held = ExitStack()

    def __enter__(self) -> "Parts":
        with self._path.open("rb") as file:
            start = file.read(1 << 16)
        if start.startswith(_OLE):
            if any(_PROTECTED in data for data in (start, _rest(self._path))):
                raise InvalidTable(f"{self.where} is protected by a password. Open it, and save it without one.")
            raise InvalidTable(
                f"{self.where} is an .xls file of old Excel, whatever its name says. Open it and save it as .xlsx."
            )
        self._archive = self._held.enter_context(zipfile.ZipFile(self._path))
        most = _ALLOWANCE + _PER_BYTE * self._path.stat().st_size
        if sum(each.file_size for each in self._archive.infolist()) > most:
            self._held.close()
            raise InvalidTable(
                f"{self.where} unpacks to more than {most >> 20:,} MB, {_PER_BYTE} times its size, as files do that "
                "are made to fill the memory. If it is a table, save it as a .csv file, which is not compressed."
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def has(self, name: str) -> bool:
        return name in self._archive.NameToInfo

    def feed(self, name: str, parser: Any) -> Iterator[None]:
        """Let a parser read a part, with a pause after every piece of it."""
        with self.named(name):
            file = self._held.enter_context(self._archive.open(name))
            while block := file.read(1 << 16):
                parser.Parse(block, False)
                yield
            parser.Parse(b"", True)
            yield

    def related(self, name: str) -> dict[str, tuple[str, str]]:
        """The parts that a part refers to: their kinds and names, by the ids that it uses."""
        folder, file = posixpath.split(name)
        rels, found = posixpath.join(folder, "_rels", f"{file}.rels"), {}
        if not self.has(rels):
            return {}

        def start(tag: str, attributes: dict[str, str]) -> None:
            # What is outside the file, such as another workbook, is not followed.
            if tag == "Relationship" and attributes.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", ""))).lstrip("/")
                found[attributes.get("Id", "")] = attributes.get("Type", "").rsplit("/", 1)[-1], target

        for _ in self.feed(rels, parse(start)):
            pass
        return found

    @contextmanager
    def named(self, part: str) -> Iterator[None]:
        """Raise errors of the archive and of XML with the names of the file and of the part."""
        try:
            yield
        except PropenseError:
            raise
        except expat.ExpatError as error:
            raise InvalidTable(f"{self.where} cannot be read as xlsx: {part} is damaged ({error}).") from None
        except (*BROKEN, KeyError, ValueError) as error:
            raise InvalidTable(f"{self.where} cannot be read as xlsx: {part}: {str(error)[:200]}.") from None


def parse(
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None = None,
    text: Callable[[str], None] | None = None,
) -> Any:
    """A parser that calls functions with the names of elements, without the prefix that all of them may have."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.EndElementHandler, parser.CharacterDataHandler = end, text

    def root(name: str, attributes: dict[str, str]) -> None:
        # Few files have a prefix, and the parser is faster if it need not look for one.
        prefix, colon, _ = name.rpartition(":")
        parser.StartElementHandler = start
        if colon:
            prefix += colon
            parser.StartElementHandler = lambda name, attributes: start(name.removeprefix(prefix), attributes)
            if end is not None:
                parser.EndElementHandler = lambda name: end(name.removeprefix(prefix))
        start(name.removeprefix(prefix), attributes)

    parser.StartElementHandler = root
    return parser


def read_texts(parts: Parts, name: str) -> list[str]:
    """The texts that cells of a workbook share."""
    texts: list[str] = []
    held: list[str] = []
    state = {"inside": False, "phonetic": 0}

    def start(tag: str, _: dict[str, str]) -> None:
        if tag == "si":
            held.clear()
        elif tag == "rPh":
            # How a Japanese word is pronounced is not part of it.
            state["phonetic"] += 1
        state["inside"] = tag == "t" and not state["phonetic"]

    def end(tag: str) -> None:
        state["inside"] = False
        if tag == "si":
            texts.append(plain("".join(held)))
        elif tag == "rPh":
            state["phonetic"] -= 1

    def text(words: str) -> None:
        if state["inside"]:
            held.append(words)

    for _ in parts.feed(name, parse(start, end, text)):
        pass
    return texts


def plain(text: str) -> str:
    """A text with the characters that Excel has spelt out."""
    if "_x" not in text:
        return text

    def sign(match: re.Match[str]) -> str:
        code = int(match[1], 16)
        # Half of a character is not one.
        return match[0] if 0xD800 <= code <= 0xDFFF else chr(code)

    return _ESCAPED.sub(sign, text)


def _refuse(*_: object) -> None:
    raise ValueError("it defines entities, which workbooks do not have")


def _rest(path: Path) -> bytes:
    """The directory of an old file is often at its end."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - (1 << 16), 0))
        return file.read()
