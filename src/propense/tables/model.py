"""A model of a table: what its columns are, how they become features, and the method fitted to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._diagnostics.diagnosis import Diagnosis
from propense._inputs.preparation import Preparation
from propense._inputs.sample import read_features
from propense._maths.double_logistic import hidden_positive
from propense._maths.logistic import sigmoid
from propense.estimators import PUClassifier
from propense.estimators._base import BasePUClassifier
from propense.tables.cells import row_ids
from propense.tables.fitted_rows import HeldOut, hash_rows
from propense.tables.labels import Label
from propense.tables.schema import Schema

__all__ = ["ADDED", "Scores", "TableModel", "out_of_fold_scores", "prior_range", "review_order", "scores_of"]

# The columns that scoring adds to a table.
ADDED = ("posterior", "propensity", "hidden")


@dataclass(frozen=True)
class Scores:
    """y(x), e(x) and h(x) of some rows.

    Attributes
    ----------
    posterior, propensity, hidden : ndarray of shape (n_rows,)
    hidden_range : ndarray of shape (n_rows, 2), or None
        The range of h(x), if the method gives one.
    """

    posterior: NDArray[np.float64]
    propensity: NDArray[np.float64]
    hidden: NDArray[np.float64]
    hidden_range: NDArray[np.float64] | None = None

    def replaced(self, rows: NDArray[np.bool_], others: "Scores") -> "Scores":
        """The scores, with those of some rows replaced."""
        ends = self.hidden_range
        if ends is not None:
            ends = ends.copy()
            # Where others have no range, there is none.
            ends[rows] = np.nan if others.hidden_range is None else others.hidden_range
        found = {name: getattr(self, name).copy() for name in ADDED}
        for name, values in found.items():
            values[rows] = getattr(others, name)
        return Scores(**found, hidden_range=ends)


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
    held_out : HeldOut or None
        What models that have not seen them say of the rows of fit; None if the method has none, or if not remembered.
    """

    label: Label
    id: str | None
    schema: Schema
    preparation: Preparation | None
    estimator: BasePUClassifier
    fitted_rows: NDArray[np.int64] | None = None
    held_out: HeldOut | None = None

    def features(self, table: Any, where: str = "the table", first_row: int = 0) -> Any:
        """What the estimator takes of the rows of an Arrow table or batch: an array, or a table of its columns."""
        return self.features_of(self.schema.read(table, where, first_row))

    def features_of(self, read: Any) -> Any:
        """The same of a table that `schema.read` has made."""
        return read if self.preparation is None else self.preparation.transform(self.schema.encode(read))

    def score(self, table: Any, where: str = "the table", first_row: int = 0) -> Scores:
        """y, e and h of the rows of an Arrow table or batch.

        Rows of the fit are recognised by their values, and by their ids if the model has any. They get the scores of
        models that have not seen them, if these are kept.
        """
        return self.score_read(table, self.schema.read(table, where, first_row), where)[0]

    def score_read(self, table: Any, read: Any, where: str) -> tuple[Scores, NDArray[np.bool_]]:
        """The same of a table that `schema.read` has made `read` of, and which rows have scores held out."""
        scores = scores_of(self.estimator, self.features_of(read))
        held = self.held_out
        if held is None or not (self.id is None or self.id in table.schema.names):
            return scores, np.zeros(table.num_rows, dtype=bool)
        ids = None if self.id is None else row_ids(table, self.id, where)
        here, log_odds = held.find(hash_rows(self.schema.encode(read), ids))
        return scores.replaced(here, scores_of_log_odds(log_odds[:, 0], log_odds[:, 1], log_odds.T[2:])), here

    @property
    def feature_names(self) -> list[str]:
        """What the coefficients belong to: a column, `column missing`, or `column=level`."""
        if self.preparation is None:
            return self.schema.names
        return self.preparation.names(self.schema.columns)


def scores_of(estimator: BasePUClassifier, features: Any) -> Scores:
    """y, e and h of rows that are features already."""
    # One look at the rows, where three predictions would take three.
    design = read_features(estimator, features)
    a, b, ends = estimator._log_odds_and_range(design)
    return scores_of_log_odds(a, b, () if ends is None else ends)


def scores_of_log_odds(a: Any, b: Any, ends: Any = ()) -> Scores:
    """y, e and h from the log-odds of y and e, and the range of h from those of its ends, if there are any."""
    stacked = np.stack([sigmoid(each) for each in ends], axis=1) if len(ends) else None
    return Scores(sigmoid(a), sigmoid(b), hidden_positive(a, b), stacked)


def out_of_fold_scores(estimator: BasePUClassifier, count: int) -> Scores | None:
    """y, e and h of the rows of fit by models that have not seen them, if the estimator has kept them."""
    posterior = getattr(estimator, "oof_posterior_", None)
    # Scores of Dask arrays and tensors stay where they are; rows of weight 0 are not kept.
    if not isinstance(estimator, PUClassifier) or not isinstance(posterior, np.ndarray) or len(posterior) != count:
        return None
    ends = getattr(estimator, "oof_hidden_range_", None)
    return Scores(posterior, estimator.oof_propensity_, estimator.oof_hidden_, ends)


def prior_range(estimator: BasePUClassifier) -> tuple[float, float] | None:
    """The range of the share of positives, or what other assumptions would give; None if there is none."""
    found = getattr(estimator, "diagnosis_", None)
    if not isinstance(found, Diagnosis) or found.labelling == "complete":
        return None
    if not np.isnan(found.low):
        return found.low, found.high
    return min(found.priors.values()), max(found.priors.values())


def review_order(estimator: BasePUClassifier, scores: Scores) -> NDArray[np.float64]:
    """What lists of rows to review are ordered by, the largest first.

    y where y and e both follow a label score: it finds more positives than h, which falls again where e is near 1. h in
    all other methods, and where e has columns of its own: y does not say which positives are likely to be unlabelled.
    """
    along = isinstance(estimator, PUClassifier) and not estimator._is_linear()
    named = getattr(estimator, "propensity_features", None)
    return scores.posterior if along and (named is None or not len(named)) else scores.hidden
