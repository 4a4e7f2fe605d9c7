"""SAS transport files (XPORT, version 5), in which US agencies publish tables: the numeric variables of one table.

The file is a sequence of records of 80 bytes. Headers come first, then a description of each variable, then the rows,
packed one after the other and filled up with blanks to a whole record. Numbers are those of IBM mainframes: a sign, an
exponent of 16 and a fraction of up to 56 bits, x = ± f · 16^(k − 64). The format is described in SAS's technical note
TS-140, "The Record Layout of a Data Set in SAS Transport (XPORT) Format".
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propense.errors import DatasetMismatch

__all__ = ["FIRST_RECORD", "Variables", "from_ibm", "read_transport"]

# Values by the name of their variable, in capitals; NaN means missing.
Variables = dict[str, NDArray[np.float64]]

FIRST_RECORD = b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!"
_MEMBER = b"HEADER RECORD*******MEMBER  HEADER RECORD!!!!!!!"
_NAMES = b"HEADER RECORD*******NAMESTR HEADER RECORD!!!!!!!"
_ROWS = b"HEADER RECORD*******OBS     HEADER RECORD!!!!!!!"
_RECORD = 80
# Headers of the library and of the table, each with two records of text; the number of variables comes next.
_MEMBER_AT, _NAMES_AT, _VARIABLES_AT = 3 * _RECORD, 7 * _RECORD, 8 * _RECORD
_NUMERIC = 1
# A missing value has one of these characters as its first byte and nothing else: ".", "_", or A to Z.
_MISSING = np.frombuffer(b"._ABCDEFGHIJKLMNOPQRSTUVWXYZ", dtype=np.uint8)


def read_transport(path: Path) -> Variables:
    """The numeric variables of a transport file; variables that hold text are left out."""
    try:
        return _parse(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DatasetMismatch(
            f"{path} cannot be read as a SAS transport file: {error}. Delete it and fetch again."
        ) from None


def _parse(content: bytes) -> Variables:
    if not content.startswith(FIRST_RECORD):
        raise ValueError(f"it begins with {content[:20]!r}")
    if len(content) % _RECORD:
        raise ValueError(f"its {len(content)} bytes are not whole records of {_RECORD}; it was cut short")
    if content[_MEMBER_AT:][: len(_MEMBER)] != _MEMBER or content[_NAMES_AT:][: len(_NAMES)] != _NAMES:
        raise ValueError("the headers of its table are not where they belong")
    # Columns 75 to 78 and 55 to 58, counted from one.
    size = int(content[_MEMBER_AT + 74 : _MEMBER_AT + 78])
    count = int(content[_NAMES_AT + 54 : _NAMES_AT + 58])
    names_end = _VARIABLES_AT + _whole_records(size * count)
    if content[names_end:][: len(_ROWS)] != _ROWS:
        raise ValueError("its rows do not follow the variables; it was cut short")
    body = content[names_end + _RECORD :]
    if _MEMBER in body:
        raise ValueError("it holds more than one table")
    described = [content[_VARIABLES_AT + i * size :][:size] for i in range(count)]
    # Type, length, name and position of a variable, at fixed places of its description.
    found = [
        (_number(each, 0, 2), _number(each, 4, 2), each[8:16].decode("ascii").strip().upper(), _number(each, 84, 4))
        for each in described
    ]
    width = max((place + length for _, length, _, place in found), default=0)
    if not width or any(not 2 <= length <= 8 for kind, length, _, _ in found if kind == _NUMERIC):
        raise ValueError("a variable has no valid length")
    n = len(body) // width
    # Blanks fill the last record. A row of nothing but blanks in it is no row: it would hold no number that can be.
    while n and len(body) - (n - 1) * width < _RECORD and not body[(n - 1) * width : n * width].strip(b" "):
        n -= 1
    if body[n * width :].strip(b" ") or len(body) - n * width >= _RECORD:
        raise ValueError("its last row is not complete; it was cut short")
    rows = np.frombuffer(body, dtype=np.uint8, count=n * width).reshape(n, width)
    return {name: from_ibm(rows[:, place : place + length]) for kind, length, name, place in found if kind == _NUMERIC}


def _number(content: bytes, start: int, length: int) -> int:
    """A whole number, its highest byte first."""
    return int.from_bytes(content[start : start + length], "big")


def _whole_records(size: int) -> int:
    """A number of bytes, rounded up to whole records."""
    return -(-size // _RECORD) * _RECORD


def from_ibm(values: NDArray[np.uint8]) -> NDArray[np.float64]:
    """IBM floating-point numbers of 2 to 8 bytes, one per row, as float64.

    Every float64 whose size is between 16^−65 and 16^63 comes back exactly: 56 bits, of which up to three may lead with
    zeros, hold its 53.
    """
    padded = np.zeros((len(values), 8), dtype=np.uint8)
    padded[:, : values.shape[1]] = values
    bits = padded.view(">u8").astype(np.uint64).ravel()
    fraction = bits & np.uint64(2**56 - 1)
    exponent = (padded[:, 0] & 0x7F).astype(np.int64)
    size = np.ldexp(fraction.astype(np.float64), 4 * (exponent - 64) - 56)
    missing = (fraction == 0) & np.isin(padded[:, 0], _MISSING)
    return np.where(missing, np.nan, np.where(padded[:, 0] & 0x80, -size, size))
