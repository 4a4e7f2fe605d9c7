"""A model of a table: what its columns are, how they become features, and the method fitted to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from propense.estimators._base import BasePUClassifier
from propense.tables.labels import Label
from propense.tables.schema import Schema

__all__ = ["ADDED", "Preparation", "Scores", "TableModel", "scores_of"]

# The columns that scoring adds to a table.
ADDED = ("posterior", "propensity", "hidden")


@dataclass(frozen=True)
class Scores:
    """y(x), e(x) and h(x) of some rows."""

    posterior: NDArray[np.float64]
    propensity: NDArray[np.float64]
    hidden: NDArray[np.float64]


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

    def sources(self, schema: Schema) -> list[tuple[str, str | None]]:
        """For each feature its column, and what it shows of it: the number (""), a missing one (None), or a level."""
        numbers = [column.name for column in schema.columns if column.kind != "category"]
        out: list[tuple[str, str | None]] = [(name, "") for name in numbers]
        out += [(numbers[j], None) for j in self.marked]
        for column in schema.columns:
            out += [(column.name, level) for level in column.levels[1:]]
        return out


@dataclass(frozen=True)
class TableModel:
    """What `fit_table` finds, and all that is needed to score other rows.

    Attributes
    ----------
    label : Label
        The column of labels, and which value is the label.
    id : str or None
        The column that names rows.
    schema : Schema
        The columns it was fitted on.
    preparation : Preparation
        How the columns become features.
    estimator : estimator
        The method, fitted to the features.
    """

    label: Label
    id: str | None
    schema: Schema
    preparation: Preparation
    estimator: BasePUClassifier

    def features(self, table: Any, where: str = "the table", first_row: int = 0) -> NDArray[np.float64]:
        """The rows of an Arrow table or batch, prepared."""
        return self.preparation.transform(self.schema.encode(table, where, first_row))

    def score(self, table: Any, where: str = "the table", first_row: int = 0) -> Scores:
        """y, e and h of the rows of an Arrow table or batch."""
        return scores_of(self.estimator, self.features(table, where, first_row))

    @property
    def feature_names(self) -> list[str]:
        """What the coefficients belong to: a column, `column missing`, or `column=level`."""
        return [
            f"{name} missing" if about is None else f"{name}={about}" if about else name
            for name, about in self.preparation.sources(self.schema)
        ]


def scores_of(estimator: BasePUClassifier, features: Any) -> Scores:
    """y, e and h of rows that are features already."""
    return Scores(
        estimator.predict_proba(features)[:, 1],
        estimator.predict_propensity(features),
        estimator.predict_hidden(features),
    )
