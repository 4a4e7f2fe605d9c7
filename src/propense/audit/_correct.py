"""A model's chances, corrected by the verdicts of an audit."""

from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize

from propense._maths.arrays import Matrix, Vector
from propense._maths.hidden_curve import HiddenCurve
from propense._maths.logistic import sigmoid, softplus
from propense.audit._draw import read_chances
from propense.audit._findings import Findings

__all__ = ["fit_curve", "hidden_share"]

# The curve bends at these quantiles of the score: the top of the list, which is acted on, lies beyond the last two.
_BENDS = (0.5, 0.8, 0.95, 0.99)
# Penalties, with the score in standard deviations: on the slope, and on each change of slope. From a third to three
# times as much, promises in the worlds of `benchmarks/audit.py` hardly change.
_SLOPE, _BEND = 1 / 3, 1.0
# No penalty on the level, but for one that keeps it finite.
_LEVEL = 0.01
# Levels beyond this leave no chance to tell from 0 or 1.
_FAR = 40.0


def fit_curve(found: Findings, log_odds: Any, along: Any) -> HiddenCurve:
    """How the log-odds of h must change along a score to agree with the verdicts: the curve behind `correct`.

    The curve is the most likely one with a penalty on its slope and its bends, so that few verdicts mainly move all
    chances up or down together. Its level is such that the chances of the unlabelled rows add up to the estimated
    number of positives among them.

    Parameters
    ----------
    found : Findings
        What `read` returned.
    log_odds : array-like of shape (n_rows,)
        The log-odds of h of all rows, as the model has them.
    along : array-like of shape (n_rows,)
        The score along which they are corrected: the log-odds of what the list is ordered by.

    Returns
    -------
    HiddenCurve
        ``curve.of(score)`` is what to add to the log-odds of h at each score, and ``curve.spread(score)`` its standard
        error. ``knots`` are the scores where the curve bends, ``values`` what is added there, and ``covariance`` the
        covariance matrix of these values.
    """
    rows = len(found.labelled)
    z = read_chances("log_odds", log_odds, rows, any_number=True)
    t = read_chances("along", along, rows, any_number=True)
    checked, rest = np.isfinite(found.known), ~found.labelled
    knots = np.unique(np.quantile(t[rest], (0.0, *_BENDS, 1.0)))
    # The curve is a straight line through the outer knots where it does not bend.
    flat = HiddenCurve(knots, np.zeros(len(knots)), np.zeros((len(knots), len(knots))))
    scale = max(float(t[rest].std()), 1e-12)
    basis, penalty = _lines(knots / scale), np.array([_LEVEL, _SLOPE, *[_BEND] * (len(knots) - 2)])[: len(knots)]
    weights = np.column_stack([_one(flat, knot).of(t[checked]) for knot in range(len(knots))]) @ basis
    coef = _fit(weights, found.known[checked], z[checked], penalty)
    curve = HiddenCurve(knots, basis @ coef, flat.covariance)
    level = _level(z[rest] + curve.of(t[rest]), hidden_share(found))
    # Where the curve ends: if all verdicts are alike, the most likely level is far out, where they say next to nothing.
    curvature = _curvature(weights, z[checked] + weights @ coef + level, penalty)
    covariance = basis @ np.linalg.inv(curvature) @ basis.T
    return HiddenCurve(knots, curve.values + level, (covariance + covariance.T) / 2)


def _lines(knots: Vector) -> Matrix:
    """At each knot: 1, its distance from their mean, and how far beyond each inner knot it is."""
    if len(knots) == 1:
        return np.ones((1, 1))
    middle = knots.mean()
    return np.column_stack([np.ones(len(knots)), knots - middle, *(np.maximum(knots - k, 0.0) for k in knots[1:-1])])


def _one(flat: HiddenCurve, knot: int) -> HiddenCurve:
    """The curve that is 1 at one knot and 0 at all others."""
    return HiddenCurve(flat.knots, np.eye(len(flat.knots))[knot], flat.covariance)


def _fit(features: Matrix, verdict: Vector, offset: Vector, penalty: Vector) -> Vector:
    """A logistic regression of the verdicts with an offset and a penalty."""

    def value(coef: Vector) -> tuple[float, Vector]:
        eta = offset + features @ coef
        loss = float((softplus(eta) - verdict * eta).sum() + 0.5 * (penalty * coef**2).sum())
        return loss, features.T @ (sigmoid(eta) - verdict) + penalty * coef

    def curvature(coef: Vector) -> Matrix:
        return _curvature(features, offset + features @ coef, penalty)

    found = minimize(
        value, np.zeros(len(penalty)), jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-8}
    )
    return np.asarray(found.x)


def _curvature(features: Matrix, log_odds: Vector, penalty: Vector) -> Matrix:
    p = sigmoid(log_odds)
    return np.asarray((features * (p * (1.0 - p))[:, np.newaxis]).T @ features + np.diag(penalty))


def hidden_share(found: Findings) -> float:
    """The share of the unlabelled rows that are positive; with half a verdict more of each kind if all are alike."""
    share = float(found.hidden.estimate)
    return share if 0.0 < share < 1.0 else (found.verdicts * share + 0.5) / (found.verdicts + 1.0)


def _level(log_odds: Vector, share: float) -> float:
    """What must be added to log-odds for their chances to have this mean."""

    def excess(level: float) -> float:
        return float(np.mean(sigmoid(log_odds + level))) - share

    return float(brentq(excess, -_FAR, _FAR, xtol=1e-10))
