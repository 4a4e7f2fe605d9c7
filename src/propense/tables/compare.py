"""Several methods on one table: what each says, and how far they agree."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import rankdata

from propense._diagnostics.doubts import SHORT, Doubt
from propense._maths.logistic import logit
from propense._representation import Readable, Sheet
from propense.errors import InvalidOption, PropenseError
from propense.estimators import BasePUClassifier, Naive, PUClassifier, find_method
from propense.tables.as_table import as_table
from propense.tables.begin import BegunFit, begin_fit, folds_by_id
from propense.tables.model import out_of_fold_scores, prior_range, review_order, scores_of
from propense.tables.prepare import FitOptions, PreparedTable, fit_collecting_warnings, prepare_method

__all__ = ["COMPARED", "Comparison", "MethodResult", "compare_table"]

# The default methods: the first choice, what it would be without trees, and one of each other way to separate y from e.
COMPARED = ("pu", "pu-linear", "sar-em", "joint-mle", "pglin", "tm", "jerm", "naive")
# A name that only a comparison has.
_VARIANTS = {"pu-linear": ("pu", "linear")}
# Beyond these rows, so many are drawn: a comparison should take a minute, not an hour.
_MOST_ROWS = 50_000


@dataclass(frozen=True)
class MethodResult:
    """What one method says of a table.

    Attributes
    ----------
    name : str
        The name it was asked for by.
    share : float
        The estimated share of positive rows; NaN if the method gave none.
    low, high : float
        The range of that share; NaN if the method gives none.
    label_frequency : float
        The estimated share of the positives that are labelled.
    predicted : int
        How many rows it predicts to be positive.
    doubts : tuple of Doubt
        Reasons not to trust this fit.
    notes : tuple of str
        Warnings of the fit.
    ignored : tuple of str
        Options that were given and that the method cannot use.
    separates : str
        By what it distinguishes being positive from being labelled.
    assumes : tuple of str
        What must hold for its answer to be right.
    seconds : float
    failure : str
        Why there is no answer; empty if there is one.
    baseline : bool
        Whether this is the naive method, which counts the labelled rows only and lists nothing.
    """

    name: str
    share: float = math.nan
    low: float = math.nan
    high: float = math.nan
    label_frequency: float = math.nan
    predicted: int = 0
    doubts: tuple[Doubt, ...] = ()
    notes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    separates: str = ""
    assumes: tuple[str, ...] = ()
    seconds: float = math.nan
    failure: str = ""
    baseline: bool = False

    @property
    def has_range(self) -> bool:
        """Whether the method gives a range of its own."""
        return not math.isnan(self.low) and self.low < self.high


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Readable):
    """What several methods say of one table; ``str()`` says what it means.

    Attributes
    ----------
    results : tuple of MethodResult
        One for each method that was asked for, in that order; those without an answer say why.
    rows, labelled : int
        Of the rows that were compared.
    rows_of_table : int
        Of the whole table, without repeated rows that were left out; more than ``rows`` if a sample was drawn.
    top : int
        The length of the lists that are compared.
    overlap : ndarray of shape (n_results, n_results)
        The share of one method's list that is on the other's. NaN where a method has no list.
    agreement : ndarray of shape (n_results, n_results)
        The share of rows with the same prediction.
    correlation : ndarray of shape (n_results, n_results)
        The rank correlation of h(x), the chance that an unlabelled row is positive, over the unlabelled rows.
    on_all : int ndarray
        The rows of the table that are on every list, from 0.
    notes : tuple of str
        On repeated rows, and on columns that were left out or may not be features.
    """

    results: tuple[MethodResult, ...]
    rows: int
    labelled: int
    rows_of_table: int
    top: int
    overlap: NDArray[np.float64]
    agreement: NDArray[np.float64]
    correlation: NDArray[np.float64]
    on_all: NDArray[np.intp]
    notes: tuple[str, ...] = ()

    @property
    def answered(self) -> list[MethodResult]:
        """The methods that gave an estimate, without the naive one."""
        return [each for each in self.results if not each.failure and not each.baseline]

    def with_others(self, matrix: NDArray[np.float64], place: int) -> float:
        """The mean of a method's row in one of the matrices, over the other methods; the naive one does not count."""
        kept = [
            matrix[place, other]
            for other, each in enumerate(self.results)
            if other != place and not each.baseline and not math.isnan(matrix[place, other])
        ]
        return float(np.mean(kept)) if kept else math.nan

    def summary(self) -> Sheet:
        """A line for each method: its estimate, range and doubts, and how far it agrees with the others."""
        head = ["method", "positive rows", "range", "labelled, of the positives", "predicted positive"]
        head += [f"first {self.top:,} shared", "same prediction", "same order (rank correlation)", "doubts"]
        return Sheet("What each method says", head, [self._line(place) for place in range(len(self.results))])

    def matrix(self, name: str) -> Sheet:
        """A matrix, "overlap", "agreement" or "correlation", as a table."""
        kept = [place for place, each in enumerate(self.results) if not each.failure]
        names = [self.results[place].name for place in kept]
        values, titles = getattr(self, name), _TITLES[name].format(top=self.top)
        show = _number if name == "correlation" else _percent
        lines = [[self.results[i].name, *("" if i == j else show(values[i, j]) for j in kept)] for i in kept]
        return Sheet(titles, ["", *names], lines)

    def _line(self, place: int) -> list[str]:
        each = self.results[place]
        if each.failure:
            return [each.name, "none", "", "", "", "", "", "", each.failure]
        between = f"{each.low:.0%} to {each.high:.0%}" if each.has_range else "gives none"
        if each.low == each.high:
            between = "the share was given"
        return [
            each.name,
            f"{each.share * self.rows:,.0f} ({each.share:.0%})",
            "counts labels only" if each.baseline else between,
            _percent(each.label_frequency),
            f"{each.predicted:,}",
            _percent(self.with_others(self.overlap, place)) or "no list",
            _percent(self.with_others(self.agreement, place)),
            _number(self.with_others(self.correlation, place)),
            ", ".join(SHORT.get(doubt.kind, doubt.kind) for doubt in each.doubts) or "none",
        ]

    def _headline(self) -> str:
        shares = [each.share for each in self.answered]
        if not shares:
            return "no method gave an estimate"
        return (
            f"{len(shares)} methods say that {min(shares):.0%} to {max(shares):.0%} of {self.rows:,} rows are positive"
        )

    def _sheets(self) -> list[Sheet]:
        return [self.summary(), self.matrix("overlap")]

    def __str__(self) -> str:
        from propense.tables.compare_words import describe_comparison

        return "\n".join(describe_comparison(self))


