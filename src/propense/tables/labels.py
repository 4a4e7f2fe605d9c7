"""The column of labels: which value means labelled, and who carries it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.errors import InvalidLabels, NoLabelledInstances, NoUnlabelledInstances
from propense.tables.cells import as_levels

__all__ = ["Label", "read_label"]

# Pairs of which it is plain which one is the label, in any case of letters.
_PAIRS = {
    ("1", "0"),
    ("1", "-1"),
    ("true", "false"),
    ("t", "f"),
    ("yes", "no"),
    ("y", "n"),
    ("ja", "nein"),
    ("j", "n"),
    ("oui", "non"),
    ("labelled", "unlabelled"),
    ("labeled", "unlabeled"),
    ("reported", "not reported"),
    ("positive", "unlabelled"),
    ("positive", "unlabeled"),
}
_NEGATIVE = {negative for _, negative in _PAIRS}
_SHOWN, _LONGEST = 4, 30


@dataclass(frozen=True)
class Label:
    """How a column says who is labelled, in any case of letters.

    Attributes
    ----------
    column : str
    positive : str
        The value of the labelled, as text.
    negative : str or None
        The value of the others, which may also be missing; None where they always are.
    """

    column: str
    positive: str
    negative: str | None = None

    def read(self, cells: Any, where: str, first_row: int = 0) -> NDArray[np.bool_]:
        """Who is labelled; a value that is neither is refused."""
        text = as_levels(cells)
        labelled = _equal(text, self.positive)
        known = labelled | np.asarray(text.is_null().to_numpy(zero_copy_only=False)) | _equal(text, self.negative)
        if not known.all():
            row = int(np.flatnonzero(~known)[0])
            others = f" nor {self.negative!r}" if self.negative is not None else ""
            raise InvalidLabels(
                f"{where}, column {self.column!r}, row {first_row + row + 1}: {_shown(text[row].as_py())} is neither "
                f"{self.positive!r}{others}, nor empty."
            )
        return labelled

    def __str__(self) -> str:
        return f"{self.column} = {self.positive}"


def read_label(cells: Any, column: str, where: str, positive: str | None = None) -> Label:
    """Which value of a column is the label: the one named, or the plain one of a known pair, or the only one."""
    text = as_levels(cells)
    # Yes and yes are one value, called as it is first.
    found = {value.lower(): value for value in reversed(text.unique().to_pylist()) if value is not None}
    values = [found[key] for key in sorted(found)]
    place = f"{where}, column {column!r}"
    shown = ", ".join(_shown(value) for value in values[:_SHOWN]) + (" …" if len(values) > _SHOWN else "")
    if positive is not None:
        if positive.lower() not in found:
            raise InvalidLabels(f"{place} holds no {positive!r} (--positive). It holds: {shown or 'nothing'}.")
        positive = found[positive.lower()]
    if not values:
        raise NoLabelledInstances(f"{place} holds no labelled row: every cell is empty.")
    if len(values) > 2:
        raise InvalidLabels(
            f"{place} holds {len(values)} values ({shown}) where two are expected, or one beside empty cells."
        )
    label = Label(column, positive or _plain_one(values, place), None)
    others = [value for value in values if value != label.positive]
    if not others and text.null_count == 0:
        raise NoUnlabelledInstances(f"{place} holds no unlabelled row: every cell is {_shown(values[0])}.")
    return Label(column, label.positive, others[0] if others else None)


def _plain_one(values: list[str], place: str) -> str:
    """The label among one or two values, where it is plain."""
    if len(values) == 1:
        if values[0].lower() in _NEGATIVE:
            raise NoLabelledInstances(
                f"{place} holds no labelled row, only {_shown(values[0])}. If that is the label, say --positive "
                f"{values[0]!r}"
            )
        return values[0]
    for one, other in (values, values[::-1]):
        if (one.lower(), other.lower()) in _PAIRS:
            return one
    raise InvalidLabels(
        f"{place} holds {_shown(values[0])} and {_shown(values[1])}: say which one means labelled, --positive "
        f"{values[0]!r} or --positive {values[1]!r}"
    )


def _equal(text: Any, value: str | None) -> NDArray[np.bool_]:
    from pyarrow import compute

    if value is None:
        return np.zeros(len(text), dtype=bool)
    same = compute.equal(compute.utf8_lower(text), value.lower())
    return np.asarray(same.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)


def _shown(value: str) -> str:
    return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")
