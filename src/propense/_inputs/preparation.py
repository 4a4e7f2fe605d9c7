"""From encoded columns to features for linear predictors: finite, scaled, and a column for each level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from propense._designs import as_design, column_moments
from propense._inputs.columns import Column
from propense._maths.arrays import Index, Vector, library_of, to_host
from propense._maths.quantiles import weighted_median

__all__ = ["Preparation", "has_missing"]


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

    def features_of(self, columns: Index | None) -> Index | None:
        """The numbers of the features that come from these columns; None means all."""
        return None if columns is None else np.flatnonzero(np.isin(self.sources, columns))

    def names(self, columns: Sequence[Column]) -> list[str]:
        """The name of each feature: `column`, `column missing` or `column=level`."""
        return [
            f"{name} missing" if about is None else f"{name}={about}" if about else name
            for name, about in self.origins(columns)
        ]

    def origins(self, columns: Sequence[Column]) -> list[tuple[str, str | None]]:
        """For each feature its column, and what it shows of it: the number (""), a missing one (None), or a level."""
        numbers = [column.name for column in columns if column.kind != "category"]
        out: list[tuple[str, str | None]] = [(name, "") for name in numbers]
        out += [(numbers[j], None) for j in self.marked]
        for column in columns:
            out += [(column.name, level) for level in column.levels[1:]]
        return out

    @property
    def only_fills(self) -> bool:
        """Whether rows without missing cells stay as they are."""
        return not (self.levels.any() or len(self.marked) or self.means.any() or (self.scales != 1.0).any())

    @classmethod
    def filling(cls, values: Vector) -> "Preparation":
        """Numbers as they are; `values` where they are missing."""
        width, none = len(values), np.empty(0, dtype=np.int64)
        return cls(np.zeros(width, dtype=np.int64), values, none, np.zeros(width), np.ones(width))

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

    @classmethod
    def fit_where_needed(
        cls, levels: NDArray[np.int64] | None, matrix: NDArray[np.floating], weights: Vector | None
    ) -> "Preparation":
        """As `fit` if there are levels or missing cells, else numbers stay as they are.

        A cell that is missing in other rows gets the mean then, which takes one pass over the rows, wherever they are.
        """
        if levels is None and not has_missing(matrix):
            return cls.filling(column_moments(as_design(matrix), weights)[0])
        return cls.fit(np.zeros(matrix.shape[1], dtype=np.int64) if levels is None else levels, matrix, weights)

    def apply(self, features: Any) -> Any:
        """The features of checked rows, wherever they are; rows that need no preparation stay as they are."""
        library = library_of(features)
        if self.only_fills and (not isinstance(features, np.ndarray) or not has_missing(features)):
            # Missing cells are only read from arrays.
            return features
        if library == "dask":
            chunks = features.chunks[0], (len(self.sources),)
            return features.map_blocks(self.apply, dtype=np.float64, chunks=chunks, meta=np.empty((0, 0)))
        if sp.issparse(features):
            return self.transform(features.toarray())
        prepared = self.transform(to_host(features))
        return as_design(features).send(prepared) if library == "torch" else prepared

    def transform(self, matrix: NDArray[np.floating]) -> NDArray[np.float64]:
        """The features of the rows of an encoded matrix."""
        numbers = matrix[:, np.flatnonzero(self.levels == 0)]
        scaled = (_fill(numbers, self.medians, self.marked) - self.means) / self.scales
        coded = [matrix[:, j, np.newaxis] == np.arange(1, self.levels[j]) for j in np.flatnonzero(self.levels)]
        return np.hstack([scaled, np.hstack(coded)]) if coded else scaled


def has_missing(matrix: NDArray[np.floating]) -> bool:
    """Whether a cell is NaN, which shows in the largest."""
    return bool(matrix.size) and bool(np.isnan(np.maximum.reduce(matrix, axis=None)))


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
