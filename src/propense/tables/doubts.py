"""What speaks against a fit: columns that are no features, tables that say too little, results beyond belief."""

import numpy as np
from numpy.typing import NDArray

from propense.estimators import Naive
from propense.estimators._base import BasePUClassifier
from propense.tables.schema import Schema

__all__ = ["doubts", "oddities"]

# Fewer labels than this are few, whatever the method.
_FEW_LABELS = 30
# Above these shares nearly every row counts as positive, or nearly every positive as labelled.
_NEARLY_ALL = 0.95


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


def doubts(estimator: BasePUClassifier, labelled: int) -> list[str]:
    """What speaks against the result of a fit with so many labelled rows."""
    found = []
    if labelled < _FEW_LABELS:
        found.append(f"Labelled rows: {labelled}. So few leave every estimate uncertain.")
    taken = getattr(estimator, "positives_path_", None)
    if taken is not None and len(taken) and taken[-1] > _NEARLY_ALL:
        found.append(
            f"{taken[-1]:.0%} of the rows were taken for positive while the propensity was fitted: the classes overlap "
            "too much to set a threshold, and the number of positives is probably too high. Try spy_quantile=0.1 "
            "(--set spy_quantile=0.1), or another method beside it (--method sar-em)."
        )
    if estimator.prior_ > _NEARLY_ALL:
        found.append(
            f"Nearly every row ({estimator.prior_:.0%}) counts as positive: the data do not tell how many are."
        )
    if estimator.label_frequency_ > _NEARLY_ALL and not isinstance(estimator, Naive):
        found.append(
            f"Nearly every positive counts as labelled ({estimator.label_frequency_:.0%}): the method found nobody "
            "hidden."
        )
    return found
