"""The file of a model: a zip archive of `model.json` and arrays in NumPy's own format, `0.npy`, `1.npy` and so on.

The same model gives the same bytes: entries have no date. Nothing is unpacked that would take much more memory than the
file, and no array is read that could hold Python objects.
"""

import io
import json
import math
import stat
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from propense._files import write_atomically
from propense.errors import ModelFileError

__all__ = ["ADVICE", "pack", "read_file", "read_npy", "unpack", "write_file"]

ADVICE = "Fit the model again, or ask for a new copy of the file."

_HEADER = "model.json"
_START, _BEFORE = b"PK\x03\x04", b"PROPENSE"
# A file is deflated if it holds no more than this; larger files hold as much as they are.
_DEFLATED = 1 << 20


def pack(header: dict[str, Any], arrays: list[NDArray[Any]]) -> bytes:
    """The file of a header of strict JSON and arrays without objects."""
    members = {_HEADER: json.dumps(header, allow_nan=False, separators=(",", ":")).encode("ascii")}
    for number, array in enumerate(arrays):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.asarray(array, order="C"), allow_pickle=False)
        members[f"{number}.npy"] = stream.getvalue()
    small = sum(map(len, members.values())) <= _DEFLATED
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED if small else zipfile.ZIP_STORED)
    return whole.getvalue()


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    if not path.parent.is_dir():
        raise ModelFileError(f"{path} was not written: there is no folder {path.parent}. Create it first.")
    with write_atomically(path, ModelFileError) as partial:
        partial.write_bytes(data)


def read_file(path: Path) -> bytes:
    """The bytes of a file that begins like a model's."""
    try:
        # Before it is opened: opening a pipe would wait for a writer.
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise ModelFileError(f"{path} is {what}, but a model file is expected. Give the path of the file.")
        with path.open("rb") as file:
            start = file.read(len(_BEFORE))
            if start == _BEFORE:
                raise ModelFileError(
                    f"{path} was written by propense 0.2 or earlier, whose files this version does not read. Use it "
                    "with propense 0.2, or fit the model again."
                )
            if not start.startswith(_START):
                what = f"it starts with {start!r}" if start else "it is empty"
                raise ModelFileError(f"{path} is not a propense model file: {what}. {ADVICE}")
            return start + file.read()
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {path.absolute()}. Check the path.") from None
    except (OSError, ValueError, MemoryError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} cannot be read: {error}. Check its permissions.") from None


def unpack(data: bytes) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """The header and the arrays of a file; any error says that it is damaged."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise ModelFileError("it is damaged, or its end is missing")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        # The reader of other kinds of compression does not stop at the size that is announced.
        known = all(each.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for each in entries)
        if not known or sum(each.file_size for each in entries) > max(_DEFLATED, len(data)):
            raise ModelFileError("it would unpack to much more than its own size")
        if [each.filename for each in entries] != [_HEADER, *(f"{i}.npy" for i in range(len(entries) - 1))]:
            raise ModelFileError("it does not consist of model.json and numbered arrays")
        text, *members = (archive.read(each) for each in entries)
    header = json.loads(text.decode("ascii"), parse_constant=_refuse_constant)
    if not isinstance(header, dict):
        raise ModelFileError("its header is not a JSON object")
    return header, [read_npy(each) for each in members]


def read_npy(data: bytes) -> NDArray[Any]:
    """An array in NumPy's format, of as many bytes as it announces, without objects and with booleans that are some."""
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ModelFileError("it holds an array of another version of NumPy's format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    size, start = math.prod(shape) * dtype.itemsize, stream.tell()
    # An empty array stands for its dtype, which may be of any width.
    if dtype.hasobject or not 0 < dtype.itemsize <= len(data) or size != len(data) - start:
        raise ModelFileError("it holds an array that is not of the size it announces")
    flat = np.frombuffer(data, dtype, offset=start)
    if dtype.kind == "b" and max(data[start:], default=0) > 1:
        raise ModelFileError("it holds booleans that are neither true nor false")
    return flat.reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="), order="C", copy=True)


def _refuse_constant(word: str) -> NoReturn:
    raise ModelFileError(f"its header holds {word}, which is not JSON")
