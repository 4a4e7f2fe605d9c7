"""The curve that the labels show, P(S=1 | x) = σ(βᵀx)·σ(γᵀx), and what y and e it can be made of."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propense._designs import column_scales
from propense._inputs.sample import Sample
from propense._maths.logistic import sigmoid
from propense._risks import LogisticRisk, PairRisk
from propense._solvers import SOLVERS, Solution
from propense._steps.known_negatives import initial_log_unknown, settle_pair
from propense._steps.logistic import solver_named
from propense._steps.predictors import LogisticPredictor, Predictor, ProductPredictor

__all__ = ["Curve", "CurveFitter", "readings"]

Vector = NDArray[np.float64]

# How near to its end the regression that the searches start from is followed.
_ROUGH = 1e-3
# The ridge on e's log-odds at the mean row: keeps the height of the curve off 1, where nothing would stop it.
_LEVEL_RIDGE = 1.0
_NONE = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Curve:
    """What was found with e constant, and with e free from there; `slopes` are e's that were free."""

    constant: Solution
    free: Solution
    beta: Vector
    gamma: Vector
    slopes: int
    log_unknown: float = 0.0

    @property
    def flat(self) -> tuple[Vector, Vector]:
        """β and γ with e constant."""
        p = len(self.beta)
        return self.constant.coef[:p], np.append(self.constant.coef[p], np.zeros(p - 1))

    @property
    def height(self) -> float:
        """Where the curve levels off, were e constant."""
        return float(sigmoid(self.flat[1][0]))

    @property
    def evidence(self) -> float:
        """For an e of its own: twice the fall of the risk, less 2 for each slope."""
        return 2.0 * (self.constant.value - self.free.value - self.slopes)

    def alignment(self, sample: Sample) -> float:
        """The correlation of γᵀx with βᵀx over the rows; 0 where either is constant."""
        a, b = (sample.log_odds(LogisticPredictor(each)) for each in (self.beta, self.gamma))
        raw = sample.mean(a * a), sample.mean(b * b)
        a, b = a - sample.mean(a), b - sample.mean(b)
        variances = sample.mean(a * a), sample.mean(b * b)
        # What is left of a constant is rounding.
        if any(variance <= 1e-12 * square for variance, square in zip(variances, raw, strict=True)):
            return 0.0
        return sample.mean(a * b) / math.sqrt(variances[0] * variances[1])


@dataclass(frozen=True)
class CurveFitter:
    """How curves are fitted: the parameters of `PUClassifier`."""

    ridge: float
    shrinkage: float
    solver: str
    tol: float
    max_iter: int

    def fit(self, sample: Sample) -> Curve:
        """The curve with e constant, then with e free from there."""
        flat = self._risk(sample, _NONE)
        _, squares = column_scales(sample.design, sample.weights)
        naive = LogisticRisk(sample.design, sample.labelled, weights=sample.weights, ridge=self.ridge * squares)
        p = sample.design.shape[1]
        begun = SOLVERS["newton"](naive, np.zeros(p), tol=_ROUGH, max_iter=self.max_iter).coef
        constant, log_unknown = self._search(sample, flat, flat.join(begun, np.zeros(p)))
        beta, gamma = flat.split(constant.coef)
        columns = sample.propensity_columns
        if columns is not None and not len(columns):
            return Curve(constant, constant, beta, gamma, 0, log_unknown)
        risk = self._risk(sample, columns)
        free, log_unknown = self._search(sample, risk, risk.join(beta, gamma))
        return Curve(constant, free, *risk.split(free.coef), len(free.coef) - p - 1, log_unknown)

    def again(self, sample: Sample, start: Curve) -> tuple[Vector, Vector, float]:
        """β, γ and log(1 − d) of the free curve on other rows."""
        risk = self._risk(sample, sample.propensity_columns)
        found, log_unknown = self._search(sample, risk, start.free.coef)
        return *risk.split(found.coef), log_unknown

    def _risk(self, sample: Sample, columns: NDArray[np.intp] | None) -> PairRisk:
        """The risk of the labels, e's slopes over `columns`."""
        means, squares = column_scales(sample.design, sample.weights)
        # Who names columns knows what labels do not tell: no shrinkage then.
        shrunk = self.shrinkage * math.sqrt(sample.total_weight) * squares
        return PairRisk(
            sample.design,
            sample.labelled,
            columns=columns,
            negative=sample.negative,
            log_unknown=initial_log_unknown(sample),
            weights=sample.weights,
            ridge=self.ridge * squares,
            propensity_ridge=shrunk if columns is None else self.ridge * squares[columns],
            level=math.sqrt(_LEVEL_RIDGE) * np.append(1.0, means),
        )

    def _search(self, sample: Sample, risk: PairRisk, start: Vector) -> tuple[Solution, float]:
        solve = SOLVERS[solver_named(self.solver)]
        return settle_pair(sample, risk, start, lambda risk, at: solve(risk, at, tol=self.tol, max_iter=self.max_iter))


def readings(beta: Vector, gamma: Vector, share: float) -> tuple[Predictor, Predictor]:
    """y and e where e gets `share` of the steepness along βᵀx."""
    if share == 0.0:
        return LogisticPredictor(beta), LogisticPredictor(gamma)
    return ProductPredictor(beta, 1.0 - share, gamma, 0.0), ProductPredictor(gamma, 1.0, beta, share)
