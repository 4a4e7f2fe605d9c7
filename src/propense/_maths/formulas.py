"""Losses of X @ coef, row by row, with their derivatives: what a Design sums.

A formula consists of functions of this module only, so it can be sent to another process. By its name a Design
recognises the formulas that it has faster code for.
"""

from collections.abc import Callable
from dataclasses import dataclass

from propense._maths.arrays import Rows, namespace
from propense._maths.double_logistic import (
    class_log_odds_shift,
    cross_curvature,
    joint_curvature,
    joint_loss,
    joint_slope,
)
from propense._maths.known_negatives import known_loss, known_shift
from propense._maths.logistic import logistic_loss, sigmoid, sigmoid_slope

__all__ = ["JOINT", "KNOWN_JOINT", "KNOWN_PAIR", "LOGISTIC", "PAIR", "PAIR_SQUARE", "SQUARE", "Formula"]


@dataclass(frozen=True)
class Formula:
    """Functions of the products a = X @ coef and of further rows, each with one number per row.

    With one set of coefficients a, slope and curvature are vectors. With two, a and slope have two columns and the
    curvature has three: the second derivatives in the first product, in both, and in the second.
    """

    name: str
    loss: Callable[..., Rows]
    slope: Callable[..., Rows]
    curvature: Callable[..., Rows]


def _logistic_slope(a: Rows, targets: Rows) -> Rows:
    return sigmoid(a) - targets


def _logistic_curvature(a: Rows, targets: Rows) -> Rows:
    return sigmoid_slope(a)


def _joint_loss(a: Rows, labelled: Rows, other: Rows, shift: Rows) -> Rows:
    return joint_loss(a, other, labelled)


def _joint_slope(a: Rows, labelled: Rows, other: Rows, shift: Rows, *_: Rows) -> Rows:
    return joint_slope(a, shift)


def _joint_curvature(a: Rows, labelled: Rows, other: Rows, shift: Rows, *_: Rows) -> Rows:
    return joint_curvature(a, shift)


def _pair_loss(ab: Rows, labelled: Rows) -> Rows:
    return joint_loss(ab[:, 0], ab[:, 1], labelled)


def _pair_slope(ab: Rows, labelled: Rows) -> Rows:
    a, b = ab[:, 0], ab[:, 1]
    slopes = (
        joint_slope(a, class_log_odds_shift(b, labelled)),
        joint_slope(b, class_log_odds_shift(a, labelled)),
    )
    return namespace(ab).stack(slopes, axis=1)


def _pair_curvature(ab: Rows, labelled: Rows) -> Rows:
    a, b = ab[:, 0], ab[:, 1]
    curvatures = (
        joint_curvature(a, class_log_odds_shift(b, labelled)),
        cross_curvature(a, b, labelled),
        joint_curvature(b, class_log_odds_shift(a, labelled)),
    )
    return namespace(ab).stack(curvatures, axis=1)


def _known_joint_loss(a: Rows, labelled: Rows, other: Rows, shift: Rows, negative: Rows, log_unknown: Rows) -> Rows:
    return known_loss(a, other, labelled, negative, log_unknown)


def _known_pair_loss(ab: Rows, labelled: Rows, negative: Rows, log_unknown: Rows) -> Rows:
    return known_loss(ab[:, 0], ab[:, 1], labelled, negative, log_unknown)


def _known_pair_slope(ab: Rows, labelled: Rows, negative: Rows, log_unknown: Rows) -> Rows:
    """∂/∂a = σ(a) − t and ∂/∂b = t·(σ(b) − s), with t = P(Y=1 | x, what is known) and s = 1 on the labelled."""
    xp, a, b = namespace(ab), ab[:, 0], ab[:, 1]
    shift = known_shift(b, labelled, negative, log_unknown)
    slopes = joint_slope(a, shift), sigmoid(a - shift) * xp.where(labelled, -sigmoid(-b), sigmoid(b))
    return xp.stack(slopes, axis=1)


def _known_pair_curvature(ab: Rows, labelled: Rows, negative: Rows, log_unknown: Rows) -> Rows:
    """In a, in both, and in b; t(1−t) is 0 except on rows of which nothing is known."""
    a, b = ab[:, 0], ab[:, 1]
    shift, up = known_shift(b, labelled, negative, log_unknown), sigmoid(b)
    expected, doubt = sigmoid(a - shift), sigmoid_slope(a - shift)
    curvatures = joint_curvature(a, shift), doubt * up, expected * sigmoid_slope(b) - doubt * up**2
    return namespace(ab).stack(curvatures, axis=1)


def _square_loss(a: Rows) -> Rows:
    return 0.5 * a**2


def _square_slope(a: Rows) -> Rows:
    return a


def _square_curvature(a: Rows) -> Rows:
    return a * 0.0 + 1.0


def _pair_square_loss(ab: Rows, own: Rows, cross: Rows, others: Rows) -> Rows:
    return 0.5 * (ab * _pair_square_slope(ab, own, cross, others)).sum(1)


def _pair_square_slope(ab: Rows, own: Rows, cross: Rows, others: Rows) -> Rows:
    a, b = ab[:, 0], ab[:, 1]
    return namespace(ab).stack((own * a + cross * b, cross * a + others * b), axis=1)


def _pair_square_curvature(ab: Rows, own: Rows, cross: Rows, others: Rows) -> Rows:
    return namespace(ab).stack((own, cross, others), axis=1)


# softplus(a) − t·a with targets t in [0, 1].
LOGISTIC = Formula("logistic", logistic_loss, _logistic_slope, _logistic_curvature)
# φ of one predictor; rows: which are labelled, the other's log-odds, and the shift that follows from both.
JOINT = Formula("joint", _joint_loss, _joint_slope, _joint_curvature)
# φ of both predictors; rows: which are labelled.
PAIR = Formula("pair", _pair_loss, _pair_slope, _pair_curvature)
# The same with known negatives; rows: also which these are, and u.
KNOWN_JOINT = Formula("known joint", _known_joint_loss, _joint_slope, _joint_curvature)
KNOWN_PAIR = Formula("known pair", _known_pair_loss, _known_pair_slope, _known_pair_curvature)
# ½a²: with the curvature of another formula as weights, the gradient at v is that formula's Hessian times v.
SQUARE = Formula("square", _square_loss, _square_slope, _square_curvature)
# The same for both predictors; rows: the three curvatures.
PAIR_SQUARE = Formula("pair square", _pair_square_loss, _pair_square_slope, _pair_square_curvature)
