"""Intervals for what a fitted estimator says: how far another sample of rows would have moved it."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from propense._inputs.options import Choice, Count, Option, Seed
from propense._inputs.sample import Sample, read_features, read_sample
from propense._maths.logistic import LARGEST_LOG_ODDS, sigmoid
from propense._steps.model import Model
from propense.errors import InvalidInput, InvalidOption
from propense.estimators import KnownPropensity
from propense.estimators._base import BasePUClassifier
from propense.inference._bootstrap import refit
from propense.inference._debias import debiased, log_odds_of
from propense.inference._sandwich import sandwich_errors

__all__ = ["Interval", "Intervals", "intervals"]

_OPTIONS: dict[str, Option] = {
    "how": Choice(("bootstrap", "sandwich")),
    "n_resamples": Count(),
    "random_state": Seed(),
}
# How far the prior on the rows passed may be from the one of fit: the rounding of sums in another order.
_SAME = 1e-6


@dataclass(frozen=True)
class Interval:
    """An estimate between two ends: numbers, or arrays with one entry per row.

    Attributes
    ----------
    estimate, low, high : float or ndarray of shape (n_rows,)
    """

    estimate: Any
    low: Any
    high: Any


@dataclass(frozen=True)
class Intervals:
    """What `intervals` returns; ``str`` of it is a sentence.

    Attributes
    ----------
    prior : Interval
        P(Y=1), the prevalence in the population that the rows were drawn from.
    label_frequency : Interval
        c = P(S=1 | Y=1).
    posterior, propensity, hidden : Interval or None
        y(x) = P(Y=1 | x), e(x) = P(S=1 | Y=1, x) and h(x) = P(Y=1 | x, S=0) of each row of ``at``, each row on its own:
        95 % of the rows are to lie in their intervals, not 95 % of the times all of them.
    how : str
    confidence : float
    n_resamples, failed, unconverged : int
        How many refits were made, how many of them failed and are left out, and how many are counted though they did
        not converge. 0 for the sandwich.
    """

    prior: Interval
    label_frequency: Interval
    posterior: Interval | None
    propensity: Interval | None
    hidden: Interval | None
    how: str
    confidence: float
    n_resamples: int
    failed: int
    unconverged: int

    def __str__(self) -> str:
        prior, frequency = self.prior, self.label_frequency
        way = "by the sandwich"
        if self.how == "bootstrap":
            way = f"by {self.n_resamples} refits to resampled rows"
            faults = [(self.failed, "failed"), (self.unconverged, "did not converge")]
            said = " and ".join(f"{count} {what}" for count, what in faults if count)
            way += f", of which {said}" if said else ""
        return (
            f"Prevalence {prior.estimate:.3f} ({100 * self.confidence:g} % interval {prior.low:.3f} to "
            f"{prior.high:.3f}), label frequency {frequency.estimate:.3f} ({frequency.low:.3f} to "
            f"{frequency.high:.3f}), {way}."
        )


def intervals(
    estimator: BasePUClassifier,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    propensity: Any = None,
    at: Any = None,
    how: str = "bootstrap",
    confidence: float = 0.95,
    n_resamples: int = 200,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Intervals:
    """Intervals for the prevalence, the label frequency, and y(x), e(x) and h(x) of some rows.

    They say how far another sample of rows from the same population would have moved the estimates, and hold the truth
    as often as they promise where the method's model holds. Where it does not, they are narrow about the wrong place.

    Parameters
    ----------
    estimator : fitted estimator of propense
    X, y, sample_weight, propensity
        What it was fitted to; ``propensity`` for `KnownPropensity` alone. Weights count rows: weight 2 is the row
        twice, and the sum of the weights is the number of rows that the intervals answer for.
    at : array-like, sparse matrix, data frame or tensor of shape (n_rows, n_features), default=None
        The rows for which y(x), e(x) and h(x) get intervals; None is none.
    how : {"bootstrap", "sandwich"}, default="bootstrap"
        "bootstrap" refits the estimator to rows drawn with replacement; any method will do, and `JointMLE`, `SAREM` and
        `LBE` begin at the fitted answer, which takes a tenth of the time. "sandwich" needs no refit: curvature and
        spread of the risk, for the methods that minimise it over two logistic predictors (`JointMLE` without a
        ``radius``, `SAREM` and `LBE` of variant "em").
    confidence : float, default=0.95
        How often they are to hold the truth.
    n_resamples : int, default=200
        How many refits the bootstrap makes.
    random_state : int, RandomState instance or None, default=None
        Draws the rows, and takes the place of the estimator's own where that has any.
    n_jobs : int, default=None
        How many refits at a time, as everywhere in scikit-learn; the answer is the same.

    Returns
    -------
    Intervals

    Notes
    -----
    The bootstrap's interval lies between two quantiles of the refits; the sandwich's ends are z standard errors to
    either side on the scale of log-odds. Where the method is one of the sandwich's, both undo the pull of its ridge, to
    first order: the interval says where the truth may be, not where another ridged fit would be, and need not have
    the estimate in its middle.

    Refits keep the names: where y and e can change places, what is y in the fit is y in every refit. Intervals do not
    count the doubt which is which; ``starts_`` of `JointMLE` does.

    Examples
    --------
    >>> from propense import JointMLE, intervals
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(3000, 6, random_state=0)
    >>> model = JointMLE(propensity_features=[3, 4, 5], random_state=0).fit(data.X, data.labelled)
    >>> found = intervals(model, data.X, data.labelled, how="sandwich", at=data.X[:2])
    >>> print(found)
    Prevalence 0.451 (95 % interval 0.419 to 0.492), label frequency 0.565 (0.512 to 0.606), by the sandwich.
    """
    _check(estimator, how=how, n_resamples=n_resamples, random_state=random_state, confidence=confidence)
    sample = _read(estimator, X, y, sample_weight, propensity)
    design = None if at is None else read_features(estimator, at)
    made = failed = unconverged = 0
    tail = (1.0 - confidence) / 2.0
    if how == "sandwich":
        errors, centre = sandwich_errors(estimator, sample, design), log_odds_of(debiased(estimator, sample), design)
        ends = centre + np.outer([ndtri(tail), -ndtri(tail)], errors)
    else:
        refits = refit(estimator, sample, design, n_resamples, random_state, n_jobs)
        ends = np.quantile(refits.draws, [tail, 1.0 - tail], axis=0)
        made, failed, unconverged = n_resamples, refits.failed, refits.unconverged
    values = _chances(np.stack([log_odds_of(estimator, design), *ends]))
    prior, frequency = (Interval(*values[:, which].tolist()) for which in (0, 1))
    posterior, propensities, hidden = (
        (None, None, None) if at is None else (Interval(*part) for part in np.split(values[:, 2:], 3, axis=1))
    )
    return Intervals(
        prior, frequency, posterior, propensities, hidden, how, float(confidence), made, failed, unconverged
    )


def _chances(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """σ, with 0 and 1 for the certainties that `log_odds_of` holds within float64."""
    certain = np.abs(log_odds) >= LARGEST_LOG_ODDS
    return np.where(certain, (log_odds > 0).astype(np.float64), sigmoid(log_odds))


def _check(estimator: Any, *, confidence: Any, **options: Any) -> None:
    """Refuse what cannot be used."""
    if not isinstance(estimator, BasePUClassifier):
        raise InvalidOption(
            f"estimator={type(estimator).__name__}: a fitted estimator of propense is needed. Of a pipeline pass the "
            "last step, and the features as that step sees them."
        )
    check_is_fitted(estimator)
    for name, value in options.items():
        if not _OPTIONS[name].allows(value):
            raise InvalidOption(f"{name}={value!r}: must be {_OPTIONS[name]}.")
    if options["how"] == "bootstrap" and options["n_resamples"] < 2:
        raise InvalidOption("n_resamples=1: a spread needs at least two.")
    if isinstance(confidence, bool) or not isinstance(confidence, numbers.Real) or not 0.0 < float(confidence) < 1.0:
        raise InvalidOption(f"confidence={confidence!r}: must be a number above 0 and below 1, such as 0.95.")


def _read(estimator: BasePUClassifier, X: Any, y: Any, sample_weight: Any, propensity: Any) -> Sample:
    """The sample that the estimator was fitted to, found by its prior to be that."""
    # Reading teaches an estimator its columns: a clone is taught, the fitted one stays as it is.
    sample, _ = read_sample(clone(estimator), X, y, sample_weight, propensity, estimator._read_labels)
    known = isinstance(estimator, KnownPropensity)
    if known != (propensity is not None):
        words = "needs the propensity that fit had" if known else "was fitted without a propensity, and takes none"
        raise InvalidOption(f"intervals(propensity=…): {type(estimator).__name__} {words}.")
    model = Model(estimator._posterior, estimator._propensity, estimator.n_iter_, estimator.converged_, [])
    if sample.negative is not None:
        raise InvalidOption("intervals do not take known negatives: a value of y beside missing ones means them.")
    prior = sample.share_positive(*estimator._rows_log_odds(sample, model))
    if abs(prior - estimator.prior_) > _SAME:
        raise InvalidInput(
            f"The prior on these rows is {prior:.6g} where the fit had {estimator.prior_:.6g}: pass the X, y and "
            "sample_weight of fit (and new rows as at). Fits with known_negative are not taken."
        )
    return sample
