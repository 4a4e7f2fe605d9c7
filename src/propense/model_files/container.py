"""The file of a model: a header and raw arrays, no code, with a digest at the end.

::

    8 bytes      PROPENSE
    8 bytes      the length of the header, unsigned, little-endian
    the header   JSON in UTF-8: the format's version, what the model is, and where each array lies
    the arrays   little-endian, C order, each at its offset from here
    32 bytes     the SHA-256 of everything before
"""

import hashlib
import json
import math
import stat
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from propense._files import write_atomically
from propense.errors import ModelFileError

__all__ = [
    "ADVICE",
    "DTYPES",
    "FORMAT",
    "Contents",
    "check_memory",
    "deflate",
    "from_bytes",
    "inflate",
    "read_file",
    "to_bytes",
    "write_file",
]

FORMAT = 1
ADVICE = "Fit the model again, or ask for a new copy of the file."

# What arrays may hold; arrays of anything else go into the header value by value.
DTYPES = {name: np.dtype(name).newbyteorder("<") for name in ("float64", "float32", "int64", "int32", "uint8", "bool")}

_MAGIC = b"PROPENSE"
_LENGTH = struct.Struct("<Q")
_START = len(_MAGIC) + _LENGTH.size
_DIGEST = hashlib.sha256().digest_size
_MOST_DIMENSIONS = 8
# The memory that values may take whose size a file only announces: this much, and so many bytes for each of its own.
_ALLOWANCE, _PER_BYTE = 1 << 20, 32
# What is deflated may be larger by this factor, and the allowance: trees are by 3 to 10.
_MOST_INFLATED = 16


@dataclass(frozen=True)
class Contents:
    """What a file holds: the header without its table of arrays, the arrays by number, and its size in bytes."""

    header: dict[str, Any]
    arrays: list[NDArray[Any]]
    size: int


