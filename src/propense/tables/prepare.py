"""Before a fit: recognise the columns, fit their preparation, make the method."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.moments import DATE_ORDERS
from propense._inputs.options import PriorOption
from propense._inputs.preparation import Preparation
from propense.errors import DoubtfulFit, InvalidOption, InvalidTable
from propense.estimators import BasePUClassifier, find_method
from propense.tables.cells import check_decimal, normalise_decimals
from propense.tables.column_checks import check_copies, doubtful_columns, merge_notes
from propense.tables.drift import summarise_columns
from propense.tables.duplicates import CHOICES
from propense.tables.label_columns import LabelColumns
from propense.tables.labels import Label
from propense.tables.missing_words import note_missing_words, words_for_missing
from propense.tables.model import ADDED, TableModel
from propense.tables.problems import Problems, unknown_column
from propense.tables.row_names import row_numbers
from propense.tables.schema import Reading, Schema, infer_schema
from propense.tables.spelling import Spelling, find_sign

__all__ = [
    "FitOptions",
    "PreparedTable",
    "check_columns",
    "fit_collecting_warnings",
    "prepare_method",
    "prepare_table",
]


@dataclass(frozen=True)
class FitOptions:
    """How to fit a table: its columns, the method, and the test of the labels.

    Parameters
    ----------
    label : str or list of str
        The column that shows which rows are labelled: 1 and 0, yes and no, or one value and empty cells. Or the columns
        of several sources, with 1 and 0, or yes and no; there an empty cell means that the source did not look at the
        row.
    positive : str, default=None
        The value that means labelled; None where the values make that clear.
    id : str, default=None
        The column that names the rows. It is not a feature.
    drop : list of str, default=()
        Columns to leave out.
    categorical : list of str, default=()
        Columns whose numbers are names, such as postcodes.
    method : str, default=None
        A short name, such as "jerm" or "lbe-published", or the import path of a class of your own. None means "pu", or
        "sources" if there are several label columns.
    decision : {"balanced", "posterior"}, default="balanced"
        The threshold of ``predict`` on y(x), the chance that a row is positive: "balanced" is the estimated share of
        positives, "posterior" is ½.
    class_features : list of str, default=None
        The columns that being positive may depend on. None means all.
    propensity_features : list of str, default=None
        The columns that the chance of a label may depend on. None means all.
    learners : {"auto", "linear"}, default=None
        What learns the labels, in methods that have a choice; None leaves it to the method.
    prior : float, (float, float) or dict of these, default=None
        The share of rows that are positive, or the range it lies in, if known from elsewhere. The fit meets it, and the
        test of the labels uses it. Or the share or range in each group of the column ``prior_groups``.
    prior_groups : str, default=None
        The column that shows the groups of ``prior``.
    jobs : int, default=None
        How many fits inside the method run at the same time; -1 means as many as there are processors.
    parameters : dict, default={}
        Other parameters of the method, such as ``{"ridge": 10}``.
    decimal : {".", ","}, default=None
        The decimal sign of numbers written as text. None means a point, but then a column is an error where points may
        separate thousands, such as 1.549 next to 900.
    keep : list of str, default=()
        Columns to use although they look as if they named the rows, such as numbers that count them, or although they
        show exactly which rows are labelled.
    dates : {"dmy", "mdy"}, default=None
        Whether the day or the month comes first in dates such as 01/02/2020, where no cell of the column shows it.
    missing : list of str, default=()
        Words that mean a missing cell, such as "unknown" or "-99", in addition to an empty cell, NA, N/A, #N/A, NaN,
        null, None, <NA>, -, --, a point and a question mark. In features only.
    missing_words : bool, default=True
        Whether these usual words mean a missing cell. If not, only an empty cell and the words of ``missing`` do.
    duplicates : {"drop", "keep"}, default=None
        What to do with rows that are equal in every column. None keeps them, with a note if they are copies; if the
        table holds every row several times, that is an error.
    scar_test : bool, default=None
        Whether to test if labels are drawn at random among the positives (`propense.scar_test`), on at most 2 000 rows.
        None runs the test where there are at most 30 features, or a ``prior`` for all rows. With more than 100 features
        it is never run.
    """

    label: str | Sequence[str]
    positive: str | None = None
    id: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    method: str | None = None
    decision: str = "balanced"
    class_features: Sequence[str] | None = None
    propensity_features: Sequence[str] | None = None
    learners: str | None = None
    prior: float | tuple[float, float] | Mapping[Any, Any] | None = None
    prior_groups: str | None = None
    jobs: int | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    decimal: str | None = None
    scar_test: bool | None = None
    keep: Sequence[str] = ()
    dates: str | None = None
    missing: Sequence[str] = ()
    missing_words: bool = True
    duplicates: str | None = None

    def __post_init__(self) -> None:
        check_decimal(self.decimal)
        words_for_missing(self.missing, usual=self.missing_words)
        for name, allowed in (("dates", DATE_ORDERS), ("duplicates", CHOICES)):
            if (value := getattr(self, name)) not in (None, *allowed):
                raise InvalidOption(f"{name}={value!r} is not {' or '.join(allowed)}.")
        if not PriorOption().allows(self.prior):
            raise InvalidOption(
                f"prior={self.prior!r} is not a share of the rows: above 0 and at most 1, or two such shares, the "
                "smaller one first."
            )
        if isinstance(self.prior, Mapping) and self.prior_groups is None:
            raise InvalidOption("A share for each group needs the column that shows them. Pass prior_groups= too.")
        if self.prior_groups is not None and not isinstance(self.prior, Mapping):
            raise InvalidOption("prior_groups= is for shares by group, such as f=0.12,m=0.18: pass them as prior=.")
        if self.jobs == 0:
            raise InvalidOption("jobs=0 is not a number of fits. Pass 1 or more, or -1 for as many as processors.")

    @property
    def labels(self) -> list[str]:
        """The label columns."""
        return [self.label] if isinstance(self.label, str) else list(self.label)

    @property
    def reading(self) -> Reading:
        """How cells that are text are read."""
        missing = words_for_missing(self.missing, usual=self.missing_words)
        return Reading(missing, self.decimal is not None, self.dates)

    @property
    def method_name(self) -> str:
        """The method, or the one that is used if none is named."""
        if self.method is not None:
            return self.method
        return "pu" if len(self.labels) == 1 else "sources"

    @property
    def of_method(self) -> dict[str, Any]:
        """What is asked of the method by name: its parameters that have an option of their own."""
        asked = {
            "class_features": self.class_features,
            "propensity_features": self.propensity_features,
            "learners": self.learners,
            "prior": self.prior,
            "prior_groups": self.prior_groups,
            "n_jobs": self.jobs,
        }
        return {name: value for name, value in asked.items() if value is not None}


@dataclass(frozen=True)
class PreparedTable:
    """A table ready for a fit.

    Attributes
    ----------
    schema : Schema
        The columns and their kinds.
    matrix : ndarray of shape (n_rows, n_columns)
        The columns as numbers, before imputing and scaling.
    features : ndarray of shape (n_rows, n_features)
        The columns as features, finite and scaled, for the baseline and the test of the labels.
    inputs : ndarray of shape (n_rows, n_features), or Arrow table
        What the estimator is fitted on: the features, or the columns if it takes columns of every kind.
    labelled : ndarray of bool
        Which rows are labelled.
    sources : ndarray of shape (n_rows, n_sources), or None
        The labels of each of several sources, NaN where one did not look at a row.
    origins : list of str, or None
        The column that each feature comes from; None if the estimator is fitted to the features.
    """

    schema: Schema
    matrix: NDArray[np.float64]
    features: Any
    inputs: Any
    labelled: NDArray[np.bool_]
    origins: Sequence[str] | None = None
    sources: NDArray[np.float64] | None = None

    def labels(self, names: Sequence[str]) -> Any:
        """What the estimator is fitted to: which rows are labelled, or an Arrow table with a column for each source."""
        if self.sources is None:
            return self.labelled
        import pyarrow as pa

        return pa.table(dict(zip(names, self.sources.T.copy(), strict=True)))


def prepare_table(
    table: Any,
    columns: Sequence[str],
    label: Label | LabelColumns | None,
    options: FitOptions,
    where: str,
    *,
    arrays: bool = False,
    problems: Problems | None = None,
) -> tuple[TableModel, PreparedTable, list[str]]:
    """Recognise the columns of `check_columns` and fit their preparation; notes on columns that may not be features.

    The model's estimator is not fitted yet. With `arrays` it will be fitted to arrays, even if it takes columns of
    every kind.
    """
    problems = problems or Problems(where)
    table = normalise_decimals(table, columns, options.decimal)
    schema, notes = infer_schema(table, columns, where, options.categorical, reading=options.reading, problems=problems)
    problems.raise_any()
    assert label is not None, "a label that cannot be read is a problem"
    labelled = label.read_table(table, where)
    sources = label.read_sources(table, where) if isinstance(label, LabelColumns) else None
    if not schema.columns:
        raise InvalidTable(f"{where} has no column left to learn from. {' '.join(notes)}".rstrip())
    read = schema.read(table, where)
    matrix = schema.encode(read)
    schema, read, matrix, left = _without_row_numbers(schema, read, matrix, options, where)
    check_copies(schema, matrix, labelled, _named(options), where)
    notes += left + note_missing_words(table, schema, options.missing)
    preparation = Preparation.fit(schema.level_counts, matrix)
    features = preparation.transform(matrix)
    estimator = _make_estimator(options)
    by_group = options.prior_groups is not None
    if by_group and arrays:
        raise InvalidOption(
            "A prior for each group needs the table in memory. Pass one prior= for all rows, or fit a part of the rows."
        )
    if by_group and not (estimator._takes_mixed_columns() or estimator._prepares_columns()):
        raise InvalidOption(
            f"The method {options.method} takes one prior= for all rows of a table, not one for each group. Use the "
            "method pu."
        )
    # Groups are found in the column itself: a linear PUClassifier then prepares the columns.
    mixed = (estimator._takes_mixed_columns() or by_group) and not arrays
    origins = [name for name, _ in preparation.origins(schema.columns)]
    for name in ("class_features", "propensity_features"):
        columns = getattr(options, name)
        if columns is not None:
            places = _feature_positions(name, columns, origins)
            estimator.set_params(**{name: list(columns) if mixed else places})
    numbers = [column.name for column in schema.columns if column.kind == "number"]
    spelling = Spelling(find_sign(table, numbers, options.decimal))
    seen = summarise_columns(schema, matrix)
    kept = None if mixed else preparation
    model = TableModel(label, options.id, schema, kept, estimator, spelling=spelling, seen=seen)
    notes = merge_notes(notes + doubtful_columns(schema, matrix, labelled, features.shape[1]))
    if mixed:
        return model, PreparedTable(schema, matrix, features, read, labelled, origins), notes
    return model, PreparedTable(schema, matrix, features, features, labelled, sources=sources), notes


def _named(options: FitOptions) -> list[str]:
    """The columns that are certainly wanted."""
    named = [*options.keep, *(options.class_features or ()), *(options.propensity_features or ())]
    return named + ([] if options.prior_groups is None else [options.prior_groups])


def _without_row_numbers(
    schema: Schema, read: Any, matrix: NDArray[np.float64], options: FitOptions, where: str
) -> tuple[Schema, Any, NDArray[np.float64], list[str]]:
    """The columns without those that number the rows, and notes on these."""
    left, notes = row_numbers(schema.columns, matrix, _named(options))
    kept = [j for j in range(len(schema.columns)) if j not in set(left)]
    if not kept:
        raise InvalidTable(f"{where} has no column left to learn from. {' '.join(notes)}")
    if not left:
        return schema, read, matrix, notes
    columns = tuple(schema.columns[j] for j in kept)
    return replace(schema, columns=columns), read.select(kept), matrix[:, kept], notes


def prepare_method(options: FitOptions, prepared: PreparedTable) -> tuple[BasePUClassifier, Any, tuple[str, ...]]:
    """Another method for a table that was prepared for one that takes its columns as they are.

    Returns its estimator, not fitted, what it is fitted on, and the options that it cannot use.
    """
    kind, variant = find_method(options.method_name)
    known = {} if kind.description.needs else kind(**variant).get_params()
    ignored = [] if kind.description.needs else [name for name in options.of_method if name not in known]
    by_group = options.prior_groups is not None
    # Groups are found in the column itself: methods that take numbers only cannot.
    if by_group and known and not (kind(**variant)._takes_mixed_columns() or kind(**variant)._prepares_columns()):
        ignored = list(dict.fromkeys([*ignored, "prior", "prior_groups"]))
    unused: dict[str, Any] = dict.fromkeys("jobs" if name == "n_jobs" else name for name in ignored)
    estimator = _make_estimator(replace(options, **unused))
    mixed = estimator._takes_mixed_columns() or (by_group and "prior" not in ignored)
    for name in ("class_features", "propensity_features"):
        columns = getattr(options, name)
        if columns is not None and name not in ignored:
            places = _feature_positions(name, columns, prepared.origins or ())
            estimator.set_params(**{name: list(columns) if mixed else places})
    return estimator, prepared.inputs if mixed else prepared.features, tuple(ignored)


def fit_collecting_warnings(
    estimator: BasePUClassifier,
    features: Any,
    labelled: Any,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Fit, and return the warnings other than those of `doubts_`, which the estimator keeps."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DoubtfulFit)
        estimator._progress = progress
        try:
            estimator.fit(features, labelled)
        finally:
            del estimator._progress
    return [str(warning.message) for warning in caught]


def check_columns(
    columns: Sequence[str], options: FitOptions, where: str, problems: Problems | None = None
) -> list[str]:
    """The columns to learn from; every column that the options name must exist.

    What is wrong is collected in `problems`, or else raised together.
    """
    found = problems or Problems(where)
    labels, id = options.labels, options.id
    if not labels or len(set(labels)) < len(labels):
        raise InvalidTable(f"label={options.label!r} is not a column, or several different ones. Name each once.")
    given = [*(("label", name) for name in labels), *(("id", name) for name in [id] if name is not None)]
    for option in ("drop", "categorical", "keep"):
        given += [(option, name) for name in getattr(options, option)]
    given += [] if options.prior_groups is None else [("prior_groups", options.prior_groups)]
    present = set(columns)
    unknown = [(option, name) for option, name in given if name not in present]
    for place, (option, name) in enumerate(unknown):
        # The columns there are need to be listed once.
        found.found.append(unknown_column(name, option, columns, where, listed=place == 0))
    left = _columns_left(columns, options, found)
    if problems is None:
        found.raise_any()
    return left


def _columns_left(columns: Sequence[str], options: FitOptions, problems: Problems) -> list[str]:
    """The columns to learn from, without those that cannot be used, which are problems."""
    labels, id, where, found = options.labels, options.id, problems.where, problems.found
    if id in labels:
        found.append(InvalidTable(f"{where}, column {id!r} cannot be both the label and the id."))
    left = [name for name in columns if name not in {*labels, id, *options.drop}]
    if options.prior_groups is not None and options.prior_groups in columns and options.prior_groups not in left:
        found.append(
            InvalidTable(
                f"{where}, column {options.prior_groups!r} is the label, the id or left out, so it cannot show the "
                "groups of prior=."
            )
        )
    for name in left:
        if name in ADDED:
            found.append(
                InvalidTable(f"{where} has a column {name!r}, a name that scoring adds to a table. Rename it.")
            )
        elif name.startswith("__index_level_"):
            found.append(
                InvalidTable(
                    f"{where}, column {name!r} holds row numbers of pandas. Leave it out with drop=[{name!r}]."
                )
            )
        elif not name:
            found.append(
                InvalidTable(
                    f"{where}, column {columns.index('') + 1} has no name; perhaps row numbers. Leave it out with "
                    "drop=['']."
                )
            )
    return [name for name in left if name and name not in ADDED and not name.startswith("__index_level_")]


def _make_estimator(options: FitOptions) -> BasePUClassifier:
    method, parameters = options.method_name, options.parameters
    kind, variant = find_method(method)
    if len(options.labels) > 1 and not kind._takes_sources:
        raise InvalidOption(
            f"The method {method} takes one label column, and there are {len(options.labels)}: "
            f"{', '.join(options.labels)}. Leave out the method, or use sources, which takes several."
        )
    if kind.description.needs:
        raise InvalidOption(f"The method {method} needs {kind.description.needs}, which a table does not have.")
    try:
        estimator = kind(**{"decision": options.decision, **variant})
    except TypeError as error:
        raise InvalidOption(
            f"The method {method} cannot be made: {error}. Its constructor must take decision."
        ) from None
    known = estimator.get_params()
    for name in options.of_method:
        if name not in known:
            raise InvalidOption(f"The method {method} {_LACKS[name]}")
        if name in parameters:
            raise InvalidOption(f"The parameter {name} of the method {method} is given twice. Leave out one.")
    unknown = [name for name in parameters if name not in known]
    if unknown:
        raise InvalidOption(f"{type(estimator).__name__} has no parameter {unknown[0]!r}. It has: {', '.join(known)}.")
    if "positive_label" in parameters:
        raise InvalidOption("The value of labelled rows is an option of the table. Pass positive= in its place.")
    if "random_state" in known:
        estimator.set_params(random_state=0)
    named = ("class_features", "propensity_features")
    estimator.set_params(
        **parameters, **{name: value for name, value in options.of_method.items() if name not in named}
    )
    return estimator


# Why a method has no such parameter, and what to do.
_LACKS = {
    "class_features": "does not fit a propensity of its own, so it has no columns to keep for the class. Leave columns "
    "out with drop=, or use the method pu.",
    "propensity_features": "does not fit a propensity of its own, so it takes no propensity features.",
    "learners": "has no learners to choose from. Leave out learners=, or use the method pu.",
    "prior": "cannot use a share of positives that is known. Leave out prior=, or use the method pu.",
    "prior_groups": "cannot use a share of positives that is known. Leave out prior=, or use the method pu.",
    "n_jobs": "does not run several fits at the same time. Leave out jobs=.",
}


def _feature_positions(option: str, names: Sequence[str], origins: Sequence[str]) -> list[int]:
    """The features that come from the named columns."""
    known = dict.fromkeys(origins)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidOption(
            f"The {option[:-1].replace('_', ' ')} {unknown[0]!r} is not a feature. The features are: "
            f"{', '.join(map(repr, known))}."
        )
    return [j for j, origin in enumerate(origins) if origin in names]
