"""Intervals for the estimates of a fit: how much they would change with another sample of rows."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from propense._inputs.inside import method_inside
from propense._inputs.options import Choice, Count, Option, Seed
from propense._inputs.sample import Sample, read_features, read_sample
from propense._maths.arrays import Matrix, as_float, to_host
from propense._maths.logistic import LARGEST_LOG_ODDS, sigmoid
from propense._representation import Readable, Sheet
from propense.errors import InvalidInput, InvalidOption
from propense.estimators import KnownPropensity, PUClassifier
from propense.estimators._base import BasePUClassifier
from propense.inference._bootstrap import refit
from propense.inference._debias import debiased, log_odds_of
from propense.inference._sandwich import sandwich_errors
from propense.inference._survey import Survey, read_survey

__all__ = ["Interval", "Intervals", "intervals"]

_OPTIONS: dict[str, Option] = {
    "how": Choice(("bootstrap", "sandwich")),
    "n_resamples": Count(high=10**6),
    "random_state": Seed(),
}
# The prior on the rows passed may differ from that of fit by this: sums in another order round differently.
_SAME = 1e-6


@dataclass(frozen=True)
class Interval:
    """An estimate and the ends of its interval: numbers, or arrays with one entry per row.

    Attributes
    ----------
    estimate, low, high : float or ndarray of shape (n_rows,)
    """

    estimate: Any
    low: Any
    high: Any


@dataclass(frozen=True, repr=False)
class Intervals(Readable):
    """The result of `intervals`; ``str()`` explains it in words.

    Attributes
    ----------
    prior : Interval
        P(Y=1), the prevalence in the population that the rows were drawn from.
    label_frequency : Interval
        c = P(S=1 | Y=1).
    posterior, propensity, hidden : Interval or None
        y(x) = P(Y=1 | x), e(x) = P(S=1 | Y=1, x) and h(x) = P(Y=1 | x, S=0) of each row of ``at``, each on its own:
        95% of the rows should lie in their intervals, which does not mean that all do in 95% of samples.
    how : str
    confidence : float
    n_resamples, failed, unconverged : int
        The number of refits, of those that failed and were left out, and of those that were used although they did not
        converge. 0 for the sandwich.
    strata, clusters : int
        How many there were; 0 if none were passed.
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
    strata: int = 0
    clusters: int = 0

    def _headline(self) -> str:
        found = self.prior
        return f"{found.estimate:.1%} of rows are positive, {found.low:.1%} to {found.high:.1%}"

    def _sheets(self) -> list[Sheet]:
        kept = {"positive rows": self.prior, "positives that are labelled": self.label_frequency}
        lines = [[name, *(f"{each:.1%}" for each in (x.estimate, x.low, x.high))] for name, x in kept.items()]
        return [Sheet(f"{100 * self.confidence:g}% intervals", ["share", "estimate", "low", "high"], lines)]

    def __str__(self) -> str:
        prior, frequency = self.prior, self.label_frequency
        parts = [f"{self.clusters:,} clusters"] * bool(self.clusters) + [f"{self.strata:,} strata"] * bool(self.strata)
        source = "sandwich standard errors" + (f" of {' in '.join(parts)}" if parts else "")
        if self.how == "bootstrap":
            drawn = f"{'clusters' if self.clusters else 'rows'}" + (f" ({' in '.join(parts)})" if parts else "")
            source = f"{self.n_resamples} refits to resampled {drawn}"
            faults = [(self.failed, "failed"), (self.unconverged, "did not converge")]
            counts = " and ".join(f"{count} {what}" for count, what in faults if count)
            source += f", of which {counts}" if counts else ""
        return (
            f"{prior.estimate:.1%} of rows are positive ({100 * self.confidence:g}% interval "
            f"{prior.low:.1%} to {prior.high:.1%}), and {frequency.estimate:.1%} of the "
            f"positives are labelled ({frequency.low:.1%} to {frequency.high:.1%}). From {source}."
        )


