"""Words that mean a missing cell: which, and where some were found."""

from collections.abc import Sequence
from typing import Any

from propense.errors import InvalidOption
from propense.tables.cells import MISSING_WORDS, as_levels
from propense.tables.schema import Schema

__all__ = ["note_missing_words", "words_for_missing"]

# Usual words that may be a value of a category; in other columns only the first may.
_SPEAKING = ("none", "null", "-", "--", ".", "?")
# More than a few cells.
_FEW = 5
# Columns that a note names, and words that can be given.
_NAMED, _MOST = 6, 100


def words_for_missing(added: Sequence[str], *, usual: bool = True) -> tuple[str, ...]:
    """The words that mean a missing cell, in lower case: an empty cell, those added, and the usual ones if wanted."""
    if isinstance(added, str) or len(added) > _MOST or not all(isinstance(word, str) for word in added):
        raise InvalidOption(f"missing={added!r} is not a list of at most {_MOST} words.")
    words = dict.fromkeys(word.strip().lower() for word in added)
    known = MISSING_WORDS if usual else ("",)
    return tuple(dict.fromkeys([*known, *words])) if words.keys() - set(known) else known


def note_missing_words(table: Any, schema: Schema, added: Sequence[str]) -> list[str]:
    """A note on each word that may be a value and was read as missing in more than a few cells, and on words added."""
    asked = [word.strip().lower() for word in added if word.strip()]
    usual = [word for word in _SPEAKING if word in schema.missing and word not in asked]
    found: dict[str, list[tuple[str, int]]] = {word: [] for word in [*asked, *usual]}
    for column in schema.columns:
        counts = _count(table.column(column.name), list(found)) if found else {}
        for word, count in counts.items():
            speaks = word in asked or (count >= _FEW and (column.kind == "category" or word == _SPEAKING[0]))
            if speaks:
                found[word].append((column.name, count))
    notes = [f"The word {word!r} of missing= is in no column." for word in asked if not found[word]]
    for word, places in found.items():
        if places:
            shown = ", ".join(f"{count:,} in the column {name!r}" for name, count in places[:_NAMED])
            more = f" and some in {len(places) - _NAMED} other columns" if len(places) > _NAMED else ""
            hint = "" if word in asked else " If it is a value, pass missing_words=False."
            notes.append(f"Cells that say {word!r} were read as missing: {shown}{more}.{hint}")
    return notes


def _count(cells: Any, words: list[str]) -> dict[str, int]:
    """How many cells of a column are each of the words."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_temporal(cells.type) or pa.types.is_boolean(cells.type):
        return {}
    text = compute.utf8_lower(as_levels(cells, ("",)))
    counts = text.filter(compute.is_in(text, value_set=pa.array(words))).value_counts().to_pylist()
    return {pair["values"]: pair["counts"] for pair in counts}
