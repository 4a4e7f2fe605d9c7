"""Curves along a label score: the chance of a label, and of an unlabelled row being positive."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq, minimize

from propense._maths.arrays import Rows, Vector, namespace
from propense._maths.logistic import log_odds_of_log, logit, sigmoid, softplus

__all__ = ["Bent", "Curves", "LabelCurve", "fit_label_curve", "shift_for"]

# The height in log-odds stays within these: beyond, it is 1 or nothing as far as float64 and labels show.
_HEIGHTS = (-9.0, 12.0)
# Bounds on level and slope along a score of spread 1; a slope below 0 would say that the learners learned nothing.
_LEVELS, _SLOPES = (-60.0, 60.0), (0.0, 60.0)


@dataclass(frozen=True)
class LabelCurve:
    """s(t) = height·σ(level + slope·t), the chance of a label along a score.

    `gain` is the log-likelihood beyond that of the best curve of height 1.
    """

    level: float
    slope: float
    height: float
    gain: float = 0.0

    def log_chance(self, t: Rows) -> Rows:
        """log s(t)."""
        return float(np.log(self.height)) - softplus(-(self.level + self.slope * t))


def fit_label_curve(t: Vector, labelled: Vector, weights: Vector, height: float | None = None) -> LabelCurve:
    """The most likely curve along a score of mean 0 and spread 1, of any height (from several starts) or of this."""
    own, rest = weights * labelled, weights * (1.0 - labelled)
    rate = float(own.sum() / weights.sum())

    def loss(v: Vector) -> tuple[float, Vector]:
        k, q = float(sigmoid(v[0])), sigmoid(v[1] + v[2] * t)
        s = np.clip(k * q, 1e-12, 1.0 - 1e-9)
        value = -float(own @ np.log(s) + rest @ np.log1p(-s))
        slope = rest / (1.0 - s) - own / s
        of_level = slope * s * (1.0 - q)
        return value, np.array([(slope * s).sum() * (1.0 - k), of_level.sum(), of_level @ t])

    def search(far: float, free: bool) -> tuple[float, Vector]:
        start = np.array([far, logit(min(rate / float(sigmoid(far)), 0.9)), 1.0])
        bounds = (_HEIGHTS if free else (far, far), _LEVELS, _SLOPES)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return float(found.fun), found.x

    if height is not None:
        _, (_, level, slope) = search(float(logit(height)), False)
        return LabelCurve(float(level), float(slope), height)
    full, _ = search(_HEIGHTS[1], False)
    value, (far, level, slope) = min((search(start, True) for start in (3.0, 0.0, -2.0)), key=lambda found: found[0])
    if slope <= 0.0:
        # Flat, and so of any height.
        return LabelCurve(float(logit(rate)), 0.0, 1.0)
    return LabelCurve(float(level), float(slope), float(sigmoid(far)), max(full - value, 0.0))


@dataclass(frozen=True)
class Bent:
    """level + slope·t + Σ changes·max(t − knots, 0)."""

    level: float
    slope: float
    knots: tuple[float, ...] = ()
    changes: tuple[float, ...] = ()

    @classmethod
    def through(cls, knots: Vector, values: Vector, ends: tuple[float, float]) -> "Bent":
        """The line from each point to the next, with two slopes beyond the outermost."""
        slopes = np.array([ends[0], *(np.diff(values) / np.diff(knots)), ends[1]])
        return cls(
            float(values[0] - ends[0] * knots[0]), ends[0], tuple(knots.tolist()), tuple(np.diff(slopes).tolist())
        )

    def of(self, t: Rows) -> Rows:
        found = self.level + self.slope * t
        for knot, change in zip(self.knots, self.changes, strict=True):
            found = found + change * namespace(t).clip(t - knot, 0.0, None)
        return found


@dataclass(frozen=True)
class Curves:
    """y and e along a label score t of mean 0 and spread 1.

    h(t) = σ(hidden(t)) is the chance that an unlabelled row is positive, so y = s + (1 − s)·h and e = s/y: y is never
    below s, and y·e is s.

    Attributes
    ----------
    label : LabelCurve
    hidden, low, high : Bent
        The log-odds of h, and of the ends of its range.
    """

    label: LabelCurve
    hidden: Bent
    low: Bent
    high: Bent

    def posterior(self, t: Rows) -> Rows:
        """The log-odds of y: 1 − y = (1 − s)·(1 − h)."""
        unlabelled = -softplus(log_odds_of_log(self.label.log_chance(t)))
        return -log_odds_of_log(unlabelled - softplus(self.hidden.of(t)))

    def propensity(self, t: Rows) -> Rows:
        """The log-odds of e = s/y."""
        return log_odds_of_log(self.label.log_chance(t) + softplus(-self.posterior(t)))

    def pair(self, t: Rows) -> tuple[Rows, Rows]:
        """The log-odds of y and e."""
        return self.posterior(t), self.propensity(t)

    def three(self) -> tuple["Curves", "Curves", "Curves"]:
        """With h at the low end of its range, at the high end, and as it is."""
        return replace(self, hidden=self.low), replace(self, hidden=self.high), self


def shift_for(share: float, u: Vector, weights: Vector) -> float:
    """How far the log-odds `u` must move for σ(u) to have this mean."""
    share = min(max(share, 1e-9), 1.0 - 1e-9)
    w = weights / weights.sum()
    far = 40.0 + float(np.abs(u).max(initial=0.0))
    return float(brentq(lambda shift: float(w @ sigmoid(u + shift)) - share, -far, far, xtol=1e-12))
