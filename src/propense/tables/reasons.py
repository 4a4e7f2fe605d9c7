"""Why this row? The columns that speak most for it, in words, for rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._designs import as_design
from propense._inputs.columns import MISSING, Column, date_of
from propense._inputs.moments import duration_words
from propense._inputs.preparation import Preparation
from propense._maths.arrays import Index
from propense._steps.known_prior import unmoved
from propense._steps.named_pair import NamedPredictor
from propense.errors import InvalidInput, InvalidOption
from propense.estimators._base import BasePUClassifier
from propense.inference._parts import by_column
from propense.inference._reasons import Reasons, reasons_of
from propense.tables.cells import plain_text, take_rows
from propense.tables.files import need_arrow
from propense.tables.fit import TableFit
from propense.tables.model import TableModel
from propense.tables.schema import Schema

__all__ = ["RowReasons", "model_reasons", "row_reasons"]

# How many columns are named for each kind of reason.
_NAMED = 3
# What adds less to the log-odds than this, or than this share of what the strongest column adds, is not named.
_WORTH, _SHARE = 0.05, 0.1
# Nobody reads the reasons of more rows than these.
_MOST_ROWS = 10_000
# The longest text of a cell, and of the name of a column, that is shown whole.
_LONGEST = 40
# Text with one of these is put in quotation marks.
_MARKS = ",;:()"


@dataclass(frozen=True)
class RowReasons:
    """The columns that explain a row best, in short phrases such as "glucose 212 (usually 84 to 121)".

    Attributes
    ----------
    raising : tuple of str
        What raises the chance of being positive, compared with the mean of the rows of fit; the strongest first.
    hiding : tuple of str
        What lowers the chance of a label if positive.
    shared : bool
        Whether the model has one score for both: then what lowers the chance of a label also lowers that of being
        positive, and which of the two it is about is not known.
    """

    raising: tuple[str, ...]
    hiding: tuple[str, ...]
    shared: bool = False

    def __str__(self) -> str:
        against = "less likely labelled or positive" if self.shared else "unlabelled"
        parts = [("positive", self.raising), (against, self.hiding)]
        return "; ".join(f"{word}: {', '.join(phrases)}" for word, phrases in parts if phrases)


def row_reasons(found: TableFit | TableModel, rows: Any, table: Any = None) -> list[RowReasons]:
    """Why some rows of a table are likely to be positive, and unlikely to be labelled.

    The reasons are those of the final model; for the rows of fit its scores differ somewhat from those of the models
    that had not seen them, which lists are made of. See `propense.reasons`.

    Parameters
    ----------
    found : TableFit or TableModel
        What `fit_table` returned; or its model, for the rows of another table. What is usual is then what the model
        remembers of the rows of fit, rounded.
    rows : int array-like
        Where the rows are among those that were fitted, from 0.
    table : pyarrow.Table, default=None
        The table that was fitted, for texts as they are in it; of a model, the table of the rows.

    Returns
    -------
    list of RowReasons
        One for each of the rows. They are empty where the columns are not known, as those of a sparse matrix, and
        beyond the first 10 000 rows.
    """
    rows = np.asarray(rows, dtype=np.intp).reshape(-1)
    if isinstance(found, TableModel):
        if table is None:
            raise InvalidInput("row_reasons of a TableModel needs the table of the rows. Pass table=.")
        part = take_rows(table, need_arrow().array(rows), "the table")
        return model_reasons(found, part, found.schema.encode(found.read(part, "the table")))
    preparation = None if found.model is None else found.model.preparation
    matrix = found.matrix[rows] if len(rows) else found.matrix[:0]
    # Rows that were dropped as duplicates are still in the table.
    texts = {} if table is None else _texts(table, found.schema, found.in_table(rows))
    middles = [_middle(column, found.matrix[:, j]) for j, column in enumerate(found.schema.columns)]
    return _in_words(found.estimator, preparation, found.schema, matrix, texts, middles)


def model_reasons(model: TableModel, table: Any, matrix: NDArray[np.float64]) -> list[RowReasons]:
    """The same of all rows of a table that a model scores; `matrix` is the table encoded."""
    texts = _texts(table, model.schema, np.arange(len(matrix)))
    middles = [None] * len(model.schema.columns) if model.seen is None else [each.middle for each in model.seen]
    return _in_words(model.estimator, model.preparation, model.schema, matrix, texts, middles)


def _in_words(
    estimator: BasePUClassifier,
    preparation: Preparation | None,
    schema: Schema,
    matrix: NDArray[np.float64],
    texts: dict[int, list[str | None]],
    middles: Sequence[tuple[float, float] | None],
) -> list[RowReasons]:
    """The reasons of the rows of an encoded matrix; `middles` are what numbers of each column usually lie between."""
    # Scikit-learn refuses a table without rows, which is what is left if every row has a label or a verdict.
    found = _reasons(estimator, preparation, matrix[:_MOST_ROWS]) if len(matrix) else None
    if found is None:
        return [RowReasons((), ()) for _ in matrix]
    labelling, (_, e) = found.propensity, unmoved(estimator._posterior, estimator._propensity)
    if isinstance(e, NamedPredictor):
        # e has moved with y to the share of positives, and so follows other columns, too.
        labelling = np.where(np.isin(np.arange(matrix.shape[1]), e.columns), labelling, 0.0)
    raising, hiding = _strongest(found.posterior), _strongest(-labelling)

    def phrases(i: int, order: Sequence[int]) -> tuple[str, ...]:
        return tuple(
            _phrase(schema.columns[j], matrix[i, j], middles[j], texts[j][i] if j in texts else None) for j in order
        )

    said = [
        RowReasons(phrases(i, up), phrases(i, down), found.one_score)
        for i, (up, down) in enumerate(zip(raising, hiding, strict=True))
    ]
    return said + [RowReasons((), ()) for _ in matrix[_MOST_ROWS:]]


def _reasons(
    estimator: BasePUClassifier, preparation: Preparation | None, matrix: NDArray[np.float64]
) -> Reasons | None:
    """What each column of an encoded matrix adds; None if that cannot be said."""
    own, count = estimator._preparation, matrix.shape[1]
    features = matrix if preparation is None else preparation.transform(matrix)
    if features.shape[1] != estimator.n_features_in_:
        # The columns of a sparse matrix are not kept.
        return None
    if own is not None:
        features = own.apply(features)
    try:
        found = reasons_of(estimator, as_design(features), np.arange(len(matrix)))
    except (InvalidInput, InvalidOption):
        # A list without reasons is better than none.
        return None
    if preparation is None:
        return found
    shares = [by_column(each, preparation.sources, count) for each in (found.posterior, found.propensity)]
    return Reasons(
        (), shares[0], shares[1], found.baseline_posterior, found.baseline_propensity, found.one_score, found.rows
    )


def _strongest(shares: NDArray[np.float64]) -> list[list[int]]:
    """For each row the columns that add most, the strongest first."""
    order = np.argsort(-shares, axis=1, kind="stable")[:, :_NAMED]
    least = np.maximum(_WORTH, _SHARE * np.abs(shares).max(axis=1, initial=0.0))
    return [[int(j) for j in own if shares[i, j] >= least[i]] for i, own in enumerate(order)]


def _middle(column: Column, values: NDArray[np.float64]) -> tuple[float, float] | None:
    """What the middle half of the cells of numbers or dates lies between."""
    known = values[~np.isnan(values)]
    if column.kind not in ("number", "date", "duration") or len(known) < 4:
        return None
    low, high = np.quantile(known, [0.25, 0.75], method="inverted_cdf")
    return float(low), float(high)


def _phrase(column: Column, value: float, middle: tuple[float, float] | None, text: str | None) -> str:
    name = _plain(column.name)
    if text is not None:
        text = _plain(text)
        if column.kind == "category" and any(mark in text for mark in _MARKS):
            text = f'"{text}"'
    if np.isnan(value) or (column.kind == "category" and value >= 0 and column.levels[int(value)] == MISSING):
        return f"{name} missing"
    phrase = f"{name} {text or f'{_cell(column, value)} {column.unit}'.rstrip()}"
    if middle is None or middle[0] <= value <= middle[1]:
        return phrase
    low, high = (_cell(column, end) for end in middle)
    if column.kind == "number" and text is not None and "," in text:
        # The table has decimal commas.
        low, high = low.replace(".", ","), high.replace(".", ",")
    return f"{phrase} (usually {low})" if low == high else f"{phrase} (usually {low} to {high})"


def _cell(column: Column, value: float) -> str:
    """A cell as a reader would write it, from the number that stands for it."""
    if column.kind == "category":
        return _plain(column.levels[int(value)]) if value >= 0 else "(new)"
    if column.kind == "truth":
        return "true" if value else "false"
    if column.kind == "date":
        return date_of(value)
    if column.kind == "duration":
        return duration_words(value)
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def _texts(table: Any, schema: Schema, rows: Index) -> dict[int, list[str | None]]:
    """The cells of columns of text, by the number of the column: numbers and dates are written alike anyway."""
    import pyarrow as pa

    out = {}
    for j, column in enumerate(schema.columns):
        cells = table.column(column.name)
        kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            own = cells.take(pa.array(rows)) if len(rows) else cells.slice(0, 0)
            out[j] = [None if each is None else each.strip() for each in plain_text(own).to_pylist()]
    return out


def _plain(text: str) -> str:
    """Text on one line, without control characters, and not too long."""
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
