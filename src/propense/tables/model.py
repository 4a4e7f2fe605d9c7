"""A model of a table: what its columns are, how they become features, and the method fitted to them."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer

from propense.errors import InvalidOption, InvalidTable, PropenseError
from propense.estimators import JERM, LBE, SAREM, TM, JointMLE, Naive, PGLin
from propense.estimators._base import BasePUClassifier
from propense.estimators._labels import read_labels
from propense.tables.cells import as_values
from propense.tables.groups import Grouping, group_labels
from propense.tables.preparation import make_preparation, places_of, prepared_columns
from propense.tables.schema import Schema, infer_schema

__all__ = ["METHODS", "Scores", "TableFit", "TableModel", "fit_table"]

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
# Fewer labels than this are few, whatever the method.
_FEW_LABELS = 30
# Above these shares nearly every row counts as positive, or nearly every positive as labelled.
_NEARLY_ALL = 0.95


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
    label : str
        The column of labels.
    id : str or None
        The column that names rows.
    schema : Schema
        The columns it was fitted on.
    preparation : ColumnTransformer
        Numbers to features; scikit-learn's.
    estimator : estimator
        The method, fitted to the features.
    """

    label: str
    id: str | None
    schema: Schema
    preparation: ColumnTransformer
    estimator: BasePUClassifier

    def features(self, table: Any, where: str = "the table", first_row: int = 0) -> NDArray[np.float64]:
        """The rows of an Arrow table or batch, prepared."""
        return self._prepare(self.schema.encode(table, where, first_row))

    def score(self, table: Any, where: str = "the table", first_row: int = 0) -> Scores:
        """y, e and h of the rows of an Arrow table or batch."""
        return self._score(self.features(table, where, first_row))

    @property
    def feature_names(self) -> list[str]:
        """What the coefficients belong to: a column, `column missing`, or `column=level`."""
        prepared = prepared_columns(self.schema, self.preparation)
        return [
            name if not about else f"{name} missing" if about == "missing" else f"{name}={about}"
            for name, about in prepared
        ]

    def _prepare(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        with warnings.catch_warnings():
            # A level not seen in fit counts as none of those seen: known, and said in the documentation.
            warnings.filterwarnings("ignore", message="Found unknown categories")
            return np.asarray(self.preparation.transform(matrix), dtype=np.float64)

    def _score(self, features: NDArray[np.float64]) -> Scores:
        return Scores(
            self.estimator.predict_proba(features)[:, 1],
            self.estimator.predict_propensity(features),
            self.estimator.predict_hidden(features),
        )


@dataclass(frozen=True)
class TableFit:
    """A model, and what there is to say of the fit; everything of the size of the table is here alone.

    Attributes
    ----------
    model : TableModel
    method : str
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

    model: TableModel
    method: str
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
    id: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    method: str = "jerm",
    decision: str = "balanced",
    propensity_features: Sequence[str] | None = None,
) -> TableFit:
    """Fit a method, and the naive baseline beside it, to the rows of a table.

    Parameters
    ----------
    table : pyarrow.Table
    label : str
        The column that says who is labelled: 1 and 0, yes and empty, true and false.
    where : str, default="the table"
        What errors call the table.
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

    Returns
    -------
    TableFit
    """
    names = _feature_columns(table.column_names, label, id, drop, categorical, where)
    labelled, classes = _read_label(table.column(label), label, where)
    schema, empty = infer_schema(table, names, where, categorical)
    if not schema.columns:
        raise InvalidTable(f"{where} has no column left to learn from.")
    matrix = schema.encode(table, where)
    preparation = make_preparation(schema).fit(matrix)
    estimator = _make(method, decision, propensity_features, prepared_columns(schema, preparation))
    model = TableModel(label, id, schema, preparation, estimator)
    features, y = model._prepare(matrix), classes[labelled.astype(np.intp)]
    notes = [f"The column {name!r} is empty and was left out." for name in empty]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(features, y)
        naive = Naive(decision=decision).fit(features, y)
    notes += [str(warning.message) for warning in caught]
    scores = model._score(features)
    expected = np.where(labelled, 1.0, scores.hidden)
    return TableFit(
        model,
        method,
        labelled,
        scores,
        naive,
        naive.predict(features) == classes[1],
        estimator.predict(features) == classes[1],
        group_labels(schema, matrix, labelled, expected),
        None if id is None else as_values(table.column(id)),
        notes + _doubts(estimator, labelled),
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
    left = [name for name in columns if name not in {label, id, *drop}]
    if "" in left:
        raise InvalidTable(
            f"{where}, column {columns.index('') + 1} has no name; row numbers saved with the table, perhaps. Leave it "
            "out: --drop ''"
        )
    return left


def _read_label(cells: Any, label: str, where: str) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    try:
        return read_labels(as_values(cells))
    except PropenseError as error:
        raise type(error)(f"{where}, column {label!r}: {error}") from None


def _make(
    method: str, decision: str, propensity_features: Sequence[str] | None, prepared: Sequence[tuple[str, str]]
) -> BasePUClassifier:
    if method not in METHODS:
        raise InvalidOption(f"There is no method {method!r}. There are: {', '.join(METHODS)}.")
    estimator = METHODS[method](decision=decision)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    if propensity_features is not None:
        if "propensity_features" not in estimator.get_params():
            raise InvalidOption(f"The method {method} fits no propensity of its own: it takes no propensity features.")
        estimator.set_params(propensity_features=places_of(propensity_features, prepared))
    return estimator


def _doubts(estimator: BasePUClassifier, labelled: NDArray[np.bool_]) -> list[str]:
    """What speaks against the result."""
    doubts = []
    if labelled.sum() < _FEW_LABELS:
        doubts.append(f"Only {int(labelled.sum())} rows are labelled; every estimate is uncertain.")
    taken = getattr(estimator, "positives_path_", None)
    if taken is not None and len(taken) and taken[-1] > _NEARLY_ALL:
        doubts.append(
            f"{taken[-1]:.0%} of the rows were taken for positive while the propensity was fitted: the classes overlap "
            "too much to set a threshold, and the number of positives is probably too high."
        )
    if estimator.prior_ > _NEARLY_ALL:
        doubts.append(
            f"Nearly every row ({estimator.prior_:.0%}) counts as positive: the data do not tell how many are."
        )
    if estimator.label_frequency_ > _NEARLY_ALL and not isinstance(estimator, Naive):
        doubts.append(
            f"Nearly every positive counts as labelled ({estimator.label_frequency_:.0%}): the method found nobody "
            "hidden."
        )
    return doubts
