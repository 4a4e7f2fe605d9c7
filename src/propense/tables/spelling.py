"""How a table is written: the decimal sign of its numbers, the encoding of its letters, its sheet."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from propense.errors import InvalidTable
from propense.tables.cells import bare_numbers, check_decimal, is_categorical, normalise_decimals

__all__ = ["UNKNOWN", "DecimalSign", "Spelling", "find_sign", "with_sign"]

# Numbers in which it is clear what the sign before the last digits is: there are not three of these, there is nothing
# but 0 before it, there are too many digits before it, or the other sign separates thousands.
_CLEAR = (
    r"^[-+]?(\d+{sign}(\d{{1,2}}|\d{{4,}})|0+{sign}\d+|\d{{4,}}{sign}\d+|\d{{1,3}}({other}\d{{3}})+{sign}\d+"
    r"|\d{{1,3}}({other}\d{{3}}){{2,}}|{sign}\d+|\d+{sign}\d+[eE][-+]?\d+)$"
)
# 1.234 or 1,234: 1234 or a number below 1000, depending on what is meant.
_EITHER = r"^[-+]?[1-9]\d{0,2}[.,]\d{3}$"


@dataclass(frozen=True)
class Spelling:
    """How a table is written: what was said or found when a model was fitted to it.

    Attributes
    ----------
    decimal : {".", ","} or None
        The decimal sign of numbers that are written as text; None if there were none.
    encoding : str or None
        The encoding of a text file, if it is not UTF-8.
    sheet : str or None
        The sheet of an Excel workbook that has several.
    """

    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None


# Nothing was said or found.
UNKNOWN = Spelling()


class DecimalSign:
    """The decimal sign of a table that is read in batches.

    Parameters
    ----------
    given : {".", ","} or None
        What was said: it wins.
    remembered : {".", ","} or None
        The sign of the table that the model was fitted to, which counts if this table shows none.
    names : collection of str
        The columns that hold numbers.
    where : str
        What errors call the table.
    measured : collection of str, default=()
        Those of the columns whose numbers may have a unit.
    """

    def __init__(
        self,
        given: str | None,
        remembered: str | None,
        names: Collection[str],
        where: str,
        measured: Collection[str] = (),
    ) -> None:
        check_decimal(given)
        self._given, self._remembered, self._names, self._where = given, remembered, names, where
        self._measured = measured
        self._found: str | None = None

    @property
    def sign(self) -> str | None:
        """What was said, what the rows have shown so far, or what is remembered."""
        return self._given or self._found or self._remembered

    @property
    def differs(self) -> bool:
        """Whether the table has another sign than the one that is remembered."""
        return self._given is None and None not in (self._found, self._remembered) and self._found != self._remembered

    def points(self, rows: Any, names: Collection[str]) -> Any:
        """The table or batch with decimal points in the named columns."""
        if self._given is None:
            self._look(rows)
        return normalise_decimals(rows, names, self.sign)

    def _look(self, rows: Any) -> None:
        texts = {name: cells for name in self._names if (cells := _as_text(rows.column(name))) is not None}
        texts |= {name: bare_numbers(texts[name]) for name in self._measured if name in texts}
        if self.sign == "." and not any(_has(cells, ",") for cells in texts.values()):
            return
        for name, cells in texts.items():
            for sign, example in _shown(cells).items():
                if self._found is None:
                    self._found = sign
                if sign != self._found:
                    other = "points" if self._found == "." else "commas"
                    raise InvalidTable(
                        f"{self._where}, column {name!r} holds {example!r}, but other numbers have decimal {other}. "
                        "Give the decimal sign (decimal=',' or decimal='.'), or correct the cells."
                    )
        if self._found is None:
            for name, cells in texts.items():
                self._check_clear(name, cells)

    def _check_clear(self, name: str, cells: Any) -> None:
        """Raise an error if a number may be a thousand times another, and nothing shows which."""
        from pyarrow import compute

        either = cells.filter(compute.match_substring_regex(cells, _EITHER))
        if not len(either):
            return
        value = either[0].as_py()
        sign = "," if "," in value else "."
        if self._remembered == sign:
            return
        one, other = value.replace(sign, ""), value.replace(sign, ".")
        raise InvalidTable(
            f"{self._where}, column {name!r}: {value!r} may be {one} or {other}, and no other number shows which. Give "
            "the decimal sign (decimal=',' or decimal='.')."
        )


def find_sign(rows: Any, names: Collection[str], given: str | None = None) -> str | None:
    """The decimal sign of columns that were read as numbers: what was given, or a point if a text has one."""
    if given is not None:
        return given
    texts = (_as_text(rows.column(name)) for name in names)
    return "." if any(cells is not None and _has(cells, ".") for cells in texts) else None


def with_sign(rows: Any, decimal: str) -> Any:
    """A table or batch for a CSV file, with decimal commas in columns of numbers if that is the sign."""
    import pyarrow as pa
    from pyarrow import compute

    if decimal != ",":
        return rows
    for place, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type) or pa.types.is_decimal(field.type):
            cells = rows.column(place)
            cells = cells.cast(pa.float32()) if pa.types.is_float16(field.type) else cells
            written = compute.replace_substring(cells.cast(pa.string()), ".", ",")
            rows = rows.set_column(place, field.name, written)
    return rows


def _shown(cells: Any) -> dict[str, str]:
    """The decimal signs that some cells clearly show, each with such a cell."""
    from pyarrow import compute

    found = {}
    if not _has(cells, ",") and not _has(cells, "."):
        return {}
    for sign, other in (",", r"\."), (r"\.", ","):
        clear = cells.filter(compute.match_substring_regex(cells, _CLEAR.format(sign=sign, other=other)))
        if len(clear):
            found[sign[-1]] = clear[0].as_py()
    return found


def _has(cells: Any, sign: str) -> bool:
    from pyarrow import compute

    return bool(compute.any(compute.match_substring(cells, sign)).as_py())


def _as_text(cells: Any) -> Any:
    """The cells of a column of text, trimmed; None if it is another kind of column."""
    import pyarrow as pa
    from pyarrow import compute

    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    if is_categorical(cells):
        cells = cells.dictionary
    if pa.types.is_string_view(cells.type):
        cells = cells.cast(pa.string())
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        return None
    return compute.utf8_trim_whitespace(cells)
