"""The exact Euclidean nearest neighbour of sparse rows.

The squared distance is ‖l‖² + (‖u‖² − 2 l·u). A product of sparse matrices takes a step for every column that two rows
share, and a few columns that occur in nearly every row cause nearly all of these steps. Those columns are made dense,
and their part of the bracket is a float32 matrix product; the sparse rest is added to it. With the rounding error
subtracted, the sum is a *lower bound*. Only candidates whose bound does not exceed the distance of the best one found
are measured in float64. Ties go to the lowest row.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._designs.neighbours import RowSet, unit_of
from propense._designs.threads import map_in_threads, one_blas_thread, slices
from propense._maths.arrays import Index, Vector

__all__ = ["nearest_sparse"]

# Candidates prepared at a time, and pairs bounded at a time (8 MiB of float32).
_CANDIDATES, _PAIRS = 1 << 16, 1 << 21
# The most terms shared by the rows of a tile: 24 MiB of sparse products.
_SHARED = 1 << 21
# A column is made dense if more than this share of the pairs have it in common: 4 ns for each shared term then exceed
# 0.02 ns for each pair's multiplication in BLAS. Also the most columns that are made dense.
_COMMON, _DENSE_COLUMNS = 0.004, 512
# Entries of the two matrices compared at a time.
_COPIED = 1 << 18


def nearest_sparse(queries: RowSet, pool: RowSet, unit: float | None = None) -> tuple[Vector, Index]:
    """The squared distance, in units of `unit`, and the position in `pool` of the row nearest to each query."""
    left, right = queries.features, pool.features
    if not (len(queries) and len(pool)):
        return np.full(len(queries), np.inf), np.zeros(len(queries), dtype=np.intp)
    unit = min(unit_of(left.data), unit_of(right.data)) if unit is None else unit
    wanted = _canonical(left, queries.index, unit)
    distances, positions = np.full(len(queries.index), np.inf), np.zeros(len(queries.index), dtype=np.intp)
    with one_blas_thread() as workers:
        for some in slices(len(pool.index), _CANDIDATES):
            screen = _Screen(wanted, _canonical(right, pool.index[some], unit))
            # More shares than threads, since they may differ in work.
            shares = slices(len(distances), -(-len(distances) // (4 * workers)))
            found = map_in_threads(partial(screen.search, distances), shares, workers)
            nearer, where = (np.concatenate(parts) for parts in zip(*found, strict=True))
            # Strict inequality: earlier candidates win ties.
            better = nearer < distances
            distances[better], positions[better] = nearer[better], where[better] + some.start
    return distances, positions


class _Rows:
    """Sparse float64 rows with their squared lengths."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.squares = _row_sums(rows.multiply(rows))
        self.lengths = np.sqrt(self.squares)


