"""Expectation–maximisation for y(x)·e(x), the class being the missing datum: what SAR-EM and LBE have in common."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propense._inputs.sample import Sample
from propense._maths.arrays import as_float, namespace
from propense._maths.logistic import sigmoid, softplus
from propense._risks import PairRisk
from propense._solvers import SOLVERS, gradient_norm
from propense._steps.known_negatives import expected_log_unknown, fit_complete, initial_log_unknown, observed_loss
from propense._steps.learners import Learner
from propense._steps.model import Model
from propense._steps.predictors import LogisticPredictor, Predictor

__all__ = [
    "PUBLISHED_BOUND",
    "Learners",
    "Pair",
    "balanced_start",
    "em_round",
    "expected_class",
    "fit_em",
    "log_odds",
    "observed_risk",
    "refit_em",
    "stopped_short",
]

Vector = NDArray[np.float64]

# The E-steps behind the published numbers keep y and e within [1e-4, 1 − 1e-4]; this is the bound on their log-odds.
PUBLISHED_BOUND = math.log((1.0 - 1e-4) / 1e-4)
# How many earlier rounds an extrapolation looks back on.
_MEMORY = 5


@dataclass(frozen=True)
class Learners:
    """What fits y and what fits e."""

    posterior: Learner
    propensity: Learner


@dataclass(frozen=True)
class Pair:
    """y(x) and e(x), and whether the fits that made them converged."""

    posterior: Predictor
    propensity: Predictor
    converged: bool = True
    # log(1 − d), d the share of the negatives that are known to be; 0 where none are.
    log_unknown: float = 0.0


def balanced_start(sample: Sample, learners: Learners) -> Pair:
    """SAR-EM's: y from the label with both sides weighing the same, e with the unlabelled weighed by that y."""
    design, labelled = sample.design, sample.labelled
    share = sample.mean(labelled)
    weights = 1.0 if sample.weights is None else sample.weights
    balanced = share + (1.0 - 2.0 * share) * as_float(labelled)
    posterior, _ = learners.posterior.fit(design, labelled, weights * balanced)
    weights = weights * namespace(labelled).where(labelled, 1.0, sigmoid(sample.log_odds(posterior)))
    if sample.negative is not None:
        weights = weights * as_float(~sample.negative)
    return Pair(
        posterior, learners.propensity.fit(design, labelled, weights)[0], log_unknown=initial_log_unknown(sample)
    )


def observed_risk(sample: Sample, learners: Learners) -> PairRisk:
    """The risk of the labels, ridges included, that the rounds of two logistic learners descend."""
    return PairRisk(
        sample.design,
        sample.labelled,
        columns=learners.propensity.columns,
        negative=sample.negative,
        log_unknown=initial_log_unknown(sample),
        weights=sample.weights,
        ridge=learners.posterior.ridge,
        propensity_ridge=learners.propensity.ridge,
    )


def log_odds(sample: Sample, pair: Pair, bound: float = math.inf) -> tuple[Any, Any]:
    """The log-odds of y and of e, held within ±bound."""
    a, b = sample.log_odds(pair.posterior), sample.log_odds(pair.propensity)
    return a.clip(-bound, bound), b.clip(-bound, bound)


def expected_class(sample: Sample, pair: Pair, bound: float = math.inf) -> Any:
    """The E-step: P(Y=1 | x, s) of every row."""
    return sample.design.hold(sample.expected(*log_odds(sample, pair, bound), pair.log_unknown))


def em_round(sample: Sample, pair: Pair, learners: Learners, bound: float = math.inf) -> Pair:
    """The E-step and the two M-steps, y on soft classes and e on the label, each row as positive as it is expected."""
    expected = expected_class(sample, pair, bound)
    weights = expected if sample.weights is None else sample.weights * expected
    posterior, fitted = learners.posterior.fit(sample.design, expected, sample.weights, pair.posterior)
    propensity, also = learners.propensity.fit(sample.design, sample.labelled, weights, pair.propensity)
    return Pair(posterior, propensity, fitted and also, expected_log_unknown(sample, expected))


def fit_em(sample: Sample, pair: Pair, learners: Learners, *, tol: float, max_iter: int) -> Model:
    """Rounds until they come to rest; the penalised observed risk never rises where both predictors are logistic."""
    if sample.is_complete:
        return fit_complete(sample, learners.posterior)
    linear = learners.posterior.estimator is None and learners.propensity.estimator is None
    watch: _Watch = _LogisticWatch(sample, learners) if linear else _AnyWatch(sample)
    path: list[float] = []
    begun = pair
    while True:
        pair = em_round(sample, begun, learners)
        value, unrest = watch.measure(pair)
        path.append(value)
        if unrest <= tol or len(path) == max_iter:
            break
        begun = watch.ahead(begun, pair, value)
    return Model(
        pair.posterior, pair.propensity, len(path), unrest <= tol and pair.converged, path, log_unknown=pair.log_unknown
    )


