"""What reviewers wrote of the rows that they checked: yes, no, or that they cannot say."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propense._inputs.label_words import PAIRS, is_about_labels
from propense.errors import InvalidOption, InvalidTable
from propense.tables.label_columns import LabelColumns
from propense.tables.labels import Label

__all__ = ["NO", "OPEN", "UNSURE", "YES", "read_words", "said"]

# The answers, as a model file holds them.
YES, NO, OPEN, UNSURE = 1, 0, -1, -2

# Words for a row that is positive, and for one that is not, in lower case: those of labels, and more.
_LABELS = {(one, other) for one, other in PAIRS if other in ("0", "-1", "false", "f", "no", "n", "nein", "non")}
_POSITIVE = {one for one, _ in _LABELS} | {
    *("positive", "positiv", "positif", "positivo", "pos", "p", "wahr", "vrai", "si", "sí", "s", "x")
}
_NEGATIVE = {other for _, other in _LABELS} | {
    *("negative", "negativ", "négatif", "negatif", "negativo", "neg", "falsch", "faux")
}
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
    cells: Sequence[str],
    where: str,
    positive: str | None = None,
    negative: str | None = None,
    label: Label | LabelColumns | None = None,
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
    label : Label or LabelColumns, default=None
        The label of the model, whose words are understood too.
    """
    if positive is not None and negative is not None and _plain(positive) == _plain(negative):
        raise InvalidOption(f"positive={positive!r} and negative={negative!r} are the same word. Give two.")
    words = [_plain(cell) for cell in cells]
    answers = _of_label(label, positive, negative) | _answers(set(words), positive, negative)
    unknown = sorted({word for word in words if word not in answers})
    if unknown:
        shown = ", ".join(repr(word[:_LONGEST]) for word in unknown[:_SHOWN])
        shown += f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        yes, no = positive or "yes", "no" if negative is None else negative or "nothing"
        raise InvalidTable(
            f"{where}, column 'verdict' holds {shown}. Write {yes}, {no} or ? (cannot say){_say_what(unknown)}."
        )
    out = np.array([answers[word] for word in words], dtype=np.int8)
    if negative is None:
        _check_ticks(out, {*words} - _EMPTY, where)
    return out


def _check_ticks(verdicts: NDArray[np.int8], words: set[str], where: str) -> None:
    """Raise an error if only the positive rows seem to be marked: which of the others were checked is then unknown.

    Someone who stops half-way leaves the last rows empty, not rows in between.
    """
    yes, empty = np.flatnonzero(verdicts == YES), np.flatnonzero(verdicts == OPEN)
    if not len(yes) or not len(empty) or len(yes) + len(empty) < len(verdicts):
        return
    if words == {"x"} or (len(yes) > 1 and empty[0] < yes[-1]):
        raise InvalidTable(
            f"{where}, column 'verdict' holds only {', '.join(map(repr, sorted(words)))} and empty cells. Write no in "
            "the rows that are negative. If every row was checked and an empty cell means that it is negative, pass "
            "negative=''. If nobody has checked the empty rows, delete them."
        )


def _say_what(unknown: list[str]) -> str:
    """How to give the meaning of words, if there are no more than two."""
    if len(unknown) == 1:
        return f", or say what the word means: positive={unknown[0]!r} or negative={unknown[0]!r}"
    if len(unknown) == 2:
        return f", or say what the words mean: positive={unknown[0]!r} negative={unknown[1]!r} or the other way round"
    return ""


def said(verdict: int) -> str:
    """A verdict in words."""
    return {YES: "positive", NO: "negative", UNSURE: "cannot say"}.get(verdict, "empty")


def _plain(cell: str) -> str:
    """In lower case, without spaces around it, and 1 for 1.0."""
    word = " ".join(cell.lower().replace("’", "'").split()).strip("'\"")
    head, point, tail = word.partition("." if "." in word else ",")
    whole = head.lstrip("+-").isdigit() and point and tail and not tail.strip("0")
    return head if whole else word


def _of_label(label: Label | LabelColumns | None, positive: str | None, negative: str | None) -> dict[str, int]:
    """What the words of the label mean as verdicts, if they mean nothing else and none was given.

    The word of unlabelled rows does if it is not about labels: ok, but not unlabelled.
    """
    found: dict[str, int] = {}
    for each in () if label is None else label.labels if isinstance(label, LabelColumns) else (label,):
        if positive is None:
            found[_plain(each.positive)] = YES
        if negative is None and each.negative is not None:
            found.setdefault(_plain(each.negative), NO)
    known = _POSITIVE | _NEGATIVE | _EMPTY | _UNSURE
    return {word: answer for word, answer in found.items() if word not in known and not is_about_labels(word)}


def _answers(words: set[str], positive: str | None, negative: str | None) -> dict[str, int]:
    """What each known word means; a word that was given means what was said, and its own kind of words nothing."""
    yes = _POSITIVE if positive is None else {_plain(positive)}
    no = _NEGATIVE if negative is None else {_plain(negative)}
    if "+" in words and positive is None and negative is None:
        yes, no = yes | {"+"}, no | {"-"}
    found = dict.fromkeys(_EMPTY, OPEN) | dict.fromkeys(_UNSURE, UNSURE)
    return found | dict.fromkeys(no - yes, NO) | dict.fromkeys(yes, YES)
