"""The logistic function and its loss, finite for every finite argument."""

import math

import numpy as np

from propense._maths.arrays import Rows, by_block, library_of, namespace

__all__ = [
    "LARGEST_LOG_ODDS",
    "both_chances",
    "log_odds_of_log",
    "logistic_loss",
    "logit",
    "sigmoid",
    "sigmoid_slope",
    "softplus",
]

# If a row is given a probability of exactly 0 or 1, its log-odds are limited to where float64 still distinguishes σ
# from 0 and 1. Two such certainties, y = 1 and e = 1, can then be compared, and scorers accept the numbers.
LARGEST_LOG_ODDS = 36.0
# −log p at the largest log-odds.
_LEAST = math.exp(-LARGEST_LOG_ODDS)


@by_block
def sigmoid(t: Rows) -> Rows:
    """σ(t) = 1 / (1 + e⁻ᵗ)."""
    # e⁻ᵗ overflows to inf below −709.8, and 1/(1+inf) = 0 is then within 1e-308 of the answer.
    with np.errstate(over="ignore"):
        out = namespace(t).exp(-t)
    out += 1.0
    return 1.0 / out


def both_chances(t: Rows) -> Rows:
    """1 − σ(t) and σ(t), side by side."""
    if library_of(t) == "dask":
        return t.map_blocks(both_chances, chunks=(t.chunks[0], (2,)), new_axis=1, meta=np.empty((0, 2)))
    return namespace(t).stack([sigmoid(-t), sigmoid(t)], axis=1)


def sigmoid_slope(t: Rows) -> Rows:
    """σ′(t) = σ(t) σ(−t)."""
    return sigmoid(t) * sigmoid(-t)


@by_block
def softplus(t: Rows) -> Rows:
    """log(1 + eᵗ) = max(t, 0) + log(1 + e^−|t|)."""
    xp = namespace(t)
    # In NumPy log1p and exp use SIMD, logaddexp does not.
    return xp.where(t > 0, t, 0.0) + xp.log1p(xp.exp(-abs(t)))


@by_block
def logit(p: Rows) -> Rows:
    """σ⁻¹(p) = log p − log(1 − p), with ±inf at 1 and 0."""
    xp = namespace(p)
    with np.errstate(divide="ignore"):
        return xp.log(p) - xp.log1p(-p)


@by_block
def log_odds_of_log(log_p: Rows) -> Rows:
    """log p − log(1 − p), computed from log p; at most the largest log-odds."""
    xp = namespace(log_p)
    log_p = xp.where(log_p < -_LEAST, log_p, -_LEAST)
    return log_p - xp.log(-xp.expm1(log_p))


def logistic_loss(a: Rows, target: Rows) -> Rows:
    """−t log σ(a) − (1−t) log(1 − σ(a)) = softplus(a) − t·a, for a target t in [0, 1]."""
    xp = namespace(a)
    # max(a, 0) − t·a in two cases rather than softplus(a) − t·a: the latter cancels at t = 1, a ≫ 0.
    return xp.where(a > 0, (1.0 - target) * a, target * -a) + xp.log1p(xp.exp(-abs(a)))
