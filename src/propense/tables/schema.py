"""The columns of a table and their kinds, and the table with columns of these kinds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.columns import MISSING, OTHER, Column, choose_levels, level_counts
from propense._inputs.frames import encode_frame
from propense._inputs.moments import OddDates, date_form, duration_of
from propense._inputs.reader import LARGEST
from propense.errors import InvalidTable
from propense.tables.cells import (
    MISSING_WORDS,
    as_booleans,
    as_dates,
    as_durations,
    as_levels,
    as_numbers,
    as_text,
    check_feature,
    first_refused,
    is_categorical,
    looks_numeric,
    naming_the_column,
    with_points,
    words_among_numbers,
)
from propense.tables.problems import Problems
from propense.tables.row_names import says_id
from propense.tables.units import Measures, as_measures, find_measures, number_form

__all__ = ["MISSING", "OTHER", "Column", "Reading", "Schema", "in_words", "infer_schema", "read_kind"]

# What the cells of a kind are read by, and what a cell is that cannot be read.
_READERS: dict[str, tuple[Callable[..., Any], str]] = {
    "number": (as_numbers, "a number"),
    "truth": (as_booleans, "true or false"),
    "date": (as_dates, "a date"),
    "duration": (as_durations, "a duration"),
}
# Texts that look like dates; Python looks closer at these.
_DATED = (
    r"^(\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?([T ].*)?|\d{1,2}[-/.]\d{4}|\d{1,2}\.?[ -][^\d\s./-]{3,9}\.?,?[ -]\d{4}.*"
    r"|[^\d\s./-]{3,9}\.? \d{1,2},? \d{4}.*)$"
)
# Different texts that are looked at to see whether most are durations.
_LOOKED_AT = 1000


@dataclass(frozen=True)
class Reading:
    """How the cells of a table that are text are read at a fit.

    Attributes
    ----------
    missing : tuple of str
        Words for missing cells, in lower case.
    points : bool
        Whether a point in a number is certainly a decimal point.
    dates : {"dmy", "mdy"} or None
        What comes first in dates such as 01/02/2020, where no cell shows it.
    """

    missing: tuple[str, ...] = MISSING_WORDS
    points: bool = False
    dates: str | None = None


@dataclass(frozen=True)
class Schema:
    """The columns a model was fitted on, in their order, and the words that mean a missing cell.

    Attributes
    ----------
    columns : tuple of Column
    missing : tuple of str
        The words, in lower case.
    """

    columns: tuple[Column, ...]
    missing: tuple[str, ...] = MISSING_WORDS

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def level_counts(self) -> NDArray[np.int64]:
        """The number of levels of each column, 0 for numbers."""
        return level_counts(self.columns)

    def check(self, names: Sequence[str], where: str) -> None:
        """Raise an error if a column is missing."""
        found = set(names)
        missing = [name for name in self.names if name not in found]
        if missing:
            shown = ", ".join(map(repr, missing[:5])) + (" …" if len(missing) > 5 else "")
            raise InvalidTable(f"{where} does not have these columns, which the model needs: {shown}.")

    def read(self, table: Any, where: str, first_row: int = 0) -> Any:
        """The columns as an Arrow table of numbers, booleans, dates and text; errors name `where` and the row."""
        import pyarrow as pa

        cells = [
            read_kind(column, table.column(column.name), where, first_row, self.missing) for column in self.columns
        ]
        return pa.table(cells, names=self.names)

    def encode(self, table: Any) -> NDArray[np.float64]:
        """The table that `read` makes, in numbers: see `Column.encode`."""
        return encode_frame(self.columns, table)


def infer_schema(
    table: Any,
    names: Sequence[str],
    where: str,
    categorical: Sequence[str] = (),
    *,
    reading: Reading | None = None,
    problems: Problems | None = None,
) -> tuple[Schema, list[str]]:
    """The kinds of the named columns, and notes on columns left out and on cells that could be read otherwise.

    Errors about columns are collected in `problems`, or else raised together.
    """
    reading, found = reading or Reading(), problems or Problems(where)
    columns, notes = [], list[str]()
    for name in names:
        cells = table.column(name)
        with found.collecting():
            check_feature(cells.type, name, where)
            with naming_the_column(cells, name, where):
                columns.append(_infer_column(name, cells, where, name in categorical, reading, notes))
    if problems is None:
        found.raise_any()
    return Schema(tuple(column for column in columns if column is not None), reading.missing), notes


def in_words(column: Column) -> str:
    """A column by its name, with the unit of its numbers or the form of its dates, if it has one."""
    about = column.unit if column.kind == "number" else column.form
    return f"{column.name} ({about})" if about else column.name


def _reader(column: Column, missing: tuple[str, ...]) -> tuple[Callable[[Any], Any], str]:
    """What reads the cells of a column that is not a category, and what they are."""
    read, wanted = _READERS[column.kind]
    if column.kind == "number" and column.form:
        words = f"a number in {column.unit}" if column.unit else wanted
        return partial(as_measures, missing=missing, form=column.form), words
    if column.kind == "date" and column.form:
        return partial(as_dates, missing=missing, form=column.form), f"a date of the form {column.form}"
    return partial(read, missing=missing), wanted


def read_kind(column: Column, cells: Any, where: str, first_row: int, missing: tuple[str, ...] = MISSING_WORDS) -> Any:
    """The cells of an Arrow column as numbers, booleans, dates, durations or text, by the kind of the column."""
    import pyarrow as pa

    with naming_the_column(cells, column.name, where):
        if column.kind == "category":
            # As a category by its type: text of dates would be read as dates.
            return as_levels(cells, missing).dictionary_encode()
        read, wanted = _reader(column, missing)
        values = read(cells)
        if values is None:
            place, value = first_refused(cells, read)
            comma = column.kind == "number" and read(with_points(pa.array([value]))) is not None
            sign = " If the comma is a decimal sign, pass decimal=','." if comma else ""
            raise InvalidTable(
                f"{where}, column {column.name!r}, row {first_row + place + 1}: {value!r} is not {wanted}.{sign}"
            )
    if column.kind in ("date", "duration"):
        return values
    if column.kind == "truth":
        return pa.array(values == 1, mask=np.isnan(values))
    large = np.abs(values) >= LARGEST
    if large.any():
        place = int(np.flatnonzero(large)[0])
        raise InvalidTable(
            f"{where}, column {column.name!r}, row {first_row + place + 1}: {values[place]:g} is too large. "
            "Correct the cell, or leave it empty."
        )
    return pa.array(values)


def _infer_column(
    name: str, cells: Any, where: str, categorical: bool, reading: Reading, notes: list[str]
) -> Column | None:
    """What a column is; None if it is left out, with a note."""
    text = as_text(cells, reading.missing)
    if text.null_count == len(cells):
        notes.append(f"The column {name!r} is empty and was left out.")
        return None
    if not categorical and not is_categorical(cells):
        found = _typed(name, cells)
        if found is None and as_booleans(cells, reading.missing) is not None:
            found = Column(name, "truth")
        if found is None and as_numbers(cells, reading.missing) is not None:
            odd = None if reading.points else looks_numeric(cells, reading.missing)
            if odd is not None:
                raise _not_numbers(name, odd, where, reading)
            found = Column(name, "number")
        if found is None:
            found = _written(name, cells, text, where, reading, notes)
        if found is not None:
            return found
    return _category(name, as_levels(cells, reading.missing), where, categorical, notes)


def _typed(name: str, cells: Any) -> Column | None:
    """A column of dates, times or durations by its type."""
    import pyarrow as pa

    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Column(name, "date")
    return Column(name, "duration") if pa.types.is_duration(kind) or pa.types.is_time(kind) else None


def _written(name: str, cells: Any, text: Any, where: str, reading: Reading, notes: list[str]) -> Column | None:
    """A column of texts that are dates, durations or numbers with a unit; None if they are not."""
    form = _date_form(name, text, where, reading)
    if form is not None:
        return Column(name, "date", form=form)
    if _are_durations(name, text, where):
        return Column(name, "duration")
    measures = find_measures(cells, reading.missing)
    if measures is not None and (measures.unit is not None or measures.known):
        return _measured(name, measures, where, reading, notes)
    odd = looks_numeric(cells, reading.missing)
    if odd is not None:
        raise _not_numbers(name, odd, where, reading, words_among_numbers(cells, reading.missing))
    return None


def _measured(name: str, measures: Measures, where: str, reading: Reading, notes: list[str]) -> Column:
    """A column of numbers with a unit; an error if there are two units, or if points may separate thousands."""
    if measures.unit is None:
        counts = ", ".join(f"{count:,} {unit or 'without a unit'}" for unit, count in measures.units.items())
        raise InvalidTable(
            f"{where}, column {name!r} holds numbers in different units ({counts}). Convert them to one, or pass "
            f"categorical=[{name!r}] if the values are names."
        )
    odd = None if reading.points else looks_numeric(measures.numbers)
    if odd is not None:
        raise _not_numbers(name, odd, where, reading)
    if measures.unit and (bare := measures.units.get("")):
        cells = "1 cell" if bare == 1 else f"{bare:,} cells"
        notes.append(f"The column {name!r} has {cells} without a unit, taken to be in {measures.unit} as well.")
    if measures.limits:
        cells = "1 cell" if measures.limits == 1 else f"{measures.limits:,} cells"
        notes.append(
            f"The column {name!r} has {cells} with a limit or a rough value, such as {measures.example!r}. They were "
            "read as the number itself."
        )
    return Column(name, "number", form=number_form(measures))


def _not_numbers(name: str, odd: str, where: str, reading: Reading, words: Sequence[str] = ()) -> InvalidTable:
    # A decimal sign that is given already is no way out.
    sign = "" if reading.points else " give the decimal sign (decimal=',' or decimal='.'),"
    absent = f" Pass missing={list(words)!r} if that means a missing cell." if words else ""
    return InvalidTable(
        f"{where}, column {name!r}: {odd}. Correct or empty the cells,{sign} or pass categorical=[{name!r}] if the "
        f"values are names.{absent}"
    )


def _date_form(name: str, text: Any, where: str, reading: Reading) -> str | None:
    """The form of texts that are dates, or None; an error if most are dates that cannot be read."""
    from pyarrow import compute

    known = text.drop_null()
    if 2 * (compute.sum(compute.match_substring_regex(known, _DATED)).as_py() or 0) <= len(known):
        return None
    counts = {pair["values"]: pair["counts"] for pair in known.value_counts().to_pylist()}
    try:
        return date_form(counts, reading.dates)
    except OddDates as error:
        row = compute.index(text, error.word).as_py() + 1
        raise InvalidTable(
            f"{where}, column {name!r} holds dates, but row {row} cannot be read: {error}. Correct or empty the "
            f"cells, write dates as 2020-12-31, or leave the column out with drop=[{name!r}]."
        ) from None


def _are_durations(name: str, text: Any, where: str) -> bool:
    """Whether all texts are durations; an error if most of many are."""
    from pyarrow import compute

    words = [word for word in text.unique().to_pylist() if word is not None]
    looked = words[:_LOOKED_AT]
    odd = [word for word in looked if duration_of(word) is None]
    if not odd:
        odd = [word for word in words[_LOOKED_AT:] if duration_of(word) is None]
        looked = words
    if odd and len(looked) > 10 and 2 * len(odd) < len(looked):
        row = compute.index(text, odd[0]).as_py() + 1
        raise InvalidTable(
            f"{where}, column {name!r} holds durations, but row {row} cannot be read: {odd[0]!r} is not one. Correct "
            f"or empty the cells, or leave the column out with drop=[{name!r}]."
        )
    return not odd


def _category(name: str, text: Any, where: str, categorical: bool, notes: list[str]) -> Column | None:
    """A column of names, the most frequent level first; None if it is free text or names the rows."""
    counts = {pair["values"]: pair["counts"] for pair in text.value_counts().to_pylist()}
    missing = counts.pop(None, 0)
    levels = choose_levels(counts, missing > 0)
    if levels is None and categorical:
        raise InvalidTable(
            f"{where}, column {name!r} holds {len(counts)} different texts, most of them once: not a category. Pass "
            f"id={name!r} if it names the rows, or leave it out with drop=[{name!r}]."
        )
    if levels is None and len(counts) == len(text) - missing:
        notes.append(
            f"The column {name!r} has a different text in every row and was left out. Pass id={name!r} if it names the "
            "rows."
        )
    elif levels is None:
        notes.append(
            f"The column {name!r} holds {len(counts):,} different texts, most of them once, and was left out: free "
            f"text is not a feature. Pass id={name!r} if it names the rows."
        )
    elif len(counts) > len(levels) and says_id(name) and 5 * len(counts) > len(text):
        notes.append(
            f"The column {name!r} has {len(counts):,} different values and seems to name what the rows are about. Pass "
            f"id={name!r}, or leave it out with drop=[{name!r}]."
        )
    return None if levels is None else Column(name, "category", levels)
