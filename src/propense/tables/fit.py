"""Fit a method to a table, and summarise the fit."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from propense._inputs.inside import method_inside
from propense._inputs.labels import read_labels, separate_known_negatives
from propense._inputs.preparation import Preparation
from propense._inputs.sources import has_columns, read_sources
from propense._maths.logistic import LARGEST_LOG_ODDS, logit
from propense._representation import Readable, Sheet
from propense.errors import InvalidInput
from propense.estimators import Naive, SeveralSources
from propense.estimators._base import BasePUClassifier
from propense.inference import ScarTest, SourcesTest, sources_test
from propense.tables.as_table import as_table
from propense.tables.begin import begin_fit, folds_by_id
from propense.tables.duplicates import note_repeated_ids
from propense.tables.fitted_rows import remember, remember_scores
from propense.tables.groups import Grouping, group_labels
from propense.tables.labels import name_values
from propense.tables.model import Scores, TableModel, out_of_fold_scores, prior_range, scores_of
from propense.tables.prepare import FitOptions, PreparedTable, fit_collecting_warnings
from propense.tables.scar import run_scar_test
from propense.tables.schema import Column, Schema
from propense.tables.spelling import Spelling

__all__ = ["Counts", "TableFit", "fit_naive", "fit_table", "summarise_estimator", "summarise_fit"]


@dataclass(frozen=True)
class Counts:
    """Counts over all rows of a fit.

    Attributes
    ----------
    rows, labelled : int
    hidden : float
        How many unlabelled rows are expected to be positive.
    naive_positive, positive : int
        How many rows the baseline and the method predict to be positive.
    """

    rows: int
    labelled: int
    hidden: float
    naive_positive: int
    positive: int


@dataclass(frozen=True, repr=False)
class TableFit(Readable):
    """A fitted method and its summary. Only this object holds arrays with one entry per row.

    Attributes
    ----------
    estimator : estimator
        The method, fitted.
    model : TableModel or None
        What to save; None for an estimator that was not fitted to a table.
    schema : Schema
        The columns and their kinds.
    matrix : ndarray of shape (n_rows, n_columns)
        The columns as numbers, before imputing and scaling.
    labelled : ndarray of bool
        Which rows are labelled.
    scores : Scores
        The scores of the rows.
    naive : Naive
        The baseline, which treats unlabelled rows as negatives.
    naive_positive, positive : ndarray of bool
        Which rows the baseline and the method predict to be positive.
    groups : list of Grouping
        The share of positives that are labelled, by group; the column with the largest spread first.
    ids : ndarray or None
        The names of the rows.
    notes : list of str
        Columns left out, warnings of the fit, and its ``doubts_``.
    counts : Counts
        Counts over all rows. Where the table is larger than memory, all arrays above are of a sample of the rows.
    scar : ScarTest or None
        The test of whether labels look drawn at random among the positives, if it was run.
    out_of_fold : bool
        Whether the rows were scored by models that have not seen them.
    sources : SourcesTest or None
        The test of whether several sources of labels are independent, if there are several.
    rows : int ndarray or None
        Where the rows are in the table, from 0 and ascending, if some that repeat others were left out; None if all are
        here.
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
    out_of_fold: bool = False
    sources: SourcesTest | None = None
    rows: NDArray[np.intp] | None = None

    def __str__(self) -> str:
        from propense.tables.headline import headline
        from propense.tables.learned import describe_learning

        label = "" if self.model is None else f" ({self.model.label})"
        return "\n".join(
            [
                f"{self.counts.rows:,} rows, {self.counts.labelled:,} labelled{label}.",
                str(headline(self)),
                *describe_learning(self),
                *(f"Note: {note}" for note in self.notes),
            ]
        )

    def _headline(self) -> str:
        from propense.tables.headline import headline

        return str(headline(self)).rstrip(".")

    def _sheets(self) -> list[Sheet]:
        from propense.tables.headline import headline

        counts = self.counts
        lines = [
            ["rows", f"{counts.rows:,}"],
            ["labelled", f"{counts.labelled:,}"],
            ["positive without a label", headline(self).hidden or "not known"],
            ["predicted positive", f"{counts.positive:,}"],
            ["predicted positive by the naive method", f"{counts.naive_positive:,}"],
        ]
        return [Sheet("Counts", ["", "rows"], lines)]

    @property
    def expected(self) -> NDArray[np.float64]:
        """P(Y=1 | x, s) of every row: 1 if it is labelled, else h(x)."""
        return np.where(self.labelled, 1.0, self.scores.hidden)

    def written_as(self, spelling: Spelling) -> "TableFit":
        """The fit whose model remembers the encoding and the sheet of the file; the decimal sign is that of the fit."""
        if self.model is None:
            return self
        spelling = replace(spelling, decimal=self.model.spelling.decimal)
        return replace(self, model=replace(self.model, spelling=spelling))

    def in_table(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where rows that were fitted are in the table as it was given."""
        return rows if self.rows is None else self.rows[rows]

    def positions(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where rows of the table are among those that were fitted; the two differ if repeated rows were left out."""
        return rows if self.rows is None else np.searchsorted(self.rows, rows)

    @property
    def prior_range(self) -> tuple[float, float] | None:
        """The range of the share of positives; None if there is none."""
        return prior_range(self.estimator)


def fit_table(
    table: Any,
    label: str | Sequence[str] | FitOptions,
    *,
    where: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> TableFit:
    """Fit a method to a table, and the naive baseline to compare it with.

    Parameters
    ----------
    table : pyarrow.Table, data frame of pandas or polars, str or Path
        The table, or the name of its file: CSV, JSON lines, Excel, Parquet or Arrow. The index of a data frame is left
        out.
    label : str, list of str or FitOptions
        The column that shows which rows are labelled, those of several sources, or all options in one object.
    where : str, default=None
        The name of the table in errors; None means the name of its file, or "the table".
    progress : callable, default=None
        Called with what is being done ("fit" or "test"), the number of its parts that are done, and of all.
    **options
        The other options of `FitOptions`, such as ``id="patient"`` or ``method="jerm"``.

    Returns
    -------
    TableFit
    """
    chosen = replace(label, **options) if isinstance(label, FitOptions) else FitOptions(label, **options)
    table, where, spelling = as_table(table, where, holding=chosen.labels)
    begun = begin_fit(table, chosen, where)
    model, prepared, notes, ids, rows = begun.model, begun.prepared, begun.notes, begun.ids, begun.rows
    fits = None if progress is None else partial(progress, "fit")
    with folds_by_id(model.estimator, ids, prepared.labelled) as folds:
        notes += fit_collecting_warnings(model.estimator, prepared.inputs, prepared.labels(chosen.labels), fits)
    name_values(model.estimator, model.label, prepared.labelled)
    if ids is not None:
        notes += note_repeated_ids(ids, str(chosen.id), prepared.matrix, folds=folds)
    tests = None if progress is None else partial(progress, "test", 0, 1)
    scar, untested = run_scar_test(
        chosen, model.estimator, prepared.features, prepared.labelled, prepared.origins, tests
    )
    kept = out_of_fold_scores(model.estimator, len(prepared.labelled))
    held = None if kept is None else remember_scores(prepared.matrix, ids, _log_odds(kept))
    model = replace(model, fitted_rows=remember(prepared.matrix, ids), held_out=held)
    found_sources = None
    if prepared.sources is not None and isinstance(model.estimator, SeveralSources):
        found_sources = sources_test(model.estimator, prepared.inputs, prepared.labels(chosen.labels))
    if rows is not None and ids is None:
        # Rows are named by their numbers in the table as it was given.
        ids = (rows + 1).astype(str).astype(object)
    summary = summarise_fit(model.estimator, prepared, notes + untested, model=model, ids=ids, scar=scar)
    return replace(summary, sources=found_sources, rows=rows).written_as(spelling)


def summarise_estimator(estimator: Any, X: Any, y: Any, *, ids: Any = None) -> TableFit:
    """Summarise an estimator that was fitted without `fit_table`.

    Parameters
    ----------
    estimator : fitted estimator of propense, or a pipeline or search that ends in one
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The features it was fitted on. Groups are made only for dense columns.
    y : array-like of shape (n_samples,), or with a column for each of several sources
        The labels it was fitted on.
    ids : array-like of shape (n_samples,), default=None
        Names of the rows.

    Returns
    -------
    TableFit
    """
    inside = method_inside(estimator)
    estimator, X = inside.method, inside.transform(X)
    check_is_fitted(estimator)
    sources = None
    if estimator._takes_sources and has_columns(y):
        y, sources, _ = read_sources(y, estimator.classes_[1])
    labelled, _ = read_labels(separate_known_negatives(y, estimator.classes_[1])[0], None, estimator.classes_[1])
    if ids is not None and len(ids) != len(labelled):
        raise InvalidInput(f"ids has {len(ids)} names for {len(labelled)} rows.")
    names = getattr(estimator, "feature_names_in_", [f"column {j}" for j in range(estimator.n_features_in_)])
    dense = not sp.issparse(X)
    schema = Schema(estimator._columns or tuple(Column(str(name), "number") for name in (names if dense else [])))
    if estimator._columns is not None:
        matrix = schema.encode(X)
    else:
        matrix = np.asarray(X, dtype=np.float64) if dense else np.empty((len(labelled), 0))
    # The baseline takes finite numbers only.
    own = estimator._preparation
    mixed = dense and (estimator._takes_mixed_columns() or not (own is None or own.only_fills))
    features, origins = X, None
    if mixed:
        preparation = Preparation.fit(schema.level_counts, matrix)
        features = preparation.transform(matrix)
        origins = [name for name, _ in preparation.origins(schema.columns)]
    notes = [] if estimator.converged_ else [estimator._complaint()]
    ids = None if ids is None else np.asarray(ids)
    return summarise_fit(
        estimator, PreparedTable(schema, matrix, features, X, labelled, origins, sources), notes, ids=ids
    )


def summarise_fit(
    estimator: BasePUClassifier,
    prepared: PreparedTable,
    notes: list[str],
    *,
    model: TableModel | None = None,
    ids: NDArray[Any] | None = None,
    naive: Naive | None = None,
    counts: Counts | None = None,
    scar: ScarTest | None = None,
) -> TableFit:
    """A fit with its scores, groups and counts, and the naive baseline to compare it with."""
    features, labelled = prepared.features, prepared.labelled
    kept = out_of_fold_scores(estimator, len(labelled))
    scores = scores_of(estimator, prepared.inputs, prepared.sources) if kept is None else kept
    naive = fit_naive(estimator, features, labelled) if naive is None else naive
    naive_positive = np.asarray(naive.predict(features))
    if kept is None:
        positive = np.asarray(estimator.predict(prepared.inputs) == estimator.classes_[1])
    else:
        positive = logit(kept.posterior) > estimator._cut()
    if counts is None:
        hidden = float(scores.hidden[~labelled].sum())
        counts = Counts(len(labelled), int(labelled.sum()), hidden, int(naive_positive.sum()), int(positive.sum()))
    return TableFit(
        estimator=estimator,
        model=model,
        schema=prepared.schema,
        matrix=prepared.matrix,
        labelled=labelled,
        scores=scores,
        naive=naive,
        naive_positive=naive_positive,
        positive=positive,
        groups=group_labels(
            prepared.schema,
            prepared.matrix,
            labelled,
            np.where(labelled, 1.0, scores.hidden),
            scores.hidden_range,
            prior_range(estimator),
        ),
        ids=ids,
        notes=[*notes, *(doubt.message for doubt in estimator.doubts_)],
        counts=counts,
        scar=scar,
        out_of_fold=kept is not None,
    )


def _log_odds(scores: Scores) -> NDArray[np.float64]:
    """The log-odds of y and e, and of the ends of the range of h if there is one, a row each."""
    ends = [] if scores.hidden_range is None else list(scores.hidden_range.T)
    found = np.column_stack([logit(each) for each in (scores.posterior, scores.propensity, *ends)])
    largest = np.full(found.shape[1], LARGEST_LOG_ODDS)
    # e may be certain: then no unlabelled row is positive, however high y is.
    largest[1] = np.inf
    # Below, float64 has no chances that are not 0.
    return np.asarray(np.clip(found, -700.0, largest))


def fit_naive(estimator: BasePUClassifier, features: Any, labelled: Any) -> Naive:
    """The baseline, with the decision of the estimator."""
    with warnings.catch_warnings():
        # Warnings of the baseline are not about the fit that was asked for.
        warnings.simplefilter("ignore")
        return Naive(decision=estimator.decision).fit(features, labelled)
