"""Expectation–maximisation for y(x)·e(x) with the class as missing data: what SAR-EM and LBE have in common."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from propense._designs import Predictor
from propense._inputs.sample import Sample
from propense._maths.arrays import Vector, as_float, namespace
from propense._maths.double_logistic import joint_loss
from propense._maths.logistic import sigmoid, softplus
from propense._progress import begin_stage
from propense._risks import PairRisk
from propense._solvers import gradient_norm, newton
from propense._steps.known_negatives import expected_log_unknown, initial_log_unknown, observed_loss
from propense._steps.learners import Learner
from propense._steps.predictors import LogisticPredictor, Model

__all__ = [
    "PUBLISHED_BOUND",
    "Learners",
    "Pair",
    "balanced_start",
    "em_round",
    "expected_class",
    "fit_em",
    "log_odds",
    "not_converged",
    "observed_risk",
    "refit_em",
]

# The E-steps behind the published numbers keep y and e within [1e-4, 1 − 1e-4]: the bound on their log-odds.
PUBLISHED_BOUND = math.log((1.0 - 1e-4) / 1e-4)
# The number of earlier rounds that an extrapolation uses.
_MEMORY = 5


@dataclass(frozen=True)
class Learners:
    """The learner of y and the learner of e."""

    posterior: Learner
    propensity: Learner


@dataclass(frozen=True)
class Pair:
    """y(x) and e(x), and whether the fits that made them converged."""

    posterior: Predictor
    propensity: Predictor
    converged: bool = True
    # log(1 − d), where d is the share of negatives that are known.
    log_unknown: float = 0.0


def balanced_start(sample: Sample, learners: Learners) -> Pair:
    """SAR-EM's start: y from the label, both sides with the same total weight; e with unlabelled rows weighted by y."""
    design, labelled = sample.design, sample.labelled
    share = sample.mean(labelled)
    weights = 1.0 if sample.weights is None else sample.weights
    balanced = share + (1.0 - 2.0 * share) * as_float(labelled)
    posterior, _ = learners.posterior.fit(design, labelled, weights * balanced)
    weights = weights * namespace(labelled).where(labelled, 1.0, sigmoid(sample.log_odds(posterior)))
    if sample.negative is not None:
        weights = weights * as_float(~sample.negative)
    return Pair(posterior, learners.propensity.fit(design, labelled, weights)[0])


def observed_risk(sample: Sample, learners: Learners) -> PairRisk:
    """The risk of the labels, ridges included, that the rounds of two logistic learners lower."""
    return PairRisk(
        sample.design,
        sample.labelled,
        columns=learners.propensity.columns,
        class_columns=learners.posterior.columns,
        weights=sample.weights,
        ridge=learners.posterior.ridge,
        propensity_ridge=learners.propensity.ridge,
    )


def log_odds(sample: Sample, pair: Pair, bound: float = math.inf) -> tuple[Any, Any]:
    """The log-odds of y and of e, clipped to ±bound."""
    a, b = sample.log_odds(pair.posterior), sample.log_odds(pair.propensity)
    return a.clip(-bound, bound), b.clip(-bound, bound)


def expected_class(sample: Sample, pair: Pair, bound: float = math.inf) -> Any:
    """The E-step: P(Y=1 | x, s) of every row."""
    return sample.design.hold(sample.expected(*log_odds(sample, pair, bound), pair.log_unknown))


def em_round(sample: Sample, pair: Pair, learners: Learners, bound: float = math.inf) -> Pair:
    """The E-step and the two M-steps: y on soft classes, e on the label with rows weighted by their expected class."""
    expected = expected_class(sample, pair, bound)
    weights = expected if sample.weights is None else sample.weights * expected
    posterior, fitted = learners.posterior.fit(sample.design, expected, sample.weights, pair.posterior)
    propensity, also = learners.propensity.fit(sample.design, sample.labelled, weights, pair.propensity)
    log_unknown = 0.0 if sample.negative is None else expected_log_unknown(sample, expected)
    return Pair(posterior, propensity, fitted and also, log_unknown)


def fit_em(sample: Sample, start: Pair, learners: Learners, *, tol: float, max_iter: int) -> Model:
    """Rounds until they converge; the penalised observed risk never rises where both predictors are logistic."""
    monitor: _LogisticMonitor | _ClassifierMonitor
    if learners.posterior.estimator is not None or learners.propensity.estimator is not None:
        monitor = _ClassifierMonitor(sample)
    else:
        monitor = (_LogisticMonitor if sample.negative is None else _NegativesMonitor)(sample, learners)
    path: list[float] = []
    if sample.negative is not None:
        start = replace(start, log_unknown=initial_log_unknown(sample))
    while True:
        begin_stage(f"round {len(path) + 1}")
        pair = em_round(sample, start, learners)
        value, residual = monitor.measure(pair)
        path.append(value)
        if residual <= tol or len(path) == max_iter:
            break
        start = monitor.extrapolate(start, pair, value)
    converged = residual <= tol and pair.converged
    return Model(pair.posterior, pair.propensity, len(path), converged, path, log_unknown=pair.log_unknown)


