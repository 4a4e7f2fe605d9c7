"""The risk of both predictors."""

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Self

import numpy as np

from propense._designs import Design
from propense._maths.arrays import Index, Matrix, Rows, Vector, as_float, namespace, weigh
from propense._maths.double_logistic import class_log_odds_shift, joint_slope
from propense._maths.formulas import KNOWN_PAIR, PAIR, PAIR_SQUARE
from propense._maths.linear import coef_positions
from propense._risks.single import Majoriser, Moments, diagonal, known_negative_loss, total_weight

__all__ = ["PairRisk"]


class PairRisk:
    """n·Qₙ as a function of both predictors: θ = (β, γ), each over some or all of the columns.

    The Hessian is at most that of two separate logistic regressions: the only term with both predictors,
    −log(1 + eᵃ + eᵇ), is concave. With a `level`, a vector of p numbers, ½·(levelᵀγ)² is added.
    """

    def __init__(
        self,
        design: Design,
        labelled: Rows,
        *,
        columns: Index | None = None,
        class_columns: Index | None = None,
        weights: Rows | None = None,
        ridge: float | Vector = 0.0,
        propensity_ridge: float | Vector = 0.0,
        level: Vector | None = None,
    ) -> None:
        self._design, self._weights = design, weights
        self._rows: tuple[Rows, ...] = (design.hold(labelled),)
        self._formula, self._constant = PAIR, 0.0
        # The positions of β's and γ's coefficients among those of all columns.
        self._own = coef_positions(class_columns, design.shape[1])
        self._places = coef_positions(columns, design.shape[1])
        p, q = len(self._own), len(self._places)
        ridges = diagonal(p, ridge), diagonal(q, propensity_ridge)
        self._ridge = np.concatenate(ridges)
        self._level = np.zeros(p + q)
        if level is not None:
            self._level[p:] = level[self._places]
        moments = Moments(design, weights)
        # (levelᵀγ)² is at most q·Σ(levelⱼγⱼ)².
        bound = ridges[1] + q * self._level[p:] ** 2
        self._bounds = Majoriser(moments, ridges[0], self._own), Majoriser(moments, bound, self._places)

    def with_negatives(self, negative: Rows, log_unknown: float) -> Self:
        """The same risk if the rows of `negative` are known negatives, 1 − exp(log_unknown) of all negatives."""
        known, hold = copy.copy(self), self._design.hold
        labelled = self._rows[0]
        known._formula = KNOWN_PAIR
        known._rows = labelled, hold(negative), hold(as_float(labelled) * 0.0 + log_unknown)
        known._constant = known_negative_loss(negative, self._weights, log_unknown)
        return known

    @cached_property
    def total_weight(self) -> float:
        return total_weight(self._design, self._weights)

    @cached_property
    def units(self) -> Vector:
        return np.concatenate([bound.units for bound in self._bounds])

    def join(self, beta: Vector, gamma: Vector) -> Vector:
        """θ of two predictors over all columns."""
        return np.concatenate([beta[self._own], gamma[self._places]])

    def split(self, theta: Vector) -> tuple[Vector, Vector]:
        """β and γ over all columns."""
        beta, gamma = np.zeros((2, self._design.shape[1]))
        beta[self._own], gamma[self._places] = np.split(theta, [len(self._own)])
        return beta, gamma

    def log_odds(self, coef: Vector) -> tuple[Rows, Rows]:
        """The log-odds of both predictors."""
        beta, gamma = self.split(coef)
        return self._design.matvec(beta), self._design.matvec(gamma)

    def value_gradient(self, coef: Vector) -> tuple[float, Vector]:
        both = np.column_stack(self.split(coef))
        value, gradient = self._design.sweep(self._formula, both, self._rows, self._weights)
        penalty = self._pull(coef)
        return value + self._constant + 0.5 * float(penalty @ coef), self.join(*gradient.T) + penalty

    def gradient(self, coef: Vector) -> Vector:
        return self.value_gradient(coef)[1]

    def hessian(self, coef: Vector) -> Matrix:
        both = np.column_stack(self.split(coef))
        own, cross, others = self._design.curve(self._formula, both, self._rows, self._weights)
        hessian = self._block(own, cross, others)
        return hessian + np.diag(self._ridge) + np.outer(self._level, self._level)

    def curvature(self, coef: Vector) -> Callable[[Vector], Vector]:
        design = self._design
        a, b = self.log_odds(coef)
        both = namespace(a).stack((a, b), axis=1)
        curvatures = weigh(self._formula.curvature(both, *self._rows), self._weights)
        rows = [design.hold(curvatures[:, each]) for each in range(3)]

        def product(v: Vector) -> Vector:
            _, moved = design.sweep(PAIR_SQUARE, np.column_stack(self.split(v)), rows, value=False)
            return self.join(*moved.T) + self._pull(v)

        return product

    def _block(self, own: Matrix, cross: Matrix, others: Matrix) -> Matrix:
        """A matrix over θ from matrices over all columns."""
        cross = cross[np.ix_(self._own, self._places)]
        return np.block(
            [[own[np.ix_(self._own, self._own)], cross], [cross.T, others[np.ix_(self._places, self._places)]]]
        )

    def _pull(self, coef: Vector) -> Vector:
        """The gradient of the penalties."""
        return self._ridge * coef + (self._level @ coef) * self._level

    @property
    def ridges(self) -> Vector:
        """The ridge of each coefficient."""
        return self._ridge.copy()

    def score_covariance(self, coef: Vector) -> Matrix:
        """Σ wᵢ·(gᵢ − ḡ)(gᵢ − ḡ)ᵀ, gᵢ being the gradient of the loss of row i, without penalties, and ḡ their mean."""
        u, v = self._slopes(coef)
        own, cross, others = (self._design.gram(weigh(each, self._weights)) for each in (u * u, u * v, v * v))
        total = self.gradient(coef) - self._pull(coef)
        squares = self._block(own, cross, others)
        return np.asarray(squares - np.outer(total, total) / self.total_weight)

    def scores_along(self, coef: Vector, direction: Vector) -> Rows:
        """gᵢᵀ·direction for every row."""
        (u, v), (to_beta, to_gamma) = self._slopes(coef), self.split(direction)
        return u * self._design.matvec(to_beta) + v * self._design.matvec(to_gamma)

    def _slopes(self, coef: Vector) -> tuple[Rows, Rows]:
        """The derivatives of every row's loss by its two log-odds."""
        design = self._design
        a, b = map(design.hold, self.log_odds(coef))
        (labelled,) = self._rows
        return (
            design.hold(joint_slope(a, class_log_odds_shift(b, labelled))),
            design.hold(joint_slope(b, class_log_odds_shift(a, labelled))),
        )

    def majorised_step(self, gradient: Vector) -> Vector:
        p = len(self._own)
        return np.concatenate([self._bounds[0].solve(gradient[:p]), self._bounds[1].solve(gradient[p:])])
