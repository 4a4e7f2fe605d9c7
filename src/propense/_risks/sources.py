"""The risk of y and of the propensities of several sources."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design
from propense._maths.arrays import Index, Matrix, Vector, weigh
from propense._maths.linear import coef_positions
from propense._maths.logistic import sigmoid, sigmoid_slope
from propense._maths.looks import Looks
from propense._risks.single import Majoriser, Moments, diagonal, total_weight

__all__ = ["SourcesRisk"]


class SourcesRisk:
    """−Σ wᵢ·log P(labels of row i | xᵢ) + ½·ridge·‖slopes‖² as a function of θ = (β, γ₁, …, γ_K).

    With one source it is `PairRisk`; with constant y and propensities it is the likelihood of occupancy models
    (MacKenzie et al. 2002). `labels` is n × K in memory: 1, 0, or NaN where a source did not look at a row.
    `log_odds_ratio` is that of every two sources given the class; 0 means that they are independent.
    """

    def __init__(
        self,
        design: Design,
        labels: Matrix,
        *,
        columns: Sequence[Index | None],
        class_columns: Index | None = None,
        weights: Vector | None = None,
        ridge: float | Vector = 0.0,
        log_odds_ratio: float = 0.0,
    ) -> None:
        self._design, self._weights, self._ratio = design, weights, log_odds_ratio
        self._looked = ~np.isnan(labels)
        self._labels = np.where(self._looked, labels, 0.0)
        self.seen: NDArray[np.bool_] = self._labels.max(axis=1) > 0.0
        p = design.shape[1]
        self._places = [coef_positions(each, p) for each in (class_columns, *columns)]
        ridges, moments = diagonal(p, ridge), Moments(design, weights)
        self._ridge = np.concatenate([ridges[places] for places in self._places])
        self._bounds = [Majoriser(moments, ridges[places], places) for places in self._places]

    @cached_property
    def total_weight(self) -> float:
        return total_weight(self._design, self._weights)

    @cached_property
    def units(self) -> Vector:
        return np.concatenate([bound.units for bound in self._bounds])

    def join(self, coefs: Matrix) -> Vector:
        """θ of predictors over all columns, one in each row: y, then the sources."""
        return np.concatenate([coef[places] for coef, places in zip(coefs, self._places, strict=True)])

    def split(self, theta: Vector) -> Matrix:
        """The predictors over all columns, one in each row."""
        out = np.zeros((len(self._places), self._design.shape[1]))
        ends = np.cumsum([len(places) for places in self._places])[:-1]
        for coef, places, part in zip(out, self._places, np.split(theta, ends), strict=True):
            coef[places] = part
        return out

    def looks(self, theta: Vector) -> tuple[Vector, Looks]:
        """The log-odds of y, and what the sources do."""
        a, *b = (self._design.matvec(coef) for coef in self.split(theta))
        return a, Looks(np.column_stack(b), self._looked, self._ratio)

    def value_gradient(self, coef: Vector) -> tuple[float, Vector]:
        a, looks = self.looks(coef)
        value = float(weigh(looks.loss(a, self._labels, self.seen), self._weights).sum())
        pull = self._ridge * coef
        return value + 0.5 * float(pull @ coef), self._back(self._slopes(a, looks)) + pull

    def hessian(self, coef: Vector) -> Matrix:
        bends = self._bends(*self.looks(coef))
        blocks: list[list[Matrix]] = [[np.empty(0)] * len(self._places) for _ in self._places]
        for (i, j), bend in bends.items():
            block = self._design.gram(weigh(bend, self._weights))[np.ix_(self._places[i], self._places[j])]
            blocks[i][j], blocks[j][i] = block, block.T
        return np.block(blocks) + np.diag(self._ridge)

    def curvature(self, coef: Vector) -> Callable[[Vector], Vector]:
        bends = self._bends(*self.looks(coef))

        def product(v: Vector) -> Vector:
            moved = [self._design.matvec(each) for each in self.split(v)]
            out = [np.zeros(len(each)) for each in moved]
            for (i, j), bend in bends.items():
                out[i] += bend * moved[j]
                if i != j:
                    out[j] += bend * moved[i]
            return self._back(out) + self._ridge * v

        return product

    def positive(self, theta: Vector) -> Vector:
        """P(Y=1 | x, labels) of every row."""
        a, looks = self.looks(theta)
        return looks.positive(a, self.seen)

    def scores_along(self, theta: Vector, direction: Vector) -> Vector:
        """The gradient of the loss of every row, without weights and penalties, times a direction."""
        slopes = self._slopes(*self.looks(theta))
        moved = (self._design.matvec(each) for each in self.split(direction))
        return np.asarray(sum(slope * each for slope, each in zip(slopes, moved, strict=True)))

    def dependence(self, theta: Vector, k: int, l: int) -> tuple[Vector, Vector]:  # noqa: E741
        """The derivative of every row's log-likelihood by the log odds ratio of two sources, at independence.

        Also the derivative of its (weighted) sum by θ. It is S_k·S_l less its expectation: e_k·e_l times P(Y=1 | x,
        labels).
        """
        a, looks = self.looks(theta)
        e, positive = looks.chances, looks.positive(a, self.seen)
        both = e[:, k] * e[:, l]
        score = self._labels[:, k] * self._labels[:, l] - positive * both
        unsure = positive * (1.0 - positive)
        slopes = [-unsure * both, *(unsure * each * both for each in e.T)]
        for each in (k, l):
            slopes[1 + each] = slopes[1 + each] - positive * both * (1.0 - e[:, each])
        return score, self._back(slopes)

    def _slopes(self, a: Vector, looks: Looks) -> list[Vector]:
        """The derivatives of every row's loss by its log-odds: of y, then of the sources."""
        positive = looks.positive(a, self.seen)
        return [sigmoid(a) - positive, *(positive[:, np.newaxis] * looks.chances - self._labels).T]

    def _bends(self, a: Vector, looks: Looks) -> dict[tuple[int, int], Vector]:
        """The second derivatives of every row's loss by its log-odds, i ≤ j."""
        positive, e = looks.positive(a, self.seen), looks.chances
        unsure = positive * (1.0 - positive)
        out = {(0, 0): sigmoid_slope(a) - unsure}
        for k in range(e.shape[1]):
            out[0, 1 + k] = unsure * e[:, k]
            for other in range(k, e.shape[1]):
                out[1 + k, 1 + other] = positive * looks.covariance(k, other) - unsure * e[:, k] * e[:, other]
        return out

    def _back(self, slopes: Sequence[Vector]) -> Vector:
        """The gradient from the derivatives by the log-odds of every row."""
        return self.join(np.array([self._design.rmatvec(weigh(each, self._weights)) for each in slopes]))
