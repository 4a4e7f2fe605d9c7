"""A model of a table: what its columns are, how they become features, and the method fitted to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.estimators._base import BasePUClassifier
from propense.tables.labels import Label
from propense.tables.preparation import Preparation, prepared_columns
from propense.tables.schema import Schema

__all__ = ["ADDED", "Scores", "TableModel", "scores_of"]

# The columns that scoring adds to a table.
ADDED = ("posterior", "propensity", "hidden")


@dataclass(frozen=True)
class Scores:
    """y(x), e(x) and h(x) of some rows."""

    posterior: NDArray[np.float64]
    propensity: NDArray[np.float64]
    hidden: NDArray[np.float64]


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
        return self.prepare(self.schema.encode(table, where, first_row))

    def score(self, table: Any, where: str = "the table", first_row: int = 0) -> Scores:
        """y, e and h of the rows of an Arrow table or batch."""
        return scores_of(self.estimator, self.features(table, where, first_row))

    @property
    def feature_names(self) -> list[str]:
        """What the coefficients belong to: a column, `column missing`, or `column=level`."""
        prepared = prepared_columns(self.schema, self.preparation)
        return [
            name if not about else f"{name} missing" if about == "missing" else f"{name}={about}"
            for name, about in prepared
        ]

    def prepare(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """The features of rows that the schema has encoded."""
        return self.preparation.transform(matrix)


def scores_of(estimator: BasePUClassifier, features: Any) -> Scores:
    """y, e and h of rows that are features already."""
    return Scores(
        estimator.predict_proba(features)[:, 1],
        estimator.predict_propensity(features),
        estimator.predict_hidden(features),
    )
