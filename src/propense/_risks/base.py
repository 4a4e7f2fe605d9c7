"""What solvers minimise: pointwise losses of X @ coef, summed over a Design, with a ridge on all but the intercept."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design
from propense._maths.arrays import Rows
from propense._maths.linear import cholesky_solver

__all__ = ["Majoriser", "Matrix", "Objective", "Risk", "Vector", "diagonal", "total_weight"]

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
        self._ridge = diagonal(design, ridge, intercept_ridge)
        self._bound = Majoriser(design, weights, self._ridge)

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
        return total_weight(self.design, self._weights)

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


def diagonal(design: Design, ridge: float, intercept_ridge: float = 0.0) -> Vector:
    """The ridge of each coefficient."""
    out = np.full(design.shape[1], ridge, dtype=np.float64)
    out[0] = intercept_ridge
    return out


def total_weight(design: Design, weights: Rows | None) -> float:
    """Σwᵢ, the number of rows where nothing is weighed."""
    return float(design.shape[0] if weights is None else weights.sum())


class Majoriser:
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
