"""A NumPy array, in memory or mapped from a file, float64 or float32, row- or column-major, never copied whole."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from propense._designs.host import HostRows
from propense._designs.neighbours import RowSet, nearest_dense
from propense._designs.threads import map_in_threads, one_blas_thread, slices
from propense._maths.arrays import Index, Matrix, Rows, Vector, weigh
from propense._maths.formulas import Formula

__all__ = ["DenseDesign"]

# Entries of X processed at a time: 2 MiB of float64. The second use of a block within a sweep finds it in cache, and
# the fixed cost per block, about 25 µs, is small compared with the work on it (measured on 2 cores, 128 KiB and more).
_BLOCK = 1 << 18
# With this many entries or more (32 MiB) a pass takes milliseconds, and threads pay off.
_THREADED = 1 << 22
_SHARES = 32
# Rows of a weighted cross-product at a time: their scaled copy stays in cache, and BLAS is faster at small products.
# Up to so many columns, A.T @ A, half the work of A.T @ B, does not take less time.
_PIECE = 1 << 10
_NARROW = 40

Part = Callable[[slice, Matrix], Vector]


class DenseDesign(HostRows):
    """Features as a NumPy array; float32 is read as float64 block by block, so that every sum is a float64 sum.

    Taking rows or columns copies them from an array in memory. For an array mapped from a file, only their numbers are
    kept, and they are selected from each block when it is read.
    """

    movable = True

    def __init__(
        self, features: NDArray[np.floating[Any]], rows: Index | None = None, columns: Index | None = None
    ) -> None:
        self._features, self._rows, self._columns = features, rows, columns

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self._features.shape
        return n if self._rows is None else len(self._rows), (p if self._columns is None else len(self._columns)) + 1

    @property
    def features(self) -> NDArray[np.floating[Any]]:
        return self._cut(slice(None))

    def columns(self, index: Index) -> Self:
        if not is_mapped(self._features):
            return type(self)(self._features[:, index])
        return type(self)(self._features, self._rows, index if self._columns is None else self._columns[index])

    def matvec(self, coef: Vector) -> Rows:
        n, p = self.shape
        out = np.empty(n)
        for which in slices(n, _BLOCK // p):
            np.matmul(self._block(which), coef[1:], out=out[which])
        out += coef[0]
        return out

    def rmatvec(self, rows: Rows | None) -> Vector:
        rows = np.ones(self.shape[0]) if rows is None else rows

        def part(which: slice, block: Matrix) -> Vector:
            return np.concatenate([[rows[which].sum()], rows[which] @ block])

        return self._sum(part, _BLOCK)

    def gram(self, weights: Rows | None) -> Matrix:
        def part(which: slice, block: Matrix) -> Matrix:
            return _gram(block, None if weights is None else weights[which])

        return self._sum(part, self._gram_entries())

    def squares(self, weights: Rows | None) -> Vector:
        weights = np.ones(self.shape[0]) if weights is None else weights

        def part(which: slice, block: Matrix) -> Vector:
            return np.concatenate([[weights[which].sum()], weights[which] @ np.square(block)])

        return self._sum(part, _BLOCK)

    def sweep(
        self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None, *, value: bool = True
    ) -> tuple[float, Vector]:
        def part(which: slice, block: Matrix) -> Vector:
            products, local = _products(block, coef), [row[which] for row in rows]
            local_weights = None if weights is None else weights[which]
            out = np.zeros(1 + coef.size)
            if value:
                out[0] = weigh(formula.loss(products, *local), local_weights).sum()
            slopes = weigh(formula.slope(products, *local), local_weights)
            gradient = out[1:].reshape(coef.shape)
            gradient[0] = slopes.sum(axis=0)
            # For vectors this equals block.T @ slopes, and is faster.
            gradient[1:] = slopes @ block if slopes.ndim == 1 else block.T @ slopes
            return out

        sums = self._sum(part, _BLOCK)
        return float(sums[0]), sums[1:].reshape(coef.shape)

    def curve(self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None) -> Matrix:
        def part(which: slice, block: Matrix) -> Matrix:
            curvature = formula.curvature(_products(block, coef), *[row[which] for row in rows])
            curvature = weigh(curvature, None if weights is None else weights[which])
            if curvature.ndim == 1:
                return _gram(block, curvature)
            return np.stack([_gram(block, each) for each in curvature.T])

        return self._sum(part, self._gram_entries())

    def take(self, mask: Rows) -> Self:
        if mask.all():
            return self
        if not is_mapped(self._features):
            # A mask takes six times as long where rows are contiguous; elsewhere the order in memory would change.
            rows = self._features.flags.c_contiguous
            return type(self)(self._features.take(np.flatnonzero(mask), axis=0) if rows else self._features[mask])
        return type(self)(self._features, self._numbers(mask), self._columns)

    def nearest(self, queries: Rows, pool: Rows) -> Index:
        features = self._features if self._columns is None else _SomeColumns(self._features, self._columns)
        sets = [RowSet(features, self._numbers(mask)) for mask in (queries, pool)]
        _, places = nearest_dense(sets[0], sets[1])
        return np.flatnonzero(pool)[places]

    def _gram_entries(self) -> int:
        """Entries per block for p × p results: some 4 096 rows, so that adding the results is a small part of the work.

        At most 32 MiB, so that the weighted copy of a block is small compared with X.
        """
        return min(max(4096 * self.shape[1], _BLOCK), _THREADED)

    def _sum(self, part: Part, entries: int) -> Vector:
        """Σ part(which rows, their features as float64) over blocks of about `entries` entries, in a fixed order."""
        n, p = self.shape
        if n * p <= entries:
            return part(slice(0, n), self._block(slice(0, n)))
        blocks = list(slices(n, entries // p))

        def add(some: list[slice]) -> Vector:
            total = part(some[0], self._block(some[0]))
            for which in some[1:]:
                total += part(which, self._block(which))
            return total

        if n * p < _THREADED:
            return add(blocks)
        # The shares, and so the rounding of the sum, do not depend on the number of threads.
        shares = [blocks[share] for share in slices(len(blocks), -(-len(blocks) // _SHARES))]
        with one_blas_thread() as workers:
            return np.asarray(sum(map_in_threads(add, shares, workers)))

    def _block(self, which: slice) -> Matrix:
        return self._cut(which).astype(np.float64, copy=False)

    def _cut(self, which: slice) -> NDArray[np.floating[Any]]:
        block = self._features[which if self._rows is None else self._rows[which]]
        return block if self._columns is None else block[:, self._columns]

    def _numbers(self, mask: Rows) -> Index:
        """The numbers, in the array, of the rows of a mask."""
        return np.flatnonzero(mask) if self._rows is None else self._rows[mask]


class _SomeColumns:
    """Some columns of a mapped array, which are copied only for the rows that are asked for."""

    def __init__(self, features: NDArray[np.floating[Any]], columns: Index) -> None:
        self._features, self._columns = features, columns
        self.shape, self.size = (len(features), len(columns)), len(features) * len(columns)

    def __len__(self) -> int:
        return len(self._features)

    def __getitem__(self, rows: Any) -> NDArray[np.floating[Any]]:
        return np.asarray(self._features[rows][:, self._columns])

    def max(self) -> float:
        return max(float(self[rows].max()) for rows in slices(len(self), _BLOCK // self._features.shape[1] + 1))

    def min(self) -> float:
        return min(float(self[rows].min()) for rows in slices(len(self), _BLOCK // self._features.shape[1] + 1))


def is_mapped(array: Any) -> bool:
    """Whether an array, or the array it is a view of, is mapped from a file."""
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


def _products(block: Matrix, coef: Vector) -> Vector:
    products = block @ coef[1:]
    products += coef[0]
    return products


def _gram(block: Matrix, weights: Vector | None) -> Matrix:
    """XᵀWX of a block, intercept first."""
    p = block.shape[1] + 1
    out = np.empty((p, p))
    if weights is None:
        out[0, 0], out[0, 1:], out[1:, 1:] = len(block), block.sum(axis=0), block.T @ block
    elif len(block) > 2 * _PIECE and (p <= _NARROW or (weights < 0).any()):
        out[0, 0], out[0, 1:], out[1:, 1:] = weights.sum(), weights @ block, 0.0
        for which in slices(len(block), _PIECE):
            piece = block[which]
            out[1:, 1:] += piece.T @ (piece * weights[which, None])
    elif (weights < 0).any():
        scaled = block * weights[:, None]
        out[0, 0], out[0, 1:], out[1:, 1:] = weights.sum(), scaled.sum(axis=0), block.T @ scaled
    else:
        # A.T @ A is half the work of A.T @ B.
        root = np.sqrt(weights)
        scaled = block * root[:, None]
        out[0, 0], out[0, 1:], out[1:, 1:] = weights.sum(), root @ scaled, scaled.T @ scaled
    out[1:, 0] = out[0, 1:]
    return out
