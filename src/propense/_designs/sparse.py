"""A SciPy sparse matrix in memory."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from propense._designs.host import HostRows
from propense._designs.neighbours import RowSet
from propense._designs.sparse_neighbours import nearest_sparse
from propense._maths.arrays import Index, Matrix, Rows, Vector, weigh
from propense._maths.formulas import Formula

__all__ = ["SparseDesign"]

# Entries copied at a time, if they must be: 4 MiB of float64.
_BLOCK = 1 << 19


class SparseDesign(HostRows):
    """Features as a SciPy CSR matrix; nothing n × p is ever made dense, and only `gram` copies all of X.

    A float32 matrix is read as float64 block by block: SciPy would copy all of it for every product.
    """

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

    def columns(self, index: Index) -> Self:
        return type(self)(self._features[:, index])

    def matvec(self, coef: Vector) -> Rows:
        out = np.empty((self.shape[0], *coef.shape[1:]))
        for which, block in self._blocks():
            out[which] = block @ coef[1:]
        out += coef[0]
        return out

    def rmatvec(self, rows: Rows | None) -> Vector:
        rows = np.ones(self.shape[0]) if rows is None else rows
        out = np.zeros((self.shape[1], *rows.shape[1:]))
        out[0] = rows.sum(axis=0)
        for which, block in self._blocks():
            out[1:] += block.T @ rows[which]
        return out

    def gram(self, weights: Rows | None) -> Matrix:
        n, p = self.shape
        weights = np.ones(n) if weights is None else weights
        out = np.empty((p, p))
        scaled = self._features.multiply(weights[:, None]).tocsr()
        out[0, 0] = weights.sum()
        out[0, 1:] = out[1:, 0] = self._features.T @ weights
        out[1:, 1:] = (self._features.T @ scaled).toarray()
        return out

    def squares(self, weights: Rows | None) -> Vector:
        weights = np.ones(self.shape[0]) if weights is None else weights
        out = np.zeros(self.shape[1])
        out[0] = weights.sum()
        for which, block in self._blocks(copied=True):
            block.data **= 2
            out[1:] += block.T @ weights[which]
        return out

    def sweep(
        self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None, *, value: bool = True
    ) -> tuple[float, Vector]:
        products = self.matvec(coef)
        if not value:
            return 0.0, self.rmatvec(weigh(formula.slope(products, *rows), weights))
        loss, slopes = weigh(formula.loss(products, *rows), weights), weigh(formula.slope(products, *rows), weights)
        return float(loss.sum()), self.rmatvec(slopes)

    def curve(self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None) -> Matrix:
        curvature = weigh(formula.curvature(self.matvec(coef), *rows), weights)
        if curvature.ndim == 1:
            return self.gram(curvature)
        return np.stack([self.gram(each) for each in curvature.T])

    def take(self, mask: Rows) -> Self:
        return self if mask.all() else type(self)(self._features[np.flatnonzero(mask)])

    def nearest(self, queries: Rows, pool: Rows) -> Index:
        index = np.flatnonzero(pool)
        wanted = RowSet(self._features, np.flatnonzero(queries))
        return index[nearest_sparse(wanted, RowSet(self._features, index))[1]]

    def _blocks(self, *, copied: bool = False) -> Iterator[tuple[slice, Any]]:
        """Slices of rows with their features as float64: X itself if it is float64 and not to be copied."""
        whole = self._features
        if whole.dtype == np.float64 and not copied:
            yield slice(0, whole.shape[0]), whole
            return
        start = 0
        while start < whole.shape[0]:
            begin = whole.indptr[start]
            stop = max(int(np.searchsorted(whole.indptr, begin + _BLOCK, side="right")) - 1, start + 1)
            some = slice(begin, whole.indptr[stop])
            parts = whole.data[some].astype(np.float64), whole.indices[some], whole.indptr[start : stop + 1] - begin
            yield slice(start, stop), sp.csr_array(parts, shape=(stop - start, whole.shape[1]))
            start = stop
