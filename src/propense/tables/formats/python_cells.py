"""Cells that come as Python values, in columns that may mix them, as Arrow columns of one type each."""

import datetime as dt
import math
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["Kinds", "as_words"]

_KINDS = {
    bool: "truth",
    int: "whole",
    float: "number",
    str: "text",
    dt.datetime: "time",
    dt.date: "day",
    dt.time: "clock",
    dt.timedelta: "duration",
}
_LARGEST = 2**63
# 1.234, which someone who writes decimal commas means as 1234.
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}")


class Kinds:
    """The kinds of cells that a column has shown so far."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def look(self, values: Sequence[Any]) -> None:
        """Remember the kinds of some cells; None is a missing one."""
        self._seen |= {_KINDS[kind] for kind in set(map(type, values)) if kind is not type(None)}
        if "whole" in self._seen and "long" not in self._seen:
            # Whole numbers that float64 or int64 would change are names.
            large = (value for value in values if type(value) is int and not -_LARGEST <= value < _LARGEST)
            if next(large, None) is not None:
                self._seen.add("long")

    @property
    def type(self) -> Any:
        """The Arrow type that holds all cells; text if they mix what is not alike."""
        import pyarrow as pa

        seen = frozenset(self._seen)
        if not seen:
            return pa.null()
        types = {
            frozenset(["truth"]): pa.bool_(),
            frozenset(["whole"]): pa.int64(),
            frozenset(["number"]): pa.float64(),
            frozenset(["whole", "number"]): pa.float64(),
            frozenset(["day"]): pa.date32(),
            frozenset(["time"]): pa.timestamp("us"),
            frozenset(["day", "time"]): pa.timestamp("us"),
            frozenset(["clock"]): pa.time64("us"),
            frozenset(["duration"]): pa.duration("us"),
        }
        return types.get(seen, pa.string())

    def array(self, values: Sequence[Any]) -> Any:
        """An Arrow array of cells whose kinds were seen."""
        import pyarrow as pa

        kind = self.type
        if pa.types.is_string(kind):
            values = values if self._seen == {"text"} else [as_words(value) for value in values]
        elif pa.types.is_floating(kind):
            # JSON has NaN in some dialects: a missing number.
            return pa.array([None if value is None else float(value) for value in values], kind, from_pandas=True)
        elif pa.types.is_timestamp(kind):
            values = [_with_time(value) for value in values]
        return pa.array(values, kind)


def as_words(value: Any) -> str | None:
    """A cell as text, in a column that holds other cells too: 5 for 5.0, 2020-12-31 for a day."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not math.isfinite(value):
            return None if math.isnan(value) else str(value)
        words = str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        # With a fourth digit nobody can take the point for a separator of thousands.
        return f"{words}0" if _THOUSANDS.fullmatch(words) else words
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    return str(value)


def _with_time(value: Any) -> Any:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    return value
