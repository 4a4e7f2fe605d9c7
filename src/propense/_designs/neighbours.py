"""The exact Euclidean nearest neighbour of each query row within a pool of rows.

With c any centre, l = query − c and u = candidate − c, the squared distance is ‖l‖² + (‖u‖² − 2 l·u), and the bracket
is one matrix product. It is computed in low precision as a *lower bound* of its true value, the rounding error
taken off inside the product itself by two extra columns; only the candidates whose lower bound does not exceed
the distance of the best one found are then measured exactly, as Σ(query − candidate)² in float64. Ties go to the lowest row.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["nearest_dense", "nearest_sparse"]

Index = NDArray[np.intp]

# Bounds are made in tiles of at most this many queries × candidates (4 MiB of float32): they stay in cache between the
# product and its minimum. What is kept per tile is one minimum a query, 16 bytes a row of the pool at the most.
_QUERIES, _CANDIDATES = 2048, 512
# Pairs measured exactly at a time, in entries of X.
_EXACT = 1 << 20


def nearest_dense(features: NDArray[Any], queries: Index, pool: Index) -> Index:
    """For each row number in `queries` the position in `pool` of its nearest row."""
    # Tables of few distinct rows (categories) would tie without end: measure each distinct row once.
    if _repeats(features):
        _, first, inverse = np.unique(features[queries], axis=0, return_index=True, return_inverse=True)
        _, kept = np.unique(features[pool], axis=0, return_index=True)
        kept.sort()
        found = _search(_DenseScreen(features, queries[first], pool[kept]))
        return kept[found][inverse.reshape(-1)]
    return _search(_DenseScreen(features, queries, pool))


def nearest_sparse(features: Any, queries: Index, pool: Index) -> Index:
    """The same for the rows of a SciPy CSR matrix."""
    return _search(_SparseScreen(features[queries], features[pool]))


class _Screen(Protocol):
    """Lower bounds and exact distances between numbered queries and numbered candidates."""

    size: tuple[int, int]

    def lower(self, queries: Index | slice, candidates: slice) -> NDArray[Any]:
        """A lower bound of ‖u‖² − 2 l·u for each pair, scaled."""

    def exact(self, queries: Index, candidates: Index) -> NDArray[np.float64]:
        """The squared distance of each pair, to float64 rounding."""

    def ceiling(self, queries: Index, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest lower bound that a candidate at most that far away can have."""


def _search(screen: _Screen) -> Index:
    n_queries = screen.size[0]
    found = np.empty(n_queries, dtype=np.intp)
    for start in range(0, n_queries, _QUERIES):
        rows = slice(start, min(start + _QUERIES, n_queries))
        found[rows] = _search_tile(screen, rows)
    return found


def _search_tile(screen: _Screen, rows: slice) -> Index:
    """The nearest candidates of one slice of queries."""
    starts = range(0, screen.size[1], _CANDIDATES)
    blocks = [slice(start, min(start + _CANDIDATES, screen.size[1])) for start in starts]
    lowest = np.stack([screen.lower(rows, block).min(axis=1) for block in blocks], axis=1)
    queries = np.arange(rows.start, rows.stop)
    distance = np.full(len(queries), np.inf)
    position = np.full(len(queries), screen.size[1], dtype=np.intp)

    def measure(block: slice, some: Index) -> None:
        """Exact distances of the candidates in `block` that may beat the best of the queries `some`."""
        bounds = screen.lower(queries[some], block)
        unmeasured = some[position[some] == screen.size[1]]
        if len(unmeasured):
            guess = bounds[position[some] == screen.size[1]].argmin(axis=1) + block.start
            distance[unmeasured] = screen.exact(queries[unmeasured], guess)
            position[unmeasured] = guess
        i, j = np.nonzero(bounds <= screen.ceiling(queries[some], distance[some])[:, None])
        who, where = some[i], j + block.start
        exact = screen.exact(queries[who], where)
        order = np.lexsort((where, exact, who))
        order = order[np.unique(who[order], return_index=True)[1]]
        who, where, exact = who[order], where[order], exact[order]
        better = (exact < distance[who]) | ((exact == distance[who]) & (where < position[who]))
        distance[who[better]], position[who[better]] = exact[better], where[better]

    likely = lowest.argmin(axis=1)
    for number in np.unique(likely):
        measure(blocks[number], np.flatnonzero(likely == number))
    open_ = lowest <= screen.ceiling(queries, distance)[:, None]
    open_[np.arange(len(queries)), likely] = False
    # Nothing is nearer than 0, and a tie at 0 is won by the lowest row: later blocks are out.
    open_ &= (distance > 0)[:, None] | (np.array(starts) < position[:, None])
    for number in np.flatnonzero(open_.any(axis=0)):
        measure(blocks[number], np.flatnonzero(open_[:, number]))
    return position


