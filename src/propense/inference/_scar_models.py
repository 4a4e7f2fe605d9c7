"""Two models of the labels: c·y(x), labels at random among the positives, and y(x)·e(x), which includes the first."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propense._maths.arrays import Index, Matrix, Vector
from propense._maths.linear import coef_positions
from propense._maths.logistic import logit, sigmoid
from propense._solvers import Solution, newton
from propense.inference._label_risk import LabelRisk, ScarData

__all__ = ["LabelModels", "ScarFit"]

Mask = NDArray[np.bool_]

# A statistic is then right to about four digits, more than its rank needs.
_TOL, _STEPS = 1e-5, 100
# On standardised columns. The ridge of y matters only if the classes are separable: a larger one flattens y, and random
# labels then seem to depend on the features. That of e may matter: only the gain of its slopes is of interest.
_RIDGE, _PROPENSITY_RIDGE = 0.01, 1.0
# A larger label frequency only approaches "all positives are labelled", and fits no better.
_NEARLY_ALL = 0.995
# If e is nearly 1 its slopes hardly matter: the search for them starts below.
_FARTHEST = 2.0
_NONE, _INTERCEPT = np.empty(0, dtype=np.intp), np.zeros(1, dtype=np.intp)


@dataclass(frozen=True)
class ScarFit:
    """P(S=1 | x) = c·σ(βᵀx), fitted: β, the log-odds of c, and the risk."""

    beta: Vector
    log_odds: float
    risk: float

    @property
    def frequency(self) -> float:
        """c = P(S=1 | Y=1)."""
        return float(sigmoid(self.log_odds))


class LabelModels:
    """Both models over the same rows.

    Parameters
    ----------
    features : ndarray of shape (n, p − 1)
        Standardised.
    columns : int ndarray, or None
        The features that e may depend on; None means all.
    prior : tuple of float
        The least and the largest possible P(Y=1): the label frequency c is the share of labelled rows divided by it.
    most : float
        The largest possible c.
    """

    def __init__(self, features: Matrix, columns: Index | None, prior: tuple[float, float], most: float = 1.0) -> None:
        self._data = ScarData(features, _RIDGE, _PROPENSITY_RIDGE)
        self._free = coef_positions(columns, self._data.rows.shape[1])
        self._prior, self._most = prior, min(most, _NEARLY_ALL)

    def fit_scar(self, labelled: Mask, start: ScarFit | None = None) -> ScarFit:
        """The first model, with the most likely c that the prior allows."""
        if start is None:
            start = ScarFit(np.zeros(self._data.rows.shape[1]), 0.0, np.inf)
        share = float(labelled.mean())
        low, high = (min(share / prior, self._most) for prior in reversed(self._prior))
        if low < high:
            begin = float(np.clip(start.log_odds, -_FARTHEST, _FARTHEST))
            found = self._minimise(labelled, start.beta, begin, _INTERCEPT)
            beta, log_odds = found.coef[:-1], float(found.coef[-1])
            frequency = float(sigmoid(log_odds))
            if low <= frequency <= high:
                return ScarFit(beta, log_odds, found.value)
            low, start = float(np.clip(frequency, low, high)), ScarFit(beta, log_odds, found.value)
        log_odds = float(logit(low))
        found = self._minimise(labelled, start.beta, log_odds, _NONE)
        return ScarFit(found.coef, log_odds, found.value)

    def likelihood_ratio(self, labelled: Mask, null: ScarFit) -> float:
        """Twice the log-likelihood that e(x) = σ(γᵀx) gains over a constant e, ridges included; never below 0."""
        found = self._minimise(labelled, null.beta, min(null.log_odds, _FARTHEST), self._free)
        return 2.0 * max(null.risk - found.value, 0.0)

    def draw(self, null: ScarFit, rng: np.random.Generator) -> Mask:
        """Labels drawn from the first model, with at least one labelled and one unlabelled row."""
        chance = null.frequency * sigmoid(self._data.rows @ null.beta)
        while True:
            labelled = np.asarray(rng.random(len(chance)) < chance)
            if labelled.any() and not labelled.all():
                return labelled

    def _minimise(self, labelled: Mask, beta: Vector, log_odds: float, free: Index) -> Solution:
        """The minimum of the risk over β and the free coefficients of γ, from β and a constant e."""
        gamma = np.zeros(len(beta))
        gamma[0] = log_odds
        risk = LabelRisk(self._data, labelled, gamma, free)
        return newton(risk, np.concatenate([beta, gamma[free]]), tol=_TOL, max_iter=_STEPS)
