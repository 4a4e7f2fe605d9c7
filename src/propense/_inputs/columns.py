"""Columns of different kinds as numbers: what fit learns of each, and what a column of other rows then is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.moments import OddDates, date_form, day_of, duration_of, duration_words, moment_of
from propense._maths.arrays import Vector
from propense.errors import InvalidFeatures

__all__ = [
    "HOLDS",
    "KINDS",
    "MISSING",
    "NAMED_KINDS",
    "OTHER",
    "Cells",
    "Column",
    "choose_levels",
    "date_of",
    "day_of",
    "days",
    "days_of_durations",
    "example",
    "learn_column",
    "level_counts",
]

# "truth" is true or false, as the numbers 1 and 0; a "date" is in days since 1970, the time of day included; a
# "duration" is in days; an "empty" column is missing in every row of fit.
KINDS = ("number", "truth", "date", "duration", "category", "empty")
# Those that an array of numbers cannot have.
NAMED_KINDS = ("category", "date", "duration")
# Levels that are not a value of the column.
MISSING, OTHER = "(missing)", "(other)"
# A category has at most 30 levels, each with at least 5 rows; the other values are OTHER.
_LEVELS, _ROWS = 30, 5
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# What a column of a kind holds, in words.
HOLDS = {
    "number": "numbers",
    "truth": "true or false",
    "date": "dates",
    "duration": "durations",
    "category": "text",
}


@dataclass(frozen=True)
class Cells:
    """The cells of a column, as they were found.

    Attributes
    ----------
    kind : {"number", "truth", "date", "duration", "category", "empty"}
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
    kind : {"number", "truth", "date", "duration", "category", "empty"}
    levels : tuple of str
        The levels of a category, the most frequent first.
    form : str
        How its cells are written, where text needs more than its kind to be read: "m/d/y" for dates such as 12/31/2020,
        "unit:kg" for numbers such as 72 kg.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    form: str = ""

    @property
    def unit(self) -> str:
        """The unit of its numbers; empty if they have none."""
        return self.form.partition("unit:")[2] if self.kind == "number" else ""

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
        if self.kind in ("date", "duration") and cells.kind == "category":
            return self._encode_moments(cells)
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

    def _encode_moments(self, cells: Cells) -> Vector:
        found = [self._days_of(word) for word in cells.words]
        # The last one is where −1 points to.
        out = np.array([*(np.nan if day is None else day for day in found), np.nan])[cells.values]
        wrong = (cells.values >= 0) & np.isnan(out)
        if wrong.any():
            form = "2020-12-31" if self.kind == "date" else "3 days or 02:15:00"
            raise InvalidFeatures(
                f"X, column {self.name!r} held {HOLDS[self.kind]} in fit and holds "
                f"{cells.words[cells.values[wrong][0]]!r} now. Write {HOLDS[self.kind]} as {form}, or convert the "
                "column to what it was in fit."
            )
        return np.asarray(out)

    def _days_of(self, word: str) -> float | None:
        """The days of a date or duration in a text; dates may also be written as 2020-12-31."""
        if self.kind == "duration":
            return duration_of(word)
        found = [moment_of(word, form) for form in dict.fromkeys((self.form, ""))]
        return next((day_of(moment) for moment in found if moment is not None), None)

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
    if not cells.declared:
        form = _date_form(name, counts)
        if form is not None:
            return Column(name, "date", form=form)
        if all(duration_of(word) is not None for word in counts):
            return Column(name, "duration")
    levels = choose_levels(counts, bool((values < 0).any()))
    if levels is None:
        raise InvalidFeatures(
            f"X, column {name!r} holds {len(counts)} different texts, most of them once: not a category. Leave it out, "
            "or convert it if it holds numbers or dates as text."
        )
    return Column(name, "category", levels)


def _date_form(name: str, counts: Mapping[str, int]) -> str | None:
    """The form of texts that are dates, or None; an error if most are dates that cannot be read."""
    try:
        return date_form(counts)
    except OddDates as error:
        why = str(error).partition("; pass")[0]
        raise InvalidFeatures(
            f"X, column {name!r} holds dates as text: {why}. Write all of them as 2020-12-31, convert the column, for "
            "example with pandas.to_datetime, or make it a category if its values are names."
        ) from None


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


def days_of_durations(spans: NDArray[np.timedelta64]) -> Vector:
    """The days of durations, NaN where missing."""
    unit, _ = np.datetime_data(spans.dtype)
    if unit not in _TICKS:
        unit = "us" if unit in ("ps", "fs", "as") else "s"
    ticks = spans.astype(f"timedelta64[{unit}]", copy=False)
    return np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64) / (86_400 * _TICKS[unit]))


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
    if cells.kind == "duration":
        return duration_words(value)
    return bool(value) if cells.kind == "truth" else value
