"""A model of a table: what its columns are, how they become features, and the method fitted to them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._diagnostics.diagnosis import Diagnosis
from propense._inputs.preparation import Preparation
from propense._inputs.sample import read_features
from propense._maths.double_logistic import hidden_positive
from propense._maths.logistic import sigmoid
from propense._representation import Readable, Sheet
from propense._steps.corrected import correct_rows, correction_slopes
from propense.estimators import PUClassifier, SeveralSources
from propense.estimators._base import BasePUClassifier
from propense.estimators._lists import lists_by_class
from propense.tables.as_table import as_table
from propense.tables.cells import row_ids
from propense.tables.drift import Drift, DriftWatch, SeenColumn
from propense.tables.fitted_rows import HeldOut, hash_ids, hash_rows
from propense.tables.label_columns import LabelColumns
from propense.tables.labels import Label
from propense.tables.past_audits import PastDraw, answers
from propense.tables.promise import too_little_learned
from propense.tables.schema import Schema
from propense.tables.spelling import UNKNOWN, DecimalSign, Spelling
from propense.tables.verdicts import OPEN

__all__ = [
    "ADDED",
    "Scores",
    "TableModel",
    "lists_by_class",
    "out_of_fold_scores",
    "prior_range",
    "review_order",
    "scores_of",
]

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
    order : ndarray of shape (n_rows,), or None
        What lists are ordered by, if an audit has corrected the model: what they were ordered by before.
    slopes : ndarray of shape (n_rows, n_knots), or None
        If an audit has corrected the model: how much h(x) changes with each value of the correction, for the range of a
        list.
    """

    posterior: NDArray[np.float64]
    propensity: NDArray[np.float64]
    hidden: NDArray[np.float64]
    hidden_range: NDArray[np.float64] | None = None
    order: NDArray[np.float64] | None = None
    slopes: NDArray[np.float64] | None = None

    def replaced(self, rows: NDArray[np.bool_], others: "Scores") -> "Scores":
        """The scores, with those of some rows replaced."""
        found: dict[str, Any] = {}
        for name, mine in vars(self).items():
            values, theirs = None if mine is None else mine.copy(), getattr(others, name)
            if values is not None:
                # Where others have no range, there is none.
                values[rows] = np.nan if theirs is None else theirs
            found[name] = values
        return Scores(**found)


