"""Minimisers of risks with an ℓ1 penalty, searched among few columns at a time; the others are checked every round."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from propense._designs import Design, column_moments
from propense._maths.arrays import Index, Rows, Vector
from propense._maths.linear import coef_positions
from propense._risks import LogisticRisk, PairRisk
from propense._solvers.objective import Objective, gradient_norm
from propense._solvers.orthant import Penalty, orthant_newton

__all__ = ["SparseLogistic", "SparsePair", "SparseSolution"]

# At most this many columns, or as many as are already in use, join the search in one round.
_JOIN = 50
_ROUNDS = 100
# A coefficient starts at 0 if its ℓ1 penalty is more than this many times the risk.
_DEAR = 1e3


@dataclass(frozen=True)
class SparseSolution:
    """Coefficients, the gradient of the risk there, the penalised risk (a sum), and how the search ended."""

    coef: Vector
    gradient: Vector
    value: float
    n_iter: int
    converged: bool


class SparsePair:
    """n·Qₙ(θ) + n·alpha·penalty of θ = (β, γ), each over some or all of the columns and the intercepts free.

    The penalty is `l1_ratio`·Σ dⱼfⱼ|θⱼ| + ½·(1 − `l1_ratio`)·Σ dⱼ²kⱼθⱼ². dⱼ is the standard deviation of the column, so
    its unit does not matter, and a constant column takes no part. kⱼ is 1 for β and `kappa` for γ; fⱼ is kⱼ times the
    discount of the coefficient.
    """

    _paired: ClassVar[bool] = True

    def __init__(
        self,
        design: Design,
        labelled: Rows,
        *,
        columns: Index | None = None,
        class_columns: Index | None = None,
        weights: Rows | None = None,
        l1_ratio: float = 1.0,
        kappa: float = 1.0,
    ) -> None:
        self._design, self._labelled, self._weights = design, design.hold(labelled), weights
        p = design.shape[1]
        # The column that each coefficient belongs to, β's first; the intercept is column 0.
        own = coef_positions(class_columns, p)
        self._count = len(own)
        self._owners = np.concatenate([own, coef_positions(columns, p)]) if self._paired else own
        self.risk = self._risk(design, class_columns, columns)
        self.column_spreads = np.concatenate([[0.0], column_moments(design, weights)[1]])
        if columns is not None and not self._paired:
            # The others take no part, as if they were constant.
            self.column_spreads[np.setdiff1d(np.arange(p), coef_positions(columns, p))] = 0.0
        factor = np.where(np.arange(len(self._owners)) < self._count, 1.0, kappa)
        self.spreads = self.column_spreads[self._owners]
        self._prices, self._squares = factor * self.spreads, factor * self.spreads**2
        self._barred = (self.spreads == 0) & (self._owners > 0)
        self._l1_ratio = l1_ratio

    def _risk(self, design: Design, own: Index | None, others: Index | None) -> Objective:
        """The risk of a design, where β is over the columns `own` and γ over `others`."""
        return PairRisk(design, self._labelled, class_columns=own, columns=others, weights=self._weights)

    def discount(self, discounts: Vector) -> None:
        """Multiply the ℓ1 price of each coefficient by its discount, a number from 0 to 1."""
        self._prices = self._prices * discounts

    def split(self, coef: Vector) -> tuple[Vector, Vector]:
        """β and γ over all columns."""
        beta, gamma = np.zeros((2, self._design.shape[1]))
        own, others = np.split(self._owners, [self._count])
        beta[own], gamma[others] = np.split(coef, [self._count])
        return beta, gamma

    def join(self, beta: Vector, gamma: Vector) -> Vector:
        """θ of two predictors over all columns."""
        own, others = np.split(self._owners, [self._count])
        return np.concatenate([beta[own], gamma[others]])

    def penalty(self, alpha: float) -> Penalty:
        scale = self.risk.total_weight * alpha
        return Penalty(scale * self._l1_ratio * self._prices, scale * (1.0 - self._l1_ratio) * self._squares)

    def alpha_max(self, gradient: Vector) -> float:
        """The least alpha at which no slope leaves 0, given the gradient of the logistic loss where all slopes are 0.

        That loss is the risk with e = 1. With any other constant e, or y, the slopes leave at a smaller alpha.
        """
        paid = self._prices > 0
        least = np.abs(gradient)[self._owners[paid]] / self._prices[paid]
        # Without an ℓ1 part there is no such alpha, and the start of a path is arbitrary.
        return float(least.max(initial=0.0)) / (self.risk.total_weight * max(self._l1_ratio, 1e-3))

    def evaluate(self, coef: Vector) -> SparseSolution:
        """Given coefficients as a solution, without a search."""
        value, gradient = self.risk.value_gradient(coef)
        return SparseSolution(coef, gradient, value, 0, converged=True)

    def solve(
        self, alpha: float, start: SparseSolution, *, tol: float, max_iter: int, before: float | None = None
    ) -> SparseSolution:
        """Search from a solution, possibly that of the larger penalty `before`."""
        penalty = self.penalty(alpha)
        solution, n_iter, converged = start, 0, False
        # From where one coefficient pays far more than the whole risk, Newton's step would lead the others to infinity.
        dear = penalty.l1 * np.abs(start.coef) > _DEAR * start.value
        if dear.any():
            solution = self.evaluate(np.where(dear, 0.0, start.coef))
        # The sequential strong rule (Tibshirani et al. 2012): a coefficient whose gradient is below 2·alpha − before
        # usually stays at 0. The gradient at the end of each round finds the exceptions.
        reach = 1.0 if before is None or alpha == 0.0 else max(2.0 - before / alpha, 0.0)
        for _ in range(_ROUNDS):
            risk, where = self._among(self._wanted(solution, penalty, reach))
            found = orthant_newton(
                risk, solution.coef[where], penalty.at(where), tol=0.5 * tol, max_iter=max_iter - n_iter
            )
            coef = np.zeros(len(solution.coef))
            coef[where] = found.coef
            solution, n_iter, reach = self.evaluate(coef), n_iter + found.n_iter, 1.0
            converged = self.stationarity(solution, penalty) <= tol
            if converged or not found.converged:
                break
        value = solution.value + penalty.value(solution.coef)
        return replace(solution, value=value, n_iter=n_iter, converged=converged)

    def stationarity(self, solution: SparseSolution, penalty: Penalty) -> float:
        """How far a solution is from a minimum: the norm of its smallest subgradient."""
        slope = penalty.slope(solution.coef, solution.gradient)
        return gradient_norm(self.risk, np.where(self._barred, 0.0, slope))

    def _wanted(self, solution: SparseSolution, penalty: Penalty, reach: float) -> Index:
        """The features in use, and the steepest of those whose slopes would leave 0."""
        push = np.full(len(solution.coef), np.inf)
        paid = (penalty.l1 > 0) & (solution.coef == 0)
        push[paid] = np.abs(solution.gradient[paid]) / penalty.l1[paid]
        push[self._barred | (self._owners == 0)] = 0.0
        of_column = np.zeros(self._design.shape[1])
        np.maximum.at(of_column, self._owners, push)
        used, leaving = int(np.isinf(of_column).sum()), int((of_column > reach).sum())
        count = min(leaving, used + max(_JOIN, used))
        return np.sort(np.argsort(-of_column, kind="stable")[:count]) - 1

    def among(self, coef: Vector) -> tuple[Objective, Index]:
        """The risk of the features that `coef` uses, and the positions of its coefficients among all."""
        used = np.unique(self._owners[(coef != 0) & ~self._barred])
        return self._among(used[used > 0] - 1)

    def _among(self, kept: Index) -> tuple[Objective, Index]:
        """The risk of some features alone, and the positions of its coefficients among all."""
        p = self._design.shape[1]
        wanted = np.zeros(p, dtype=bool)
        wanted[kept + 1] = wanted[0] = True
        where = np.flatnonzero(wanted[self._owners])
        own, others = (
            np.searchsorted(kept, self._owners[part][1:] - 1)
            for part in (where[where < self._count], where[where >= self._count])
        )
        return self._risk(self._design.columns(kept), own, others), where


class SparseLogistic(SparsePair):
    """The same for the logistic loss of the labels: e = 1, and there is no γ; β is over `columns`."""

    _paired = False

    def _risk(self, design: Design, own: Index | None, others: Index | None) -> Objective:
        return LogisticRisk(design, self._labelled, weights=self._weights)

    def null(self) -> SparseSolution:
        """The best intercept, with all slopes at 0."""
        design = self._design
        alone = design.columns(np.arange(0))
        risk = self._risk(alone, None, None)
        none = Penalty(np.zeros(1), np.zeros(1))
        found = orthant_newton(risk, np.zeros(1), none, tol=1e-12, max_iter=100)
        coef = np.zeros(design.shape[1])
        coef[0] = found.coef[0]
        return self.evaluate(coef)
