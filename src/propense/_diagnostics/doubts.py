"""When not to trust a fit: each doubt one function, which returns a sentence or None.

A sentence names the thing, the value and the way out. Thresholds stand beside their doubts with their reasons; how
often each speaks when it should, and when it should not, is measured by ``benchmarks/doubts.py``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from propense._diagnostics.fit_statistics import FitStatistics

__all__ = [
    "GENERAL",
    "KINDS",
    "OF_CLASSES",
    "OF_KNOWN",
    "OF_LABELS",
    "OF_RATIO",
    "SYMMETRIC",
    "Doubt",
    "all_likely",
    "ask",
    "doubt_of",
    "halves_disagree",
    "readings_differ",
    "starts_disagree",
]


@dataclass(frozen=True)
class Doubt:
    """A reason not to trust a fit.

    Attributes
    ----------
    kind : str
        Which of the doubts it is, such as "few_labels"; the guide to doubts lists them all.
    message : str
        The thing, the value and the way out, in a sentence or two.
    """

    kind: str
    message: str


# The rate of the labels, and with it prior_·label_frequency_, is known to ±1.96/√30 = ±36 %: no estimate is better.
_FEW = 30


def few_labels(fit: FitStatistics) -> str | None:
    """So few labels that their very rate is uncertain."""
    if fit.labels >= _FEW:
        return None
    return (
        f"{fit.marked} rows: {fit.labels:.0f}{_by_weight(fit)}. So few leave every estimate uncertain: their "
        f"rate alone is known to ±{196 / np.sqrt(fit.labels):.0f} %. Label more rows; {_FEW} are the least."
    )


# With fewer labelled rows than columns some β gives each of them whatever log-odds one likes, so that without a penalty
# any labels can be explained.
_PER_FEATURE = 1.0


def labels_per_feature(fit: FitStatistics) -> str | None:
    """Fewer labels than coefficients to learn from them."""
    if fit.labels >= _PER_FEATURE * fit.features:
        return None
    return (
        f"{fit.marked} rows: {fit.labels:.0f}{_by_weight(fit)}, for {fit.features} features. Only the penalty "
        "keeps the fit from learning them by heart. Take fewer columns, raise ridge, or label more rows."
    )


# The likelihood ratio that labels unrelated to X exceed once in a thousand times (Wilks). Not once in a hundred: y may
# be nearly a step, which has more freedom than its coefficients count.
_BY_CHANCE = 0.001


def unexplained(fit: FitStatistics) -> str | None:
    """y(x)·e(x) predicts the labels no better than their rate."""
    free = fit.features + fit.propensity_features
    # With more coefficients than labels the ratio has no such distribution, and `labels_per_feature` speaks.
    if free > fit.labels:
        return None
    p = float(chdtrc(free, max(fit.gain, 0.0)))
    if p < _BY_CHANCE:
        return None
    return (
        f"The features tell who is {fit.marked.lower()} no better than chance: the likelihood ratio against "
        f"their mere rate is {fit.gain:.1f} with {free} coefficients (p = {p:.2f}). Look for other columns, or for "
        "curves in these: squares, products, or SAREM(estimator=…)."
    )


# Two standard errors, one-sided 2.3 %. The test is of a model fitted to the same labels, which makes it cautious: on
# data of the model's own kind it stays below 1 nearly always.
_STRAY = 2.0


def stray_labels(fit: FitStatistics) -> str | None:
    """Labels on rows that hardly have a chance of one."""
    if fit.stray <= _STRAY:
        return None
    return (
        f"Rows that the fit gives little chance of a label carry {fit.low:.0f} labels where it expects "
        f"{fit.low_expected:.1f} (score test of stray labels: z = {fit.stray:.1f}). Some labels may be wrong, or "
        "positives of another sort that no straight line takes in. Look at the labelled rows of lowest "
        "predict_proba, or add columns that tell them."
    )


# Variance inflation 1/(1 − r²) is 10 here, the usual bound beyond which two regressors are not told apart. A factor
# whose log-odds have a spread of .25 or less moves by .06 at most with one standard deviation, and is as good as
# constant: which way does not matter.
_COLLINEAR, _FLAT = 0.95, 0.25


def collinear(fit: FitStatistics) -> str | None:
    """y and e vary along one line of rows."""
    if abs(fit.correlation) <= _COLLINEAR or min(fit.spread, fit.propensity_spread) <= _FLAT:
        return None
    together = "rise and fall together" if fit.correlation > 0 else "move against each other"
    return (
        f"y(x) and e(x) {together}: their log-odds correlate by r = {fit.correlation:.2f} over the rows, so the "
        "labels hardly tell one from the other, nor how many are positive. Name the columns that labelling may depend "
        "on (propensity_features), or pass what is known of it to KnownPropensity."
    )


# The labels show only y·e, in which the two can change places; the steeper is called y. Two of equal spread come out
# within this ratio 19 times in 20 at 500 labels (the logarithm of the ratio then has a standard error of .1).
_ALIKE = 0.8


def swapped(fit: FitStatistics) -> str | None:
    """Nothing but the convention says which factor is y."""
    if fit.distinguishable or fit.propensity_spread <= _ALIKE * fit.spread:
        return None
    return (
        "y(x) and e(x) may have changed places: the labels show only their product, and the log-odds of e vary as much "
        f"as those of y (standard deviations {fit.propensity_spread:.2f} and {fit.spread:.2f}), where labelling is "
        "taken to be the flatter of the two. Name the columns that labelling may depend on (propensity_features), or "
        "see whether coef_ or propensity_coef_ is the class you know."
    )


# Most of them: then prior_ rests on rows of which one in a hundred at most shows a label, or e on hardly any that do
# not.
_MOST = 0.5


def at_boundary(fit: FitStatistics) -> str | None:
    """Most expected positives have a propensity of 0 or of 1."""
    if fit.never > _MOST:
        return (
            f"{fit.never:.0%} of the expected positives have a propensity below 0.01: they are extrapolated from "
            "labels that are elsewhere, and prior_ with them. Raise its penalty (propensity_ridge, "
            "shrinkage or ridge), or name propensity_features."
        )
    if fit.surely <= _MOST or fit.frequency > _NEARLY_ALL:
        return None
    return (
        f"{fit.surely:.0%} of the expected positives have a propensity above 0.99: where labels are, everybody "
        "hidden is ruled out. Raise its penalty (propensity_ridge, shrinkage or ridge), or name propensity_features."
    )


# Above this share nearly every positive is taken for labelled, or nearly every row for positive: what is left is a
# twentieth, which no estimate here tells from nothing.
_NEARLY_ALL = 0.95


def all_labelled(fit: FitStatistics) -> str | None:
    """Nobody is hidden."""
    if fit.frequency <= _NEARLY_ALL or memorised(fit) is not None:
        return None
    return (
        f"Nearly every positive counts as labelled (label_frequency_ = {fit.frequency:.3f}): {fit.method} found "
        "nobody hidden, which is what Naive says without looking. Try another method beside it, or fewer columns."
    )


def all_positive(fit: FitStatistics) -> str | None:
    """Everybody is positive."""
    if fit.prior <= _NEARLY_ALL:
        return None
    return (
        f"Nearly every row counts as positive (prior_ = {fit.prior:.3f}): the data do not tell how many are. Try "
        "another method beside it, or pass what is known of the propensities to KnownPropensity."
    )


# A flexible classifier that has learnt the labels by heart leaves no hidden positive; that much is suspicious.
_BY_HEART = 0.99


def memorised(fit: FitStatistics) -> str | None:
    """The classifier inside knows the labels by heart."""
    if not fit.flexible or fit.frequency <= _BY_HEART:
        return None
    return (
        f"The estimator inside {fit.method} tells labelled rows from unlabelled ones so well that nearly every "
        f"positive counts as labelled (label_frequency_ = {fit.frequency:.3f}). Give it less freedom, for instance "
        "shallower trees, or name the propensity_features."
    )


# Of 72 fits of JERM to rows of which half are positive, in classes that overlap or hardly do, with and without a
# quantile, those above this had a prior_ too high by .10 to .24, those below .76 by .04 to .15.
_EVERYBODY = 0.9


def all_likely(share: float, way_out: str) -> str | None:
    """Nearly every row was taken for positive while e was fitted, `share` of them."""
    if share <= _EVERYBODY:
        return None
    return (
        f"{share:.0%} of the rows were taken for positive while the propensity was fitted (positives_path_): the "
        f"classes overlap too much to set a threshold, and prior_ is probably too high. {way_out}"
    )


# Twice the log-likelihood by which two starts may differ and both be within one 95 % region (χ² of one degree), and the
# mean difference of y(x) from which they give other answers.
_NEAR_BEST, _APART = 3.84, 0.05


def starts_disagree(risks: Any, distances: Any, rows: float) -> str | None:
    """Starts of nearly the best risk per row, of so many rows, whose y(x) is at a distance from the best."""
    near = 2.0 * rows * (np.asarray(risks) - np.min(risks)) < _NEAR_BEST
    apart = np.asarray(distances)[near]
    if apart.max() <= _APART:
        return None
    return (
        f"{int((apart > _APART).sum())} of {len(near)} starts explain the labels as well as the best one by another "
        f"y(x), which differs by up to {apart.max():.2f} on average (starts_): the data do not determine the answer. "
        "Name propensity_features, raise ridge, or take fewer columns."
    )


# So far apart, labels at random and labels that follow the class tell of few positives and of many.
_WIDE = 0.15


def readings_differ(priors: dict[str, float]) -> str | None:
    """How many are positive depends on how the climb of the labels' curve is shared out, and no label tells."""
    low, high = priors["constant"], priors["shared"]
    if high - low <= _WIDE:
        return None
    return (
        f"The labels leave open whether {low:.0%} or {high:.0%} of the rows are positive (diagnosis_.priors): rely "
        "on the order of the rows more than on prior_ and the cut. Name propensity_features, or compare with SAREM."
    )