def refit_em(sample: Sample, begin: tuple[Vector, Vector], learners: Learners, *, tol: float, max_iter: int) -> Model:
    """What the rounds of two logistic learners would converge to from nearby, in a tenth of the time.

    The gradient of the observed risk is 0 there, and close to it Newton's method is faster.
    """
    risk = observed_risk(sample, learners)
    found = newton(risk, risk.join(*begin), tol=tol, max_iter=max_iter)
    beta, gamma = (LogisticPredictor(coef) for coef in risk.split(found.coef))
    return Model(beta, gamma, max(found.n_iter, 1), found.converged, [found.value / risk.total_weight])


def not_converged(estimator: Any) -> str:
    """The warning of a fit whose rounds, or the regressions in the last of them, did not converge."""
    return (
        f"{type(estimator).__name__} stopped after {estimator.n_iter_} rounds short of its tolerance. Scale X, or "
        "raise max_iter, tol, ridge or propensity_ridge."
    )


class _LogisticMonitor:
    """Measures the gradient of the observed risk, and extrapolates the rounds (Anderson 1965).

    Plain EM nears its fixed point by a constant share per round, here often 1%. The moves of the last few rounds
    predict the point at which a round would move nothing. It is used only if the risk there is no higher, so the path
    still never rises.
    """

    def __init__(self, sample: Sample, learners: Learners) -> None:
        self._sample = sample
        self._risk = observed_risk(sample, learners)
        self._starts: list[Vector] = []
        self._moves: list[Vector] = []

    def measure(self, pair: Pair) -> tuple[float, float]:
        """The observed risk per row, ridges included, and how far the rounds are from a fixed point."""
        value, gradient = self._risk.value_gradient(self._join(pair))
        return value / self._risk.total_weight, gradient_norm(self._risk, gradient)

    def extrapolate(self, start: Pair, end: Pair, value: float) -> Pair:
        """Where to start the next round: its risk is no higher than `value`, that of `end`."""
        self._starts = [*self._starts, self._join(start)][-_MEMORY:]
        self._moves = [*self._moves, self._join(end) - self._join(start)][-_MEMORY:]
        if len(self._moves) < 2:
            return end
        turns = np.diff(self._moves, axis=0).T
        shares = np.linalg.lstsq(turns, self._moves[-1], rcond=1e-10)[0]
        theta = self._join(end) - (np.diff(self._starts, axis=0).T + turns) @ shares
        pair = self._split(theta)
        if self.measure(pair)[0] <= value:
            return pair
        # Where it misleads, the rounds before the last are of no use either.
        self._starts, self._moves = self._starts[-1:], self._moves[-1:]
        return end

    def _join(self, pair: Pair) -> Vector:
        """β and γ in one vector."""
        return self._risk.join(pair.posterior.coef, pair.propensity.coef)  # type: ignore[attr-defined]

    def _split(self, theta: Vector) -> Pair:
        beta, gamma = self._risk.split(theta)
        return Pair(LogisticPredictor(beta), LogisticPredictor(gamma))


class _NegativesMonitor(_LogisticMonitor):
    """The same where negatives are known: the log-odds of their share d, which have no bounds, join β and γ."""

    def measure(self, pair: Pair) -> tuple[float, float]:
        risk = self._risk.with_negatives(self._sample.negative, pair.log_unknown)
        value, gradient = risk.value_gradient(super()._join(pair))
        # The derivative in the log-odds of d, per row.
        expected = self._sample.weight_of(1.0 - expected_class(self._sample, pair))
        known = self._sample.weight_of(self._sample.negative)
        drift = abs(known + math.expm1(pair.log_unknown) * expected) / risk.total_weight
        return value / risk.total_weight, max(gradient_norm(risk, gradient), drift)

    def _join(self, pair: Pair) -> Vector:
        return np.append(super()._join(pair), math.log(math.expm1(-pair.log_unknown)))

    def _split(self, theta: Vector) -> Pair:
        # log(1 − d) = −log(1 + e^(log-odds of d)).
        return replace(super()._split(theta[:-1]), log_unknown=-float(softplus(theta[-1])))


class _ClassifierMonitor:
    """Measures how much the expected classes change on average; nothing is known to extrapolate."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self._expected: Any = None

    def measure(self, pair: Pair) -> tuple[float, float]:
        sample = self._sample
        a, b = log_odds(sample, pair)
        before, self._expected = self._expected, sample.expected(a, b, pair.log_unknown)
        change = math.inf if before is None else sample.mean(abs(self._expected - before))
        if sample.negative is None:
            return sample.mean(joint_loss(a, b, sample.labelled)), change
        return observed_loss(sample, a, b, pair.log_unknown), change

    def extrapolate(self, start: Pair, end: Pair, value: float) -> Pair:
        return end
