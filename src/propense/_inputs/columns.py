"""Columns of different kinds as numbers: what fit learns of each, and what a column of other rows then is."""

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._maths.arrays import Vector
from propense.errors import InvalidFeatures

__all__ = [
    "HOLDS",
    "KINDS",
    "MISSING",
    "OTHER",
    "Cells",
    "Column",
    "choose_levels",
    "date_of",
    "day_of",
    "days",
    "example",
    "learn_column",
    "level_counts",
]

# "truth" is true or false, as the numbers 1 and 0; a "date" is in days since 1970, the time of day included; an
# "empty" column is missing in every row of fit.
KINDS = ("number", "truth", "date", "category", "empty")
# Levels that are not a value of the column.
MISSING, OTHER = "(missing)", "(other)"
# A category has at most 30 levels, each with at least 5 rows; the other values are OTHER.
_LEVELS, _ROWS = 30, 5
# Text that is a date and, perhaps, a time; and text that looks like a date in some other form.
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:?\d{2}.*)?")
_DATED = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ].*)?")
_START = datetime.datetime(1970, 1, 1)
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# What a column of a kind holds, in words.
HOLDS = {"number": "numbers", "truth": "true or false", "date": "dates", "category": "text"}


@dataclass(frozen=True)
class Cells:
    """The cells of a column, as they were found.

    Attributes
    ----------
    kind : {"number", "truth", "date", "category", "empty"}
    values : ndarray of shape (n,)
        Numbers, NaN where missing; for a category the places of the cells among the words, −1 where missing.
    words : sequence of str
        The words of a category, in any order; some may not occur.
    declared : bool
        Whether the type of the column says that it is a category: text is one unless it is of dates.
    """

    kind: str
    values: NDArray[Any]
    words: Sequence[str] = ()
    declared: bool = False


