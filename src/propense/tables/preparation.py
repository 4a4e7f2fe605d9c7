"""From the columns of a table to features: missing numbers filled in, numbers scaled, categories coded as 0 and 1."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from propense.errors import InvalidOption
from propense.tables.schema import Schema

__all__ = ["Preparation", "places_of", "prepared_columns"]


@dataclass(frozen=True)
class Preparation:
    """What turns `schema.encode(table)` into features, fitted.

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
    medians: NDArray[np.float64]
    marked: NDArray[np.int64]
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    @classmethod
    def fit(cls, schema: Schema, matrix: NDArray[np.float64]) -> "Preparation":
        """Learn medians, means and scales from the rows of an encoded table."""
        levels = np.array([len(column.levels) for column in schema.columns], dtype=np.int64)
        numbers = matrix[:, np.flatnonzero(levels == 0)]
        if not numbers.shape[1]:
            return cls(levels, np.empty(0), np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
        # scikit-learn's for its care with rounding: the scale of a column that is constant up to rounding is 1.
        imputer = SimpleImputer(strategy="median", add_indicator=True)
        scaler = StandardScaler().fit(imputer.fit_transform(numbers))
        marked = np.asarray(imputer.indicator_.features_, dtype=np.int64)
        return cls(levels, imputer.statistics_, marked, scaler.mean_, scaler.scale_)

    def transform(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """The features of the rows of an encoded table."""
        numbers = matrix[:, np.flatnonzero(self.levels == 0)]
        missing = np.isnan(numbers)
        filled = np.hstack([np.where(missing, self.medians, numbers), missing[:, self.marked]])
        scaled = (filled - self.means) / self.scales
        coded = [matrix[:, j, np.newaxis] == np.arange(1, self.levels[j]) for j in np.flatnonzero(self.levels)]
        return np.hstack([scaled, np.hstack(coded)]) if coded else scaled


def prepared_columns(schema: Schema, preparation: Preparation) -> list[tuple[str, str]]:
    """For each feature the column it comes from, and what it says of it: nothing, "missing", or a level."""
    numbers = [column.name for column in schema.columns if column.kind != "category"]
    out = [(name, "") for name in numbers] + [(numbers[j], "missing") for j in preparation.marked]
    for column in schema.columns:
        out += [(column.name, level) for level in column.levels[1:]]
    return out


def places_of(names: Sequence[str], prepared: Sequence[tuple[str, str]]) -> list[int]:
    """The features that come from the named columns."""
    known = dict.fromkeys(source for source, _ in prepared)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidOption(
            f"The propensity feature {unknown[0]!r} is not a feature. The features are: {', '.join(map(repr, known))}."
        )
    return [j for j, (source, _) in enumerate(prepared) if source in names]
