"""The risk of labels under P(S=1 | x) = σ(βᵀx)·σ(γᵀx), fast enough to minimise hundreds of times on some rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from propense._maths.arrays import Index, Matrix, Vector
from propense._maths.logistic import sigmoid
from propense._risks.single import diagonal

__all__ = ["LabelRisk", "ScarData"]

Mask = NDArray[np.bool_]

# Chances are kept this far from 0 and 1, so that no logarithm is infinite. No statistic changes noticeably.
_NEAREST = 1e-12


class ScarData:
    """A few thousand rows, and what every risk over them shares.

    Parameters
    ----------
    features : ndarray of shape (n, p − 1)
        Standardised.
    ridge, propensity_ridge : float
        The penalties ½·ridge on the squared slopes of y and of e.
    """

    def __init__(self, features: Matrix, ridge: float, propensity_ridge: float) -> None:
        # With a column of ones, unlike a Design: on so few rows, calls cost more than arithmetic.
        self.rows = np.column_stack([np.ones(len(features)), features])
        p = self.rows.shape[1]
        self.ridge, self.propensity_ridge = diagonal(p, ridge), diagonal(p, propensity_ridge)
        self.units = np.sqrt(0.25 * (self.rows**2).sum(axis=0) + 0.01)


@dataclass(frozen=True)
class _CachedChances:
    """The last coefficients and the chances there: y, the propensity e, and s = y·e kept off 0 and 1."""

    coef: Vector
    posterior: Vector
    propensity: Vector | float
    chance: Vector


class LabelRisk:
    """`PairRisk` as an Objective of β and of the free coefficients of γ; the others stay fixed.

    It works with chances, not log-odds, and caches those of the last coefficients. That is several times as fast, and
    as exact if columns are standardised and slopes have a ridge.
    """

    def __init__(self, data: ScarData, labelled: Mask, gamma: Vector, free: Index) -> None:
        self._data, self._labelled = data, labelled
        self._gamma, self._free = gamma, free
        # The columns of the free coefficients.
        self._moving = data.rows[:, free]
        self._flat = not gamma[1:].any() and not free.any()
        self._ridge = np.concatenate([data.ridge, data.propensity_ridge[free]])
        self._last: _CachedChances | None = None

    @property
    def total_weight(self) -> float:
        return float(len(self._labelled))

    @cached_property
    def units(self) -> Vector:
        return np.concatenate([self._data.units, self._data.units[self._free]])

    def split(self, coef: Vector) -> tuple[Vector, Vector]:
        """β and γ."""
        p = self._data.rows.shape[1]
        gamma = self._gamma.copy()
        gamma[self._free] = coef[p:]
        return coef[:p], gamma

    def value_gradient(self, coef: Vector) -> tuple[float, Vector]:
        at = self._chances(coef)
        value = -float(np.log(np.where(self._labelled, at.chance, 1.0 - at.chance)).sum())
        value += 0.5 * float(self._ridge @ coef**2)
        # ∂/∂a of −log-likelihood is −(1−y)·(s_observed − s)/(1−s), and similarly in b.
        pull = np.where(self._labelled, -1.0, at.chance / (1.0 - at.chance))
        gradient = [(pull * (1.0 - at.posterior)) @ self._data.rows]
        if len(self._free):
            gradient.append((pull * (1.0 - at.propensity)) @ self._moving)
        return value, np.concatenate(gradient) + self._ridge * coef

    def hessian(self, coef: Vector) -> Matrix:
        at = self._chances(coef)
        rows, odds = self._data.rows, ~self._labelled / (1.0 - at.chance)
        # P(Y=1 | x, S=0), and the same with y and e exchanged; both count on unlabelled rows only.
        hidden, other = odds * (at.posterior - at.chance), odds * (at.propensity - at.chance)
        own = at.posterior * (1.0 - at.posterior) - hidden * (1.0 - hidden)
        out = np.diag(self._ridge)
        p = rows.shape[1]
        out[:p, :p] += rows.T @ (own[:, None] * rows)
        if len(self._free):
            moving, curved = self._moving, at.propensity * (1.0 - at.propensity) - other * (1.0 - other)
            cross = rows.T @ ((hidden * other)[:, None] * moving)
            out[:p, p:] += cross
            out[p:, :p] += cross.T
            out[p:, p:] += moving.T @ (curved[:, None] * moving)
        return out

    def curvature(self, coef: Vector) -> Callable[[Vector], Vector]:
        hessian = self.hessian(coef)
        return lambda v: hessian @ v

    def _chances(self, coef: Vector) -> _CachedChances:
        if self._last is None or not np.array_equal(coef, self._last.coef):
            beta, gamma = self.split(coef)
            posterior = sigmoid(self._data.rows @ beta)
            propensity = sigmoid(gamma[0]) if self._flat else sigmoid(self._data.rows @ gamma)
            chance = np.clip(posterior * propensity, _NEAREST, 1.0 - _NEAREST)
            self._last = _CachedChances(coef.copy(), posterior, propensity, chance)
        return self._last
