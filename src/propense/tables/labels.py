"""The label column: which value means labelled, and which rows have it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._diagnostics.doubts import Doubt, doubt_of, mostly_labelled
from propense._inputs.label_words import labelled_word, never_labelled
from propense.errors import InvalidLabels, NoLabelledInstances, NoUnlabelledInstances
from propense.tables.cells import as_levels, naming_the_column

__all__ = ["Label", "name_values", "read_label"]

_SHOWN, _LONGEST = 4, 30


@dataclass(frozen=True)
class Label:
    """The label column and its values, in lower or upper case.

    Attributes
    ----------
    column : str
    positive : str
        The value of labelled rows, as text.
    negative : str or None
        The value of unlabelled rows, whose cells may also be empty; None if all of them are.
    """

    column: str
    positive: str
    negative: str | None = None

    def read(self, cells: Any, where: str, first_row: int = 0) -> NDArray[np.bool_]:
        """Which rows are labelled; any other value is an error."""
        with naming_the_column(cells, self.column, where):
            text = as_levels(cells)
        labelled = _equal(text, self.positive)
        known = labelled | np.asarray(text.is_null().to_numpy(zero_copy_only=False)) | _equal(text, self.negative)
        if not known.all():
            row = int(np.flatnonzero(~known)[0])
            expected = [repr(value) for value in (self.positive, self.negative) if value is not None]
            raise InvalidLabels(
                f"{where}, column {self.column!r}, row {first_row + row + 1}: {_shown(text[row].as_py())} is not "
                f"{', '.join(expected)} or empty."
            )
        return labelled

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of the column, as `LabelColumns` has those of several."""
        return (self.column,)

    def read_table(self, table: Any, where: str, first_row: int = 0) -> NDArray[np.bool_]:
        """Which rows of a table, or of a batch of one, are labelled; none if it has no such column."""
        if self.column not in table.schema.names:
            return np.zeros(table.num_rows, dtype=bool)
        return self.read(table.column(self.column), where, first_row)

    def __str__(self) -> str:
        return f"{self.column} = {self.positive}"


def read_label(cells: Any, column: str, where: str, positive: str | None = None) -> Label:
    """Which value means labelled: `positive`, the first of a known pair, or the only value."""
    with naming_the_column(cells, column, where):
        text = as_levels(cells)
    # Yes and yes are one value, spelt as in its first cell.
    found = {value.lower(): value for value in reversed(text.unique().to_pylist()) if value is not None}
    values = [found[key] for key in sorted(found)]
    place = f"{where}, column {column!r}"
    shown = ", ".join(_shown(value) for value in values[:_SHOWN]) + (" …" if len(values) > _SHOWN else "")
    if positive is not None:
        if positive.lower() not in found:
            raise InvalidLabels(f"{place} does not contain positive={positive!r}. Its values: {shown or 'none'}.")
        positive = found[positive.lower()]
    if not values:
        raise NoLabelledInstances(f"{place} has no labelled row: every cell is empty.")
    if len(values) > 2:
        raise InvalidLabels(f"{place} has {len(values)} values ({shown}). It must have two, or one and empty cells.")
    label = Label(column, positive or _clear_one(values, place), None)
    others = [value for value in values if value != label.positive]
    if not others and text.null_count == 0:
        raise NoUnlabelledInstances(f"{place} has no unlabelled row: every cell is {_shown(values[0])}.")
    return Label(column, label.positive, others[0] if others else None)


def name_values(estimator: Any, label: Any, labelled: Any) -> None:
    """Let the doubt about the share of labelled rows name the values of the table; the fit saw true and false."""
    first: Label = getattr(label, "labels", (label,))[0]
    kept = tuple(doubt for doubt in estimator.doubts_ if doubt.kind != "mostly_labelled")
    if len(kept) == len(estimator.doubts_):
        return
    found: tuple[Doubt, ...] = ()
    if first.negative is not None:
        share = float(labelled.mean())
        found = doubt_of(mostly_labelled, share, _shown(first.positive), _shown(first.negative), "positive=")
    estimator.doubts_ = (*found, *kept)


def _clear_one(values: list[str], place: str) -> str:
    """The value that means labelled among one or two, if that is clear."""
    if len(values) == 1:
        if never_labelled(values[0]):
            raise NoLabelledInstances(
                f"{place} has no labelled row, only {_shown(values[0])}. Pass positive={values[0]!r} if that value "
                "means labelled."
            )
        return values[0]
    word = labelled_word(*values)
    if word is not None:
        return word
    raise InvalidLabels(
        f"{place} holds {_shown(values[0])} and {_shown(values[1])}. Pass the value that means labelled: "
        f"positive={values[0]!r} or positive={values[1]!r}"
    )


def _equal(text: Any, value: str | None) -> NDArray[np.bool_]:
    from pyarrow import compute

    if value is None:
        return np.zeros(len(text), dtype=bool)
    same = compute.equal(compute.utf8_lower(text), value.lower())
    return np.asarray(same.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)


def _shown(value: str) -> str:
    return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")
