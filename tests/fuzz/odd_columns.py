"""Columns of every type that a typed table may have, with values at the edge of it."""

import datetime
import decimal

import numpy as np
import pyarrow as pa

from fuzz.damage import pick

_DAY = datetime.date(2024, 2, 29)
_MOMENT = datetime.datetime(1, 1, 1)
# A type, and the values that its cells have.
_TYPES = (
    (pa.binary(), (b"", b"\xff\xfe", b"yes", None)),
    (pa.large_binary(), (b"a", None)),
    (pa.binary(2), (b"ab", b"\xff\0", None)),
    (pa.list_(pa.int64()), ([], [1, 2], None)),
    (pa.large_list(pa.string()), ([], ["a"], None)),
    (pa.list_(pa.float64(), 2), ([1.0, None], None)),
    (pa.struct([("a", pa.int64()), ("b", pa.string())]), ({"a": 1, "b": None}, None)),
    (pa.map_(pa.string(), pa.int64()), ([("k", 1)], [], None)),
    (pa.month_day_nano_interval(), (pa.MonthDayNano([1, 2, 3]), None)),
    (pa.timestamp("us", "Nowhere/Land"), (0, 10**15, None)),
    (pa.timestamp("s"), (_MOMENT, None)),
    (pa.timestamp("ns", "UTC"), (0, 2**62, None)),
    (pa.date32(), (_DAY, None)),
    (pa.date64(), (_DAY, None)),
    (pa.time32("s"), (datetime.time(1), None)),
    (pa.time64("ns"), (1, 10**12, None)),
    (pa.duration("ns"), (0, -(2**63) + 1, None)),
    (pa.decimal128(38, 10), (decimal.Decimal("1e27"), decimal.Decimal(0), None)),
    (pa.decimal256(76, 0), (decimal.Decimal(10) ** 75, None)),
    (pa.float16(), (np.float16(1), np.float16("nan"), None)),
    (pa.float32(), (1.5, float("nan"), float("-inf"), 3e38)),
    (pa.float64(), (1e308, -1e308, 5e-324, float("inf"), None)),
    (pa.uint64(), (0, 2**64 - 1, None)),
    (pa.int64(), (-(2**63), 2**63 - 1, 2**53 + 1, None)),
    (pa.int8(), (0, 1, None)),
    (pa.bool_(), (True, False, None)),
    (pa.null(), (None,)),
    (pa.string(), ("yes", "", "\0", "\x1b[31m", "é" * 2000, "=1+1", None)),
    (pa.large_string(), ("yes", "no", None)),
    (pa.string_view(), ("yes", "a text of more than twelve bytes", None)),
    (pa.dictionary(pa.int8(), pa.string()), ("yes", "", None)),
    (pa.dictionary(pa.int32(), pa.float64()), (1.5, float("nan"), None)),
    (pa.dictionary(pa.int32(), pa.large_string()), ("a", "b")),
    (pa.dictionary(pa.int64(), pa.binary()), (b"\xff", b"a")),
)
_NAMES = ("", " ", "posterior", "a\nb", "\x1b[2J", "é", '"', "x" * 3000, "patient", "reported", "\0", "a,b", "--label")


def odd_name(rng):
    return pick(rng, _NAMES)


def odd_column(count, rng):
    """A column of so many cells."""
    kind = rng.random()
    if kind < 0.05:
        # Runs, each of one value, which may be empty.
        ends = pa.array(np.arange(1, count + 1), pa.int32())
        return pa.RunEndEncodedArray.from_arrays(ends, odd_column_of(pa.float64(), (1.0, None), count, rng))
    if kind < 0.1:
        types = pa.array(np.zeros(count), pa.int8())
        return pa.UnionArray.from_sparse(types, [pa.array(rng.random(count))])
    if kind < 0.15:
        storage = pa.array([rng.bytes(16) for _ in range(count)], pa.binary(16))
        return pa.ExtensionArray.from_storage(pa.uuid(), storage) if hasattr(pa, "uuid") else storage
    return odd_column_of(*pick(rng, _TYPES), count, rng)


def odd_column_of(dtype, values, count, rng):
    cells = [pick(rng, values) for _ in range(count)]
    try:
        return pa.array(cells, dtype)
    except pa.ArrowNotImplementedError:
        # Earlier releases of pyarrow do not make every type.
        return pa.array(list(map(str, cells)))
