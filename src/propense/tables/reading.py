"""A table read for a fit: its label, which of its rows count, and its columns as a method takes them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.tables.as_table import as_table
from propense.tables.duplicates import apply_choice
from propense.tables.label_columns import LabelColumns, read_label_columns
from propense.tables.labels import Label, read_label
from propense.tables.model import TableModel
from propense.tables.prepare import FitOptions, PreparedTable, check_columns, prepare_table
from propense.tables.problems import Problems

__all__ = ["ReadTable", "read_table"]


@dataclass(frozen=True)
class ReadTable:
    """What a fit needs of a table.

    Attributes
    ----------
    table : pyarrow.Table
        The rows that count.
    rows : int ndarray or None
        Where they are in the table as it was given, from 0; None if all of them count.
    size : int
        The number of rows, without duplicates if these were dropped, before some were drawn.
    where : str
        The name of the table in errors.
    label : Label or LabelColumns
    model : TableModel
        Not fitted yet.
    prepared : PreparedTable
    notes : list of str
        What was left out, and what is odd.
    """

    table: Any
    rows: NDArray[np.intp] | None
    size: int
    where: str
    label: Label | LabelColumns
    model: TableModel
    prepared: PreparedTable
    notes: list[str]


def read_table(table: Any, options: FitOptions, where: str | None, most_rows: int | None = None) -> ReadTable:
    """Read a table, or the file or data frame that holds it; all that is wrong with its columns is one error.

    Of more than `most_rows` rows, so many are drawn at random.
    """
    table, where = as_table(table, where)
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
    size = table.num_rows
    if most_rows is not None and size > most_rows:
        drawn = np.sort(np.random.default_rng(0).choice(size, most_rows, replace=False))
        table, rows = table.take(drawn), drawn if rows is None else rows[drawn]
    model, prepared, notes = prepare_table(table, columns, label, options, where, problems=problems)
    return ReadTable(table, rows, size, where, model.label, model, prepared, repeats + notes)


def _read_label(table: Any, options: FitOptions, where: str) -> Label | LabelColumns:
    """The label column, or those of several sources."""
    names = options.labels
    if len(names) > 1:
        return read_label_columns(table, names, where, options.positive)
    return read_label(table.column(names[0]), names[0], where, options.positive)