# One row in five is called otherwise by the other half of the data.
_AGREED = 0.8


def halves_disagree(stability: float) -> str | None:
    """Fits to two halves of the rows do not call the same rows positive."""
    if not stability < _AGREED:
        return None
    return (
        f"Fits to two halves of the rows agree on {stability:.0%} of the rows (diagnosis_.stability): there is too "
        "little to learn from. Label more rows, take fewer columns, or raise ridge."
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
    )
}
# Every doubt there is.
KINDS: dict[str, Callable[..., str | None]] = {
    **_FROM_STATISTICS,
    **{function.__name__: function for function in (all_likely, starts_disagree, readings_differ, halves_disagree)},
}

# Which to ask of whom. Of a mere regression of the label or of the class, and where the propensity is known or is a
# function of y; of methods that estimate both, and of those to which the two are alike.
OF_CLASSES = ("few_labels", "labels_per_feature", "unexplained")
OF_LABELS = (*OF_CLASSES, "stray_labels")
OF_KNOWN = (*OF_LABELS, "all_positive")
OF_RATIO = (*OF_KNOWN, "all_labelled")
GENERAL = (*OF_RATIO, "collinear", "at_boundary", "memorised")
SYMMETRIC = (*GENERAL, "swapped")


def ask(fit: FitStatistics, kinds: Iterable[str]) -> tuple[Doubt, ...]:
    """The doubts of these kinds that the statistics raise."""
    asked = set(kinds)
    said = ((kind, function(fit)) for kind, function in _FROM_STATISTICS.items() if kind in asked)
    return tuple(Doubt(kind, message) for kind, message in said if message is not None)


def doubt_of(kind: str, message: str | None) -> tuple[Doubt, ...]:
    """The doubt that a method raises by itself, for `Model.doubts`; none where there is no message."""
    return () if message is None else (Doubt(kind, message),)


def _by_weight(fit: FitStatistics) -> str:
    return "" if float(fit.labels).is_integer() else ", by their weights"
