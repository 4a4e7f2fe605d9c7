"""Probit models of being positive and of being labelled whose unseen parts are correlated.

A row is positive if β'x + u > 0, and a positive row is labelled if γ'x + v > 0. u and v are standard normal with
correlation ρ: what no column shows may influence both. A label needs both, so that s(x) = Φ₂(β'x, γ'x; ρ). This is the
bivariate probit with partial observability of Poirier (1980); Meng and Schmidt (1985) show what not seeing the rest
costs. Labels alone say little about ρ, so it is assumed, and the model is fitted at each value.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from propense._maths.arrays import Index, Matrix, Vector
from propense._maths.bivariate_normal import bivariate_normal_cdf, bivariate_normal_slopes

__all__ = ["STEP", "CorrelatedFit", "PairOfProbits", "fit_correlated"]

# The correlations at which the model is fitted lie this far apart.
STEP = 0.05
# The penalty ½·ridge·‖slopes‖², columns in standard deviations: that of the other methods.
_RIDGE = 1.0
_LEAST = 1e-12
_TOL, _ROUNDS, _HALVINGS = 1e-8, 100, 30


@dataclass(frozen=True)
class PairOfProbits:
    """The data of a fit: features with an intercept first, in standard deviations, for y and for e."""

    class_features: Matrix
    label_features: Matrix
    labelled: Vector
    weights: Vector

    def chance(self, theta: Vector, rho: float) -> Vector:
        """s(x) = Φ₂(β'x, γ'x; ρ)."""
        return np.clip(bivariate_normal_cdf(*self._products(theta), rho), _LEAST, 1.0 - _LEAST)

    def loss(self, theta: Vector, rho: float) -> float:
        """Minus the log-likelihood of the labels, and the penalty."""
        s = self.chance(theta, rho)
        fit = self.weights @ (self.labelled * np.log(s) + (1.0 - self.labelled) * np.log1p(-s))
        return float(0.5 * theta @ (self._ridge() * theta) - fit)

    def slope_and_curvature(self, theta: Vector, rho: float) -> tuple[Vector, Matrix]:
        """The gradient of the loss and Fisher's information, penalty included."""
        s = self.chance(theta, rho)
        to_class, to_label = bivariate_normal_slopes(*self._products(theta), rho)
        slopes = np.hstack([self.class_features * to_class[:, None], self.label_features * to_label[:, None]])
        scale = self.weights / (s * (1.0 - s))
        gradient = self._ridge() * theta - slopes.T @ (scale * (self.labelled - s))
        return gradient, (slopes * scale[:, None]).T @ slopes + np.diag(self._ridge())

    def posterior(self, theta: Vector) -> Vector:
        """y(x) = Φ(β'x)."""
        return np.asarray(ndtr(self._products(theta)[0]))

    def share_slope(self, theta: Vector, share: Vector) -> Vector:
        """The gradient of Σ shareᵢ·y(xᵢ)."""
        h = self._products(theta)[0]
        density = np.exp(-0.5 * h**2) / math.sqrt(2.0 * math.pi)
        return np.concatenate([self.class_features.T @ (share * density), np.zeros(self.label_features.shape[1])])

    def _products(self, theta: Vector) -> tuple[Vector, Vector]:
        p = self.class_features.shape[1]
        return self.class_features @ theta[:p], self.label_features @ theta[p:]

    def _ridge(self) -> Vector:
        parts = [np.full(each.shape[1], _RIDGE) for each in (self.class_features, self.label_features)]
        # A level is not shrunk; a little keeps it finite where every positive is labelled.
        parts[0][0] = parts[1][0] = 1e-3
        return np.concatenate(parts)

    @classmethod
    def of(
        cls, features: Matrix, class_columns: Index | None, label_columns: Index | None, labelled: Vector, w: Vector
    ) -> "PairOfProbits":
        """Scale the columns, and choose those of y and of e; None means all."""
        mean = np.average(features, axis=0, weights=w)
        spread = np.sqrt(np.average((features - mean) ** 2, axis=0, weights=w))
        scaled = (features - mean) / np.where(spread > 0.0, spread, 1.0)
        one = np.ones((len(features), 1))
        parts = [scaled if which is None else scaled[:, which] for which in (class_columns, label_columns)]
        return cls(np.hstack([one, parts[0]]), np.hstack([one, parts[1]]), labelled, w)

    def begin(self, posterior: Vector, propensity: Vector) -> Vector:
        """The coefficients whose y and e are nearest to given ones, in squares of normal quantiles."""
        targets = [ndtri(np.clip(each, 1e-3, 1.0 - 1e-3)) for each in (posterior, propensity)]
        root = np.sqrt(self.weights)
        pairs = zip((self.class_features, self.label_features), targets, strict=True)
        return np.concatenate([np.linalg.lstsq(X * root[:, None], root * t, rcond=None)[0] for X, t in pairs])


@dataclass(frozen=True)
class CorrelatedFit:
    """The fit at one correlation: coefficients, loss, and the curvature that standard errors come from."""

    rho: float
    theta: Vector
    loss: float
    curvature: Matrix

    def standard_error(self, slope: Vector) -> float:
        """Of a function of the coefficients with this gradient."""
        return math.sqrt(max(float(slope @ np.linalg.solve(self.curvature, slope)), 0.0))


def fit_correlated(data: PairOfProbits, start: Vector, low: float, high: float) -> list[CorrelatedFit]:
    """The fits at every correlation from `low` to `high`, in steps, each begun at the one nearer to 0."""
    places = np.arange(round(low / STEP), round(high / STEP) + 1)
    first = int(np.argmin(np.abs(places)))
    fits = {first: _minimise(data, start, float(places[first]) * STEP)}
    for way in (range(first + 1, len(places)), range(first - 1, -1, -1)):
        for each in way:
            near = fits[each - 1 if each > first else each + 1]
            fits[each] = _minimise(data, near.theta, float(places[each]) * STEP)
    return [fits[each] for each in range(len(places))]


def _minimise(data: PairOfProbits, theta: Vector, rho: float) -> CorrelatedFit:
    """Fisher's scoring, with shorter steps where the loss would not fall."""
    loss, damping = data.loss(theta, rho), 0.0
    slope, curvature = data.slope_and_curvature(theta, rho)
    for _ in range(_ROUNDS):
        step = -np.linalg.solve(curvature + damping * np.diag(np.diag(curvature)), slope)
        gain = -float(slope @ step)
        if gain < _TOL * (1.0 + abs(loss)):
            break
        size, found = 1.0, False
        for _ in range(_HALVINGS):
            moved = data.loss(theta + size * step, rho)
            if moved <= loss - 1e-4 * size * gain:
                found = True
                break
            size *= 0.5
        if not found:
            break
        damping = 0.0 if size == 1.0 else 1e-2
        theta, loss = theta + size * step, moved
        slope, curvature = data.slope_and_curvature(theta, rho)
    return CorrelatedFit(rho, theta, loss, curvature)