def intervals(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    propensity: Any = None,
    strata: Any = None,
    clusters: Any = None,
    at: Any = None,
    how: str = "bootstrap",
    confidence: float = 0.95,
    n_resamples: int = 200,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Intervals:
    """Intervals for the prevalence, the label frequency, and y(x), e(x) and h(x) of some rows.

    They show how much the estimates would change with another sample of rows from the same population. They contain
    the truth as often as promised if the method's model holds. If it does not, they are narrow around the wrong value.

    Parameters
    ----------
    estimator : fitted estimator of propense, or a pipeline or search that ends in one
        In a pipeline, the steps before the last stay as they are, and the refits are of the last step alone: what a
        scaler or a selection of columns would learn from other rows is not in the intervals.
    X, y, sample_weight, propensity
        The data it was fitted to; ``propensity`` is for `KnownPropensity` only. Weights count rows: weight 2 is the row
        twice, and the sum of the weights is the sample size. With strata or clusters, they are the weights of a survey.
    strata, clusters : array-like of shape (n_samples,), default=None
        For the rows of a survey: its strata, and within them the clusters that were drawn, such as villages, hospitals
        or the patients of several visits (primary sampling units). Either may be passed alone. A cluster of the same
        name in another stratum is another cluster. Each stratum needs two clusters.
    at : array-like, sparse matrix, data frame or tensor of shape (n_rows, n_features), default=None
        The rows for which to compute intervals of y(x), e(x) and h(x).
    how : {"bootstrap", "sandwich"}, default="bootstrap"
        "bootstrap" refits the estimator to rows drawn with replacement. It works for every method; `JointMLE`, `SAREM`
        and `LBE` start at the fitted answer, which takes a tenth of the time. `PUClassifier` refits all of its learners
        in every fold, so that 200 refits take 200 times as long as the fit. "sandwich" needs no refits: it uses the
        curvature of the loss at the answer, and how much its gradients differ between rows. It is for the methods whose
        answer is a logistic y and a logistic e that minimise the log loss of the labels together: `JointMLE` without a
        ``radius``, and `SAREM` and `LBE` with ``variant="em"``.
    confidence : float, default=0.95
        How often the intervals should contain the truth.
    n_resamples : int, default=200
        The number of refits of the bootstrap.
    random_state : int, RandomState instance or None, default=None
        Draws the rows, and replaces the estimator's own ``random_state`` if it has one.
    n_jobs : int, default=None
        The number of refits at a time, as in scikit-learn. The result does not depend on it.

    Returns
    -------
    Intervals

    Notes
    -----
    Bootstrap intervals lie between two quantiles of the refits; sandwich intervals extend z standard errors to either
    side on the scale of log-odds. For the methods of the sandwich, both correct the bias of the ridge penalty, to first
    order: the interval shows where the truth may be, not where another fit with the penalty would be, and the estimate
    need not be in the middle.

    With strata or clusters, whole clusters vary, within their strata. The bootstrap draws nₕ − 1 of the nₕ clusters of
    a stratum with replacement, and those drawn get nₕ/(nₕ − 1) times their weight (Rao, Wu and Yue 1992); the sandwich
    adds up gradients by cluster (Binder 1983). Both use quantiles of the t distribution, with as many degrees of
    freedom as there are clusters less strata.

    For a `PUClassifier` with learners, the intervals show how much its answer would change with other rows. They do
    not include what the labels leave open: ``diagnosis_.low`` and ``high`` do, and are usually further apart.

    Where y and e are interchangeable, the factor called y in the fit is called y in every refit. So intervals do not
    include the doubt about which is which; ``starts_`` of `JointMLE` shows it.

    Examples
    --------
    >>> from propense import JointMLE, intervals
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(3000, 6, random_state=0)
    >>> model = JointMLE(propensity_features=[3, 4, 5], random_state=0).fit(data.X, data.labelled)
    >>> found = intervals(model, data.X, data.labelled, how="sandwich", at=data.X[:2])
    >>> print(found)  # doctest: +NORMALIZE_WHITESPACE
    45.1% of rows are positive (95% interval 41.9% to 49.2%), and 56.5% of the positives are labelled (51.2% to
    60.6%). From sandwich standard errors.
    """
    inside = method_inside(estimator)
    estimator, X, at = inside.method, inside.transform(X), None if at is None else inside.transform(at)
    _check(estimator, how=how, n_resamples=n_resamples, random_state=random_state, confidence=confidence)
    sample = _read(estimator, X, y, sample_weight, propensity)
    survey = _read_survey(sample, sample_weight, strata, clusters)
    design = None if at is None else read_features(estimator, at)
    made = failed = unconverged = 0
    tail = (1.0 - confidence) / 2.0
    far = float(ndtri(tail) if survey is None else stdtrit(survey.degrees_of_freedom, tail))
    if how == "sandwich":
        errors = sandwich_errors(estimator, sample, design, survey)
        ends = log_odds_of(debiased(estimator, sample), design) + np.outer([far, -far], errors)
    else:
        refits = refit(estimator, sample, design, n_resamples, random_state, n_jobs, survey)
        # Quantiles of few clusters are too close, by as much as normal quantiles are to those of t (Hesterberg 2015).
        tail = tail if survey is None else float(ndtr(far))
        ends = np.quantile(refits.draws, [tail, 1.0 - tail], axis=0)
        made, failed, unconverged = n_resamples, refits.failed, refits.unconverged
    values = _chances(np.stack([log_odds_of(estimator, design), *ends]))
    prior, frequency = (Interval(*values[:, which].tolist()) for which in (0, 1))
    posterior, propensities, hidden = (
        (None, None, None) if at is None else (Interval(*part) for part in np.split(values[:, 2:], 3, axis=1))
    )
    counts = (0, 0) if survey is None else (len(survey.sizes), len(survey.stratum))
    counts = counts[0] * (strata is not None), counts[1] * (clusters is not None)
    return Intervals(
        prior, frequency, posterior, propensities, hidden, how, float(confidence), made, failed, unconverged, *counts
    )


def _read_survey(sample: Sample, sample_weight: Any, strata: Any, clusters: Any) -> Survey | None:
    """The survey of the rows of the sample; rows of weight 0, which are not in it, leave their clusters there."""
    if strata is None and clusters is None:
        return None
    if sample.rows is None:
        return read_survey(strata, clusters, sample.design.shape[0])
    return read_survey(strata, clusters, len(to_host(sample_weight))).of(sample.design.bring(sample.rows))


def _chances(log_odds: Matrix) -> Matrix:
    """σ, with exactly 0 and 1 where `log_odds_of` was clipped."""
    certain = np.abs(log_odds) >= LARGEST_LOG_ODDS
    return np.where(certain, (log_odds > 0).astype(np.float64), sigmoid(log_odds))


def _check(estimator: Any, *, confidence: Any, **options: Any) -> None:
    """Reject what cannot be used."""
    if not isinstance(estimator, BasePUClassifier):
        raise InvalidOption(f"estimator={type(estimator).__name__}: pass a fitted estimator of propense.")
    check_is_fitted(estimator)
    if hasattr(estimator, "audit_"):
        raise InvalidOption(
            f"This {type(estimator).__name__} was corrected by an audit, and refits know nothing of it. The interval "
            "of the audit is in audit_; that of a row is predict_hidden_range."
        )
    for name, value in options.items():
        if not _OPTIONS[name].allows(value):
            raise InvalidOption(f"{name}={value!r}: must be {_OPTIONS[name]}.")
    if options["how"] == "bootstrap" and options["n_resamples"] < 2:
        raise InvalidOption("n_resamples=1: the bootstrap needs at least 2 refits.")
    if isinstance(confidence, bool) or not isinstance(confidence, numbers.Real) or not 0.0 < float(confidence) < 1.0:
        raise InvalidOption(f"confidence={confidence!r}: must be a number above 0 and below 1, such as 0.95.")


def _read(estimator: BasePUClassifier, X: Any, y: Any, sample_weight: Any, propensity: Any) -> Sample:
    """The sample that the estimator was fitted to, checked by its prior."""
    # Reading sets the column names of an estimator: use a clone, and leave the fitted one unchanged.
    sample, _ = read_sample(clone(estimator), X, y, sample_weight, propensity, estimator._read_labels)
    known = isinstance(estimator, KnownPropensity)
    if known != (propensity is not None):
        words = "needs the propensity that it was fitted with" if known else "was fitted without a propensity"
        raise InvalidOption(f"intervals(propensity=…): {type(estimator).__name__} {words}.")
    if sample.negative is not None:
        raise InvalidOption("intervals does not take known negatives: the smaller value of y, next to missing ones.")
    prior = _prior_of_rows(estimator, sample)
    if abs(prior - estimator.prior_) > _SAME:
        raise InvalidInput(
            f"The prior on these rows is {prior:.6g}, but {estimator.prior_:.6g} in the fit. Pass the X, y and "
            "sample_weight of fit, and new rows as at=. Fits with known_negative are not supported."
        )
    return sample


def _prior_of_rows(estimator: BasePUClassifier, sample: Sample) -> float:
    """The estimated P(Y=1) as fit computed it: from rows that were scored out of fold, if they were."""
    out_of_fold = getattr(estimator, "oof_hidden_", None)
    if out_of_fold is None:
        if isinstance(estimator, PUClassifier):
            raise InvalidOption(
                "This PUClassifier was loaded from a file, which holds no out-of-fold scores of its rows. Fit it again "
                "first."
            )
        return sample.share_positive(*estimator._rows_log_odds(sample))
    if out_of_fold.shape != sample.labelled.shape:
        raise InvalidInput(
            f"X has {sample.labelled.shape[0]} rows of weight above 0, but {out_of_fold.shape[0]} in the fit. Pass the "
            "X, y and sample_weight of fit, and new rows as at=."
        )
    return sample.mean(as_float(sample.labelled) + ~sample.labelled * out_of_fold)
