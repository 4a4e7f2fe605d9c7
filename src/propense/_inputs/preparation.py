"""From encoded columns to features for linear predictors: finite, scaled, and a column for each level."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from propense._maths.arrays import Vector
from propense._maths.quantiles import weighted_median

__all__ = ["Preparation"]


@dataclass(frozen=True)
class Preparation:
    """What turns an encoded matrix into features, fitted.

    Numbers: the median where missing, and a column that marks missing cells; then mean 0 and standard deviation 1.
    Categories: a column for each level but the most frequent, which the others are compared with; a level not seen in
    fit is 0 in all of them.

    Attributes
    ----------
    levels : int ndarray of shape (n_columns,)
        The number of levels of each column, 0 for numbers.
    medians : ndarray of shape (n_numbers,)
    marked : int ndarray of shape (n_marked,)
        The numbers with missing cells in fit, counted among the numbers.
    means, scales : ndarray of shape (n_numbers + n_marked,)
    """

    levels: NDArray[np.int64]
    medians: Vector
    marked: NDArray[np.int64]
    means: Vector
    scales: Vector

    @property
    def sources(self) -> NDArray[np.intp]:
        """The number of the column that each feature comes from."""
        numbers = np.flatnonzero(self.levels == 0)
        categories = np.flatnonzero(self.levels)
        return np.concatenate([numbers, numbers[self.marked], np.repeat(categories, self.levels[categories] - 1)])

    @classmethod
    def fit(
        cls, levels: NDArray[np.int64], matrix: NDArray[np.floating], weights: Vector | None = None
    ) -> "Preparation":
        """Learn medians, means and scales from the rows of an encoded matrix, NaN where a number is missing."""
        numbers = matrix[:, np.flatnonzero(levels == 0)]
        if not numbers.shape[1]:
            return cls(levels, np.empty(0), np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
        missing = np.isnan(numbers)
        marked = np.flatnonzero(missing.any(axis=0))
        medians = np.array([_median(column, weights) for column in numbers.T])
        # scikit-learn's for its care with rounding: the scale of a column that is constant up to rounding is 1.
        scaler = StandardScaler().fit(_fill(numbers, medians, marked), sample_weight=weights)
        return cls(levels, medians, marked, scaler.mean_, scaler.scale_)

    def transform(self, matrix: NDArray[np.floating]) -> NDArray[np.float64]:
        """The features of the rows of an encoded matrix."""
        numbers = matrix[:, np.flatnonzero(self.levels == 0)]
        scaled = (_fill(numbers, self.medians, self.marked) - self.means) / self.scales
        coded = [matrix[:, j, np.newaxis] == np.arange(1, self.levels[j]) for j in np.flatnonzero(self.levels)]
        return np.hstack([scaled, np.hstack(coded)]) if coded else scaled


def _fill(numbers: NDArray[np.floating], medians: Vector, marked: NDArray[np.int64]) -> NDArray[np.float64]:
    """The numbers with their medians where missing, and the columns that mark missing cells."""
    missing = np.isnan(numbers)
    return np.hstack([np.where(missing, medians, numbers), missing[:, marked]])


def _median(column: NDArray[np.floating], weights: Vector | None) -> float:
    """The median of what is not missing; 0 if all is, as in a part of the rows it may be."""
    known = ~np.isnan(column)
    if not known.any():
        return 0.0
    values = column[known].astype(np.float64)
    return float(np.median(values)) if weights is None else weighted_median(values, weights[known])
