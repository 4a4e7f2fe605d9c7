"""A NumPy array in memory, float64 or float32, row- or column-major, never copied whole."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from propense._designs.neighbours import nearest_dense
from propense._maths.arrays import Rows

__all__ = ["DenseDesign"]

# Entries of X worked on at a time: 4 MiB of float64. The second use of a block within a sweep finds it in cache, and
# the fixed cost of a block, some 25 µs, is small beside the work on it (measured on 2 cores from 128 KiB upwards).
_BLOCK = 1 << 19


class DenseDesign:
    """Features as a NumPy array; float32 is read as float64 block by block, so that every sum is a float64 sum."""

    def __init__(self, features: NDArray[np.floating[Any]]) -> None:
        self._features = features

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self._features.shape
        return n, p + 1

    def matvec(self, coef: NDArray[np.float64]) -> Rows:
        out = np.empty(self.shape[0])
        for rows, block in self._blocks(_BLOCK):
            np.matmul(block, coef[1:], out=out[rows])
        out += coef[0]
        return out

    def rmatvec(self, rows: Rows) -> NDArray[np.float64]:
        out = np.zeros(self.shape[1])
        out[0] = rows.sum()
        for part, block in self._blocks(_BLOCK):
            out[1:] += rows[part] @ block
        return out

    def gram(self, weights: Rows | None) -> NDArray[np.float64]:
        p = self.shape[1]
        out = np.zeros((p, p))
        signed = weights is not None and bool((weights < 0).any())
        # Blocks of at least 8 p rows: the p × p sum is then a small part of the work.
        for rows, block in self._blocks(max(8 * p * p, _BLOCK)):
            if weights is None:
                total, means, square = float(len(block)), block.sum(axis=0), block.T @ block
            elif signed:
                scaled = block * weights[rows, None]
                total, means, square = weights[rows].sum(), scaled.sum(axis=0), block.T @ scaled
            else:
                # A.T @ A is half the work of A.T @ B.
                root = np.sqrt(weights[rows])
                scaled = block * root[:, None]
                total, means, square = weights[rows].sum(), root @ scaled, scaled.T @ scaled
            out[0, 0] += total
            out[0, 1:] += means
            out[1:, 1:] += square
        out[1:, 0] = out[0, 1:]
        return out

    def squares(self, weights: Rows | None) -> NDArray[np.float64]:
        weights = np.ones(self.shape[0]) if weights is None else weights
        out = np.zeros(self.shape[1])
        out[0] = weights.sum()
        for rows, block in self._blocks(_BLOCK):
            out[1:] += weights[rows] @ np.square(block)
        return out

    def sweep(self, pointwise: Any, coef: NDArray[np.float64], *rows: Rows) -> tuple[float, NDArray[np.float64]]:
        total, out = 0.0, np.zeros(self.shape[1])
        for part, block in self._blocks(_BLOCK):
            products = block @ coef[1:]
            products += coef[0]
            values, slopes = pointwise(products, *[row[part] for row in rows])
            if values is not None:
                total += float(values.sum())
            out[0] += slopes.sum()
            out[1:] += slopes @ block
        return total, out

    def take(self, mask: Rows) -> Self:
        return self if mask.all() else type(self)(self._features[mask])

    def nearest(self, queries: Rows, pool: Rows) -> NDArray[np.intp]:
        index = np.flatnonzero(pool)
        return index[nearest_dense(self._features, np.flatnonzero(queries), index)]

    def send(self, values: NDArray[Any]) -> Rows:
        return values

    def bring(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(rows)

    def _blocks(self, entries: int) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Slices of rows of about `entries` entries each, with their features as float64."""
        n, p = self._features.shape
        step = max(1, entries // max(p, 1))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self._features[rows].astype(np.float64, copy=False)
