"""Risks of one predictor: losses of X @ coef, summed over a Design, with a ridge on all but the intercept."""

import copy
import math
from collections.abc import Callable
from functools import cached_property
from typing import Self

import numpy as np

from propense._designs import Design
from propense._maths.arrays import Index, Matrix, Rows, Vector, as_float, weigh
from propense._maths.double_logistic import class_log_odds_shift
from propense._maths.formulas import JOINT, KNOWN_JOINT, LOGISTIC, SQUARE, Formula
from propense._maths.known_negatives import known_shift
from propense._maths.linear import KrylovSolver, cholesky_solver, is_wide

__all__ = [
    "JointRisk",
    "LogisticRisk",
    "Majoriser",
    "Moments",
    "Risk",
    "diagonal",
    "known_negative_loss",
    "total_weight",
]

# Added to the diagonal of the majoriser: makes it invertible when p > n. It shortens the steps and is not a penalty;
# the authors of JERM used 0.01.
_DAMPING = 0.01
# The relative error of a step that is found without the matrix. With 1e-3 an early-stopped JERM ranks new rows as
# with exact steps (correlation ≥ 0.9998 at 2 500 columns of text); with 1e-2 it does not (≤ 0.97).
_STEP_TOL = 1e-3


class Risk:
    """Σ wᵢ·loss(xᵢᵀcoef) + ½·ridge·‖coef without its intercept‖².

    A subclass sets the formula of the loss; `rows` are its arguments after X @ coef, arrays of length n that live next
    to the design.
    """

    _formula: Formula

    def __init__(
        self,
        design: Design,
        rows: tuple[Rows, ...],
        weights: Rows | None,
        ridge: float | Vector,
        intercept_ridge: float = 0.0,
    ) -> None:
        self.design = design
        self._rows = tuple(design.hold(each) for each in rows)
        self._weights = None if weights is None else design.hold(weights)
        self._ridge = diagonal(design.shape[1], ridge, intercept_ridge)
        self._bound = Majoriser(Moments(design, self._weights), self._ridge)

    @cached_property
    def total_weight(self) -> float:
        """Σwᵢ, which divides the sums where a mean is wanted."""
        return total_weight(self.design, self._weights)

    def value_gradient(self, coef: Vector) -> tuple[float, Vector]:
        """The risk and its gradient."""
        value, gradient = self.design.sweep(self._formula, coef, self._rows, self._weights)
        return value + 0.5 * float(self._ridge @ coef**2), gradient + self._ridge * coef

    def gradient(self, coef: Vector) -> Vector:
        """The gradient alone, without a logarithm."""
        return self.design.sweep(self._formula, coef, self._rows, self._weights, value=False)[1] + self._ridge * coef

    def hessian(self, coef: Vector) -> Matrix:
        """The matrix of second derivatives."""
        return self.design.curve(self._formula, coef, self._rows, self._weights) + np.diag(self._ridge)

    def curvature(self, coef: Vector) -> Callable[[Vector], Vector]:
        """The map v → hessian(coef) @ v, one pass over X each."""
        design = self.design
        weights = weigh(self._formula.curvature(design.matvec(coef), *self._rows), self._weights)
        weights = design.hold(weights)
        return lambda v: design.sweep(SQUARE, v, (), weights, value=False)[1] + self._ridge * v

    @property
    def units(self) -> Vector:
        """The square roots of the majoriser's diagonal: gradients in them do not depend on the columns' units."""
        return self._bound.units

    def majorised_step(self, gradient: Vector) -> Vector:
        """Majoriser⁻¹ @ gradient: factorised once, or by conjugate gradients where p is too large for the matrix."""
        return self._bound.solve(gradient)


class LogisticRisk(Risk):
    """Σ wᵢ·(softplus(aᵢ) − tᵢaᵢ) with targets t in [0, 1]: H_P of the paper, and with soft targets the M-step of EM."""

    _formula = LOGISTIC

    def __init__(
        self,
        design: Design,
        targets: Rows,
        *,
        weights: Rows | None = None,
        ridge: float | Vector = 0.0,
        intercept_ridge: float = 0.0,
    ) -> None:
        super().__init__(design, (as_float(targets),), weights, ridge, intercept_ridge)