def refit_em(sample: Sample, begin: tuple[Vector, Vector], learners: Learners, *, tol: float, max_iter: int) -> Model:
    """Where the rounds of two logistic learners would come to rest from nearby, in a tenth of the time.

    There the gradient of the observed risk is 0, and close to it Newton's method is the faster.
    """
    risk = observed_risk(sample, learners)
    found = SOLVERS["newton"](risk, risk.join(*begin), tol=tol, max_iter=max_iter)
    beta, gamma = (LogisticPredictor(coef) for coef in risk.split(found.coef))
    return Model(beta, gamma, max(found.n_iter, 1), found.converged, [found.value / risk.total_weight])


def stopped_short(estimator: Any) -> str:
    """The complaint of a fit whose rounds, or the regressions in the last of them, did not come to rest."""
    return (
        f"{type(estimator).__name__} stopped after {estimator.n_iter_} rounds short of its tolerance. Scale X, or "
        "raise max_iter, tol, ridge or propensity_ridge."
    )


class _Watch(Protocol):
    """Judges a round, and proposes where to begin the next."""

    def measure(self, pair: Pair) -> tuple[float, float]:
        """The observed risk per row, ridges included, and how far the rounds are from rest."""

    def ahead(self, begun: Pair, ended: Pair, value: float) -> Pair:
        """Where to begin the next round, of risk no higher than `value`, that of `ended`."""


class _LogisticWatch:
    """At rest where the gradient of the observed risk is; the rounds extrapolated (Anderson 1965).

    Plain EM nears its fixed point by a constant share a round, here often 1 %. From the moves of the last few rounds
    the place is predicted where a round would move nothing; it is taken only if the risk there is no higher, so the
    path still never rises.
    """

    def __init__(self, sample: Sample, learners: Learners) -> None:
        self._sample = sample
        self._risk = observed_risk(sample, learners)
        self._begun: list[NDArray[np.float64]] = []
        self._moves: list[NDArray[np.float64]] = []

    def measure(self, pair: Pair) -> tuple[float, float]:
        if self._sample.negative is None:
            value, gradient = self._risk.value_gradient(self._join(pair))
            return value / self._risk.total_weight, gradient_norm(self._risk, gradient)
        risk = self._risk.holding(pair.log_unknown)
        value, gradient = risk.value_gradient(self._join(pair)[:-1])
        # The derivative in the log-odds of d, per row.
        expected = self._sample.weight_of(1.0 - expected_class(self._sample, pair))
        known = self._sample.weight_of(self._sample.negative)
        drift = abs(known + math.expm1(pair.log_unknown) * expected) / risk.total_weight
        return value / risk.total_weight, max(gradient_norm(risk, gradient), drift)

    def ahead(self, begun: Pair, ended: Pair, value: float) -> Pair:
        self._begun = [*self._begun, self._join(begun)][-_MEMORY:]
        self._moves = [*self._moves, self._join(ended) - self._join(begun)][-_MEMORY:]
        if len(self._moves) < 2:
            return ended
        turns = np.diff(self._moves, axis=0).T
        shares = np.linalg.lstsq(turns, self._moves[-1], rcond=1e-10)[0]
        theta = self._join(ended) - (np.diff(self._begun, axis=0).T + turns) @ shares
        pair = self._part(theta)
        if self.measure(pair)[0] <= value:
            return pair
        # Where it misleads, what was learnt so far is of no use either.
        self._begun, self._moves = self._begun[-1:], self._moves[-1:]
        return ended

    def _join(self, pair: Pair) -> NDArray[np.float64]:
        """β and γ; where negatives are known also the log-odds of their share d, without bounds as they are."""
        theta = self._risk.join(pair.posterior.coef, pair.propensity.coef)  # type: ignore[attr-defined]
        return theta if pair.log_unknown == 0.0 else np.append(theta, math.log(math.expm1(-pair.log_unknown)))

    def _part(self, theta: NDArray[np.float64]) -> Pair:
        if self._sample.negative is None:
            beta, gamma = self._risk.split(theta)
            return Pair(LogisticPredictor(beta), LogisticPredictor(gamma))
        beta, gamma = self._risk.split(theta[:-1])
        # log(1 − d) = −log(1 + e^(log-odds of d)).
        return Pair(LogisticPredictor(beta), LogisticPredictor(gamma), log_unknown=-float(softplus(theta[-1])))


class _AnyWatch:
    """At rest where the expected classes change no more, on average; nothing is known to extrapolate."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self._expected: Any = None

    def measure(self, pair: Pair) -> tuple[float, float]:
        sample = self._sample
        a, b = log_odds(sample, pair)
        before, self._expected = self._expected, sample.expected(a, b, pair.log_unknown)
        unrest = math.inf if before is None else sample.mean(abs(self._expected - before))
        return observed_loss(sample, a, b, pair.log_unknown), unrest

    def ahead(self, begun: Pair, ended: Pair, value: float) -> Pair:
        return ended
