"""What a solver minimises, and what it returns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from propense._maths.arrays import Matrix, Vector

__all__ = ["MajorisedObjective", "Objective", "Solution", "gradient_norm"]


class Objective(Protocol):
    """What every solver may ask of a risk."""

    @property
    def total_weight(self) -> float:
        """Σwᵢ, which divides the sums where a mean is wanted."""

    @property
    def units(self) -> Vector:
        """What each entry of a gradient is measured in."""

    def value_gradient(self, coef: Vector) -> tuple[float, Vector]:
        """The risk and its gradient."""

    def hessian(self, coef: Vector) -> Matrix:
        """The matrix of second derivatives."""

    def curvature(self, coef: Vector) -> Callable[[Vector], Vector]:
        """The map v → hessian(coef) @ v, without the matrix."""


class MajorisedObjective(Objective, Protocol):
    """What majorise–minimise steps ask in addition."""

    def gradient(self, coef: Vector) -> Vector:
        """The gradient alone."""

    def majorised_step(self, gradient: Vector) -> Vector:
        """B⁻¹ @ gradient, where B bounds the Hessian everywhere."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Where a solver stopped; `value` is the risk there, a sum over the rows.

    `inverse`, if known, multiplies by about the inverse of the Hessian there.
    """

    coef: Vector
    value: float
    gradient_norm: float
    n_iter: int
    converged: bool
    inverse: Callable[[Vector], Vector] | None = None


def gradient_norm(risk: Objective, gradient: Vector) -> float:
    """max over columns of |gradient| / √(Σw·¼Σwx²): it depends on neither the number of rows nor the columns' units."""
    return float((np.abs(gradient) / risk.units).max() / np.sqrt(risk.total_weight))
