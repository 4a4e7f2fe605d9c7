"""The double-logistic model if every negative is known with the same probability d = 1 − eᵘ (u is `log_unknown`).

The probability of being labelled is y·e, of being a known negative (1−y)·d, and of neither y(1−e) + (1−y)(1−d). With
u = 0 no negative is known, and these are the formulas of `double_logistic`.
"""

import math

from propense._maths.arrays import Rows, by_block, namespace
from propense._maths.double_logistic import joint_curvature, joint_slope
from propense._maths.logistic import sigmoid, sigmoid_slope, softplus

__all__ = ["known_loss", "known_pair_curvature", "known_pair_slope", "known_shift"]


@by_block
def known_shift(b: Rows, labelled: Rows, negative: Rows, log_unknown: Rows) -> Rows:
    """The shift with P(Y=1 | x, what is known) = σ(a − shift): −inf, +inf, or softplus(b) + u if nothing is known."""
    xp = namespace(b)
    return xp.where(labelled, -math.inf, xp.where(negative, math.inf, softplus(b) + log_unknown))


@by_block
def known_loss(a: Rows, b: Rows, labelled: Rows, negative: Rows, log_unknown: Rows) -> Rows:
    """−log P(what is known of a row), without the constant −log d of a known negative."""
    xp = namespace(a)
    nothing = -xp.logaddexp(-softplus(-a) - softplus(b), log_unknown - softplus(a))
    return xp.where(labelled, softplus(-a) + softplus(-b), xp.where(negative, softplus(a), nothing))


def known_pair_slope(a: Rows, b: Rows, labelled: Rows, negative: Rows, log_unknown: Rows) -> tuple[Rows, Rows]:
    """∂/∂a = σ(a) − t and ∂/∂b = t·(σ(b) − s), with t = P(Y=1 | x, what is known) and s = 1 on the labelled."""
    shift = known_shift(b, labelled, negative, log_unknown)
    expected = sigmoid(a - shift)
    return joint_slope(a, shift), expected * namespace(a).where(labelled, -sigmoid(-b), sigmoid(b))


def known_pair_curvature(
    a: Rows, b: Rows, labelled: Rows, negative: Rows, log_unknown: Rows
) -> tuple[Rows, Rows, Rows]:
    """The second derivatives in a, in both, and in b; t(1−t) is 0 except on rows of which nothing is known."""
    shift = known_shift(b, labelled, negative, log_unknown)
    expected, doubt = sigmoid(a - shift), sigmoid_slope(a - shift)
    up = sigmoid(b)
    return joint_curvature(a, shift), doubt * up, expected * sigmoid_slope(b) - doubt * up**2
