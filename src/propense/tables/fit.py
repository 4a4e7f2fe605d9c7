"""Fit a method to a table, and say what there is to say of the fit."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from propense._inputs.labels import read_labels, separate_known_negatives
from propense.errors import InvalidInput
from propense.estimators import Naive
from propense.estimators._base import BasePUClassifier
from propense.inference import ScarTest
from propense.tables.cells import as_text
from propense.tables.column_checks import oddities
from propense.tables.groups import Grouping, group_labels
from propense.tables.labels import read_label
from propense.tables.model import Scores, TableModel, scores_of
from propense.tables.prepare import Choices, check_columns, fit_noting, set_out
from propense.tables.scar import check_asked, labels_at_random
from propense.tables.schema import Column, Schema

__all__ = ["Counts", "TableFit", "explain", "fit_table", "look_at", "naive_beside", "row_names"]


@dataclass(frozen=True)
class Counts:
    """How many rows there are, are labelled, are expected to be positive though unlabelled, and are called positive."""

    rows: int
    labelled: int
    hidden: float
    naive_positive: int
    positive: int


@dataclass(frozen=True)
class TableFit:
    """A fitted method and what there is to say of it; everything of the size of the table is here alone.

    Attributes
    ----------
    estimator : estimator
        The method, fitted.
    model : TableModel or None
        What to keep, where the fit is that of a table.
    schema : Schema
        What the columns are.
    matrix : ndarray of shape (n_rows, n_columns)
        The columns as numbers, before imputing and scaling.
    labelled : ndarray of bool
        Who carries the label.
    scores : Scores
        Of the rows of fit.
    naive : Naive
        The baseline: the unlabelled taken for negatives.
    naive_positive, positive : ndarray of bool
        Whom the baseline and the method call positive.
    groups : list of Grouping
        Who is under-labelled, the column with the largest differences first.
    ids : ndarray or None
        The names of the rows.
    notes : list of str
        What the reader should know: columns left out, warnings of the fit, its ``doubts_``.
    counts : Counts
        Of all rows of the fit. Where the table is larger than memory, all else of a row's size is of a sample of them.
    scar : ScarTest or None
        Whether labels look drawn at random among the positives, where that was asked for.
    """

    estimator: BasePUClassifier
    model: TableModel | None
    schema: Schema
    matrix: NDArray[np.float64]
    labelled: NDArray[np.bool_]
    scores: Scores
    naive: Naive
    naive_positive: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    groups: list[Grouping]
    ids: NDArray[Any] | None
    notes: list[str]
    counts: Counts
    scar: ScarTest | None = None

    @property
    def expected(self) -> NDArray[np.float64]:
        """P(Y=1 | x, s) of every row: 1 where it is labelled, h(x) where it is not."""
        return np.where(self.labelled, 1.0, self.scores.hidden)


def fit_table(
    table: Any,
    label: str,
    *,
    where: str = "the table",
    positive: str | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    method: str = "pu",
    decision: str = "balanced",
    propensity_features: Sequence[str] | None = None,
    parameters: dict[str, Any] | None = None,
    points: bool = False,
    scar_test: bool | None = None,
    prior: float | None = None,
) -> TableFit:
    """Fit a method, and the naive baseline beside it, to the rows of a table.

    Parameters
    ----------
    table : pyarrow.Table
    label : str
        The column that says who is labelled: 1 and 0, yes and no, one value and empty cells.
    where : str, default="the table"
        What errors call the table.
    positive : str, default=None
        The value that means labelled; None where it is plain which one does.
    id : str, default=None
        A column that names the rows and is no feature.
    drop : list of str, default=()
        Columns to leave out.
    categorical : list of str, default=()
        Columns of numbers that are names, such as postcodes.
    method : str, default="pu"
        A name of `METHODS`.
    decision : {"balanced", "posterior"}, default="balanced"
        Where the class is cut.
    propensity_features : list of str, default=None
        The columns that the chance of a label may depend on; None is all.
    parameters : dict, default=None
        Further arguments of the method's class.
    points : bool, default=False
        Whether a point in a number written as text is a decimal point for sure; 1.549 beside 900 is refused otherwise.
    scar_test : bool, default=None
        Whether to test if labels are drawn at random among the positives, on at most 2 000 rows; None does where there
        are at most 30 features, or a prior.
    prior : float, default=None
        The share of positives, if known from elsewhere, for that test.

    Returns
    -------
    TableFit
    """
    choices = Choices(
        label,
        positive,
        id,
        drop,
        categorical,
        method,
        decision,
        propensity_features,
        parameters or {},
        points,
        scar_test,
        prior,
    )
    check_asked(choices)
    check_columns(table.column_names, choices, where)
    said = read_label(table.column(label), label, where, positive)
    labelled = said.read(table.column(label), where)
    outset = set_out(table, choices, said, where)
    estimator, features = outset.model.estimator, outset.model.prepare(outset.matrix)
    notes = outset.notes + oddities(outset.model.schema, outset.matrix, labelled, features.shape[1])
    notes += fit_noting(estimator, features, labelled)
    scar, untested = labels_at_random(choices, estimator, features, labelled)
    ids = None if id is None else row_names(table, id)
    return look_at(
        estimator,
        features,
        labelled,
        outset.model.schema,
        outset.matrix,
        model=outset.model,
        ids=ids,
        notes=notes + untested,
        scar=scar,
    )


def row_names(table: Any, column: str) -> NDArray[Any]:
    """The cells of a column that names the rows."""
    return np.asarray(as_text(table.column(column)).fill_null("").to_pylist(), dtype=object)


def explain(estimator: Any, X: Any, y: Any, *, ids: Any = None) -> TableFit:
    """What there is to say of an estimator that was fitted by hand.

    Parameters
    ----------
    estimator : fitted estimator of propense, or a pipeline that ends in one
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The features it was fitted on. Groups of columns are made of dense ones only.
    y : array-like of shape (n_samples,)
        The labels it was fitted on.
    ids : array-like of shape (n_samples,), default=None
        Names of the rows.

    Returns
    -------
    TableFit
    """
    if isinstance(estimator, Pipeline):
        X = estimator[:-1].transform(X)
        estimator = estimator[-1]
    check_is_fitted(estimator)
    labelled, _ = read_labels(separate_known_negatives(y)[0])
    if ids is not None and len(ids) != len(labelled):
        raise InvalidInput(f"ids holds {len(ids)} names for {len(labelled)} rows.")
    names = getattr(estimator, "feature_names_in_", [f"column {j}" for j in range(estimator.n_features_in_)])
    dense = not sp.issparse(X)
    matrix = np.asarray(X, dtype=np.float64) if dense else np.empty((len(labelled), 0))
    schema = Schema(tuple(Column(str(name), "number") for name in (names if dense else [])))
    notes = [] if estimator.converged_ else [estimator._complaint()]
    return look_at(estimator, X, labelled, schema, matrix, ids=None if ids is None else np.asarray(ids), notes=notes)


def look_at(
    estimator: BasePUClassifier,
    features: Any,
    labelled: NDArray[np.bool_],
    schema: Schema,
    matrix: NDArray[np.float64],
    *,
    model: TableModel | None = None,
    ids: NDArray[Any] | None = None,
    notes: list[str],
    naive: Naive | None = None,
    counts: Counts | None = None,
    scar: ScarTest | None = None,
) -> TableFit:
    """The fit with all that follows from it for some rows, and the naive one beside it."""
    scores = scores_of(estimator, features)
    naive = naive_beside(estimator, features, labelled) if naive is None else naive
    naive_positive = np.asarray(naive.predict(features))
    positive = np.asarray(estimator.predict(features) == estimator.classes_[1])
    if counts is None:
        hidden = float(scores.hidden[~labelled].sum())
        counts = Counts(len(labelled), int(labelled.sum()), hidden, int(naive_positive.sum()), int(positive.sum()))
    return TableFit(
        estimator,
        model,
        schema,
        matrix,
        labelled,
        scores,
        naive,
        naive_positive,
        positive,
        group_labels(schema, matrix, labelled, np.where(labelled, 1.0, scores.hidden)),
        ids,
        [*notes, *(doubt.message for doubt in estimator.doubts_)],
        counts,
        scar,
    )


def naive_beside(estimator: BasePUClassifier, features: Any, labelled: Any) -> Naive:
    """The baseline, cut as the estimator cuts."""
    with warnings.catch_warnings():
        # What is wrong with the baseline is not what the reader came for.
        warnings.simplefilter("ignore")
        return Naive(decision=estimator.decision).fit(features, labelled)
