"""Bounds for the rows of a table, under assumptions about its labels."""

from typing import Any

import numpy as np

from propense.errors import InvalidTable
from propense.inference import Bounds
from propense.inference._bound_options import read_assumptions
from propense.inference._bound_rows import read_rows
from propense.inference._bounds import bound_rows, find_robustness
from propense.inference._label_bands import Assumptions, LabelledRows, averages, band
from propense.tables.cells import as_levels, naming_the_column
from propense.tables.fit import TableFit
from propense.tables.headline import share_words
from propense.tables.model import TableModel

__all__ = ["bound_table", "describe_bounds"]

# The assumptions that a report looks at: the least chance of a label, and the largest ratio of its odds.
_LEAST, _RATIO = (0.5, 0.25, 0.1), 3.0


def bound_table(
    model: TableModel,
    table: Any,
    *,
    group: str | None = None,
    where: str = "the table",
    decimal: str | None = None,
    **assumptions: Any,
) -> Bounds:
    """What can be said of the positives of a table under assumptions about the labelling, and no others.

    Rows of the fit are judged by models that have not seen them, if the model of the table has kept these values.

    Parameters
    ----------
    model : TableModel
    table : pyarrow.Table
        With the label column of the model.
    group : str, default=None
        A column whose values are groups, for ranges by group.
    where : str, default="the table"
        The name of the table in errors.
    decimal : {".", ","}, default=None
        The decimal sign of numbers written as text. None means the one that they show, or else that of the table of the
        fit.
    **assumptions
        As in `propense.bounds`: ``propensity``, ``odds_ratio``, ``departure``, ``rising``, ``clearest``,
        ``correlation``, ``confidence``.

    Returns
    -------
    Bounds
    """
    asked = read_assumptions(**assumptions)
    model.schema.check(table.column_names, where)
    for name, role in (*((each, "the label") for each in model.label.columns), (group, "the group")):
        if name is not None and name not in table.column_names:
            raise InvalidTable(f"{where} has no column {name!r}, {role}. Its columns: {', '.join(table.column_names)}.")
    labelled = model.label.read_table(table, where)
    if not labelled.any() or labelled.all():
        which = "every row is" if labelled.all() else "no row is"
        columns = ", ".join(map(repr, model.label.columns))
        raise InvalidTable(f"{where}, column {columns}: {which} labelled, so labels show nothing.")
    groups = None
    if group is not None:
        with naming_the_column(table.column(group), group, where):
            groups = np.array(as_levels(table.column(group)).to_pylist(), dtype=object)
    read = model.read(table, where, decimal=decimal)
    scores, _ = model.score_read(table, read, where)
    y, e, h = scores.posterior, scores.propensity, scores.hidden
    return bound_rows(read_rows(model.estimator, model.features_of(read), labelled, scores=(y, e, h)), asked, groups)


def describe_bounds(found: TableFit) -> list[str]:
    """Sentences on what the labels of a fit leave open if less is assumed than the method does."""
    scores, labelled = found.scores, found.labelled.astype(np.float64)
    chance = scores.posterior * scores.propensity
    rows = LabelledRows.of(labelled, chance, scores.posterior, scores.propensity, np.ones(len(labelled)))
    corrected = rows.calibrated()

    def most(given: Assumptions) -> str:
        return f"{averages(rows, *band(rows, given), chance=corrected)[1]:.0%}"

    lines = [f"The labels alone show only that at least {share_words(labelled.mean())} of the rows are positive."]
    shares = [most(Assumptions(propensity=(least, 1.0))) for least in _LEAST]
    lines.append(
        f"If every positive has a chance of a label of at least {_LEAST[0]:.0%}, at most {shares[0]} are; with at "
        f"least {_LEAST[1]:.0%}, at most {shares[1]}; with at least {_LEAST[2]:.0%}, at most {shares[2]}."
    )
    lines.append(
        f"If the odds of a label differ by at most a factor of {_RATIO:g} between any two positives, at most "
        f"{most(Assumptions(odds_ratio=_RATIO))} are."
    )
    value = find_robustness(rows, float(found.expected.mean()))
    if np.isfinite(value.halved):
        words = (
            f"How wrong must the estimate be? If the true odds of a label are {value.halved:.3g} times those of the "
            "model, there are half as many hidden positives"
        )
        more = f"; if they are {value.doubled:.3g} times lower, twice as many" if np.isfinite(value.doubled) else ""
        lines.append(f"{words}{more}.")
    return lines
