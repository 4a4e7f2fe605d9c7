"""The double-logistic model if every negative is known with the same probability d = 1 − eᵘ (u is `log_unknown`).

The probability of being labelled is y·e, of being a known negative (1−y)·d, and of neither y(1−e) + (1−y)(1−d). With
u = 0 no negative is known, and these are the formulas of `double_logistic`.
"""

import math

from propense._maths.arrays import Rows, by_block, namespace
from propense._maths.logistic import softplus

__all__ = ["known_loss", "known_shift"]


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
