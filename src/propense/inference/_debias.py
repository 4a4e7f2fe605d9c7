"""What intervals are about, as log-odds and without the bias of a ridge.

A ridge shifts θ = (β, γ) by −H⁻¹·ridge·θ, to first order. At 2 000 rows that is about half a standard error of y(x),
which intervals around the fitted values would ignore.
"""

import copy

import numpy as np

from propense._designs import Design
from propense._inputs.sample import Sample
from propense._maths.arrays import Matrix, Vector
from propense._maths.double_logistic import hidden_log_odds
from propense._maths.linear import is_wide
from propense._maths.logistic import LARGEST_LOG_ODDS, logit
from propense._risks import PairRisk
from propense._steps.known_prior import ShiftedPredictor
from propense._steps.predictors import LogisticPredictor
from propense.estimators._base import BasePUClassifier

__all__ = ["debiased", "inverse_curvature", "log_odds_of", "risk_of", "theta_of"]


def debiased(estimator: BasePUClassifier, sample: Sample) -> BasePUClassifier:
    """The estimator with θ + H⁻¹·ridge·θ in place of θ; unchanged if it minimises no risk, or the risk is flat."""
    risk = risk_of(estimator, sample)
    if risk is None or not risk.ridges.any() or is_wide(len(risk.ridges)):
        return estimator
    theta = theta_of(estimator, risk)
    try:
        inverse = inverse_curvature(risk, theta)
    except np.linalg.LinAlgError:
        return estimator
    beta, gamma = risk.split(theta + inverse @ (risk.ridges * theta))
    other = copy.copy(estimator)
    other._posterior, other._propensity = LogisticPredictor(beta), LogisticPredictor(gamma)
    other.prior_ = sample.share_positive(*other._rows_log_odds(sample))
    other.label_frequency_ = sample.mean(sample.labelled) / other.prior_
    return other


def risk_of(estimator: BasePUClassifier, sample: Sample) -> PairRisk | None:
    """The risk that the fitted y and e minimise; None if there is none, or a known prior has moved them from there."""
    return None if isinstance(estimator._posterior, ShiftedPredictor) else estimator._pair_risk(sample)


def theta_of(estimator: BasePUClassifier, risk: PairRisk) -> Vector:
    """The coefficients of both predictors."""
    return risk.join(estimator._coef("_posterior"), estimator._coef("_propensity"))


def inverse_curvature(risk: PairRisk, theta: Vector) -> Matrix:
    """The inverse of the Hessian; LinAlgError if that is not positive definite."""
    hessian = risk.hessian(theta)
    # In units in which the diagonal is 1, so the units of the columns do not matter.
    units = np.sqrt(np.maximum(np.diag(hessian), np.finfo(np.float64).tiny))
    lower = np.linalg.cholesky(hessian / np.outer(units, units))
    # Rounding changes a matrix of p columns with a diagonal of 1 by about p²ε, so a smaller pivot may be 0.
    if np.diag(lower).min() ** 2 < len(units) ** 2 * np.finfo(np.float64).eps:
        raise np.linalg.LinAlgError
    root = np.linalg.inv(lower)
    return np.asarray(root.T @ root / np.outer(units, units))


def log_odds_of(estimator: BasePUClassifier, at: Design | None) -> Vector:
    """The log-odds of the prior and the label frequency, then of y, e and h of every row, as one vector.

    They are clipped to what float64 distinguishes from certainty.
    """
    parts = [logit(np.array([estimator.prior_, estimator.label_frequency_], dtype=np.float64))]
    if at is not None:
        a, b = estimator._posterior.log_odds(at), estimator._propensity.log_odds(at)
        parts += [at.bring(each) for each in (a, b, hidden_log_odds(a, b))]
    return np.asarray(np.clip(np.concatenate(parts), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))
