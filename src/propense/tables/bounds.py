"""Bounds for the rows of a table, under assumptions about its labels."""

from typing import Any

import numpy as np

from propense.errors import InvalidTable
from propense.inference import Bounds
from propense.inference._bound_rows import ReadRows, read_rows
from propense.inference._bounds import find_bounds
from propense.tables.fit import TableFit
from propense.tables.headline import share_words
from propense.tables.model import TableModel

__all__ = ["bound_table", "describe_bounds"]

# How many times harder to label the hardest positives are, in a report.
_SPREAD = 3.0


def bound_table(
    model: TableModel, table: Any, *, where: str = "the table", decimal: str | None = None, **assumptions: Any
) -> Bounds:
    """The share of positives of a table, if labelling differs between positives by no more than a factor.

    Rows of the fit are judged by models that have not seen them, if the model of the table has kept these values.

    Parameters
    ----------
    model : TableModel
    table : pyarrow.Table
        With the label column of the model.
    where : str, default="the table"
        The name of the table in errors.
    decimal : {".", ","}, default=None
        The decimal sign of numbers written as text. None means the one that they show, or else that of the table of the
        fit.
    **assumptions
        As in `propense.bounds`: ``spread``, ``purity``, ``checked``, ``top``, ``confidence``, ``random_state``.

    Returns
    -------
    Bounds
    """
    model.schema.check(table.column_names, where)
    for name in model.label.columns:
        if name not in table.column_names:
            columns = ", ".join(table.column_names)
            raise InvalidTable(f"{where} has no column {name!r}, the label. Its columns: {columns}.")
    labelled = model.label.read_table(table, where)
    if not labelled.any() or labelled.all():
        which = "every row is" if labelled.all() else "no row is"
        columns = ", ".join(map(repr, model.label.columns))
        raise InvalidTable(f"{where}, column {columns}: {which} labelled, so labels show nothing.")
    read = model.read(table, where, decimal=decimal)
    scores, _ = model.score_read(table, read, where)
    y, e, h = scores.posterior, scores.propensity, scores.hidden
    rows = read_rows(model.estimator, model.features_of(read), labelled, scores=(y, e, h))
    return find_bounds(rows, **assumptions)


def describe_bounds(found: TableFit) -> list[str]:
    """Sentences on what the labels of a fit leave open if less is assumed than the method does."""
    labelled = found.labelled.astype(np.float64)
    score, estimate = found.scores.posterior * found.scores.propensity, float(found.expected.mean())
    rows = ReadRows(labelled, score, np.ones(len(labelled)), estimate)
    bounds = find_bounds(rows, purity=1.0, draws=0)
    (point, _), (_, most) = bounds.between(1.0), bounds.between(_SPREAD)
    return [
        f"The labels alone show only that at least {share_words(bounds.labelled)} of the rows are positive.",
        f"If all {bounds.top_rows:,} rows to which the model gives the highest chance of a label are positive, "
        f"{point:.0%} of the rows are if no positive is harder to label than those, and at most {most:.0%} if the "
        f"hardest ones are up to {_SPREAD:g} times harder to label.",
        bounds.robustness_words(min(1.0, estimate if found.prior_range is None else found.prior_range[1])),
    ]