class _Screen:
    """Bounds and exact distances between all queries and some candidates."""

    def __init__(self, queries: _Rows, pool: _Rows) -> None:
        self._queries = queries
        # Copies of a candidate would tie wherever it is nearest: only the first is kept.
        self._kept = _first_of_equals(pool)
        self._pool = _Rows(pool.rows[self._kept]) if len(self._kept) < len(pool.squares) else pool
        self._longest = 1 + sum(int(np.diff(part.rows.indptr).max()) for part in (queries, pool))
        shared, counts = self._shared()
        dense = np.argsort(-shared, kind="stable")[:_DENSE_COLUMNS]
        pairs = float(len(queries.squares)) * len(self._pool.squares)
        self._dense = dense[shared[dense] > _COMMON * pairs]
        sparse = shared > 0
        sparse[self._dense] = False
        kept = np.flatnonzero(sparse)
        self._left = queries.rows[:, kept]
        self._right = self._pool.rows[:, kept].T.tocsr()
        # The most entries that each query's sparse products can have.
        self._most = np.concatenate([[0.0], np.cumsum(_row_sums(_pattern(queries.rows[:, kept]) * counts[kept]))])
        # A float32 product of k terms is off by at most k·2⁻²⁴ of the sum of its absolute terms; 12 more cover the
        # extra columns, the rounding of the entries and the sparse part. κ(‖l‖ + ‖u‖)² bounds the whole error.
        self._slack = 1.1 * (len(self._dense) + 12) * 2.0**-24
        self._dense_right = self._dense_part(self._pool, slice(None))
        reach = self._pool.lengths + 1e-15
        self._dense_right[:, -2:] = np.column_stack([self._pool.squares - self._slack * reach**2, reach])

    def search(self, known: Vector, some: slice) -> tuple[Vector, Index]:
        """The nearest candidate to each of a slice of queries, if it is nearer than the known distance."""
        distances, positions = known[some].copy(), np.zeros(some.stop - some.start, dtype=np.intp)
        memory = np.empty(0, dtype=np.float32)
        for tile in self._tiles(some):
            size = (tile.stop - tile.start) * len(self._kept)
            memory = memory if len(memory) >= size else np.empty(size, dtype=np.float32)
            here = slice(tile.start - some.start, tile.stop - some.start)
            bounds = self._bounds(tile, memory[:size])
            self._choose(tile, bounds, distances[here], positions[here])
        return distances, self._kept[positions]

    def _tiles(self, some: slice) -> list[slice]:
        """Slices of queries whose bounds and sparse products fit in the allowed memory."""
        tiles, start = [], some.start
        while start < some.stop:
            fits = int(np.searchsorted(self._most, self._most[start] + _SHARED, side="right")) - 1
            stop = min(max(fits, start + 1), start + max(_PAIRS // len(self._kept), 1), some.stop)
            tiles.append(slice(start, stop))
            start = stop
        return tiles

    def _bounds(self, tile: slice, memory: NDArray[np.float32]) -> NDArray[np.float32]:
        """Lower bounds of ‖u‖² − 2 l·u + κ‖l‖², one row per query."""
        left = self._dense_part(self._queries, tile)
        left[:, :-2] *= -2.0
        left[:, -2:] = np.column_stack([np.ones(len(left)), -2.0 * self._slack * (self._queries.lengths[tile] + 1e-15)])
        out = memory.reshape(len(left), -1)
        np.matmul(left, self._dense_right.T, out=out)
        products = self._left[tile] @ self._right
        where = np.repeat(np.arange(len(left)) * out.shape[1], np.diff(products.indptr))
        where += products.indices
        memory[where] -= 2.0 * products.data
        return out

    def _choose(self, tile: slice, bounds: NDArray[np.float32], distances: Vector, positions: Index) -> None:
        """Measure the candidates that the bounds do not exclude, most likely first; update the arguments in place."""
        rows = np.arange(len(bounds))
        likely = bounds.argmin(axis=1)
        offset = self._slack * (self._queries.lengths[tile] + 1e-15) ** 2 - self._queries.squares[tile]
        ceiling = _rounded_up(distances + offset)
        open_ = rows[bounds[rows, likely] <= ceiling]
        if len(open_) == 0:
            return
        nearest = self._measure(open_ + tile.start, likely[open_])
        ceiling[open_] = _rounded_up(np.minimum(nearest, distances[open_]) + offset[open_])
        query, where = np.nonzero(bounds[open_] <= ceiling[open_, None])
        query = open_[query]
        exact = self._measure(query + tile.start, where)
        # Nearest first, then the lowest row; the first of each query is its nearest.
        order = np.lexsort((where, exact, query))
        order = order[np.unique(query[order], return_index=True)[1]]
        order = order[exact[order] < distances[query[order]]]
        distances[query[order]], positions[query[order]] = exact[order], where[order]

    def _measure(self, queries: Index, candidates: Index) -> Vector:
        """The squared distance of each pair."""
        out = np.empty(len(queries))
        for some in slices(len(queries), _COPIED // self._longest):
            left, right = self._queries.rows[queries[some]], self._pool.rows[candidates[some]]
            out[some] = self._distances(queries[some], candidates[some], _row_sums(left.multiply(right)))
        return out

    def _distances(self, queries: Index, candidates: Index, products: Vector) -> Vector:
        """‖l‖² + ‖u‖² − 2 l·u, or Σ(l − u)² where that cancels; equal rows get equal distances, to the bit."""
        whole = self._queries.squares[queries] + self._pool.squares[candidates]
        out = whole - 2.0 * products
        close = np.flatnonzero(out <= 0.5 * whole)
        for some in slices(len(close), _COPIED // self._longest):
            pairs = close[some]
            gap = self._queries.rows[queries[pairs]] - self._pool.rows[candidates[pairs]]
            out[pairs] = _row_sums(gap.multiply(gap))
        return np.asarray(out)

    def _shared(self) -> tuple[Vector, Vector]:
        """For each column, the number of pairs that share it and the number of candidates that have it."""
        p = self._pool.rows.shape[1]
        counts = [
            np.bincount(part.rows.indices, minlength=p).astype(np.float64) for part in (self._queries, self._pool)
        ]
        return counts[0] * counts[1], counts[1]

    def _dense_part(self, part: _Rows, some: slice) -> NDArray[np.float32]:
        """The dense columns of some rows, and two more to be filled."""
        cut = part.rows[some][:, self._dense]
        out = np.zeros((cut.shape[0], len(self._dense) + 2), dtype=np.float32)
        out[np.repeat(np.arange(cut.shape[0]), np.diff(cut.indptr)), cut.indices] = cut.data
        return out


def _canonical(features: Any, index: Index, unit: float) -> _Rows:
    """Rows as float64 in our unit, with ascending columns and neither duplicate nor zero entries."""
    rows = sp.csr_array(features[index], dtype=np.float64, copy=False)
    rows.sum_duplicates()
    rows.data = rows.data * unit
    rows.eliminate_zeros()
    return _Rows(rows)


def _first_of_equals(pool: _Rows) -> Index:
    """The candidates, without those equal to an earlier one."""
    rows = pool.rows
    # Equal rows have equal projections, to the bit; rows with equal projections are then compared.
    projection = rows @ np.random.default_rng(0).standard_normal(rows.shape[1])
    _, first, inverse = np.unique(projection, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(len(projection)))
    keep = np.ones(len(projection), dtype=bool)
    for some in slices(len(again), _CANDIDATES // 8):
        gap = rows[again[some]] - rows[first[inverse[again[some]]]]
        gap.eliminate_zeros()
        keep[again[some]] = np.diff(gap.indptr) > 0
    return np.flatnonzero(keep)


def _pattern(rows: Any) -> Any:
    """1 where there is an entry."""
    return sp.csr_array((np.ones(len(rows.data)), rows.indices, rows.indptr), shape=rows.shape)


def _row_sums(rows: Any) -> Vector:
    """The sum of each row, starting from its first entry."""
    return np.asarray(rows @ np.ones(rows.shape[1]))


def _rounded_up(values: Vector) -> NDArray[np.float32]:
    """As float32, rounded up, so that a comparison does not lose a candidate."""
    return np.nextafter(values.astype(np.float32), np.float32(np.inf))
