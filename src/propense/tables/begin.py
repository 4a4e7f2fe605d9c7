"""A table read for a fit: its label, repeated rows, columns and ids; and folds that keep the rows of an id together."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._steps.folds import fold_count
from propense.estimators import BasePUClassifier
from propense.tables.cells import row_ids, take_rows
from propense.tables.duplicates import apply_choice, folds_of_ids
from propense.tables.label_columns import LabelColumns, read_label_columns
from propense.tables.labels import Label, read_label
from propense.tables.model import TableModel
from propense.tables.prepare import FitOptions, PreparedTable, check_columns, prepare_table
from propense.tables.problems import Problems

__all__ = ["BegunFit", "begin_fit", "folds_by_id"]


@dataclass(frozen=True)
class BegunFit:
    """A table before its fit.

    Attributes
    ----------
    model : TableModel
        Its estimator is not fitted yet.
    prepared : PreparedTable
    notes : list of str
        On repeated rows and on columns.
    ids : ndarray or None
        The names of the rows.
    rows : int ndarray or None
        Where the rows are in the table, from 0 and ascending, if some were left out.
    total : int
        How many rows there are without those that repeat others and were left out.
    """

    model: TableModel
    prepared: PreparedTable
    notes: list[str]
    ids: NDArray[Any] | None
    rows: NDArray[np.intp] | None
    total: int


def begin_fit(table: Any, options: FitOptions, where: str, *, most: int | None = None) -> BegunFit:
    """Read an Arrow table for a fit; all that is wrong with it is one error.

    If there are more rows than `most`, this many are drawn at random.
    """
    problems = Problems(where)
    columns = check_columns(table.column_names, options, where, problems)
    label = None
    if set(options.labels) <= set(table.column_names):
        with problems.collecting():
            label = _read_label(table, options, where)
    rows, repeats = None, list[str]()
    if not problems.found:
        with problems.collecting():
            table, rows, repeats = apply_choice(table, options.duplicates, where)
    total = table.num_rows
    if most is not None and total > most:
        drawn = np.sort(np.random.default_rng(0).choice(total, most, replace=False))
        table, rows = take_rows(table, drawn, where), drawn if rows is None else rows[drawn]
    model, prepared, notes = prepare_table(table, columns, label, options, where, problems=problems)
    ids = None if options.id is None else row_ids(table, options.id, where)
    return BegunFit(model, prepared, repeats + notes, ids, rows, total)


@contextmanager
def folds_by_id(estimator: BasePUClassifier, ids: NDArray[Any] | None, labelled: NDArray[np.bool_]) -> Iterator[bool]:
    """Let a method that holds rows out hold out all rows of an id together; whether it does.

    Folds are as long as the table, so they do not stay on the estimator.
    """
    cv = estimator.get_params().get("cv", ())
    if ids is None or not (cv is None or isinstance(cv, int)):
        yield False
        return
    folds = folds_of_ids(ids, labelled, fold_count(len(labelled), int(labelled.sum()), cv), seed=0)
    try:
        if folds is not None:
            estimator.set_params(cv=folds)
        yield folds is not None
    finally:
        estimator.set_params(cv=cv)


def _read_label(table: Any, options: FitOptions, where: str) -> Label | LabelColumns:
    """The label column, or those of several sources."""
    names = options.labels
    if len(names) > 1:
        return read_label_columns(table, names, where, options.positive)
    return read_label(table.column(names[0]), names[0], where, options.positive)
