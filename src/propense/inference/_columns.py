"""What the columns named for labelling are worth: if they move the labels, and if the answer depends on them."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from propense._diagnostics.fit_statistics import p_by_chance
from propense._diagnostics.named_columns import LabelDesigns, fit_labels, label_designs, label_gain
from propense._inputs.feature_lists import read_columns
from propense._inputs.inside import method_inside
from propense._inputs.options import Seed, check_options
from propense._inputs.sample import Sample, read_sample
from propense._maths.arrays import Index
from propense._maths.double_logistic import hidden_positive
from propense._maths.logistic import logit, sigmoid, softplus
from propense._maths.quantiles import repeated_quantile
from propense._representation import Readable, Sheet
from propense.errors import InvalidOption
from propense.estimators import KnownPropensity, SeveralSources
from propense.estimators._base import BasePUClassifier

__all__ = ["ColumnChange", "ColumnCheck", "column_check"]

# The usual level of a test.
_LEVEL = 0.05
# An answer that changes by no more than this, in the share of positives and in the share of rows that are predicted
# otherwise, hardly changes: two points in a hundred, and one row in twenty. Round numbers, not the result of a study.
_SAME_PRIOR, _SAME_ROWS = 0.02, 0.05
# The share of what the columns say about the labels below which the named ones say little.
_LITTLE = 0.02
_FOLDS = 5
# Up to this many named columns, each is left out in turn.
_EACH = 10
# The middle of the positives.
_MIDDLE = 0.1, 0.9


@dataclass(frozen=True)
class ColumnChange:
    """How the answer would change if the columns were named otherwise.

    Attributes
    ----------
    prior : float
        The estimated share of positives then.
    changed : float
        The share of rows whose prediction is another one.
    correlation : float
        The rank correlation over the unlabelled rows of h(x), the chance that such a row is positive, with these names
        and with the others: 1 if a list of rows to review would be the same.
    """

    prior: float
    changed: float
    correlation: float

    def __str__(self) -> str:
        order = "" if math.isnan(self.correlation) else f", rank correlation of unlabelled rows {self.correlation:.2f}"
        return f"{self.prior:.1%} positive, {self.changed:.1%} of rows predicted otherwise{order}"


@dataclass(frozen=True, repr=False)
class ColumnCheck(Readable):
    """The result of `column_check`; ``str()`` explains it in words.

    Attributes
    ----------
    columns : list of str
        The columns named for e.
    p_value : float
        How often columns that have nothing to do with the labels, given the others, would add as much to a logistic
        regression of the labels (likelihood-ratio test).
    likelihood_ratio : float
        The statistic of that test: twice the log-likelihood that the named columns add.
    coefficients : int
        The number of coefficients of the named columns.
    gain, gain_error : float
        By how much they lower the loss of the labels per row, among rows that the regression has not seen, and the
        standard error of that.
    share : float
        ``gain`` divided by what all columns together lower the same loss by, compared with no columns.
    propensity : tuple of float
        e(x) of the positives: 80% of them lie between these two.
    prior : float
        The estimated share of positives with these names.
    changes : dict of str to ColumnChange
        How the answer would change: "nothing named"; "without A" for each of up to ten columns; and "kept out of being
        positive, too", where y may not depend on the named columns either.
    """

    columns: list[str]
    p_value: float
    likelihood_ratio: float
    coefficients: int
    gain: float
    gain_error: float
    share: float
    propensity: tuple[float, float]
    prior: float
    changes: dict[str, ColumnChange]

    @property
    def verdict(self) -> str:
        """Weak: the columns hardly move the labels; idle: they do, but naming them changes little; or decisive."""
        if self.p_value > _LEVEL or self.share < _LITTLE:
            return "weak"
        plain = self.changes[_NOTHING]
        same = abs(plain.prior - self.prior) <= _SAME_PRIOR and plain.changed <= _SAME_ROWS
        return "idle" if same else "decisive"

    def _headline(self) -> str:
        return f"{', '.join(self.columns)}: {self.verdict}, {self.prior:.1%} of rows are positive"

    def _sheets(self) -> list[Sheet]:
        lines = [["as named", f"{self.prior:.1%}", "", ""]]
        for name, each in self.changes.items():
            order = "" if math.isnan(each.correlation) else f"{each.correlation:.2f}"
            lines.append([name, f"{each.prior:.1%}", f"{each.changed:.1%}", order])
        head = ["columns named", "positive rows", "predicted otherwise", "rank correlation"]
        return [Sheet("How the answer depends on the names", head, lines)]

    def __str__(self) -> str:
        low, high = self.propensity
        p = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"
        share = f"{max(self.share, 0.0):.0%} of what all columns say about the labels"
        moved = "hardly move" if self.verdict == "weak" else "move"
        lines = [
            f"Named for labelling: {', '.join(self.columns)}.",
            f"They {moved} the labels, given the other columns: they add {share} ({p}).",
            f"The chance of a label is {low:.0%} to {high:.0%} for 80% of the positives.",
            f"As named: {self.prior:.1%} positive.",
            *(f"{name[0].upper()}{name[1:]}: {change}." for name, change in self.changes.items()),
            _VERDICTS[self.verdict],
        ]
        return "\n".join(lines)


_NOTHING = "nothing named"
_VERDICTS = {
    "weak": "The named columns hardly move the labels. To name them is nearly to say that every positive is equally "
    "likely to be labelled. Name them only if you believe that.",
    "idle": "The named columns move the labels, but naming them decides little: the answer is nearly the same "
    "without names.",
    "decisive": "Naming them decides much: the answer is as good as the names. Be sure that the named columns drive "
    "the labels, and that no other column does.",
}


def column_check(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    propensity_features: Any = None,
    sample_weight: Any = None,
    known_negative: Any = None,
    random_state: Any = 0,
) -> ColumnCheck:
    """Check the columns that are named for e: whether they move the labels, and what depends on naming them.

    Which columns to name for e, the chance that a positive row is labelled, is knowledge that data cannot replace or
    prove. But data can show two things: whether the columns are related to the labels at all, as they must be if
    labelling depends on them; and whether the answer changes if they are not named. If it does not, it matters little
    whether they are named rightly. The estimator is cloned and fitted again: as it is, with nothing named, without each
    of the named columns, and with the named columns kept out of y.

    Parameters
    ----------
    estimator : estimator of propense, fitted or not, or a pipeline or search that ends in one
        With ``propensity_features``, or they are passed here. The columns are those that the last step of a pipeline
        sees: ``set_output(transform="pandas")`` keeps their names. Steps that are fitted stay as they are; others are
        fitted first.
    X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Which rows are labelled, as in ``fit``.
    propensity_features : list of str or of int, default=None
        The columns to check in place of those of the estimator.
    sample_weight, known_negative : array-like of shape (n_samples,), default=None
        As in ``fit``.
    random_state : int, RandomState instance or None, default=0
        Splits the rows for ``gain`` and ``share``.

    Returns
    -------
    ColumnCheck

    Notes
    -----
    The regressions of the labels are linear in the columns. If the labels follow a curve in a column that is not named,
    a named column that is related to that curve seems to move the labels. And a column can move the labels because it
    moves the class: data cannot show which. So the check can show that a column is named in vain, but not that a column
    is named rightly.

    Examples
    --------
    >>> from propense import SAREM, column_check
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(3000, 6, random_state=0)
    >>> result = column_check(SAREM(propensity_features=[3, 4]), data.X, data.labelled)
    >>> result.verdict
    'decisive'
    >>> print(f"{result.prior:.2f} as named, {result.changes['nothing named'].prior:.2f} with nothing named")
    0.40 as named, 0.45 with nothing named
    """
    if not Seed().allows(random_state):
        raise InvalidOption(f"column_check(random_state={random_state!r}): must be {Seed()}.")
    estimator, X = _as_seen(estimator, X, y)
    asked = _with_names(estimator, propensity_features)
    base = _Answer(asked, X, y, sample_weight, known_negative)
    model, sample = base.model, base.sample
    named = read_columns(model, "propensity_features")
    if named is None or not len(named):
        raise InvalidOption(
            f"column_check(propensity_features={asked.propensity_features!r}): no column is named, so there is nothing "
            "to check. Name the columns that labelling may depend on."
        )
    designs = label_designs(sample)
    ratio = label_gain(sample, designs)
    gain, error, share = _held_out_gain(sample, designs, random_state)
    names = getattr(model, "feature_names_in_", [f"column {j}" for j in range(model.n_features_in_)])
    return ColumnCheck(
        columns=[str(names[j]) for j in named],
        p_value=p_by_chance(ratio, designs.added),
        likelihood_ratio=ratio,
        coefficients=designs.added,
        gain=gain,
        gain_error=error,
        share=share,
        propensity=base.propensity_range(),
        prior=model.prior_,
        changes={
            name: base.change(_Answer(clone(asked).set_params(**options), X, y, sample_weight, known_negative))
            for name, options in _variants(model, named, names)
        },
    )


class _Answer:
    """A fit, and what it says of its rows: by models that have not seen them, if the method has such."""

    def __init__(self, asked: BasePUClassifier, X: Any, y: Any, sample_weight: Any, known_negative: Any) -> None:
        self.model = clone(asked)
        check_options(self.model, self.model._options)
        sample, _ = read_sample(self.model, X, y, sample_weight, None, self.model._read_labels, known_negative)
        if sample.negative is not None and not self.model._takes_negatives():
            raise InvalidOption(f"{self.model} cannot use known negatives. Leave them out.")
        with warnings.catch_warnings():
            # What a fit that nobody asked for has to say is not news.
            warnings.simplefilter("ignore")
            self.model._fit_sample(sample)
        self.sample, bring = sample, sample.design.bring
        if hasattr(self.model, "oof_posterior_"):
            a, b = (logit(bring(each)) for each in (self.model.oof_posterior_, self.model.oof_propensity_))
        else:
            a, b = (bring(each) for each in self.model._rows_log_odds(sample))
        self.positive, self.propensity, self.hidden = a > self.model._cut(), sigmoid(b), hidden_positive(a, b)
        self.unlabelled = bring(sample.unlabelled)
        self.weights = np.ones(len(a)) if sample.weights is None else bring(sample.weights)

    def propensity_range(self) -> tuple[float, float]:
        """Two quantiles of e(x) over the positives."""
        expected = np.where(self.unlabelled, self.hidden, self.sample.design.bring(self.sample.labelled) * 1.0)
        # Quantiles of rows that count in part: as if each had a thousand copies.
        copies = 1000.0 * self.weights * expected
        low, high = (repeated_quantile(self.propensity, copies, each) for each in _MIDDLE)
        return low, high

    def change(self, other: "_Answer") -> ColumnChange:
        """How the other answer differs."""
        changed = float(np.average(self.positive != other.positive, weights=self.weights))
        orders = [rankdata(each.hidden[self.unlabelled]) for each in (self, other)]
        constant = any(np.ptp(order) == 0 for order in orders)
        correlation = math.nan if constant else float(np.corrcoef(*orders)[0, 1])
        return ColumnChange(other.model.prior_, changed, correlation)


def _as_seen(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """The last step of a pipeline and the features as it sees them; steps that are not fitted are fitted first."""
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1 and not _is_fitted(estimator[:-1]):
        estimator, X = estimator.steps[-1][1], clone(estimator[:-1]).fit_transform(X, y)
    inside = method_inside(estimator)
    return inside.method, inside.transform(X)


def _is_fitted(steps: Any) -> bool:
    try:
        check_is_fitted(steps)
    except NotFittedError:
        return False
    return True


def _with_names(estimator: Any, columns: Any) -> BasePUClassifier:
    """The estimator with its columns of e, or those passed."""
    if not isinstance(estimator, BasePUClassifier):
        raise InvalidOption(f"estimator={type(estimator).__name__}: pass an estimator of propense.")
    if isinstance(estimator, KnownPropensity) or "propensity_features" not in estimator.get_params(deep=False):
        raise InvalidOption(
            f"column_check: {type(estimator).__name__} does not estimate which rows are labelled, so no column is "
            "named for that. SAREM or PUClassifier do, for instance."
        )
    if isinstance(estimator, SeveralSources):
        raise InvalidOption(
            "column_check takes one column of labels, and SeveralSources has several, which separate y from e without "
            "names. Check the columns of one source with SAREM, for instance."
        )
    asked: BasePUClassifier = clone(estimator)
    if columns is not None:
        asked.set_params(propensity_features=columns)
    return asked


def _variants(model: Any, named: Index, names: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Other names for columns, each with what they are called."""
    yield _NOTHING, {"class_features": None, "propensity_features": None}
    if 1 < len(named) <= _EACH:
        for column in named:
            yield f"without {names[column]}", {"propensity_features": [int(j) for j in named if j != column]}
    of_class = read_columns(model, "class_features")
    every = np.arange(model.n_features_in_) if of_class is None else of_class
    others = np.setdiff1d(every, named)
    if 0 < len(others) < len(every):
        yield "kept out of being positive, too", {"class_features": [int(j) for j in others]}