def to_bytes(header: dict[str, Any], arrays: list[NDArray[Any]]) -> bytes:
    """The bytes of a file, for a header of strict JSON and arrays of the dtypes above."""
    entries: list[dict[str, Any]] = []
    parts: list[bytes] = []
    offset = 0
    for array in arrays:
        part = np.ascontiguousarray(array, dtype=DTYPES[array.dtype.name]).tobytes()
        entries.append({"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset})
        parts.append(part)
        offset += len(part)
    # ASCII, with \u for the rest, so that any string that Python holds comes back as it was.
    text = json.dumps({"format": FORMAT, **header, "arrays": entries}, allow_nan=False).encode("ascii")
    body = b"".join([_MAGIC, _LENGTH.pack(len(text)), text, *parts])
    return body + hashlib.sha256(body).digest()


def from_bytes(data: bytes, name: str) -> Contents:
    """What the bytes of a file hold; `name` is what errors call it."""
    _check_start(data[:_START], len(data), name)
    end = _START + _LENGTH.unpack(data[len(_MAGIC) : _START])[0]
    if hashlib.sha256(memoryview(data)[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise ModelFileError(f"{name} is damaged: its contents do not match its SHA-256. {ADVICE}")
    header = _read_header(data[_START:end], name)
    entries = header.pop("arrays", None)
    try:
        arrays = _read_arrays(entries, data[end:-_DIGEST])
    except (ValueError, OverflowError, MemoryError) as error:
        raise ModelFileError(f"{name} cannot be read: {error}. {ADVICE}") from None
    return Contents(header, arrays, len(data))


def check_memory(announced: int, size: int) -> None:
    """Raise an error if what a file of `size` bytes announces would take more memory than such a file may."""
    most = _ALLOWANCE + _PER_BYTE * size
    if announced > most:
        raise ModelFileError(f"its arrays would take {announced} bytes; in a file of {size} bytes they may take {most}")


def deflate(data: bytes) -> bytes:
    """The bytes deflated, unless they would be too large to be inflated again."""
    small = zlib.compress(data)
    return small if len(data) <= _ALLOWANCE + _MOST_INFLATED * len(small) else data


def inflate(data: bytes) -> bytes:
    """The bytes inflated, if they are not larger than deflated bytes may be."""
    reader, most = zlib.decompressobj(), _ALLOWANCE + _MOST_INFLATED * len(data)
    try:
        out = reader.decompress(data, most)
    except zlib.error:
        raise ModelFileError("it holds bytes that cannot be inflated") from None
    if not reader.eof or reader.unused_data:
        raise ModelFileError(f"it holds {len(data)} deflated bytes that are cut off, or larger than {most} inflated")
    return out


def read_file(path: Path) -> bytes:
    """The bytes of a file that begins like a model's and is long enough for what it announces."""
    try:
        # Before it is opened: opening a pipe would wait for a writer.
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise ModelFileError(f"{path} is {what}, but a model file is expected. Give the path of the file.")
        with path.open("rb") as file:
            _check_start(file.read(_START), path.stat().st_size, str(path))
            file.seek(0)
            return file.read()
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {path.absolute()}. Check the path.") from None
    except (OSError, ValueError, MemoryError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} cannot be read: {error}. Check its permissions.") from None


def write_file(path: Path, data: bytes) -> None:
    """Write the file whole, or leave what was there before untouched."""
    if not path.parent.is_dir():
        raise ModelFileError(f"{path} was not written: there is no folder {path.parent}. Create it first.")
    with write_atomically(path, ModelFileError) as partial:
        partial.write_bytes(data)


def _check_start(start: bytes, size: int, name: str) -> None:
    """Refuse a file that is not a model file or is shorter than its header says, before more of it is read."""
    if not start:
        raise ModelFileError(f"{name} is not a propense model file: it is empty. {ADVICE}")
    if not start.startswith(_MAGIC):
        raise ModelFileError(f"{name} is not a propense model file: it starts with {start[: len(_MAGIC)]!r}. {ADVICE}")
    if len(start) < _START or size < _START + _DIGEST:
        raise ModelFileError(f"{name} is damaged: it ends after {size} bytes. {ADVICE}")
    length = _LENGTH.unpack(start[len(_MAGIC) :])[0]
    if length > size - _START - _DIGEST:
        raise ModelFileError(
            f"{name} is damaged: it announces a header of {length} bytes in a file of {size}. {ADVICE}"
        )


def _read_header(text: bytes, name: str) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name} has a header that is not JSON ({_short(error)}). {ADVICE}") from None
    if not isinstance(header, dict):
        raise ModelFileError(f"{name} has a header that is not a JSON object. {ADVICE}")
    version = header.pop("format", None)
    if type(version) is not int or version < 1:
        raise ModelFileError(f"{name} has the format {_short(repr(version))}, which is not a version. {ADVICE}")
    if version > FORMAT:
        raise ModelFileError(
            f"{name} has the format {version}, but this version of propense reads formats up to {FORMAT}. "
            "Upgrade propense."
        )
    return header


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _short(what: object) -> str:
    """The beginning of a message, which may quote a whole file."""
    text = str(what)
    return text if len(text) <= 200 else text[:200] + "…"


def _read_arrays(entries: Any, part: bytes) -> list[NDArray[Any]]:
    if not isinstance(entries, list):
        raise ValueError("it has no list of arrays")
    arrays: list[NDArray[Any]] = []
    left = len(part)
    for entry in entries:
        dtype, shape, offset = _read_entry(entry)
        count = math.prod(shape)
        size = count * dtype.itemsize
        left -= size
        # Together they may not exceed the file: a thousand arrays over the same bytes would fill the memory.
        if offset + size > len(part) or left < 0:
            raise ValueError(f"an array of {size} bytes at {offset} is outside the {len(part)} bytes of arrays")
        array = np.frombuffer(part, dtype, count, offset) if count else np.empty(0, dtype)
        if dtype == np.bool_ and (array.view(np.uint8) > 1).any():
            raise ValueError("an array of booleans holds other values")
        arrays.append(array.reshape(shape).astype(dtype.newbyteorder("="), order="C", copy=True))
    return arrays


def _read_entry(entry: Any) -> tuple[np.dtype[Any], list[int], int]:
    """The dtype, shape and offset of an array, each of its type and none negative."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "offset"}:
        raise ValueError("an array is not described by its dtype, shape and offset")
    name, shape, offset = entry["dtype"], entry["shape"], entry["offset"]
    if not isinstance(name, str) or name not in DTYPES:
        raise ValueError(f"an array has the dtype {_short(repr(name))}, which is not one of {', '.join(DTYPES)}")
    if not isinstance(shape, list) or len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"an array has the shape {_short(repr(shape))}")
    if any(type(each) is not int or each < 0 for each in [*shape, offset]):
        raise ValueError(f"an array has the shape {_short(repr(shape))} at the offset {_short(repr(offset))}")
    return DTYPES[name], shape, offset
