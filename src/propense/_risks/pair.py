"""The risk of both predictors."""

from functools import cached_property

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
from propense._maths.linear import places
from propense._risks.base import Majoriser, Matrix, Vector, diagonal, total_weight

__all__ = ["PairRisk"]


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
        ridges = diagonal(design, ridge), diagonal(self._designs[1], propensity_ridge)
        self._ridge = np.concatenate(ridges)
        self._bounds = [Majoriser(*each) for each in zip(self._designs, [weights] * 2, ridges, strict=True)]

    @property
    def total_weight(self) -> float:
        return total_weight(self._designs[0], self._weights)

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