def _held_out_gain(sample: Sample, designs: LabelDesigns, random_state: Any) -> tuple[float, float, float]:
    """By how much the named columns lower the loss of labels that were held out; its error; as a share of all."""
    send, bring = sample.design.send, sample.design.bring
    s, n = bring(sample.labelled), sample.design.shape[0]
    weights = np.ones(n) if sample.weights is None else bring(sample.weights)
    folds = min(_FOLDS, int(s.sum()), int((~s).sum()))
    if folds < 2:
        return math.nan, math.nan, math.nan
    from sklearn.model_selection import StratifiedKFold

    constant, without, complete = np.zeros((3, n))
    for train, out in StratifiedKFold(folds, shuffle=True, random_state=random_state).split(np.zeros((n, 1)), s):
        kept = np.zeros(n)
        kept[train] = weights[train]
        rate = np.average(s[train], weights=weights[train])
        constant[out] = logit(rate)
        for log_odds, design in ((without, designs.without), (complete, designs.complete)):
            coef = fit_labels(design, sample.labelled, send(kept))
            log_odds[out] = bring(design.matvec(coef))[out]
    losses = [softplus(each) - s * each for each in (constant, without, complete)]
    means = [float(np.average(each, weights=weights)) for each in losses]
    fall = losses[1] - losses[2]
    gain = means[1] - means[2]
    error = math.sqrt(float(np.sum((weights * (fall - gain)) ** 2))) / float(weights.sum())
    explained = means[0] - means[2]
    return gain, error, gain / explained if explained > 0 else 0.0