@dataclass(frozen=True)
class Column:
    """One column, as fit learned it.

    Attributes
    ----------
    name : str
    kind : {"number", "truth", "date", "category", "empty"}
    levels : tuple of str
        The levels of a category, the most frequent first.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()

    def encode(self, cells: Cells) -> Vector:
        """Numbers, NaN where missing; for a category the number of the level, −1 if it is not a level of the fit.

        A column that was empty in fit is 0, whatever it holds now.
        """
        if self.kind == "empty":
            return np.zeros(len(cells.values))
        if self.kind == "category" and cells.kind in ("category", "empty"):
            return self._encode_levels(cells)
        if cells.kind == "empty":
            return np.full(len(cells.values), np.nan)
        if self.kind == "date" and cells.kind == "category":
            return self._encode_dates(cells)
        numbers = self.kind in ("number", "truth") and cells.kind in ("number", "truth")
        if self.kind != cells.kind and not numbers:
            raise InvalidFeatures(
                f"X, column {self.name!r} held {HOLDS[self.kind]} in fit and holds {HOLDS[cells.kind]} now, such as "
                f"{example(cells)!r}. Convert it to what it was in fit."
            )
        if self.kind == "truth" and cells.kind == "number":
            odd = ~np.isnan(cells.values) & (cells.values != 0) & (cells.values != 1)
            if odd.any():
                raise InvalidFeatures(
                    f"X, column {self.name!r} held true or false in fit and holds {float(cells.values[odd][0])!r} now. "
                    "Convert it to what it was in fit."
                )
        return np.asarray(cells.values, dtype=np.float64)

    def _encode_dates(self, cells: Cells) -> Vector:
        found = [_day_of_text(word) for word in cells.words]
        # The last one is where −1 points to.
        out = np.array([*(np.nan if day is None else day for day in found), np.nan])[cells.values]
        wrong = (cells.values >= 0) & np.isnan(out)
        if wrong.any():
            raise InvalidFeatures(
                f"X, column {self.name!r} held dates in fit and holds {cells.words[cells.values[wrong][0]]!r} now. "
                "Write dates as 2020-12-31, or convert the column to what it was in fit."
            )
        return np.asarray(out)

    def _encode_levels(self, cells: Cells) -> Vector:
        places = {level: place for place, level in enumerate(self.levels)}
        missing, other = places.get(MISSING, -1), places.get(OTHER, -1)
        # The last one is where −1 points to.
        numbers = [*(places.get(word, other) for word in cells.words), missing]
        if cells.kind == "empty":
            return np.full(len(cells.values), float(missing))
        return np.asarray(np.array(numbers, dtype=np.float64)[cells.values])


def learn_column(name: str, cells: Cells, counted: NDArray[np.bool_] | None = None) -> Column:
    """What a column is, from the rows that count; None means that all do."""
    values = cells.values if counted is None else cells.values[counted]
    if cells.kind != "category":
        return Column(name, "empty" if np.isnan(values).all() else cells.kind)
    if (values < 0).all():
        return Column(name, "empty")
    counts: dict[str, int] = {}
    for word, count in zip(cells.words, np.bincount(values[values >= 0], minlength=len(cells.words)), strict=True):
        if count:
            counts[word] = counts.get(word, 0) + int(count)
    if not cells.declared and _are_dates(name, counts):
        return Column(name, "date")
    levels = choose_levels(counts, bool((values < 0).any()))
    if levels is None:
        raise InvalidFeatures(
            f"X, column {name!r} holds {len(counts)} different texts, most of them once: not a category. Leave it out, "
            "or convert it if it holds numbers or dates as text."
        )
    return Column(name, "category", levels)


def _are_dates(name: str, counts: Mapping[str, int]) -> bool:
    """Whether texts are dates such as 2020-12-31, all of them; an error if most are dates, but in another form."""
    dated = {word: count for word, count in counts.items() if _DATED.fullmatch(word)}
    if 2 * sum(dated.values()) <= sum(counts.values()):
        return False
    wrong = next((word for word in counts if _day_of_text(word) is None), None)
    if wrong is not None:
        raise InvalidFeatures(
            f"X, column {name!r} holds dates as text, such as {next(iter(dated))!r}, and {wrong!r} is not of the form "
            "2020-12-31. Convert it, for example with pandas.to_datetime, or to a category if its values are names."
        )
    return True


def _day_of_text(word: str) -> float | None:
    """The days since 1970 of text such as 2020-12-31 or 2020-12-31 23:59; None if it is not of this form."""
    try:
        return day_of(datetime.datetime.fromisoformat(word)) if _DATE.fullmatch(word) else None
    except (ValueError, OverflowError):
        return None


def day_of(moment: datetime.datetime) -> float:
    """The days since 1970 of a time; without a time zone it is in UTC."""
    # In Python's own time, whose differences cannot overflow.
    since = moment.replace(tzinfo=None) - _START - (moment.utcoffset() or datetime.timedelta())
    return float(since.days + (10**6 * since.seconds + since.microseconds) / (86_400 * 10**6))


def choose_levels(counts: Mapping[str, int], missing: bool) -> tuple[str, ...] | None:
    """The levels of a category, the most frequent first, ties by name; None if most of its many values occur once."""
    if len(counts) > _LEVELS and sum(count == 1 for count in counts.values()) > len(counts) / 2:
        return None
    ordered = sorted(counts, key=lambda value: (-counts[value], value))
    kept = [value for value in ordered[:_LEVELS] if counts[value] >= _ROWS] or ordered[:1]
    others = [OTHER] * (len(kept) < len(counts)) + [MISSING] * missing
    return tuple(dict.fromkeys([*kept, *others]))


def level_counts(columns: Sequence[Column]) -> NDArray[np.int64]:
    """The number of levels of each column, 0 for numbers."""
    return np.array([len(column.levels) for column in columns], dtype=np.int64)


def days(moments: NDArray[np.datetime64]) -> Vector:
    """The days since 1970 of moments in UTC, NaN where missing; the same number whatever the unit of the moments."""
    unit, _ = np.datetime_data(moments.dtype)
    if unit not in _TICKS:
        # Seconds for days and years, which may be too many for microseconds.
        unit = "us" if unit in ("ps", "fs", "as") else "s"
    moments = moments.astype(f"datetime64[{unit}]", copy=False)
    per_day = 86_400 * _TICKS[unit]
    # Nanoseconds since 1970 need more digits than float64 has; those since midnight do not.
    whole, rest = np.divmod(moments.astype(np.int64), per_day)
    return np.where(np.isnat(moments), np.nan, whole + rest / per_day)


def date_of(day: float) -> str:
    """The date of a day since 1970, such as 2020-12-31, with the time unless it is midnight."""
    moment = np.datetime64(round(day * 86_400), "s")
    return str(moment.astype("datetime64[D]")) if day % 1 == 0 else str(moment).replace("T", " ")


def example(cells: Cells) -> Any:
    """The first cell that is not missing."""
    if cells.kind == "category":
        return cells.words[cells.values[cells.values >= 0][0]]
    value = float(cells.values[~np.isnan(cells.values)][0])
    if cells.kind == "date":
        return date_of(value)
    return bool(value) if cells.kind == "truth" else value
