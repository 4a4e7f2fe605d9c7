"""Known negatives: the share d of all negatives that they are, and how fits use them."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from scipy.optimize import brentq

from propense._inputs.sample import Sample
from propense._maths.arrays import Vector
from propense._maths.double_logistic import hidden_log_odds, joint_loss
from propense._maths.known_negatives import known_loss
from propense._maths.logistic import sigmoid
from propense._risks import JointRisk, PairRisk, known_negative_loss
from propense._solvers import Solution
from propense._steps.learners import Learner
from propense._steps.predictors import Model, certain

__all__ = [
    "best_log_unknown",
    "expected_log_unknown",
    "fit_complete",
    "initial_log_unknown",
    "minimise",
    "observed_loss",
]

AnyRisk = TypeVar("AnyRisk", JointRisk, PairRisk)

# log(1 − d) stays above this: float64 still distinguishes such chances from 1.
_LEAST = -36.0
# The tolerance on d, and the largest number of rounds.
_TOL, _ROUNDS = 1e-10, 200


def fit_complete(sample: Sample, learner: Learner) -> Model:
    """The regression of the class, which is known for every row; every positive is labelled, so e(x) = 1."""
    posterior, fitted = learner.fit(sample.design, sample.labelled, sample.weights)
    b = certain(sample.design.shape[1])
    loss = observed_loss(sample, sample.log_odds(posterior), sample.log_odds(b), 0.0)
    return Model(posterior, b, 1, fitted, [loss])


def initial_log_unknown(sample: Sample) -> float:
    """log(1 − d) to start from, for the smallest possible d: as if all unlabelled rows were negative."""
    if sample.is_complete:
        return 0.0
    known, rest = sample.weight_of(sample.negative), sample.weight_of(sample.unlabelled)
    return math.log(rest / (known + rest))


def expected_log_unknown(sample: Sample, expected: Any) -> float:
    """log(1 − d) for the expected number of negatives: the M-step of EM for d."""
    known = sample.weight_of(sample.negative) / sample.weight_of(1.0 - expected)
    return math.log(max(1.0 - known, math.exp(_LEAST)))


def best_log_unknown(sample: Sample, a: Any, b: Any) -> float:
    """log(1 − d) for the most likely d, given y and e.

    Maximises N·log d + Σ log(y(1−e) + (1−y)(1−d)) over the rows of unknown class, a concave function of d.
    """
    if sample.negative is None or sample.is_complete:
        return 0.0
    known, rest = sample.weight_of(sample.negative), sample.unlabelled
    # The log-odds of h if no negative is known: 1 − t = σ(log(1−d) − hidden) if a share 1 − d of them is left.
    hidden = sample.design.hold(hidden_log_odds(a, b))

    def slope(log_unknown: float) -> float:
        """The derivative in log(1 − d), times d."""
        left = sample.weight_of(sigmoid(log_unknown - hidden) * rest)
        return left * -math.expm1(log_unknown) - known * math.exp(log_unknown)

    # As d falls to 0 the slope tends to −N. It is positive for d near 1, or else d = 1 is best.
    if slope(_LEAST) <= 0.0:
        return _LEAST
    return float(brentq(slope, _LEAST, -1e-15, xtol=1e-13, rtol=1e-13))


def observed_loss(sample: Sample, a: Any, b: Any, log_unknown: float) -> float:
    """The mean of −log of the chance of what is known of a row: labelled, a known negative, or neither."""
    if sample.negative is None:
        return sample.mean(joint_loss(a, b, sample.labelled))
    constant = known_negative_loss(sample.negative, sample.weights, log_unknown)
    return sample.mean(known_loss(a, b, sample.labelled, sample.negative, log_unknown)) + constant / sample.total_weight


def minimise(
    sample: Sample, risk: AnyRisk, start: Vector, solve: Callable[[AnyRisk, Vector], Solution]
) -> tuple[Solution, float]:
    """The minimiser of a risk next to `start`, and log(1 − d).

    If negatives are known, coefficients and d are found in turn, where either step lowers the risk.
    """
    if sample.negative is None:
        return solve(risk, start), 0.0
    log_unknown, share, n_iter = initial_log_unknown(sample), math.inf, 0
    for _ in range(_ROUNDS):
        solution = solve(risk.with_negatives(sample.negative, log_unknown), start)
        n_iter, start = n_iter + solution.n_iter, solution.coef
        log_unknown = best_log_unknown(sample, *risk.log_odds(start))
        before, share = share, math.exp(log_unknown)
        converged = abs(share - before) <= _TOL
        if converged:
            break
    return replace(solution, n_iter=n_iter, converged=solution.converged and converged), log_unknown
