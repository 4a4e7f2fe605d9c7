"""How a model of a table reads cells, and how the rows of its fit were spread, as plain values."""

from typing import Any

import numpy as np

from propense.errors import ModelFileError
from propense.estimators._description import is_array
from propense.tables import Schema, TableModel
from propense.tables.cells import MISSING_WORDS
from propense.tables.drift import SeenColumn, is_seen

__all__ = ["READING", "build_missing", "build_seen", "describe_reading"]

# Keys that a file has if there is something to say.
READING = ("missing", "seen")
# Words for missing cells, and characters of each.
_WORDS, _LONGEST = 200, 1000


def describe_reading(model: TableModel) -> dict[str, Any]:
    """The words for missing cells unless they are the usual ones, and the summary of each column."""
    facts: dict[str, Any] = {}
    if model.schema.missing != MISSING_WORDS:
        facts["missing"] = list(model.schema.missing)
    if model.seen is not None:
        facts["seen"] = [(each.cuts, each.counts) for each in model.seen]
    return facts


def build_missing(words: Any) -> tuple[str, ...]:
    """The words for missing cells; the usual ones if a file has none."""
    if words is None:
        return MISSING_WORDS
    if not isinstance(words, list) or len(words) > _WORDS or not all(map(_is_word, words)) or "" not in words:
        raise ModelFileError("it holds a model of a table whose words for missing cells are not words")
    return tuple(words)


def build_seen(schema: Schema, facts: Any) -> tuple[SeenColumn, ...] | None:
    """The summary of each column, if a file has them."""
    if facts is None:
        return None
    wrong = ModelFileError("it holds a model of a table whose summaries of columns do not match its columns")
    if not isinstance(facts, list) or len(facts) != len(schema.columns):
        raise wrong
    for column, pair in zip(schema.columns, facts, strict=True):
        arrays = isinstance(pair, tuple) and len(pair) == 2
        if not arrays or not is_array("f", None)(pair[0], 0) or not is_array("i", None)(pair[1], 0):
            raise wrong
        if pair[0].dtype != np.float64 or pair[1].dtype != np.int64 or not is_seen(column, *pair):
            raise wrong
    return tuple(SeenColumn(*pair) for pair in facts)


def _is_word(word: Any) -> bool:
    return isinstance(word, str) and len(word) <= _LONGEST and not any("\ud800" <= sign <= "\udfff" for sign in word)