class _DenseScreen:
    """Bounds by float32 matrix products, twice as fast as float64's."""

    def __init__(self, features: NDArray[Any], queries: Index, pool: Index) -> None:
        self.size = len(queries), len(pool)
        self._features, self._queries, self._pool = features, queries, pool
        p = features.shape[1]
        # A float32 product of k terms is off by at most k·2⁻²⁴ of the sum of its absolute terms; p + 8 covers the
        # extra columns and the rounding of the entries. With r = ‖l‖ and ‖u‖, κ(r_l + r_u)² bounds the whole error.
        self._slack = 1.1 * (p + 8) * 2.0**-24
        # A power of two near the largest entry: no overflow, and scaling by it rounds nothing.
        largest = max(abs(float(features.max())), abs(float(features.min())))
        self._unit = 2.0 ** -float(np.frexp(largest)[1])
        self._centre = features.mean(axis=0, dtype=np.float64)
        self._left = np.empty((len(queries), p + 2), dtype=np.float32)
        self._right = np.empty((len(pool), p + 2), dtype=np.float32)
        self._offset = np.empty(len(queries))
        for rows, shifted, squares, reach in self._shifted(queries):
            self._left[rows, :p] = -2.0 * shifted
            self._left[rows, p] = 1.0
            self._left[rows, p + 1] = -2.0 * self._slack * reach
            self._offset[rows] = self._slack * reach**2 - squares
        for rows, shifted, squares, reach in self._shifted(pool):
            self._right[rows, :p] = shifted
            self._right[rows, p] = squares - self._slack * reach**2
            self._right[rows, p + 1] = reach

    def lower(self, queries: Index | slice, candidates: slice) -> NDArray[Any]:
        return self._left[queries] @ self._right[candidates].T

    def exact(self, queries: Index, candidates: Index) -> NDArray[np.float64]:
        out = np.empty(len(queries))
        for rows in _slices(len(queries), _EXACT // self._left.shape[1]):
            gap = self._features[self._queries[queries[rows]]].astype(np.float64)
            gap -= self._features[self._pool[candidates[rows]]]
            gap *= self._unit
            out[rows] = np.einsum("ij,ij->i", gap, gap)
        return out

    def ceiling(self, queries: Index, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        return distances + self._offset[queries]

    def _shifted(self, index: Index) -> Iterator[tuple[slice, NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Slices of `index` with x − c, ‖x − c‖² and the reach r of each row, in our unit."""
        centre = self._centre * self._unit
        for rows in _slices(len(index), _EXACT // self._left.shape[1]):
            scaled = self._features[index[rows]] * self._unit
            shifted = scaled - centre
            squares = np.einsum("ij,ij->i", shifted, shifted)
            # The subtraction rounds at ε(‖x‖ + ‖c‖), whatever little is left of x − c; 1e-15 covers underflow.
            rounding = np.sqrt(np.einsum("ij,ij->i", scaled, scaled)) + np.linalg.norm(centre)
            yield rows, shifted, squares, np.sqrt(squares) + rounding * 2.0**-52 / self._slack + 1e-15


class _SparseScreen:
    """Bounds by sparse products in float64, without a centre, which would fill the zeros."""

    def __init__(self, queries: Any, pool: Any) -> None:
        self.size = queries.shape[0], pool.shape[0]
        self._queries, self._pool = queries.astype(np.float64), pool.astype(np.float64)
        self._slack = 1.1 * (queries.shape[1] + 8) * 2.0**-53
        self._left, self._right = (
            np.asarray(rows.multiply(rows).sum(axis=1)).ravel() for rows in (self._queries, self._pool)
        )

    def lower(self, queries: Index | slice, candidates: slice) -> NDArray[Any]:
        left, right = self._left[queries], self._right[candidates]
        products = (self._queries[queries] @ self._pool[candidates].T).toarray()
        return right - 2.0 * products - self._slack * (np.sqrt(left)[:, None] + np.sqrt(right)) ** 2

    def exact(self, queries: Index, candidates: Index) -> NDArray[np.float64]:
        gap = self._queries[queries] - self._pool[candidates]
        return np.asarray(gap.multiply(gap).sum(axis=1)).ravel()

    def ceiling(self, queries: Index, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        return distances - self._left[queries]


def _slices(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` (at least one) of n rows."""
    size = max(size, 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _repeats(features: NDArray[Any]) -> bool:
    """Whether most rows stand more than once, judged by one projection of each row."""
    n, p = features.shape
    # Irrational weights: distinct rows of small integers project to distinct numbers.
    projection = features @ np.sqrt(np.arange(2.0, p + 2.0)).astype(features.dtype)
    return len(np.unique(projection)) < n // 2
