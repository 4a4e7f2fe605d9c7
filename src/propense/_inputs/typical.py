"""The mean row of a fit: what the reasons of a row are compared with."""

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design
from propense._inputs.preparation import Preparation
from propense._maths.arrays import Index, Rows, Vector

__all__ = ["mean_features", "mean_row", "typical_row"]

# Rows added up at a time: masks of the whole X might not fit in memory.
_BLOCK = 8192


def mean_row(design: Design, levels: NDArray[np.int64] | None, weights: Rows | None = None) -> Vector:
    """The mean of every feature, missing cells left out; of a category with k levels the share of each, k numbers.

    It is 0 for a number that is missing in every row.
    """
    if levels is None or not levels.any():
        # Not from the features: those of rows of weight above 0 would be copied.
        total, *sums = design.rmatvec(weights)
        found = np.asarray(np.array(sums) / total)
        if not np.isnan(found).any():
            return found
        levels = None
    features = design.features
    levels = np.zeros(features.shape[1], dtype=np.int64) if levels is None else levels
    widths = np.maximum(levels, 1)
    added, counts = np.zeros(int(widths.sum())), np.zeros(int(widths.sum()))
    starts = np.cumsum(widths) - widths
    for first in range(0, len(features), _BLOCK):
        block = features[first : first + _BLOCK]
        own = np.ones(len(block)) if weights is None else np.asarray(weights[first : first + _BLOCK])
        for j, (start, width) in enumerate(zip(starts, widths, strict=True)):
            cells = block[:, j]
            if levels[j]:
                added[start : start + width] += own @ (cells[:, np.newaxis] == np.arange(width))
                counts[start : start + width] += own.sum()
                continue
            known = ~np.isnan(cells)
            added[start] += own[known] @ cells[known]
            counts[start] += own[known].sum()
    return np.divide(added, counts, out=np.zeros(len(added)), where=counts > 0.0)


def mean_features(mean: Vector, levels: NDArray[np.int64] | None, preparation: Preparation, columns: Index) -> Vector:
    """The mean of the features that a preparation makes of some of the columns; `mean` is that of all, as above."""
    levels = np.zeros(len(mean), dtype=np.int64) if levels is None else levels
    widths = np.maximum(levels, 1)
    starts = (np.cumsum(widths) - widths)[columns]
    own = levels[columns]
    numbers = np.flatnonzero(own == 0)
    # Scaled features have the mean 0 by construction, those that mark missing cells included.
    scaled = np.zeros(len(numbers) + len(preparation.marked))
    if preparation.only_fills:
        scaled[: len(numbers)] = mean[starts[numbers]]
    shares = [mean[starts[j] + 1 : starts[j] + own[j]] for j in np.flatnonzero(own)]
    return np.concatenate([scaled, *shares])


def typical_row(mean: Vector, levels: NDArray[np.int64] | None) -> Vector:
    """A row with the mean of every number and the most frequent level of every category."""
    if levels is None or not levels.any():
        return mean
    widths = np.maximum(levels, 1)
    starts = np.cumsum(widths) - widths
    found = [
        float(mean[start : start + width].argmax()) if level else float(mean[start])
        for start, width, level in zip(starts, widths, levels, strict=True)
    ]
    return np.array(found)
