"""The double-logistic model: P(Y=1|x) = σ(a), P(S=1|Y=1,x) = σ(b).

Everything rests on 1 − σ(a)σ(b) = (1 + eᵃ + eᵇ) / ((1+eᵃ)(1+eᵇ)) and on
1 + eᵃ + eᵇ = (1+eᵇ)(1+e^(a−softplus b)); no clipping is needed anywhere.
"""

import math

import numpy as np

from propense._maths.arrays import Rows, by_block, namespace
from propense._maths.logistic import log_odds_of_log, sigmoid, sigmoid_slope, softplus

__all__ = [
    "class_given_label",
    "class_log_odds_shift",
    "cross_curvature",
    "halfway_to_certain",
    "hidden_log_odds",
    "hidden_positive",
    "joint_curvature",
    "joint_loss",
    "joint_slope",
    "label_log_odds",
    "replace_hidden",
    "shift_class",
]


@by_block
def joint_loss(a: Rows, b: Rows, labelled: Rows) -> Rows:
    """φ(a, b, s) = −s log σ(a)σ(b) − (1−s) log(1 − σ(a)σ(b))."""
    xp = namespace(a)
    product = sigmoid(a) * sigmoid(b)
    # Two exact forms of −log(1 − σ(a)σ(b)): log1p keeps every digit of a small loss; the sum of the positive terms
    # σ(−a) + σ(a)σ(−b), taken in logs, stays finite where 1 − σ(a)σ(b) is 0 in float64 (a, b ≥ 37).
    small = -xp.log1p(-xp.where(product < 0.5, product, 0.0))
    large = -xp.logaddexp(-softplus(a), -softplus(-a) - softplus(b))
    unlabelled = xp.where(product < 0.5, small, large)
    return xp.where(labelled, softplus(-a) + softplus(-b), unlabelled)


@by_block
def hidden_log_odds(a: Rows, b: Rows) -> Rows:
    """log h/(1−h) = a − softplus(b), with h as in `hidden_positive`."""
    return a - softplus(b)


@by_block
def hidden_positive(a: Rows, b: Rows) -> Rows:
    """h = P(Y=1 | x, S=0) = eᵃ / (1 + eᵃ + eᵇ)."""
    return sigmoid(hidden_log_odds(a, b))


@by_block
def class_log_odds_shift(b: Rows, labelled: Rows) -> Rows:
    """The shift d with P(Y=1 | x, s) = σ(a − d): softplus(b) on the unlabelled, −inf on the labelled."""
    return namespace(b).where(labelled, -math.inf, softplus(b))


@by_block
def class_given_label(a: Rows, b: Rows, labelled: Rows) -> Rows:
    """P(Y=1 | x, s): 1 on the labelled, h on the unlabelled; the E-step of EM."""
    return sigmoid(a - class_log_odds_shift(b, labelled))


@by_block
def joint_slope(a: Rows, shift: Rows) -> Rows:
    """∂φ/∂a = σ(a) − t with t = P(Y=1 | x, s) = σ(a − shift)."""
    xp = namespace(a)
    doubt = shift - a
    if xp is np:
        # Below −700, 1 + eᵗ is 1 anyway, and exp is slow where its result underflows, as on the labelled.
        np.maximum(doubt, -700.0, out=doubt)
    # Twice `sigmoid`, with fewer temporary arrays: this is the innermost loop of JERM.
    with np.errstate(over="ignore"):
        slope, doubt = xp.exp(-a), xp.exp(doubt, out=doubt)
    slope += 1.0
    doubt += 1.0
    slope = 1.0 / slope
    slope -= 1.0 / doubt
    return slope


def joint_curvature(a: Rows, shift: Rows) -> Rows:
    """∂²φ/∂a² = σ(a)(1−σ(a)) − t(1−t); t(1−t) is 0 on the labelled. At most ¼."""
    return sigmoid_slope(a) - sigmoid_slope(a - shift)


def cross_curvature(a: Rows, b: Rows, labelled: Rows) -> Rows:
    """∂²φ/∂a∂b = eᵃeᵇ / (1 + eᵃ + eᵇ)² on the unlabelled, 0 on the labelled."""
    return namespace(a).where(labelled, 0.0, hidden_positive(a, b) * hidden_positive(b, a))


@by_block
def label_log_odds(a: Rows, b: Rows) -> Rows:
    """The log-odds of s = σ(a)σ(b), the chance of a label: −log(e⁻ᵃ + e⁻ᵇ + e⁻ᵃ⁻ᵇ)."""
    return -namespace(a).logaddexp(-a, softplus(-a) - b)


@by_block
def halfway_to_certain(z: Rows) -> Rows:
    """The log-odds of (1 + σ(z))/2, the middle of the range s(x) ≤ e(x) ≤ 1: log(1 + 2eᶻ)."""
    return softplus(z + math.log(2.0))


def shift_class(a: Rows, b: Rows, shift: float) -> tuple[Rows, Rows]:
    """y's log-odds moved by `shift`, and e changed so that s = y·e stays as it is; y is never below s."""
    label = -softplus(-a) - softplus(-b)
    moved = namespace(a).maximum(a + shift, log_odds_of_log(label))
    return moved, log_odds_of_log(label + softplus(-moved))


def replace_hidden(a: Rows, b: Rows, u: Rows) -> tuple[Rows, Rows]:
    """The log-odds of y and e with h replaced by h′ = σ(u), and s = y·e as it is.

    y′ = s + (1 − s)h′ and e′ = s/y′. With t = logit s the odds are y′/(1 − y′) = eᵗ(1 + eᵘ) + eᵘ and
    e′/(1 − e′) = eᵗ(1 + e⁻ᵘ), sums of positive terms.
    """
    t = label_log_odds(a, b)
    return namespace(a).logaddexp(t + softplus(u), u), t + softplus(-u)