_TITLES = {
    "overlap": "Share of the first {top:,} rows that two lists have in common",
    "agreement": "Share of rows with the same prediction",
    "correlation": "Rank correlation of the chance that an unlabelled row is positive",
}


def compare_table(
    table: Any,
    label: str | FitOptions,
    *,
    methods: Sequence[str] | None = None,
    top: int = 100,
    max_rows: int | None = _MOST_ROWS,
    jobs: int | None = None,
    where: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> Comparison:
    """Fit several methods to one table, and say how far they agree.

    The table is read and prepared once. A method that fails, or that cannot be fitted to a table, is a line with its
    reason. Options that a method cannot use, such as ``prior``, are left out for it, and ``ignored`` says so.

    Parameters
    ----------
    table : pyarrow.Table, data frame of pandas or polars, str or Path
        As in `fit_table`.
    label : str or FitOptions
        The column that shows which rows are labelled, or all options in one object, whose method is not used.
    methods : list of str, default=None
        Names as in `propense.tables.FitOptions`, and "pu-linear". Default: pu, pu-linear, sar-em, joint-mle, pglin, tm,
        jerm and naive.
    top : int, default=100
        The length of the lists of rows to review that are compared.
    max_rows : int or None, default=50 000
        The most rows to compare methods on; from a longer table, this many are drawn at random. None compares on all.
    jobs : int, default=None
        How many methods are fitted at the same time; -1 means as many as there are processors.
    where : str, default=None
        The name of the table in errors; None means the name of its file, or "the table".
    progress : callable, default=None
        Called with the name of the method that is done, how many are done, and how many there are.
    **options
        Other options of `FitOptions`: positive, id, drop, categorical, class_features, propensity_features, prior, …

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from propense.tables import TableFile, compare_table
    >>> table = TableFile("patients.csv").read()  # doctest: +SKIP
    >>> print(compare_table(table, "reported", id="patient"))  # doctest: +SKIP
    """
    chosen = replace(label, **options) if isinstance(label, FitOptions) else FitOptions(label, **options)
    table, where, _ = as_table(table, where, holding=chosen.labels)
    if len(chosen.labels) > 1:
        raise InvalidOption(
            f"A comparison takes one label column, and there are {len(chosen.labels)}: {', '.join(chosen.labels)}. "
            "Only the method sources takes several: fit it."
        )
    if top < 1 or (max_rows is not None and max_rows < 1):
        raise InvalidOption(f"top={top!r} and max_rows={max_rows!r} must be at least 1.")
    if jobs == 0:
        raise InvalidOption("jobs=0 is not a number of fits. Pass 1 or more, or -1 for as many as processors.")
    names = _known(methods)
    chosen = replace(chosen, method="pu", learners=None, parameters={}, jobs=None, scar_test=False)
    begun = begin_fit(table, chosen, where, most=max_rows)
    prepared = begun.prepared
    top = min(top, int((~prepared.labelled).sum()))
    found: dict[str, _Measured] = {}
    for measured in _measure_all(names, chosen, begun, top, jobs):
        found[measured.result.name] = measured
        if progress is not None:
            progress(measured.result.name, len(found), len(names))
    return _compare([found[name] for name in names], begun, top)


@dataclass(frozen=True)
class _Measured:
    """A result, with what it is compared by: predictions of all rows, ranks of h and the list of unlabelled ones."""

    result: MethodResult
    positive: NDArray[np.bool_] | None = None
    ranks: NDArray[np.float64] | None = None
    listed: NDArray[np.intp] | None = None


def _known(methods: Sequence[str] | None) -> list[str]:
    """The methods, each once; a name that does not exist is an error before any work."""
    names = list(dict.fromkeys(COMPARED if methods is None else methods))
    if not names:
        raise InvalidOption("methods= names no method. Leave it out for the usual ones.")
    for name in names:
        find_method(_VARIANTS.get(name, (name,))[0])
    return names


def _measure_all(names: list[str], options: FitOptions, begun: BegunFit, top: int, jobs: int | None) -> Any:
    """Each method's answer, in any order."""
    if jobs in (None, 1):
        return (_measure(name, options, begun.prepared, begun.ids, top) for name in names)
    workers = Parallel(n_jobs=jobs, return_as="generator_unordered")
    return workers(delayed(_measure)(name, options, begun.prepared, begun.ids, top) for name in names)


def _measure(name: str, options: FitOptions, prepared: PreparedTable, ids: NDArray[Any] | None, top: int) -> _Measured:
    """Fit one method. Whatever goes wrong is its answer: other methods have theirs all the same."""
    method, learners = _VARIANTS.get(name, (name, None))
    begun = time.perf_counter()
    try:
        estimator, inputs, ignored = prepare_method(replace(options, method=method, learners=learners), prepared)
        with folds_by_id(estimator, ids, prepared.labelled):
            notes = fit_collecting_warnings(estimator, inputs, prepared.labelled)
        kept = out_of_fold_scores(estimator, len(prepared.labelled))
        scores = scores_of(estimator, inputs) if kept is None else kept
        positive = logit(scores.posterior) > estimator._cut()
    except PropenseError as error:
        return _Measured(MethodResult(name, failure=" ".join(str(error).split())))
    except Exception as error:
        # A method of the user's own may fail in any way.
        return _Measured(MethodResult(name, failure=" ".join(f"{type(error).__name__}: {error}".split())))
    seconds, ends, rest = time.perf_counter() - begun, prior_range(estimator), np.flatnonzero(~prepared.labelled)
    baseline = isinstance(estimator, Naive)
    result = MethodResult(
        name,
        share=float(estimator.prior_),
        low=math.nan if ends is None else max(float(ends[0]), float(prepared.labelled.mean())),
        high=math.nan if ends is None else max(float(ends[1]), float(prepared.labelled.mean())),
        label_frequency=float(estimator.label_frequency_),
        predicted=int(positive.sum()),
        doubts=tuple(estimator.doubts_),
        notes=tuple(notes),
        ignored=ignored,
        separates=estimator.description.separates,
        assumes=_assumed(estimator, options, ignored),
        seconds=seconds,
        baseline=baseline,
    )
    if baseline:
        return _Measured(result, positive)
    order = review_order(estimator, scores)[rest]
    listed = rest[np.argsort(-order, kind="stable")[:top]]
    return _Measured(result, positive, rankdata(scores.hidden[rest]), listed)


def _assumed(estimator: BasePUClassifier, options: FitOptions, ignored: tuple[str, ...]) -> tuple[str, ...]:
    """What a method assumes: what was said of the columns, and what it says of itself."""
    words = {"propensity_features": "The chance of a label", "class_features": "Being positive"}
    named = {name: list(getattr(options, name) or []) for name in words if name not in ignored}
    # PUClassifier allows for columns of e that are named wrongly; they take the place of the order of the rows.
    allows = isinstance(estimator, PUClassifier) and bool(named.get("propensity_features"))
    only = {name: "wholly, partly or not" if allows and name == "propensity_features" else "only" for name in words}
    lines = tuple(f"{words[name]} depends {only[name]} on {', '.join(each)}." for name, each in named.items() if each)
    return (*lines, *estimator.description.assumes[allows:])


def _compare(found: list[_Measured], begun: BegunFit, top: int) -> Comparison:
    size, labelled = len(found), begun.prepared.labelled
    overlap, agreement, correlation = (np.full((size, size), np.nan) for _ in range(3))
    for i, one in enumerate(found):
        for j, other in enumerate(found):
            if one.positive is not None and other.positive is not None:
                agreement[i, j] = float((one.positive == other.positive).mean())
            if one.listed is not None and other.listed is not None:
                overlap[i, j] = len(np.intersect1d(one.listed, other.listed)) / top
            if one.ranks is not None and other.ranks is not None:
                correlation[i, j] = _correlation(one.ranks, other.ranks)
    lists = [set(each.listed.tolist()) for each in found if each.listed is not None]
    on_all = np.array(sorted(set.intersection(*lists)) if lists else [], dtype=np.intp)
    return Comparison(
        results=tuple(each.result for each in found),
        rows=len(labelled),
        labelled=int(labelled.sum()),
        rows_of_table=begun.total,
        top=top,
        overlap=overlap,
        agreement=agreement,
        correlation=correlation,
        on_all=on_all if begun.rows is None else begun.rows[on_all],
        notes=tuple(begun.notes),
    )


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Of ranks; NaN where one method gives every row the same chance."""
    if min(one.std(), other.std()) == 0.0:
        return math.nan
    return float(np.corrcoef(one, other)[0, 1])


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{share:.0%}"


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"
