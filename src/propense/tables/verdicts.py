"""What reviewers wrote of the rows that they checked: yes, no, or that they cannot say."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propense.errors import InvalidTable
from propense.tables.labels import PAIRS

__all__ = ["NO", "OPEN", "UNSURE", "YES", "read_words", "said"]

# The answers, as a model file holds them.
YES, NO, OPEN, UNSURE = 1, 0, -1, -2

# Words for a row that is positive, and for one that is not, in lower case: those of labels, and more.
_LABELS = {(one, other) for one, other in PAIRS if other in ("0", "-1", "false", "f", "no", "n", "nein", "non")}
_POSITIVE = {one for one, _ in _LABELS} | {"positive", "pos", "p", "wahr", "vrai", "si", "sí", "s", "x"}
_NEGATIVE = {other for _, other in _LABELS} | {"negative", "neg", "falsch", "faux"}
# Nothing was written, also as other programs write nothing.
_EMPTY = {"", "nan", "none", "null", "<na>", "na", "n/a", "#n/a", "."}
_UNSURE = {
    *("?", "??", "unsure", "not sure", "unknown", "unclear", "uncertain", "undecided", "maybe", "possibly"),
    *("cannot say", "can not say", "can't say", "cant say", "cannot tell", "can't tell", "cannot judge"),
    *("don't know", "dont know", "do not know", "unsicher", "unklar", "unbekannt", "vielleicht", "weiß nicht"),
    *("weiss nicht", "incertain", "inconnu", "peut-être", "peut-etre", "ne sait pas", "desconocido", "no sé", "no se"),
}
_SHOWN, _LONGEST = 6, 30


def read_words(
    cells: Sequence[str], where: str, positive: str | None = None, negative: str | None = None
) -> NDArray[np.int8]:
    """The verdict of each cell: YES, NO, OPEN if it is empty, or UNSURE.

    Parameters
    ----------
    cells : list of str
    where : str
        What errors call the cells.
    positive, negative : str, default=None
        The words for a positive and for a negative row, if they are not clear. The negative word may be empty: then a
        row without a verdict is negative.
    """
    words = [_plain(cell) for cell in cells]
    answers = _answers(set(words), positive, negative)
    unknown = sorted({word for word in words if word not in answers})
    if unknown:
        shown = ", ".join(repr(word[:_LONGEST]) for word in unknown[:_SHOWN])
        shown += f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        raise InvalidTable(
            f"{where}, column 'verdict' holds {shown}. Write yes, no or ? (cannot say), or give the words: "
            f"positive={unknown[0]!r}, negative=… or the other way round."
        )
    out = np.array([answers[word] for word in words], dtype=np.int8)
    if (out == YES).any() and not (out == NO).any() and (out == OPEN).any() and {*words} - _EMPTY == {"x"}:
        raise InvalidTable(
            f"{where}, column 'verdict' holds only 'x' and empty cells. Write no in the rows that are negative; or, if "
            "every row was checked and an empty cell means that it is negative, pass negative=''."
        )
    return out


def said(verdict: int) -> str:
    """A verdict in words."""
    return {YES: "positive", NO: "negative", UNSURE: "cannot say"}.get(verdict, "empty")


def _plain(cell: str) -> str:
    """In lower case, without spaces around it, and 1 for 1.0."""
    word = " ".join(cell.lower().replace("’", "'").split()).strip("'\"")
    head, point, tail = word.partition("." if "." in word else ",")
    whole = head.lstrip("+-").isdigit() and point and tail and not tail.strip("0")
    return head if whole else word


def _answers(words: set[str], positive: str | None, negative: str | None) -> dict[str, int]:
    """What each known word means; a word that was given means what was said, and its own kind of words nothing."""
    yes = _POSITIVE if positive is None else {_plain(positive)}
    no = _NEGATIVE if negative is None else {_plain(negative)}
    if "+" in words and positive is None and negative is None:
        yes, no = yes | {"+"}, no | {"-"}
    found = dict.fromkeys(_EMPTY, OPEN) | dict.fromkeys(_UNSURE, UNSURE)
    return found | dict.fromkeys(no - yes, NO) | dict.fromkeys(yes, YES)
