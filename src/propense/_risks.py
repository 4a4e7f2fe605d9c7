"""The risks: pointwise losses of X @ coef, summed over a Design, with a ridge on all but the intercept."""

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design
from propense._maths.arrays import Rows
from propense._maths.double_logistic import (
    class_log_odds_shift,
    cross_curvature,
    joint_curvature,
    joint_loss,
    joint_slope,
)
from propense._maths.linear import cholesky_solver, places
from propense._maths.logistic import logistic_loss, sigmoid, sigmoid_slope

__all__ = ["JointRisk", "LogisticRisk", "Objective", "PairRisk", "Risk"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# Added to the diagonal of the majoriser: makes it invertible when p > n. It shortens the steps, it is no penalty;
# 0.01 is what the authors of JERM used.
_DAMPING = 0.01


class Objective(Protocol):
    """What a solver minimises."""

    @property
    def total_weight(self) -> float:
        """Σwᵢ, what divides the sums when a mean is wanted."""

    @property
    def units(self) -> Vector:
        """What each entry of a gradient is measured in."""

    def value_gradient(self, coef: Vector) -> tuple[float, Vector]:
        """The risk and its gradient."""

    def gradient(self, coef: Vector) -> Vector:
        """The gradient alone."""

    def hessian(self, coef: Vector) -> Matrix:
        """The matrix of second derivatives."""

    def majoriser(self) -> Matrix:
        """At least the Hessian, wherever that is taken."""

    def majorised_step(self, gradient: Vector) -> Vector:
        """Majoriser⁻¹ @ gradient."""


class Risk:
    """Σ wᵢ·loss(xᵢᵀcoef) + ½·ridge·‖coef without its intercept‖².

    A subclass writes the loss and its first two derivatives as functions of X @ coef and of `rows`, n-sized arrays
    that live beside the design.
    """

    def __init__(
        self,
        design: Design,
        rows: tuple[Rows, ...],
        weights: Rows | None,
        ridge: float,
        intercept_ridge: float = 0.0,
    ) -> None:
        self.design = design
        self._rows = rows
        self._weights = weights
        self._ridge = _diagonal(design, ridge, intercept_ridge)
        self._bound = _Majoriser(design, weights, self._ridge)

    @staticmethod
    def _loss(a: Rows, *rows: Rows) -> Rows:
        raise NotImplementedError

    @staticmethod
    def _slope(a: Rows, *rows: Rows) -> Rows:
        raise NotImplementedError

    @staticmethod
    def _curvature(a: Rows, *rows: Rows) -> Rows:
        raise NotImplementedError

    @property
    def total_weight(self) -> float:
        """Σwᵢ, what divides the sums when a mean is wanted."""
        return _total(self.design, self._weights)

    def value_gradient(self, coef: Vector) -> tuple[float, Vector]:
        """The risk and its gradient."""
        value, gradient = self._sweep(lambda a, *rows: (self._loss(a, *rows), self._slope(a, *rows)), coef)
        return value + 0.5 * float(self._ridge @ coef**2), gradient + self._ridge * coef

    def gradient(self, coef: Vector) -> Vector:
        """The gradient alone, which needs no logarithm."""
        return self._sweep(lambda a, *rows: (None, self._slope(a, *rows)), coef)[1] + self._ridge * coef

    def hessian(self, coef: Vector) -> Matrix:
        """The matrix of second derivatives."""
        curvature = self._curvature(self.design.matvec(coef), *self._rows)
        if self._weights is not None:
            curvature = curvature * self._weights
        return self.design.gram(curvature) + np.diag(self._ridge)

    def majoriser(self) -> Matrix:
        """¼·XᵀWX + ridge + damping·I: at least the Hessian, wherever that is taken."""
        return self._bound.matrix

    @property
    def units(self) -> Vector:
        """The square roots of the majoriser's diagonal: what a gradient is measured in, whatever the columns' units."""
        return self._bound.units

    def majorised_step(self, gradient: Vector) -> Vector:
        """Majoriser⁻¹ @ gradient; factorised once."""
        return self._bound.solve(gradient)

    def _sweep(self, pointwise: Any, coef: Vector) -> tuple[float, Vector]:
        if self._weights is None:
            return self.design.sweep(pointwise, coef, *self._rows)

        def weighted(a: Rows, weights: Rows, *rows: Rows) -> tuple[Rows | None, Rows]:
            values, slopes = pointwise(a, *rows)
            return (None if values is None else weights * values), weights * slopes

        return self.design.sweep(weighted, coef, self._weights, *self._rows)


class LogisticRisk(Risk):
    """Σ wᵢ·(softplus(aᵢ) − tᵢaᵢ) with targets t in [0, 1]: H_P of the paper, and with soft targets the M-step of EM."""

    def __init__(
        self,
        design: Design,
        targets: Rows,
        *,
        weights: Rows | None = None,
        ridge: float = 0.0,
        intercept_ridge: float = 0.0,
    ) -> None:
        super().__init__(design, (targets,), weights, ridge, intercept_ridge)

    _loss = staticmethod(logistic_loss)

    @staticmethod
    def _slope(a: Rows, targets: Rows) -> Rows:
        return sigmoid(a) - targets

    @staticmethod
    def _curvature(a: Rows, targets: Rows) -> Rows:
        return sigmoid_slope(a)


class JointRisk(Risk):
    """n·Qₙ as a function of one predictor, the other held at `other` = X @ (its coefficients)."""

    def __init__(
        self, design: Design, labelled: Rows, other: Rows, *, weights: Rows | None = None, ridge: float = 0.0
    ) -> None:
        super().__init__(design, (labelled, other, class_log_odds_shift(other, labelled)), weights, ridge)

    def holding(self, other: Rows) -> Self:
        """The same risk with the other predictor held elsewhere; the majoriser does not depend on it and is shared."""
        moved = copy.copy(self)
        labelled = self._rows[0]
        moved._rows = (labelled, other, class_log_odds_shift(other, labelled))
        return moved

    @staticmethod
    def _loss(a: Rows, labelled: Rows, other: Rows, shift: Rows) -> Rows:
        return joint_loss(a, other, labelled)

    @staticmethod
    def _slope(a: Rows, labelled: Rows, other: Rows, shift: Rows) -> Rows:
        return joint_slope(a, shift)

    @staticmethod
    def _curvature(a: Rows, labelled: Rows, other: Rows, shift: Rows) -> Rows:
        return joint_curvature(a, shift)


class PairRisk:
    """n·Qₙ as a function of both predictors at once: θ = (β, γ), γ over some of the columns or all.

    The Hessian is at most that of two logistic regressions side by side: the term −log(1 + eᵃ + eᵇ), the only one
    that holds both, is concave.
    """

    def __init__(
        self,
        design: Design,
        labelled: Rows,
        *,
        columns: NDArray[np.intp] | None = None,
        weights: Rows | None = None,
        ridge: float = 0.0,
        propensity_ridge: float = 0.0,
    ) -> None:
        self._designs = design, design if columns is None else design.columns(columns)
        self._labelled, self._weights = labelled, weights
        # Where γ's coefficients stand among β's.
        self._places = places(columns, design.shape[1])
        ridges = _diagonal(design, ridge), _diagonal(self._designs[1], propensity_ridge)
        self._ridge = np.concatenate(ridges)
        self._bounds = [_Majoriser(*each) for each in zip(self._designs, [weights] * 2, ridges, strict=True)]

    @property
    def total_weight(self) -> float:
        return _total(self._designs[0], self._weights)

    @cached_property
    def units(self) -> Vector:
        return np.concatenate([bound.units for bound in self._bounds])

    def join(self, beta: Vector, gamma: Vector) -> Vector:
        """θ of two predictors over all columns."""
        return np.concatenate([beta, gamma[self._places]])

    def split(self, theta: Vector) -> tuple[Vector, Vector]:
        """β and γ over all columns."""
        p = self._designs[0].shape[1]
        gamma = np.zeros(p)
        gamma[self._places] = theta[p:]
        return theta[:p].copy(), gamma

    def value_gradient(self, coef: Vector) -> tuple[float, Vector]:
        a, b = self._log_odds(coef)
        value = float(self._weigh(joint_loss(a, b, self._labelled)).sum()) + 0.5 * float(self._ridge @ coef**2)
        slopes = [
            design.rmatvec(self._weigh(joint_slope(mine, class_log_odds_shift(other, self._labelled))))
            for design, mine, other in zip(self._designs, (a, b), (b, a), strict=True)
        ]
        return value, np.concatenate(slopes) + self._ridge * coef

    def gradient(self, coef: Vector) -> Vector:
        return self.value_gradient(coef)[1]

    def hessian(self, coef: Vector) -> Matrix:
        a, b = self._log_odds(coef)
        p = self._designs[0].shape[1]
        out = np.diag(self._ridge)
        for block, design, mine, other in (
            (slice(p), self._designs[0], a, b),
            (slice(p, None), self._designs[1], b, a),
        ):
            curvature = joint_curvature(mine, class_log_odds_shift(other, self._labelled))
            out[block, block] += design.gram(self._weigh(curvature))
        cross = self._designs[0].gram(self._weigh(cross_curvature(a, b, self._labelled)))[:, self._places]
        out[:p, p:], out[p:, :p] = cross, cross.T
        return out

    def majoriser(self) -> Matrix:
        p = self._designs[0].shape[1]
        out = np.zeros((len(self._ridge), len(self._ridge)))
        out[:p, :p], out[p:, p:] = self._bounds[0].matrix, self._bounds[1].matrix
        return out

    def majorised_step(self, gradient: Vector) -> Vector:
        p = self._designs[0].shape[1]
        return np.concatenate([self._bounds[0].solve(gradient[:p]), self._bounds[1].solve(gradient[p:])])

    def _log_odds(self, coef: Vector) -> tuple[Rows, Rows]:
        p = self._designs[0].shape[1]
        return self._designs[0].matvec(coef[:p]), self._designs[1].matvec(coef[p:])

    def _weigh(self, rows: Rows) -> Rows:
        return rows if self._weights is None else self._weights * rows


def _diagonal(design: Design, ridge: float, intercept_ridge: float = 0.0) -> Vector:
    """The ridge of each coefficient."""
    out = np.full(design.shape[1], ridge)
    out[0] = intercept_ridge
    return out


def _total(design: Design, weights: Rows | None) -> float:
    return float(design.shape[0] if weights is None else weights.sum())


class _Majoriser:
    """¼·XᵀWX + ridge + damping·I, made when first asked for."""

    def __init__(self, design: Design, weights: Rows | None, ridge: Vector) -> None:
        self._design, self._weights, self._ridge = design, weights, ridge

    @cached_property
    def matrix(self) -> Matrix:
        return 0.25 * self._design.gram(self._weights) + np.diag(self._ridge + _DAMPING)

    @cached_property
    def units(self) -> Vector:
        diagonal = 0.25 * self._design.squares(self._weights) + self._ridge + _DAMPING
        return np.asarray(np.sqrt(diagonal))

    @cached_property
    def solve(self) -> Callable[[Vector], Vector]:
        return cholesky_solver(self.matrix)
