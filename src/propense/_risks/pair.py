"""The risk of both predictors."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design
from propense._maths.arrays import Rows, namespace, weigh
from propense._maths.double_logistic import class_log_odds_shift, joint_slope
from propense._maths.formulas import PAIR, PAIR_SQUARE
from propense._maths.linear import places
from propense._risks.base import Majoriser, Matrix, Moments, Vector, diagonal, total_weight

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
        self._design, self._rows, self._weights = design, (design.hold(labelled),), weights
        p = design.shape[1]
        # Where γ's coefficients stand among β's.
        self._places = places(columns, p)
        ridges = diagonal(p, ridge), diagonal(len(self._places), propensity_ridge)
        self._ridge = np.concatenate(ridges)
        moments = Moments(design, weights)
        self._bounds = Majoriser(moments, ridges[0]), Majoriser(moments, ridges[1], self._places)

    @cached_property
    def total_weight(self) -> float:
        return total_weight(self._design, self._weights)

    @cached_property
    def units(self) -> Vector:
        return np.concatenate([bound.units for bound in self._bounds])

    def join(self, beta: Vector, gamma: Vector) -> Vector:
        """θ of two predictors over all columns."""
        return np.concatenate([beta, gamma[self._places]])

    def split(self, theta: Vector) -> tuple[Vector, Vector]:
        """β and γ over all columns."""
        p = self._design.shape[1]
        gamma = np.zeros(p)
        gamma[self._places] = theta[p:]
        return theta[:p].copy(), gamma

    def value_gradient(self, coef: Vector) -> tuple[float, Vector]:
        both = np.column_stack(self.split(coef))
        value, gradient = self._design.sweep(PAIR, both, self._rows, self._weights)
        return value + 0.5 * float(self._ridge @ coef**2), self.join(*gradient.T) + self._ridge * coef

    def gradient(self, coef: Vector) -> Vector:
        return self.value_gradient(coef)[1]

    def hessian(self, coef: Vector) -> Matrix:
        both = np.column_stack(self.split(coef))
        own, cross, others = self._design.curve(PAIR, both, self._rows, self._weights)
        cross = cross[:, self._places]
        return np.block([[own, cross], [cross.T, others[self._places][:, self._places]]]) + np.diag(self._ridge)

    def curvature(self, coef: Vector) -> Callable[[Vector], Vector]:
        design = self._design
        a, b = (design.matvec(each) for each in self.split(coef))
        both = namespace(a).stack((a, b), axis=1)
        curvatures = weigh(PAIR.curvature(both, *self._rows), self._weights)
        rows = [design.hold(curvatures[:, each]) for each in range(3)]

        def product(v: Vector) -> Vector:
            _, moved = design.sweep(PAIR_SQUARE, np.column_stack(self.split(v)), rows, value=False)
            return self.join(*moved.T) + self._ridge * v

        return product

    @property
    def ridges(self) -> Vector:
        """The ridge of each coefficient."""
        return self._ridge.copy()

    def score_covariance(self, coef: Vector) -> Matrix:
        """Σ wᵢ·(gᵢ − ḡ)(gᵢ − ḡ)ᵀ, gᵢ the gradient of the loss of row i, the ridge left out, and ḡ their mean."""
        u, v = self._slopes(coef)
        own, cross, others = (self._design.gram(weigh(each, self._weights)) for each in (u * u, u * v, v * v))
        cross = cross[:, self._places]
        total = self.gradient(coef) - self._ridge * coef
        squares = np.block([[own, cross], [cross.T, others[self._places][:, self._places]]])
        return np.asarray(squares - np.outer(total, total) / self.total_weight)

    def scores_along(self, coef: Vector, direction: Vector) -> Rows:
        """gᵢᵀ·direction of every row."""
        (u, v), (to_beta, to_gamma) = self._slopes(coef), self.split(direction)
        return u * self._design.matvec(to_beta) + v * self._design.matvec(to_gamma)

    def _slopes(self, coef: Vector) -> tuple[Rows, Rows]:
        """The derivatives of the loss of every row by its two log-odds."""
        design = self._design
        a, b = (design.hold(design.matvec(each)) for each in self.split(coef))
        (labelled,) = self._rows
        return (
            design.hold(joint_slope(a, class_log_odds_shift(b, labelled))),
            design.hold(joint_slope(b, class_log_odds_shift(a, labelled))),
        )

    def majoriser(self) -> Matrix:
        p = self._design.shape[1]
        out = np.zeros((len(self._ridge), len(self._ridge)))
        out[:p, :p], out[p:, p:] = self._bounds[0].matrix, self._bounds[1].matrix
        return out

    def majorised_step(self, gradient: Vector) -> Vector:
        p = self._design.shape[1]
        return np.concatenate([self._bounds[0].solve(gradient[:p]), self._bounds[1].solve(gradient[p:])])