class JointRisk(Risk):
    """n·Qₙ as a function of one predictor; the log-odds of the other are fixed at `other`."""

    _formula = JOINT

    def __init__(
        self,
        design: Design,
        labelled: Rows,
        other: Rows,
        *,
        weights: Rows | None = None,
        ridge: float | Vector = 0.0,
    ) -> None:
        super().__init__(design, (labelled, other, class_log_odds_shift(other, labelled)), weights, ridge)

    def with_other(self, other: Rows) -> Self:
        """The same risk for another fixed predictor; the majoriser does not depend on it and is shared."""
        moved, labelled = copy.copy(self), self._rows[0]
        moved._formula, moved._rows = JOINT, (labelled, other, self.design.hold(class_log_odds_shift(other, labelled)))
        return moved

    def with_negatives(self, negative: Rows, log_unknown: float) -> Self:
        """The risk of y given e, if the rows of `negative` are known: 1 − exp(log_unknown) of all negatives."""
        known, hold = copy.copy(self), self.design.hold
        labelled, other = self._rows[:2]
        shift, everywhere = known_shift(other, labelled, negative, log_unknown), as_float(labelled) * 0.0 + log_unknown
        known._formula = KNOWN_JOINT
        known._rows = labelled, other, hold(shift), hold(negative), hold(everywhere)
        return known

    def log_odds(self, coef: Vector) -> tuple[Rows, Rows]:
        """The log-odds of this predictor and of the other."""
        return self.design.matvec(coef), self._rows[1]


def diagonal(p: int, ridge: float | Vector, intercept_ridge: float = 0.0) -> Vector:
    """The ridge of each of p coefficients: one for all slopes, or one for each."""
    out = np.empty(p)
    out[0], out[1:] = intercept_ridge, ridge
    return out


def total_weight(design: Design, weights: Rows | None) -> float:
    """Σwᵢ: the number of rows if there are no weights."""
    return float(design.shape[0] if weights is None else weights.sum())


def known_negative_loss(negative: Rows, weights: Rows | None, log_unknown: float) -> float:
    """Σ −log d over the known negatives, d = 1 − exp(log_unknown); 0 for log_unknown = 0, where no row is left."""
    if log_unknown == 0.0:
        return 0.0
    return -math.log(-math.expm1(log_unknown)) * float(weigh(as_float(negative), weights).sum())


class Moments:
    """XᵀWX and its diagonal, each computed on first use."""

    def __init__(self, design: Design, weights: Rows | None) -> None:
        self._design, self._weights = design, weights

    @cached_property
    def gram(self) -> Matrix:
        return self._design.gram(self._weights)

    @cached_property
    def squares(self) -> Vector:
        return self._design.squares(self._weights)

    def product(self, v: Vector) -> Vector:
        """XᵀWX @ v, in one pass over X."""
        return self._design.sweep(SQUARE, v, (), self._weights, value=False)[1]


class Majoriser:
    """¼·XᵀWX + ridge + damping·I of some coefficients or all: it bounds every Hessian. Computed on first use."""

    def __init__(self, moments: Moments, ridge: Vector, where: Index | slice = slice(None)) -> None:
        self._moments, self._ridge, self._where = moments, ridge, where

    @cached_property
    def matrix(self) -> Matrix:
        gram = self._moments.gram[self._where][:, self._where]
        return np.asarray(0.25 * gram + np.diag(self._ridge + _DAMPING))

    @cached_property
    def units(self) -> Vector:
        diagonal = 0.25 * self._moments.squares[self._where] + self._ridge + _DAMPING
        return np.asarray(np.sqrt(diagonal))

    @cached_property
    def solve(self) -> Callable[[Vector], Vector]:
        if is_wide(len(self._ridge)):
            return KrylovSolver(self._product, len(self._ridge), _STEP_TOL)
        return cholesky_solver(self.matrix)

    def _product(self, v: Vector) -> Vector:
        """The matrix times v, without the matrix."""
        spread = np.zeros(len(self._moments.squares))
        spread[self._where] = v
        return np.asarray(0.25 * self._moments.product(spread)[self._where] + (self._ridge + _DAMPING) * v)
