"""A NumPy array in memory, float64 or float32, row- or column-major, never copied whole."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from propense._designs.neighbours import nearest_dense
from propense._designs.threads import map_in_threads, one_blas_thread, slices
from propense._maths.arrays import Rows

__all__ = ["DenseDesign"]

# Entries of X worked on at a time: 4 MiB of float64. The second use of a block within a sweep finds it in cache, and
# the fixed cost of a block, some 25 µs, is small beside the work on it (measured on 2 cores from 128 KiB upwards).
_BLOCK = 1 << 19
# From this many entries on (32 MiB) a pass takes milliseconds, and threads pay.
_THREADED = 1 << 22
_SHARES = 32

Part = Callable[[slice, NDArray[np.float64]], NDArray[np.float64]]


class DenseDesign:
    """Features as a NumPy array; float32 is read as float64 block by block, so that every sum is a float64 sum."""

    def __init__(self, features: NDArray[np.floating[Any]]) -> None:
        self._features = features

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self._features.shape
        return n, p + 1

    @property
    def features(self) -> NDArray[np.floating[Any]]:
        return self._features

    def columns(self, index: NDArray[np.intp]) -> Self:
        return type(self)(self._features[:, index])

    def matvec(self, coef: NDArray[np.float64]) -> Rows:
        n, p = self._features.shape
        out = np.empty(n)
        for which in slices(n, _BLOCK // max(p, 1)):
            np.matmul(self._block(which), coef[1:], out=out[which])
        out += coef[0]
        return out

    def rmatvec(self, rows: Rows) -> NDArray[np.float64]:
        def part(which: slice, block: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.concatenate([[rows[which].sum()], rows[which] @ block])

        return self._sum(part, _BLOCK)

    def gram(self, weights: Rows | None) -> NDArray[np.float64]:
        p = self.shape[1]
        signed = weights is not None and bool((weights < 0).any())

        def part(which: slice, block: NDArray[np.float64]) -> NDArray[np.float64]:
            out = np.empty((p, p))
            if weights is None:
                out[0, 0], out[0, 1:], out[1:, 1:] = len(block), block.sum(axis=0), block.T @ block
            elif signed:
                scaled = block * weights[which, None]
                out[0, 0], out[0, 1:], out[1:, 1:] = weights[which].sum(), scaled.sum(axis=0), block.T @ scaled
            else:
                # A.T @ A is half the work of A.T @ B.
                root = np.sqrt(weights[which])
                scaled = block * root[:, None]
                out[0, 0], out[0, 1:], out[1:, 1:] = weights[which].sum(), root @ scaled, scaled.T @ scaled
            out[1:, 0] = out[0, 1:]
            return out

        # Blocks of some 4 096 rows, so that adding their p × p results is a small part of the work, within 32 MiB, so
        # that the weighted copy of a block stays small beside X.
        return self._sum(part, min(max(4096 * p, _BLOCK), _THREADED))

    def squares(self, weights: Rows | None) -> NDArray[np.float64]:
        weights = np.ones(self.shape[0]) if weights is None else weights

        def part(which: slice, block: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.concatenate([[weights[which].sum()], weights[which] @ np.square(block)])

        return self._sum(part, _BLOCK)

    def sweep(self, pointwise: Any, coef: NDArray[np.float64], *rows: Rows) -> tuple[float, NDArray[np.float64]]:
        p = self.shape[1]

        def part(which: slice, block: NDArray[np.float64]) -> NDArray[np.float64]:
            products = block @ coef[1:]
            products += coef[0]
            values, slopes = pointwise(products, *[row[which] for row in rows])
            out = np.empty(p + 1)
            out[0] = 0.0 if values is None else values.sum()
            out[1] = slopes.sum()
            out[2:] = slopes @ block
            return out

        sums = self._sum(part, _BLOCK)
        return float(sums[0]), sums[1:]

    def take(self, mask: Rows) -> Self:
        return self if mask.all() else type(self)(self._features[mask])

    def nearest(self, queries: Rows, pool: Rows) -> NDArray[np.intp]:
        index = np.flatnonzero(pool)
        return index[nearest_dense(self._features, np.flatnonzero(queries), index)]

    def send(self, values: NDArray[Any]) -> Rows:
        return values

    def bring(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(rows)

    def _sum(self, part: Part, entries: int) -> NDArray[np.float64]:
        """Σ part(which rows, their features as float64) over blocks of about `entries` entries, in a fixed order."""
        n, p = self._features.shape
        if n * p <= entries:
            return part(slice(0, n), self._block(slice(0, n)))
        blocks = list(slices(n, entries // max(p, 1)))

        def add(some: list[slice]) -> NDArray[np.float64]:
            total = part(some[0], self._block(some[0]))
            for which in some[1:]:
                total += part(which, self._block(which))
            return total

        if n * p < _THREADED:
            return add(blocks)
        # Shares that do not depend on the number of threads: neither does the rounding of the sum.
        shares = [blocks[share] for share in slices(len(blocks), -(-len(blocks) // _SHARES))]
        with one_blas_thread() as workers:
            return np.asarray(sum(map_in_threads(add, shares, workers)))

    def _block(self, which: slice) -> NDArray[np.float64]:
        return self._features[which].astype(np.float64, copy=False)
