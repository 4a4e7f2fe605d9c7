"""A SciPy sparse matrix in memory."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._designs.host import HostRows
from propense._designs.neighbours import RowSet, nearest_sparse
from propense._maths.arrays import Rows, weigh
from propense._maths.formulas import Formula

__all__ = ["SparseDesign"]


class SparseDesign(HostRows):
    """Features as a SciPy CSR matrix; nothing n × p is ever made dense."""

    movable = True

    def __init__(self, features: Any) -> None:
        self._features = sp.csr_array(features)

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self._features.shape
        return n, p + 1

    @property
    def features(self) -> Any:
        return self._features

    def columns(self, index: NDArray[np.intp]) -> Self:
        return type(self)(self._features[:, index])

    def matvec(self, coef: NDArray[np.float64]) -> Rows:
        return self._features @ coef[1:] + coef[0]

    def rmatvec(self, rows: Rows | None) -> NDArray[np.float64]:
        rows = np.ones(self.shape[0]) if rows is None else rows
        return np.concatenate([rows.sum(axis=0, keepdims=True), self._features.T @ rows])

    def gram(self, weights: Rows | None) -> NDArray[np.float64]:
        n, p = self.shape
        weights = np.ones(n) if weights is None else weights
        out = np.empty((p, p))
        scaled = self._features.multiply(weights[:, None]).tocsr()
        out[0, 0] = weights.sum()
        out[0, 1:] = out[1:, 0] = self._features.T @ weights
        out[1:, 1:] = (self._features.T @ scaled).toarray()
        return out

    def squares(self, weights: Rows | None) -> NDArray[np.float64]:
        weights = np.ones(self.shape[0]) if weights is None else weights
        return np.concatenate([[weights.sum()], self._features.multiply(self._features).T @ weights])

    def sweep(
        self,
        formula: Formula,
        coef: NDArray[np.float64],
        rows: Sequence[Rows],
        weights: Rows | None = None,
        *,
        value: bool = True,
    ) -> tuple[float, NDArray[np.float64]]:
        products = self.matvec(coef)
        total = float(weigh(formula.loss(products, *rows), weights).sum()) if value else 0.0
        return total, self.rmatvec(weigh(formula.slope(products, *rows), weights))

    def curve(
        self, formula: Formula, coef: NDArray[np.float64], rows: Sequence[Rows], weights: Rows | None = None
    ) -> NDArray[np.float64]:
        curvature = weigh(formula.curvature(self.matvec(coef), *rows), weights)
        if curvature.ndim == 1:
            return self.gram(curvature)
        return np.stack([self.gram(each) for each in curvature.T])

    def take(self, mask: Rows) -> Self:
        return self if mask.all() else type(self)(self._features[np.flatnonzero(mask)])

    def nearest(self, queries: Rows, pool: Rows) -> NDArray[np.intp]:
        index = np.flatnonzero(pool)
        _, places = nearest_sparse(RowSet(self._features, np.flatnonzero(queries)), RowSet(self._features, index))
        return index[places]
