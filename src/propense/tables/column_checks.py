"""Columns that are probably not features, and too few rows. What speaks against a fit is in the estimator's doubts."""

import numpy as np
from numpy.typing import NDArray

from propense.tables.schema import Schema

__all__ = ["doubtful_columns"]


def doubtful_columns(
    schema: Schema, matrix: NDArray[np.float64], labelled: NDArray[np.bool_], n_features: int
) -> list[str]:
    """A note on each column that is probably not a feature, and on a table with more features than rows."""
    notes = []
    for j, column in enumerate(schema.columns):
        values = matrix[:, j]
        known = values[~np.isnan(values)]
        distinct = np.unique(known)
        if len(distinct) == 1 and len(known) == len(values):
            notes.append(f"The column {column.name!r} has the same value in every row, so it has no effect.")
        elif len(distinct) == 2 and len(known) == len(values) and abs(np.corrcoef(values, labelled)[0, 1]) > 1 - 1e-9:
            notes.append(
                f"The column {column.name!r} shows exactly which rows are labelled. "
                f"Pass drop=[{column.name!r}] if it is known only after the label is given."
            )
    if n_features >= len(labelled):
        notes.append(f"There are {n_features} features but only {len(labelled)} rows: too few to estimate anything.")
    return notes
