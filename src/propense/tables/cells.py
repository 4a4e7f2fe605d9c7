"""Convert the cells of a column, whatever their type, to numbers, booleans or text; None where that is impossible."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.moments import duration_of, moment_of
from propense.errors import InvalidOption, InvalidTable

__all__ = [
    "MISSING_WORDS",
    "as_booleans",
    "as_dates",
    "as_durations",
    "as_levels",
    "as_numbers",
    "as_text",
    "bare_numbers",
    "check_decimal",
    "check_feature",
    "check_readable",
    "defused",
    "first_line",
    "first_refused",
    "is_categorical",
    "looks_numeric",
    "naming_the_column",
    "normalise_decimals",
    "plain_text",
    "row_ids",
    "take_rows",
    "with_points",
    "words_among_numbers",
]

Numbers = NDArray[np.float64]

# A missing cell, in lower or upper case.
MISSING_WORDS = ("", "na", "n/a", "#n/a", "nan", "null", "none", "<na>", "-", "--", ".", "?")
# 1.234,5 and 1234,5: numbers with a decimal comma.
_COMMA = r"^[-+]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?$"
# 1,234.5: commas separate thousands, if the decimal sign is known to be a point.
_POINT = r"^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$"
# What may stand around a number in a cell: a currency, a unit.
# Without classes of all letters, which would take milliseconds to compile for every column.
_PARTED = (
    r"^(?P<before>[<>≤≥~≈]?=?\s*(?:[€$£¥]|EUR|USD|CHF|GBP)?\s*)(?P<number>[-+]?[\d.,]*\d)"
    r"(?P<after>(?:\s*[^\d\s.,;:+\-][^,;:]{0,15})?)$"
)
# 1.549 and 12.300: the point is a decimal sign or separates thousands.
_THOUSANDS = r"^[-+]?[1-9]\d{0,2}(\.\d{3})+$"
# The memory that categories may take as text: this much, and so many bytes for each byte of their cells.
_ALLOWANCE, _PER_BYTE = 16 << 20, 100
# What a spreadsheet takes for a formula, and the numbers and dashes among it.
_FORMULA = r"^[=+\-@\t\r]"
_HARMLESS = r"^([-+]?(\d[\d.,]*|[.,]\d+)([eE][-+]?\d+)?\s?%?|-+|[-+]?(?i:inf|infinity|nan))$"
# A number with separators, a unit, a per cent sign or brackets.
_FORMATTED = (
    r"^[<>≤≥~≈]?=?\s?[-+(]?\s?[€$£]?\s?\d[\d.,'’\s]*\)?\s?"
    r"(%|[€$£]|[^\d\s.,()'’/%-]{1,4}\.?|[^\d\s.,()'’/%-]{1,5}/[^\s.,()'’/%-]{1,5})?$"
)


def as_text(cells: Any, missing: Sequence[str] = MISSING_WORDS) -> Any:
    """Arrow strings, trimmed; null where missing."""
    import pyarrow as pa
    from pyarrow import compute

    cells = _plain(cells)
    if pa.types.is_floating(cells.type):
        cells = compute.if_else(compute.is_nan(cells), pa.scalar(None, cells.type), cells)
    text = cells.cast(pa.string())
    if pa.types.is_boolean(cells.type):
        return text
    text = compute.utf8_trim_whitespace(text)
    if missing is not MISSING_WORDS and not _is_text(cells.type):
        # 50667.0 is 50667 here too.
        text = compute.replace_substring_regex(text, r"^([-+]?\d+)\.0+$", r"\1")
    found = compute.is_in(compute.utf8_lower(text), value_set=pa.array(missing, pa.string()))
    return compute.if_else(found, pa.scalar(None, pa.string()), text)


def plain_text(cells: Any) -> Any:
    """Arrow strings as they are; null only where there is nothing at all."""
    import pyarrow as pa

    return _plain(cells).cast(pa.string())


def as_levels(cells: Any, missing: Sequence[str] = MISSING_WORDS) -> Any:
    """Text in which 50667.0 is 50667: empty cells turn a column of whole numbers into floating point."""
    from pyarrow import compute

    return compute.replace_substring_regex(as_text(cells, missing), r"^([-+]?\d+)\.0+$", r"\1")


def as_numbers(cells: Any, missing: Sequence[str] = MISSING_WORDS) -> Numbers | None:
    """float64, NaN where missing; None if a cell is not a number."""
    import pyarrow as pa

    cells = _plain(cells)
    if pa.types.is_temporal(cells.type):
        return None
    try:
        values = as_text(cells, missing) if _is_text(cells.type) else cells
        numbers = np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None
    if missing is MISSING_WORDS:
        return numbers
    # Words such as -99 are missing however they are written.
    codes = [float(word) for word in missing if word[-1:].isdigit() and _is_number(word)]
    return np.where(np.isin(numbers, codes), np.nan, numbers) if codes else numbers


def as_booleans(cells: Any, missing: Sequence[str] = MISSING_WORDS) -> Numbers | None:
    """1 for true, 0 for false, in lower or upper case, NaN where missing; None if a cell is something else."""
    import pyarrow as pa
    from pyarrow import compute

    cells = _plain(cells)
    if pa.types.is_boolean(cells.type) or pa.types.is_null(cells.type):
        return np.asarray(cells.cast(pa.float64()).to_numpy(zero_copy_only=False))
    if not _is_text(cells.type):
        return None
    text = compute.utf8_lower(as_text(cells, missing))
    codes = compute.index_in(text, value_set=pa.array(["false", "true"]))
    if codes.null_count > text.null_count:
        return None
    return np.asarray(codes.cast(pa.float64()).to_numpy(zero_copy_only=False))


def as_dates(cells: Any, missing: Sequence[str] = MISSING_WORDS, form: str = "") -> Any:
    """Arrow dates or timestamps; None if a cell is not a date, as text of the form 2020-12-31 or the form given."""
    import pyarrow as pa

    cells = _plain(cells)
    if pa.types.is_date(cells.type) or pa.types.is_timestamp(cells.type):
        return cells
    if cells.null_count == len(cells):
        return pa.nulls(len(cells), pa.timestamp("us"))
    if not _is_text(cells.type):
        return None
    text = as_text(cells, missing)
    # Arrow reads either texts without a time zone or texts with one.
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")) if not form else ():
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    return _each_word(text, lambda word: moment_of(word, form) or moment_of(word), pa.timestamp("us"))


def as_durations(cells: Any, missing: Sequence[str] = MISSING_WORDS) -> Any:
    """Arrow durations; None if a cell is not one, as text such as 3 days. Times of day are since midnight."""
    import pyarrow as pa

    cells = _plain(cells)
    if pa.types.is_duration(cells.type):
        return cells
    if pa.types.is_time(cells.type):
        whole = cells.cast(pa.int32() if pa.types.is_time32(cells.type) else pa.int64()).cast(pa.int64())
        return whole.cast(pa.duration(cells.type.unit))
    if cells.null_count == len(cells):
        return pa.nulls(len(cells), pa.duration("us"))
    if not _is_text(cells.type):
        return None
    return _each_word(as_text(cells, missing), _microseconds, pa.duration("us"))


def _microseconds(word: str) -> int | None:
    days = duration_of(word)
    return None if days is None or abs(days) > 1e8 else round(days * 86_400_000_000)


def _each_word(text: Any, read: Callable[[str], Any], kind: Any) -> Any:
    """Arrow values of this type, each different text read once; None if one cannot be read."""
    import pyarrow as pa

    encoded = text.dictionary_encode()
    found = [None if word is None else read(word) for word in encoded.dictionary.to_pylist()]
    if any(value is None for value in found):
        return None
    return pa.array(found, kind).take(encoded.indices)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def with_points(cells: Any, decimal: str = ",") -> Any:
    """Text in which 1.234,5 is 1234.5, also with a unit; cells that are not such numbers stay as they are.

    With the decimal sign ".", 1,234.5 is 1234.5.
    """
    import pyarrow as pa
    from pyarrow import compute

    if not _is_text(cells.type):
        return cells
    cells = _plain(_without_views(cells)).cast(pa.string())
    if not len(cells):
        return cells
    text = compute.utf8_trim_whitespace(cells)
    wanted = _COMMA if decimal == "," else _POINT
    if compute.all(compute.match_substring_regex(text, wanted), min_count=0).as_py():
        return _pointed(text, decimal).cast(pa.string())
    parts = compute.extract_regex(text, _PARTED)
    before, number, after = (compute.struct_field(parts, place) for place in range(3))
    written = compute.match_substring_regex(number, wanted)
    whole = compute.binary_join_element_wise(before, _pointed(number, decimal), after, "")
    return compute.if_else(compute.fill_null(written, False), whole, cells).cast(pa.string())


def bare_numbers(text: Any) -> Any:
    """The numbers in Arrow strings such as € 1.234,5 or 72 kg, as they are written; null where there is none."""
    from pyarrow import compute

    return compute.struct_field(compute.extract_regex(text, _PARTED), "number")


def _pointed(number: Any, decimal: str) -> Any:
    """Numbers without separators of thousands, and with a decimal point."""
    from pyarrow import compute

    if decimal == ",":
        return compute.replace_substring(compute.replace_substring(number, ".", ""), ",", ".")
    return compute.replace_substring(number, ",", "")


def check_decimal(decimal: str | None) -> None:
    """Raise an error unless it is a point, a comma or None."""
    if decimal not in (None, ".", ","):
        raise InvalidOption(f"decimal={decimal!r} is not a point or a comma.")


def normalise_decimals(table: Any, names: Collection[str], decimal: str | None) -> Any:
    """A table or batch with plain decimal points in the named columns, if the decimal sign is given."""
    check_decimal(decimal)
    if decimal is None:
        return table
    every, wanted = table.schema.names, set(names)
    columns = [with_points(table.column(name), decimal) if name in wanted else table.column(name) for name in every]
    return type(table).from_arrays(columns, names=every)


def defused(table: Any) -> Any:
    """A table or batch with an apostrophe before texts and names that a spreadsheet would run as a formula."""
    import pyarrow as pa

    columns = [_defuse(cells) for cells in table.columns]
    names = _defuse(pa.array(table.schema.names, pa.string())).to_pylist()
    return type(table).from_arrays(columns, names=names)


def _defuse(cells: Any) -> Any:
    from pyarrow import compute

    if is_categorical(cells):
        cells = _plain(cells)
    if not _is_text(cells.type):
        return cells
    cells = _without_views(cells)
    formula = compute.match_substring_regex(cells, _FORMULA)
    harmless = compute.match_substring_regex(cells, _HARMLESS)
    marked = compute.replace_substring_regex(cells, "^", "'", max_replacements=1)
    return compute.if_else(compute.and_not(formula, harmless), marked, cells)


def looks_numeric(cells: Any, missing: Sequence[str] = MISSING_WORDS) -> str | None:
    """What is wrong with a column of text that seems to hold numbers, or None."""
    from pyarrow import compute

    cells = _plain(cells)
    if not _is_text(cells.type):
        return None
    text = as_text(cells, missing).drop_null()
    thousands = compute.match_substring_regex(text, _THOUSANDS)
    if as_numbers(cells, missing) is not None:
        pointed = compute.match_substring(text, ".")
        odd = compute.sum(thousands).as_py() == compute.sum(pointed).as_py() > 0
        if odd and not compute.all(pointed).as_py():
            return f"{text.filter(thousands)[0].as_py()!r} may have a decimal point or a separator of thousands"
        return None
    formatted = compute.sum(compute.match_substring_regex(text, _FORMATTED)).as_py()
    if formatted * 2 <= len(text):
        return None
    place, value = first_refused(cells, partial(as_numbers, missing=missing))
    return f"most cells look like numbers, but {value!r} in row {place + 1} is not one"


def words_among_numbers(cells: Any, missing: Sequence[str] = MISSING_WORDS, most: int = 3) -> list[str]:
    """The texts without a digit in a column of numbers, the most frequent first; empty if there are many."""
    from pyarrow import compute

    text = as_text(_plain(cells), missing).drop_null()
    counts = text.filter(compute.invert(compute.match_substring_regex(text, r"\d"))).value_counts().to_pylist()
    found = [pair["values"] for pair in sorted(counts, key=lambda pair: -pair["counts"])]
    return found if len(found) <= most else []


def first_refused(cells: Any, convert: Callable[[Any], Any]) -> tuple[int, str]:
    """The place and the text of the first cell that cannot be converted, by bisection."""
    low, high = 0, len(cells)
    while high - low > 1:
        middle = (low + high) // 2
        if convert(cells.slice(low, middle - low)) is None:
            high = middle
        else:
            low = middle
    return low, str(plain_text(cells)[low].as_py()).strip()


def check_feature(kind: Any, column: str, where: str) -> None:
    """Raise an error unless a column of this Arrow type holds single numbers, booleans, texts or dates."""
    if not _is_flat(kind):
        raise InvalidTable(
            f"{where}, column {column!r} holds {kind}: not numbers, text or true/false. "
            f"Leave it out with drop=[{column!r}]."
        )


def check_readable(kind: Any, column: str, where: str) -> None:
    """Raise an error if the cells of a column of this Arrow type cannot be written as text."""
    import pyarrow as pa

    try:
        as_text(pa.nulls(0, kind))
    except pa.ArrowException:
        raise InvalidTable(
            f"{where}, column {column!r} holds {kind}: not numbers, text or true/false. Convert it."
        ) from None


@contextmanager
def naming_the_column(cells: Any, column: str, where: str) -> Iterator[None]:
    """Check the type of the cells, and raise errors of Arrow again with the name of the column."""
    import pyarrow as pa

    check_readable(cells.type, column, where)
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InvalidTable(
            f"{where}, column {column!r} holds {cells.type} that cannot be read: {first_line(error)}. Convert it."
        ) from None


def first_line(error: Exception) -> str:
    """What an error says, on one line and without its last point."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def take_rows(table: Any, rows: Any, where: str) -> Any:
    """Some rows of a table or batch, in the order given."""
    import pyarrow as pa

    # Arrow cannot select rows of these types yet.
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    for j, field in enumerate(table.schema):
        if field.type in views:
            table = table.set_column(j, field.name, table.column(j).cast(views[field.type]))
    try:
        return table.take(rows)
    except pa.ArrowNotImplementedError:
        odd = next((field for field in table.schema if not _is_flat(field.type)), table.schema[0])
        raise InvalidTable(
            f"{where}, column {odd.name!r} holds {odd.type}, whose rows cannot be selected. Convert or remove it."
        ) from None


