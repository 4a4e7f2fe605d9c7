"""When not to trust a fit: each doubt is a function that returns a message or None.

A message says what is wrong, then the number, then what to do. Each threshold is defined next to its doubt, with the
reason for it. ``benchmarks/doubts.py`` measures how often each doubt is raised when it should be, and when not.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from propense._diagnostics.fit_statistics import FitStatistics, p_by_chance
from propense._diagnostics.source_doubts import few_overlaps, no_overlap, one_source

__all__ = [
    "FEW_ROWS",
    "GENERAL",
    "KINDS",
    "OF_CLASSES",
    "OF_KNOWN",
    "OF_LABELS",
    "OF_RATIO",
    "SHORT",
    "SYMMETRIC",
    "Doubt",
    "all_likely",
    "ask",
    "doubt_of",
    "few_rows",
    "mostly_labelled",
    "starts_disagree",
    "unlike_worlds",
]


@dataclass(frozen=True)
class Doubt:
    """A reason not to trust a fit.

    Attributes
    ----------
    kind : str
        Its short name, such as "few_labels"; the guide to doubts lists them all.
    message : str
        What is wrong, the number that shows it, and what to do.
    """

    kind: str
    message: str


_NAME_COLUMNS = "Pass the columns that labelling may depend on as propensity_features"
_PENALISE = (
    "Raise the penalty on the propensity (propensity_ridge, propensity_penalty, shrinkage or ridge), or pass "
    "propensity_features."
)

# With 30 labels their rate, and with it prior_·label_frequency_, is known to ±1.96/√30 = ±36%; no estimate is better.
_FEW = 30


def few_labels(fit: FitStatistics) -> str | None:
    """There are so few labels that even their rate is uncertain."""
    if fit.labels >= _FEW:
        return None
    return (
        f"There are too few {fit.marked} rows: {_labels(fit)}. Even their share of all rows is uncertain by "
        f"±{1.96 / np.sqrt(fit.labels):.0%} of its value, and every estimate depends on it. Label more rows, at least "
        f"{_FEW} in total."
    )


# The usual level: unrelated columns are called related once in twenty times.
_RELATED = 0.05


def weak_columns(fit: FitStatistics) -> str | None:
    """The columns that were named for e do not move the labels, given the others."""
    if not 0 < fit.named_features <= fit.labels:
        return None
    p = p_by_chance(fit.named_gain, fit.named_features)
    if p < _RELATED:
        return None
    return (
        "The columns named as propensity_features hardly move the labels, given the other columns "
        f"(p = {p:.2g}; likelihood ratio {fit.named_gain:.1f} with {fit.named_features} coefficients). Naming them is "
        "nearly the same as assuming that every positive is equally likely to be labelled. Name the columns that "
        "labelling depends on, or none. In Python, propense.column_check shows what depends on the names."
    )


# With fewer labelled rows than columns, some β gives each of them any log-odds whatever: without a penalty, any labels
# can be explained.
_PER_FEATURE = 1.0


def labels_per_feature(fit: FitStatistics) -> str | None:
    """There are fewer labels than coefficients to estimate from them."""
    if fit.labels >= _PER_FEATURE * fit.features:
        return None
    return (
        f"There are fewer {fit.marked} rows than features: {_labels(fit)} for {fit.features} features. Only the "
        "penalty (ridge or alpha) keeps the model from memorising them. Raise it, use fewer columns, or label more "
        "rows."
    )


# Labels unrelated to X exceed this likelihood ratio once in a thousand times (Wilks). Not once in a hundred: y may be
# nearly a step function, which is more flexible than its number of coefficients suggests.
_BY_CHANCE = 0.001


def unexplained(fit: FitStatistics) -> str | None:
    """y(x)·e(x) does not predict the labels clearly better than their rate."""
    free = fit.features + fit.propensity_features
    # With more coefficients than labels the ratio does not follow χ², and `labels_per_feature` is raised instead.
    if free > fit.labels:
        return None
    # Scores of rows that were held out do not gain by the number of columns.
    free = free if fit.fitted_along is None else min(free, fit.fitted_along)
    p = p_by_chance(fit.gain, free)
    if p < _BY_CHANCE:
        return None
    # Learners of the labels include trees, which find curves by themselves.
    curves = ", or allow for curves: add squares and products, or use PUClassifier"
    return (
        f"The features do not predict which rows are {fit.marked} clearly better than chance (p = {p:.2g}; likelihood "
        f"ratio {fit.gain:.1f} with {free} coefficients). Use other columns"
        f"{curves if fit.fitted_along is None else ', or label more rows'}."
    )


# Two standard errors, one-sided 2.3%. The model was fitted to the labels it is tested on, which makes the test
# cautious: where the model is true, z is nearly always below 1.
_STRAY = 2.0


def stray_labels(fit: FitStatistics) -> str | None:
    """Labels are on rows that have hardly any chance of one."""
    if fit.stray <= _STRAY:
        return None
    return (
        "Some labels are on rows that the model considers unlikely to be labelled: "
        f"{fit.low:.0f} where it expects {fit.low_expected:.1f} (score test: z = {fit.stray:.1f}). These labels may be "
        "wrong, or these positives may differ from the others. Check the labelled rows that are least likely to be "
        "positive (predict_proba), and correct the labels or add columns that describe these rows."
    )


# Variance inflation 1/(1 − r²) is 10 here, the usual bound beyond which two regressors cannot be distinguished. A
# factor whose log-odds have a standard deviation of .25 or less changes by at most .06 with one standard deviation: it
# is almost constant, and its direction does not matter.
_COLLINEAR, _FLAT = 0.95, 0.25


def collinear(fit: FitStatistics) -> str | None:
    """y and e vary along the same direction."""
    if abs(fit.correlation) <= _COLLINEAR or min(fit.spread, fit.propensity_spread) <= _FLAT:
        return None
    more = "more" if fit.correlation > 0 else "less"
    return (
        "The model can hardly separate being positive from being labelled, so the number of positives is uncertain: "
        f"the likelier a row is to be positive, the {more} likely it is to be labelled if positive (correlation of the "
        f"log-odds: {fit.correlation:.2f}). {_NAME_COLUMNS}, or use KnownPropensity if the propensities are known."
    )


# The labels show only y·e, in which the two are interchangeable; the steeper is called y. If both are equally steep,
# their estimated ratio is above this 19 times in 20 at 500 labels (its logarithm has a standard error of .1).
_ALIKE = 0.8


def swapped(fit: FitStatistics) -> str | None:
    """Only the convention decides which factor is y."""
    if fit.distinguishable or fit.propensity_spread <= _ALIKE * fit.spread:
        return None
    return (
        "The model may have swapped being positive and being labelled. The labels show only the product of the two "
        "probabilities, and the one that varies more is assumed to be that of being positive, but here they vary about "
        f"equally (standard deviations of the log-odds: {fit.spread:.2f} for positive, {fit.propensity_spread:.2f} for "
        f"labelled). {_NAME_COLUMNS}, or check that the coefficients of being positive (coef_) describe the class you "
        "know better than those of being labelled (propensity_coef_)."
    )


# Beyond half of them, prior_ depends on rows of which at most one in a hundred is labelled, or e on hardly any
# unlabelled positives.
_MOST = 0.5


def at_boundary(fit: FitStatistics) -> str | None:
    """Most expected positives have a propensity near 0 or near 1."""
    if fit.never > _MOST:
        return (
            f"Most of the estimated positives are rows that are almost never labelled: {fit.never:.0%} have a "
            "propensity below 0.01. Their number is extrapolated, so the estimated share of positives (prior_) is "
            f"unreliable. {_PENALISE}"
        )
    if fit.surely <= _MOST or fit.frequency > _NEARLY_ALL:
        return None
    return (
        "The model leaves almost no room for hidden positives among rows like the labelled ones: "
        f"{fit.surely:.0%} of the estimated positives have a propensity above 0.99. {_PENALISE}"
    )


# Above this, nearly every positive is estimated to be labelled, or nearly every row to be positive: the rest is a
# twentieth, which no estimate here can distinguish from nothing.
_NEARLY_ALL = 0.95


def all_labelled(fit: FitStatistics) -> str | None:
    """Almost no positive is hidden."""
    if fit.frequency <= _NEARLY_ALL or memorised(fit) is not None:
        return None
    return (
        f"{fit.method} found almost no hidden positives: it estimates that {fit.frequency:.1%} of the positives are "
        "labelled (label_frequency_). Naive assumes that all of them are. Compare with another method, or use fewer "
        "columns."
    )


def all_positive(fit: FitStatistics) -> str | None:
    """Almost every row is positive."""
    if fit.prior <= _NEARLY_ALL:
        return None
    return (
        f"{fit.method} estimates that almost every row is positive: {fit.prior:.1%} (prior_). The data do not "
        "determine how many are. Compare with another method, or use KnownPropensity if the propensities are known."
    )


# A flexible classifier that has memorised the labels leaves no hidden positive.
_MEMORISED = 0.99


def memorised(fit: FitStatistics) -> str | None:
    """The classifier inside has memorised the labels."""
    if not fit.flexible or fit.frequency <= _MEMORISED:
        return None
    return (
        f"The classifier inside {fit.method} has probably memorised the labels: it separates labelled from unlabelled "
        f"rows so well that {fit.frequency:.1%} of the positives count as labelled (label_frequency_). Make it less "
        "flexible, for example with shallower trees, or pass propensity_features."
    )


# In 72 fits of JERM to rows of which half are positive, in classes that overlap much or hardly, with and without a
# quantile, prior_ was too high by .10 to .24 above this share, and by .04 to .15 below .76.
_LIKELY = 0.9


def all_likely(share: float, advice: str) -> str | None:
    """Nearly every row, `share` of them, was treated as positive while e was fitted."""
    if share <= _LIKELY:
        return None
    return (
        "The estimated share of positives (prior_) is probably too high: the classes overlap too much to set a "
        f"threshold, and {share:.0%} of the rows were treated as positive while the propensity was fitted "
        f"(positives_path_). {advice}"
    )


# Two starts are in one 95% region if twice their log-likelihoods differ by less than this (χ² of one degree); they
# give different answers if their y(x) differ by more than this on average.
_NEAR_BEST, _APART = 3.84, 0.05


def starts_disagree(risks: Any, distances: Any, rows: float) -> str | None:
    """Starts whose risk per row is nearly the best, for this many rows, have a y(x) at a distance from the best."""
    near = 2.0 * rows * (np.asarray(risks) - np.min(risks)) < _NEAR_BEST
    apart = np.asarray(distances)[near]
    if apart.max() <= _APART:
        return None
    return (
        f"The data do not determine the answer: {int((apart > _APART).sum())} of {len(near)} starting points fit the "
        "labels as well as the best one but give other probabilities of being positive: they differ by up to "
        f"{apart.max():.2f} on average (starts_). Pass propensity_features, raise ridge, or use fewer columns."
    )


# A table of fewer rows is small: fewer folds, smaller leaves, and a doubt.
FEW_ROWS = 200


def few_rows(rows: int) -> str | None:
    """There are so few rows that little can be learned from them."""
    if rows >= FEW_ROWS:
        return None
    return (
        f"There are only {rows} rows, so little can be learned from them: curved relations hardly show, and the "
        f"estimated share of positives can be far off. Collect more rows, at least {FEW_ROWS}."
    )


def unlike_worlds(strange: bool) -> str | None:
    """No simulated world has labels that look like these."""
    if not strange:
        return None
    return (
        "These labels look unlike those of every simulated world, so what was true in such worlds says little here: "
        "half of the range is every share of positives that the labels allow. Check the label column, and have some "
        "unlabelled rows checked (propense.audit.draw): that needs no worlds."
    )


# Labels that miss positives are on fewer rows than the other value, unless most rows are positive, which is rare where
# positives are looked for. Values that were swapped give more, nearly always.
_HALF = 0.5


def mostly_labelled(share: float, label: str, other: str, way: str = "positive_label=") -> str | None:
    """More than half of the rows are labelled; the two values of y may have been read the wrong way round."""
    if share <= _HALF:
        return None
    return (
        f"Most rows are labelled: {share:.0%} of them have the value {label}, which was read as the label, and the "
        f"others {other}. If {other} marks the labelled rows, pass {way}{other}. If {label} does, most rows are "
        "positive, and the estimates rest on few unlabelled rows."
    )


# Those that follow from the statistics of a fit, in the order in which they are reported.
_FROM_STATISTICS: dict[str, Callable[[FitStatistics], str | None]] = {
    function.__name__: function
    for function in (
        few_labels,
        labels_per_feature,
        unexplained,
        stray_labels,
        swapped,
        collinear,
        at_boundary,
        all_labelled,
        all_positive,
        memorised,
        weak_columns,
    )
}
# All doubts.
KINDS: dict[str, Callable[..., str | None]] = {
    **_FROM_STATISTICS,
    **{
        function.__name__: function
        for function in (
            mostly_labelled,
            all_likely,
            starts_disagree,
            few_rows,
            unlike_worlds,
        )
    },
    **{function.__name__: function for function in (one_source, no_overlap, few_overlaps)},
}

# The doubts in a few words, for the cell of a table.
SHORT = {
    "few_labels": "too few labels",
    "labels_per_feature": "fewer labels than features",
    "unexplained": "columns do not predict the labels",
    "stray_labels": "labels on unlikely rows",
    "swapped": "positive and labelled may be swapped",
    "collinear": "positive and labelled hardly separated",
    "at_boundary": "propensities near 0 or 1",
    "all_labelled": "almost no hidden positives",
    "all_positive": "almost all rows positive",
    "memorised": "labels memorised",
    "weak_columns": "named columns hardly move the labels",
    "mostly_labelled": "most rows labelled",
    "all_likely": "share probably too high",
    "starts_disagree": "answer not determined",
    "few_rows": "too few rows",
    "unlike_worlds": "unlike every world",
    "one_source": "one source only",
    "no_overlap": "sources do not overlap",
    "few_overlaps": "sources hardly overlap",
}

# The doubts that apply to a method: a regression of the class, or of the label; a known propensity; a propensity that
# is a function of y; methods that estimate both; and those for which y and e are interchangeable.
OF_CLASSES = ("few_labels", "labels_per_feature", "unexplained")
OF_LABELS = (*OF_CLASSES, "stray_labels", "mostly_labelled")
OF_KNOWN = (*OF_LABELS, "all_positive")
OF_RATIO = (*OF_KNOWN, "all_labelled")
GENERAL = (*OF_RATIO, "collinear", "at_boundary", "memorised", "weak_columns")
SYMMETRIC = (*GENERAL, "swapped")


def ask(fit: FitStatistics, kinds: Iterable[str]) -> tuple[Doubt, ...]:
    """The doubts of these kinds that the statistics of a fit raise."""
    asked = set(kinds)
    messages = ((kind, function(fit)) for kind, function in _FROM_STATISTICS.items() if kind in asked)
    return tuple(Doubt(kind, message) for kind, message in messages if message is not None)


def doubt_of(function: Callable[..., str | None], *values: Any) -> tuple[Doubt, ...]:
    """The doubt that a method raises by itself, for `Model.doubts`; empty if the function has no message."""
    message = function(*values)
    return () if message is None else (Doubt(function.__name__, message),)


def _labels(fit: FitStatistics) -> str:
    return f"{fit.labels:.0f}" + ("" if float(fit.labels).is_integer() else " (effective number, given the weights)")
