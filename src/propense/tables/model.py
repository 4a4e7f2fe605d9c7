"""A model of a table: what its columns are, how they become features, and the method fitted to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.preparation import Preparation
from propense.estimators._base import BasePUClassifier
from propense.tables.labels import Label
from propense.tables.schema import Schema

__all__ = ["ADDED", "Scores", "TableModel", "scores_of", "sources"]

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
    preparation : Preparation or None
        How the columns become features. None if the method takes columns of every kind as they are.
    estimator : estimator
        The method, fitted to the features.
    fitted_rows : int ndarray or None
        Hashes of the ids of the rows of fit, sorted, or of their values if they have no ids; None if not remembered.
    """

    label: Label
    id: str | None
    schema: Schema
    preparation: Preparation | None
    estimator: BasePUClassifier
    fitted_rows: NDArray[np.int64] | None = None

    def features(self, table: Any, where: str = "the table", first_row: int = 0) -> Any:
        """What the estimator takes of the rows of an Arrow table or batch: an array, or a table of its columns."""
        return self.features_of(self.schema.read(table, where, first_row))

    def features_of(self, read: Any) -> Any:
        """The same of a table that `schema.read` has made."""
        return read if self.preparation is None else self.preparation.transform(self.schema.encode(read))

    def score(self, table: Any, where: str = "the table", first_row: int = 0) -> Scores:
        """y, e and h of the rows of an Arrow table or batch."""
        return scores_of(self.estimator, self.features(table, where, first_row))

    @property
    def feature_names(self) -> list[str]:
        """What the coefficients belong to: a column, `column missing`, or `column=level`."""
        if self.preparation is None:
            return self.schema.names
        return [
            f"{name} missing" if about is None else f"{name}={about}" if about else name
            for name, about in sources(self.preparation, self.schema)
        ]


def sources(preparation: Preparation, schema: Schema) -> list[tuple[str, str | None]]:
    """For each feature its column, and what it shows of it: the number (""), a missing one (None), or a level."""
    numbers = [column.name for column in schema.columns if column.kind != "category"]
    out: list[tuple[str, str | None]] = [(name, "") for name in numbers]
    out += [(numbers[j], None) for j in preparation.marked]
    for column in schema.columns:
        out += [(column.name, level) for level in column.levels[1:]]
    return out


def scores_of(estimator: BasePUClassifier, features: Any) -> Scores:
    """y, e and h of rows that are features already."""
    return Scores(
        estimator.predict_proba(features)[:, 1],
        estimator.predict_propensity(features),
        estimator.predict_hidden(features),
    )