@dataclass(frozen=True, repr=False)
class TableModel(Readable):
    """What `fit_table` finds, and all that is needed to score other rows.

    Attributes
    ----------
    label : Label or LabelColumns
        The column of labels, and which value is the label; or those of several sources.
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
        It is kept as it was before any audit.
    audits : tuple of PastDraw
        The rows that were drawn for audits, and their verdicts, the earliest first.
    spelling : Spelling
        How the table was written. Other tables are expected to be written so too, unless they show that they are not.
    seen : tuple of SeenColumn, or None
        How the rows of fit are spread over each column, for `drift`; None if not remembered.
    """

    label: Label | LabelColumns
    id: str | None
    schema: Schema
    preparation: Preparation | None
    estimator: BasePUClassifier
    fitted_rows: NDArray[np.int64] | None = None
    held_out: HeldOut | None = None
    audits: tuple[PastDraw, ...] = ()
    spelling: Spelling = UNKNOWN
    seen: tuple[SeenColumn, ...] | None = None

    def __str__(self) -> str:
        estimator = self.estimator
        lines = [
            f"{type(estimator).__name__} of {len(self.schema.columns)} columns; labelled where {self.label}.",
            f"Rows that are positive: {self._share()}.",
        ]
        if hasattr(estimator, "audit_"):
            lines.append(f"Corrected by an audit: {estimator.audit_}")
        return "\n".join([*lines, *(f"Note: {doubt.message}" for doubt in estimator.doubts_)])

    def _headline(self) -> str:
        known = f"{type(self.estimator).__name__}, {len(self.schema.columns)} columns, label {self.label}"
        return f"{known}; rows that are positive: {self._share()}"

    def _share(self) -> str:
        """The share of positives, range first, or that it is left open."""
        share, ends = self.estimator.prior_, prior_range(self.estimator)
        if too_little_learned(self.estimator):
            return "left open, as too little was learned"
        if ends is None:
            return f"{share:.1%}, without a range"
        if ends[0] == ends[1]:
            return f"{share:.1%}, as was given"
        where = where_range_holds(self.estimator)
        return f"{where[0].lower()}{where[1:]}, {ends[0]:.0%} to {ends[1]:.0%}, middle {share:.0%}"

    def _sheets(self) -> list[Sheet]:
        lines = [[column.name, column.kind, ", ".join(column.levels[:12])] for column in self.schema.columns]
        return [Sheet("Columns", ["column", "kind", "levels"], lines)]

    def features(self, table: Any, where: str = "the table", first_row: int = 0) -> Any:
        """What the estimator takes of the rows of an Arrow table or batch: an array, or a table of its columns."""
        return self.features_of(self.schema.read(table, where, first_row))

    def features_of(self, read: Any) -> Any:
        """The same of a table that `schema.read` has made."""
        return read if self.preparation is None else self.preparation.transform(self.schema.encode(read))

    def score(self, table: Any, where: str | None = None, first_row: int = 0) -> Scores:
        """y, e and h of the rows of a table: of Arrow, of pandas or polars, or a file.

        Rows of the fit are recognised by their values, and by their ids if the model has any. They get the scores of
        models that have not seen them, if these are kept. Numbers written as text have the decimal sign that they show,
        or else that of the table of the fit.
        """
        table, where, _ = as_table(table, where, self.spelling)
        return self.score_read(table, self.read(table, where, first_row), where)[0]

    def read(self, table: Any, where: str, first_row: int = 0, decimal: str | None = None) -> Any:
        """The columns of an Arrow table or batch as `Schema.read` gives them, in the decimal sign of `decimal_sign`."""
        points = self.decimal_sign(decimal, where).points(table, self.schema.names)
        return self.schema.read(points, where, first_row)

    def decimal_sign(self, given: str | None, where: str) -> DecimalSign:
        """The decimal sign of a table to score: the one given, the one it shows, or that of the table of the fit."""
        numbers = [column for column in self.schema.columns if column.kind == "number"]
        names, measured = [each.name for each in numbers], [each.name for each in numbers if each.form]
        return DecimalSign(given, self.spelling.decimal, names, where, measured)

    def score_read(self, table: Any, read: Any, where: str) -> tuple[Scores, NDArray[np.bool_]]:
        """The same of a table that `schema.read` has made `read` of, and which rows have scores held out."""
        sources = self.label.read_sources(table, where) if isinstance(self.label, LabelColumns) else None
        scores = scores_of(self.estimator, self.features_of(read), sources)
        held = self.held_out
        if held is None or not (self.id is None or self.id in table.schema.names):
            return scores, np.zeros(table.num_rows, dtype=bool)
        ids = None if self.id is None else row_ids(table, self.id, where)
        here, log_odds = held.find(hash_rows(self.schema.encode(read), ids))
        a, b, *ends = log_odds.T
        return scores.replaced(here, scores_of_log_odds(self.estimator, a, b, ends)), here

    def drift(self, table: Any, where: str | None = None) -> Drift:
        """Which columns of a table, passed as to `score`, have other values than in the fit. Print it."""
        table, where, _ = as_table(table, where, self.spelling)
        watch = DriftWatch(self.schema, self.seen)
        watch.add(self.schema.encode(self.read(table, where)))
        return watch.result()

    def verdicts(self, table: Any, read: Any, where: str, first_row: int = 0) -> NDArray[np.int8]:
        """What audits say of the rows of a table that `schema.read` has made `read` of: 1, 0, or −1 if nothing."""
        if not self.audits or not (self.id is None or self.id in table.schema.names):
            return np.full(table.num_rows, OPEN, dtype=np.int8)
        return answers(self.audits, self.audit_keys(table, read, where, first_row))

    def audit_keys(self, table: Any, read: Any, where: str, first_row: int = 0) -> NDArray[np.int64]:
        """Hashes by which audits remember rows: of their ids, or else of their numbers and values."""
        if self.id is not None:
            return hash_ids(row_ids(table, self.id, where))
        numbers = np.array([str(row) for row in range(first_row + 1, first_row + table.num_rows + 1)], dtype=object)
        return hash_rows(self.schema.encode(read), numbers)

    @property
    def feature_names(self) -> list[str]:
        """What the coefficients belong to: a column, `column missing`, or `column=level`."""
        if self.preparation is None:
            return self.schema.names
        return self.preparation.names(self.schema.columns)


def scores_of(estimator: BasePUClassifier, features: Any, sources: NDArray[np.float64] | None = None) -> Scores:
    """y, e and h of rows that are features already.

    With the labels of several sources, e and h of a row are about the sources that looked at it.
    """
    # One look at the rows, where three predictions would take three.
    design = read_features(estimator, features)
    if sources is not None and isinstance(estimator, SeveralSources):
        return scores_of_log_odds(estimator, *estimator._log_odds_where(design, ~np.isnan(sources)))
    a, b, ends = estimator._before_audit(design)
    return scores_of_log_odds(estimator, a, b, () if ends is None else ends)


def scores_of_log_odds(estimator: BasePUClassifier, a: Any, b: Any, ends: Any = ()) -> Scores:
    """y, e and h from the log-odds of y and e before any audit, and the range of h from those of its ends."""
    before = _as_chances(a, b, ends)
    facts = getattr(estimator, "audit_", None)
    if facts is None:
        return before
    corrected, slopes = _as_chances(*correct_rows(a, b, facts)), correction_slopes(a, b, facts)
    return replace(corrected, order=review_order(estimator, before), slopes=slopes)


def _as_chances(a: Any, b: Any, ends: Any) -> Scores:
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
    """The range of the share of positives; None if there is none."""
    facts = getattr(estimator, "audit_", None)
    if facts is not None:
        return facts.low, facts.high
    found = getattr(estimator, "diagnosis_", None)
    if not isinstance(found, Diagnosis) or found.labelling == "complete":
        return None
    return found.low, found.high


def where_range_holds(estimator: BasePUClassifier) -> str:
    """What that range holds in, as the beginning of a sentence; empty if there is none."""
    if hasattr(estimator, "audit_"):
        return "By the rows that people checked (95% interval)"
    found = getattr(estimator, "diagnosis_", None)
    return f"In 9 of 10 {found.where}" if isinstance(found, Diagnosis) else ""


def review_order(estimator: BasePUClassifier, scores: Scores) -> NDArray[np.float64]:
    """What lists of rows to review are ordered by, the largest first; an audit does not change it."""
    if scores.order is not None:
        return scores.order
    return scores.posterior if lists_by_class(estimator) else scores.hidden
