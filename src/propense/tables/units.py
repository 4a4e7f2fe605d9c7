"""Numbers with a unit, a currency, separated thousands or a limit sign: 25.3 kg/m2, € 1 200, 12 %, <5."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.tables.cells import MISSING_WORDS, as_numbers, as_text

__all__ = ["NUMBER_FORM", "Measures", "as_measures", "find_measures", "number_form"]

# A form of numbers as `Column.form` has it.
NUMBER_FORM = re.compile(r"|(limits )?unit:([^\s:][^:]{0,30})?")
_MONEY = r"[€$£¥]|EUR|USD|CHF|GBP|SEK|DKK|NOK|PLN"
_CELL = (
    rf"^(?P<limit>(?:[<>]=?|[≤≥~≈]|(?i:ca\.|circa|about|approx\.)\s)?)\s*(?P<money>(?:{_MONEY})?)\s*"
    r"(?P<number>[-+−]?(?:\d{1,3}(?:[ \x{00a0}\x{202f}'’]\d{3})+|\d+|\.\d)(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"(?P<unit>(?:\s*[^\d\s.,;:+<>=()'’-][^,;:<>=]*)?)$"
)
# Units by themselves: kg/m2, mm Hg, °C. Here rather than above, where classes of all letters take long to compile.
_UNIT = re.compile(
    r"|[^\W\d_%‰°µμΩ€$£¥]?[\w%‰°µμΩ€$£¥²³·.*^/()⁻¹−-]{0,14}(\s?/\s?[^\W_]{1,8}[²³]?|\s[^\W\d_][\w/²³.]{0,8})?"
)
# A column has no more, and is text otherwise.
_MOST_UNITS = 20
_IN_USE = (
    "kg g mg µg ug ng lb lbs oz t m cm mm µm km in ft mi l ml dl cl µl ul mmol/l µmol/l umol/l nmol/l pmol/l mg/dl "
    "g/dl g/l mg/l µg/l ug/l ng/ml pg/ml ng/l iu iu/l u/l u/ml mmhg kpa bpm /min kg/m2 kg/m² °c °f c f % ‰ € $ £ ¥ eur "
    "usd chf gbp sek dkk nok pln k kwh mwh w kw v hz khz mhz b kb mb gb tb km/h mph m2 m3 m² m³ m/s"
)
_KNOWN = set(_IN_USE.split())


@dataclass(frozen=True)
class Measures:
    """What the cells of a column of numbers with units hold.

    Attributes
    ----------
    units : dict of str to int
        The units and how many cells have each, the most frequent first; "" is none.
    limits : int
        How many cells have a sign such as < or ~.
    example : str
        A cell with such a sign, or else any.
    numbers : Arrow strings
        The numbers of the cells without missing ones.
    """

    units: dict[str, int]
    limits: int
    example: str
    numbers: Any

    @property
    def unit(self) -> str | None:
        """The unit of the column; None if it is not clear: two units, or a share in per cent next to bare numbers."""
        named = [unit for unit in self.units if unit]
        if len(named) > 1 or (self.units.get("") and named == ["%"]):
            return None
        return named[0] if named else ""

    @property
    def known(self) -> bool:
        """Whether all units are ones that are in use, so that the column is certainly one of numbers."""
        return all(not unit or unit.lower() in _KNOWN for unit in self.units)


def find_measures(cells: Any, missing: Sequence[str] = MISSING_WORDS) -> Measures | None:
    """The units of a column of text, whose decimal sign is a point; None if a cell is not a number with a unit."""
    text = as_text(cells, missing).drop_null()
    parts = _split(text)
    if parts is None or not len(text):
        return None
    limit, number, unit = parts
    counts = {pair["values"]: pair["counts"] for pair in unit.value_counts().to_pylist()}
    if len(counts) > _MOST_UNITS or not all(_UNIT.fullmatch(each) for each in counts):
        return None
    units: dict[str, int] = {}
    spelt: dict[str, str] = {}
    for each in sorted(counts, key=lambda each: (-counts[each], each)):
        name = spelt.setdefault(_key(each), _tidy(each))
        units[name] = units.get(name, 0) + counts[each]
    signed = [place for place, sign in enumerate(limit.to_pylist()) if sign]
    return Measures(units, len(signed), text[signed[0] if signed else 0].as_py(), number)


def number_form(measures: Measures) -> str:
    """The form of a column with these measures."""
    return f"{'limits ' if measures.limits else ''}unit:{measures.unit}"


def as_measures(cells: Any, missing: Sequence[str] = MISSING_WORDS, form: str = "") -> NDArray[np.float64] | None:
    """float64, NaN where missing; None if a cell is not a number in the unit of the form.

    Numbers without a unit are taken to be in it, except for per cent. A limit such as <5 is the number 5.
    """
    plain = as_numbers(cells, missing)
    limits, unit = form.startswith("limits "), form.partition("unit:")[2]
    if plain is not None and (unit != "%" or not _is_text(cells)):
        return plain
    text = as_text(cells, missing)
    found = _split(text)
    if found is None:
        return None
    limit, number, units = found
    allowed = {_key(unit)} | (set() if unit == "%" else {""})
    known = text.is_valid()
    if any(_key(each) not in allowed for each in units.filter(known).unique().to_pylist()):
        return None
    if not limits and any(limit.filter(known).unique().to_pylist()):
        return None
    return as_numbers(number, missing)


def _split(text: Any) -> tuple[Any, Any, Any] | None:
    """The limit signs, plain numbers and units of texts, null where they are; None if one is not such a number."""
    from pyarrow import compute

    parts = compute.extract_regex(text, _CELL)
    if parts.null_count > text.null_count:
        return None
    field = partial(compute.struct_field, parts)
    number = compute.replace_substring_regex(field("number"), "[ \\x{00a0}\\x{202f}'’]", "")
    number = compute.replace_substring(number, "−", "-")
    suffix = compute.utf8_trim_whitespace(field("unit"))
    unit = compute.binary_join_element_wise(field("money"), suffix, "")
    return field("limit"), number, unit


def _tidy(unit: str) -> str:
    return re.sub(r"\s*/\s*", "/", unit.strip()).rstrip(".")


def _key(unit: str) -> str:
    """Units that mean the same have the same: kg and Kg, m² and m2, room and rooms."""
    tidy = _tidy(unit).replace("²", "2").replace("³", "3").replace("μ", "µ")
    if len(tidy) < 2:
        return tidy
    tidy = tidy.lower()
    return tidy[:-1] if len(tidy) > 3 and tidy.endswith("s") else tidy


def _is_text(cells: Any) -> bool:
    import pyarrow as pa

    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