def is_categorical(cells: Any) -> bool:
    """Whether the type of the column is a category."""
    import pyarrow as pa

    return bool(pa.types.is_dictionary(cells.type)) and _is_text(cells.type.value_type)


def _plain(cells: Any) -> Any:
    """One array, with dictionaries decoded and half precision converted to single."""
    import pyarrow as pa

    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    if pa.types.is_dictionary(cells.type):
        _check_decoded(cells)
        cells = cells.dictionary_decode()
    return cells.cast(pa.float32()) if pa.types.is_float16(cells.type) else cells


def _check_decoded(cells: Any) -> None:
    """Raise an error if decoding would take far more memory than the cells do: one long text may stand in every row."""
    import pyarrow as pa
    from pyarrow import compute

    if not _is_text(cells.type.value_type):
        return
    lengths = compute.binary_length(_without_views(cells.dictionary))
    most = _ALLOWANCE + _PER_BYTE * cells.nbytes
    if len(cells) * (compute.max(lengths).as_py() or 0) <= most:
        return
    taken = compute.sum(lengths.take(cells.indices)).as_py() or 0
    if taken > most:
        raise pa.lib.ArrowCapacityError(f"its categories, repeated in every row, take {taken >> 20:,} MB")


def _is_flat(kind: Any) -> bool:
    """Whether each cell is a single number, boolean, text or date."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    known = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_temporal)
    return _is_text(kind) or pa.types.is_null(kind) or any(each(kind) for each in known)


def _without_views(cells: Any) -> Any:
    """Texts as Arrow's functions take them: they do not know views."""
    import pyarrow as pa

    return cells.cast(pa.string()) if pa.types.is_string_view(cells.type) else cells


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def row_ids(table: Any, column: str, where: str) -> NDArray[Any]:
    """The names of the rows: the cells of a column, as text."""
    cells = table.column(column)
    with naming_the_column(cells, column, where):
        return np.asarray(as_text(cells).fill_null("").to_pylist(), dtype=object)
