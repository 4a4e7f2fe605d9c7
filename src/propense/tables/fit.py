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

from propense.errors import InvalidInput, InvalidOption, InvalidTable
from propense.estimators import JERM, LBE, SAREM, TM, JointMLE, Naive, PGLin
from propense.estimators._base import BasePUClassifier
from propense.estimators._labels import read_labels
from propense.tables.cells import as_text
from propense.tables.doubts import doubts, oddities
from propense.tables.groups import Grouping, group_labels
from propense.tables.labels import read_label
from propense.tables.model import ADDED, Scores, TableModel, scores_of
from propense.tables.preparation import make_preparation, places_of, prepared_columns
from propense.tables.schema import Column, Schema, infer_schema

__all__ = ["METHODS", "TableFit", "explain", "fit_table"]

# By the names of the command line, each as it should be rather than as it was published.
METHODS: dict[str, type[BasePUClassifier]] = {
    "jerm": JERM,
    "joint-mle": JointMLE,
    "lbe": LBE,
    "naive": Naive,
    "pglin": PGLin,
    "sar-em": SAREM,
    "tm": TM,
}


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
        What the reader should know: columns left out, warnings of the fit, assumptions that look broken.
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
    method: str = "jerm",
    decision: str = "balanced",
    propensity_features: Sequence[str] | None = None,
    parameters: dict[str, Any] | None = None,
    points: bool = False,
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
    method : str, default="jerm"
        A name of `METHODS`.
    decision : {"balanced", "posterior"}, default="balanced"
        Where the class is cut.
    propensity_features : list of str, default=None
        The columns that the chance of a label may depend on; None is all.
    parameters : dict, default=None
        Further arguments of the method's class.
    points : bool, default=False
        Whether a point in a number written as text is a decimal point for sure; 1.549 beside 900 is refused otherwise.

    Returns
    -------
    TableFit
    """
    names = _feature_columns(table.column_names, label, id, drop, categorical, where)
    said = read_label(table.column(label), label, where, positive)
    labelled = said.read(table.column(label), where)
    schema, empty = infer_schema(table, names, where, categorical, points=points)
    if not schema.columns:
        raise InvalidTable(f"{where} has no column left to learn from.")
    matrix = schema.encode(table, where)
    preparation = make_preparation(schema).fit(matrix)
    estimator = _make(method, decision, propensity_features, parameters or {}, prepared_columns(schema, preparation))
    model = TableModel(said, id, schema, preparation, estimator)
    features = model.prepare(matrix)
    notes = [f"The column {name!r} is empty and was left out." for name in empty]
    notes += oddities(schema, matrix, labelled, features.shape[1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(features, labelled)
    notes += [str(warning.message) for warning in caught]
    ids = None if id is None else np.asarray(as_text(table.column(id)).fill_null("").to_pylist(), dtype=object)
    return _look_at(estimator, features, labelled, schema, matrix, model=model, ids=ids, notes=notes)


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
    labelled, _ = read_labels(y)
    if ids is not None and len(ids) != len(labelled):
        raise InvalidInput(f"ids holds {len(ids)} names for {len(labelled)} rows.")
    names = getattr(estimator, "feature_names_in_", [f"column {j}" for j in range(estimator.n_features_in_)])
    dense = not sp.issparse(X)
    matrix = np.asarray(X, dtype=np.float64) if dense else np.empty((len(labelled), 0))
    schema = Schema(tuple(Column(str(name), "number") for name in (names if dense else [])))
    notes = [] if estimator.converged_ else [estimator._complaint()]
    return _look_at(estimator, X, labelled, schema, matrix, ids=None if ids is None else np.asarray(ids), notes=notes)


def _look_at(
    estimator: BasePUClassifier,
    features: Any,
    labelled: NDArray[np.bool_],
    schema: Schema,
    matrix: NDArray[np.float64],
    *,
    model: TableModel | None = None,
    ids: NDArray[Any] | None = None,
    notes: list[str],
) -> TableFit:
    """The fit with all that follows from it, and the naive one beside it."""
    scores = scores_of(estimator, features)
    with warnings.catch_warnings():
        # What is wrong with the baseline is not what the reader came for.
        warnings.simplefilter("ignore")
        naive = Naive(decision=estimator.decision).fit(features, labelled)
    return TableFit(
        estimator,
        model,
        schema,
        matrix,
        labelled,
        scores,
        naive,
        np.asarray(naive.predict(features)),
        np.asarray(estimator.predict(features) == estimator.classes_[1]),
        group_labels(schema, matrix, labelled, np.where(labelled, 1.0, scores.hidden)),
        ids,
        [*notes, *doubts(estimator, labelled)],
    )


def _feature_columns(
    columns: Sequence[str], label: str, id: str | None, drop: Sequence[str], categorical: Sequence[str], where: str
) -> list[str]:
    """The columns to learn from; every name that was given must be one of the table's."""
    given = [("label", label), *(("id", name) for name in [id] if name is not None)]
    given += [("drop", name) for name in drop] + [("categorical", name) for name in categorical]
    for option, name in given:
        if name not in columns:
            raise InvalidTable(
                f"{where} has no column {name!r} (--{option}). It has: {', '.join(map(repr, columns[:20]))}"
                f"{' …' if len(columns) > 20 else ''}."
            )
    if id == label:
        raise InvalidTable(f"{where}, column {label!r} cannot be both the label and the id.")
    left = [name for name in columns if name not in {label, id, *drop}]
    taken = [name for name in left if name in ADDED]
    if taken:
        raise InvalidTable(f"{where} has a column {taken[0]!r}, a name that propense score writes. Rename it.")
    index = next((name for name in left if name.startswith("__index_level_")), None)
    if index is not None:
        raise InvalidTable(f"{where}, column {index!r} is pandas' own row numbers. Leave it out: --drop {index}")
    if "" in left:
        raise InvalidTable(
            f"{where}, column {columns.index('') + 1} has no name; row numbers saved with the table, perhaps. Leave it "
            "out: --drop ''"
        )
    return left


def _make(
    method: str,
    decision: str,
    propensity_features: Sequence[str] | None,
    parameters: dict[str, Any],
    prepared: Sequence[tuple[str, str]],
) -> BasePUClassifier:
    if method not in METHODS:
        raise InvalidOption(f"There is no method {method!r}. There are: {', '.join(METHODS)}.")
    estimator = METHODS[method](decision=decision)
    known = estimator.get_params()
    unknown = [name for name in parameters if name not in known]
    if unknown:
        raise InvalidOption(f"{type(estimator).__name__} has no parameter {unknown[0]!r}. It has: {', '.join(known)}.")
    if "random_state" in known:
        estimator.set_params(random_state=0)
    estimator.set_params(**parameters)
    if propensity_features is not None:
        if "propensity_features" not in known:
            raise InvalidOption(f"The method {method} fits no propensity of its own: it takes no propensity features.")
        estimator.set_params(propensity_features=places_of(propensity_features, prepared))
    return estimator
