"""Standard errors of a minimiser of the joint risk, from its curvature and the spread of the rows' gradients.

θ = (β, γ) solves Σ wᵢ·gᵢ(θ) + ridge·θ = 0, so a row of weight dw moves θ by −H⁻¹(gᵢ − ḡ)·dw, where H is the Hessian,
ridge included. It moves θ + H⁻¹·ridge·θ by A = (I + H⁻¹·ridge)H⁻¹ in place of H⁻¹. The variance of the latter is
A·Σ wᵢ(gᵢ − ḡ)(gᵢ − ḡ)ᵀ·Aᵀ (Huber 1967), whether or not the model holds. In a survey, the sum is that over the clusters
of each stratum, of wᵢ(gᵢ − ḡ) added up within them (Binder 1983).
"""

from typing import Any

import numpy as np

from propense._designs import Design
from propense._inputs.sample import Sample
from propense._maths.arrays import Matrix, Vector, as_float, weigh
from propense._maths.double_logistic import class_given_label
from propense._maths.linear import is_wide
from propense._maths.logistic import sigmoid
from propense._risks import PairRisk
from propense.errors import InvalidOption
from propense.estimators._base import BasePUClassifier
from propense.inference._debias import inverse_curvature, risk_of, theta_of
from propense.inference._survey import Survey

__all__ = ["sandwich_errors"]


def sandwich_errors(
    estimator: BasePUClassifier, sample: Sample, at: Design | None, survey: Survey | None = None
) -> Vector:
    """The standard errors of `log_odds_of` the `debiased` estimator, in the same order."""
    risk = _risk_of(estimator, sample)
    theta = theta_of(estimator, risk)
    influence = _influence(risk, theta)
    parts = [_errors_of_means(estimator, sample, risk, theta, influence, survey)]
    if at is not None:
        # A root of the middle matrix gives the variances of many rows cheaply.
        middle = risk.score_covariance(theta) if survey is None else _of_clusters(sample, risk, theta, survey)
        values, vectors = np.linalg.eigh(middle)
        root = influence @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        parts.append(_errors_at(at, risk, theta, root))
    return np.concatenate(parts)


def _of_clusters(sample: Sample, risk: PairRisk, theta: Vector, survey: Survey) -> Matrix:
    """The covariance of the sum of the gradients, column by column of θ: a pass over X each, wherever it lives."""
    along = (risk.scores_along(theta, each) for each in np.eye(len(theta)))
    return survey.covariance(np.column_stack([_shares(sample, each - sample.mean(each)) for each in along]))


def _shares(sample: Sample, values: Any) -> Vector:
    """wᵢ·valueᵢ of every row, on the host."""
    return sample.design.bring(weigh(values, sample.weights))


def _errors_of_means(
    estimator: BasePUClassifier,
    sample: Sample,
    risk: PairRisk,
    theta: Vector,
    influence: Matrix,
    survey: Survey | None,
) -> Vector:
    """The errors of the prior and the label frequency: each row moves them directly, in the mean, and through θ."""
    design, labelled = sample.design, sample.labelled
    a, b = (sample.log_odds(each) for each in (estimator._posterior, estimator._propensity))
    expected = design.hold(class_given_label(a, b, labelled))
    slope = expected * (1.0 - expected)
    by_beta, by_gamma = (design.rmatvec(weigh(each, sample.weights)) for each in (slope, -slope * sigmoid(b)))
    along = risk.scores_along(theta, influence.T @ risk.join(by_beta, by_gamma))
    prior, frequency = estimator.prior_, estimator.label_frequency_
    moves = expected - along
    moves = design.hold(moves - sample.mean(moves))
    frequency_moves = (as_float(labelled) - sample.mean(labelled) - frequency * moves) / prior
    if survey is None:
        variances = [sample.mean(each**2) / sample.total_weight for each in (moves, frequency_moves)]
    else:
        columns = [_shares(sample, each) / sample.total_weight for each in (moves, frequency_moves)]
        variances = np.diag(survey.covariance(np.column_stack(columns))).tolist()
    chances = np.array([prior, frequency])
    # A label frequency of 1 has infinite log-odds.
    return np.asarray(np.sqrt(variances) / np.maximum(chances * (1.0 - chances), np.finfo(np.float64).tiny))


def _errors_at(at: Design, risk: PairRisk, theta: Vector, root: Matrix) -> Vector:
    """The errors of the log-odds of y, e and h of every row, where root @ root.T is the variance of θ."""
    share = at.bring(sigmoid(at.matvec(risk.split(theta)[1])))
    variances = np.zeros((3, len(share)))
    for column in root.T:
        u, v = (at.bring(at.matvec(each)) for each in risk.split(column))
        # log h/(1−h) = a − softplus(b).
        variances += np.square([u, v, u - share * v])
    return np.sqrt(variances).ravel()


def _influence(risk: PairRisk, theta: Vector) -> Matrix:
    """The matrix A above."""
    try:
        inverse = inverse_curvature(risk, theta)
    except np.linalg.LinAlgError:
        raise InvalidOption(
            "how='sandwich': the joint risk is flat or a saddle at the fitted answer, so the labels do not determine "
            "both predictors. Pass propensity_features, raise ridge, or use how='bootstrap'."
        ) from None
    return np.asarray(inverse + inverse @ (risk.ridges[:, np.newaxis] * inverse))


def _risk_of(estimator: BasePUClassifier, sample: Sample) -> PairRisk:
    risk, name = risk_of(estimator, sample), type(estimator).__name__
    if risk is None:
        raise InvalidOption(
            f"how='sandwich': this {name} does not minimise the joint risk over two logistic predictors. Use "
            "how='bootstrap', or fit JointMLE without a radius, or SAREM or LBE with variant='em', without a prior."
        )
    if not estimator.converged_:
        raise InvalidOption(
            f"how='sandwich': this {name} stopped before it converged, so it is not at a minimum. Raise max_iter, or "
            "use how='bootstrap'."
        )
    if is_wide(len(risk.ridges)):
        raise InvalidOption(
            f"how='sandwich': {len(risk.ridges)} coefficients are too many for a matrix of their squared number. Use "
            "how='bootstrap' instead."
        )
    return risk
