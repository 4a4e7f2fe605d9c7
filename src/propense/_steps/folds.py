"""Which rows are held out in turn, so that each is scored by models that have not seen it."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._diagnostics.doubts import FEW_ROWS
from propense._inputs.sample import Sample
from propense._maths.arrays import as_float, library_of
from propense.errors import InvalidOption

__all__ = ["FOLDS", "MANY_ROWS", "Folds", "fold_count", "given_folds", "is_small", "split_rows"]

# A table with fewer labels is small, whatever its rows.
_FEW_LABELS = 30
# Folds of a small table; of one with many rows, where more hardly rank better but take as much longer; and of others.
_FEW_FOLDS, MANY_ROWS, FOLDS = 3, 50_000, 5

# How many folds, None for a number that goes with the table, or pairs of row numbers: those to fit and those to score.
Folds = int | Sequence[Any] | None


def is_small(rows: int, labels: int) -> bool:
    """Whether a table of so many rows and labels is a small one."""
    return rows < FEW_ROWS or labels < _FEW_LABELS


def fold_count(rows: int, labels: int, cv: int | None) -> int:
    """The number of folds of a table of so many rows and labels."""
    few = is_small(rows, labels)
    if cv is None:
        return _FEW_FOLDS if few or rows >= MANY_ROWS else FOLDS
    return min(cv, _FEW_FOLDS) if few else cv


def split_rows(sample: Sample, cv: Folds, seed: int) -> Iterator[Any]:
    """The masks of the rows held out, with as many labelled rows in each or as given; None if none can be held out.

    Without trees, blocks and tensors are scored by the fit to all rows: a logistic regression of so many hardly fits
    their noise.
    """
    from sklearn.model_selection import StratifiedKFold

    design = sample.design
    if library_of(design.features) in ("dask", "torch"):
        yield None
        return
    if isinstance(cv, Sequence):
        yield from given_folds(sample, cv)
        return
    n, kinds = design.shape[0], as_float(sample.labelled).astype(np.int64)
    if sample.negative is not None:
        kinds = kinds + 2 * np.asarray(sample.negative)
    labels, rest = int((kinds == 1).sum()), int((kinds != 1).sum())
    count = min(fold_count(n, labels, cv), labels, rest)
    if count < 2:
        yield None
        return
    if min(np.bincount(kinds)[np.unique(kinds)]) < count:
        kinds = (kinds == 1).astype(np.int64)
    for _, rows in StratifiedKFold(count, shuffle=True, random_state=seed).split(np.empty((n, 1)), kinds):
        mask = np.zeros(n, dtype=bool)
        mask[rows] = True
        yield mask


def given_folds(sample: Sample, cv: Sequence[Any]) -> list[NDArray[np.bool_]]:
    """The masks of the rows to score in each pair; rows that were left out are in none."""
    numbers_of = np.arange(sample.design.shape[0]) if sample.rows is None else np.asarray(sample.rows)
    masks = [np.isin(numbers_of, np.asarray(rows)) for _, rows in cv]
    times = np.sum(masks, axis=0)
    if (times != 1).any():
        first = int((times != 1).argmax())
        raise InvalidOption(
            f"PUClassifier(cv=…): row {numbers_of[first]} is scored {times[first]} times; it must be scored once. "
            "Pass folds such as list(GroupKFold(5).split(X, y, groups))."
        )
    for place, (fitted, _) in enumerate(cv):
        if (np.isin(numbers_of, np.asarray(fitted)) == masks[place]).any():
            raise InvalidOption(
                f"PUClassifier(cv=…): the rows to fit in fold {place} must be all rows that it does not score. Pass "
                "folds such as list(GroupKFold(5).split(X, y, groups))."
            )
    held = [mask for mask in masks if mask.any()]
    for place, mask in enumerate(held):
        labelled = np.asarray(sample.labelled)[~mask]
        if not labelled.any() or labelled.all():
            kind = "labelled" if labelled.any() else "unlabelled"
            raise InvalidOption(
                f"PUClassifier(cv=…): the rows outside of fold {place} are all {kind}. "
                "Pass folds with labelled and unlabelled rows in at least two of them."
            )
    return held
