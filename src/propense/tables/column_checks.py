"""What speaks against a table: columns that are no features, and too few rows. Doubts of a fit are the estimator's."""

import numpy as np
from numpy.typing import NDArray

from propense.tables.schema import Schema

__all__ = ["oddities"]


def oddities(schema: Schema, matrix: NDArray[np.float64], labelled: NDArray[np.bool_], features: int) -> list[str]:
    """Columns that are probably no features, and tables that say too little."""
    notes = []
    for j, column in enumerate(schema.columns):
        values = matrix[:, j]
        known = values[~np.isnan(values)]
        distinct = np.unique(known)
        if len(distinct) == 1 and len(known) == len(values):
            notes.append(f"The column {column.name!r} holds one value only, and tells nothing.")
        elif column.kind == "number" and len(distinct) == len(values) > 20 and (distinct % 1 == 0).all():
            notes.append(
                f"The column {column.name!r} holds another whole number in every row. If it names the rows, say --id "
                f"{column.name!r}"
            )
        elif len(distinct) == 2 and len(known) == len(values) and abs(np.corrcoef(values, labelled)[0, 1]) > 1 - 1e-9:
            notes.append(
                f"The column {column.name!r} says who is labelled. If it is known only after the label, say --drop "
                f"{column.name!r}"
            )
    if features >= len(labelled):
        notes.append(f"There are {features} features and {len(labelled)} rows: too many to tell anything apart.")
    return notes
