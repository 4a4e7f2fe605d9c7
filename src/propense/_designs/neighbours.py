"""The exact Euclidean nearest neighbour of each query row within a pool of rows.

With c any centre, l = query − c and u = candidate − c, the squared distance is ‖l‖² + (‖u‖² − 2 l·u), and the bracket
is one matrix product. It is computed in low precision as a *lower bound* of its true value, the rounding error
taken off inside the product itself by two extra columns; only the candidates whose lower bound does not exceed
the distance of the best one found are then measured exactly, as Σ(query − candidate)² in float64. Ties go to the
lowest row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propense._designs.threads import map_in_threads, one_blas_thread, slices

__all__ = ["RowSet", "nearest_dense"]

Index = NDArray[np.intp]

# Bounds are made in tiles of at most this many queries × candidates (4 MiB of float32): they stay in cache between the
# product and its minimum. What is kept per tile is one minimum a query, 16 bytes a row of the pool at the most.
_QUERIES, _CANDIDATES = 2048, 512
# Entries of X copied at a time: 256 KiB, which the allocator hands out again and again without fresh pages.
_COPIED = 1 << 15
# Rows that the centre is taken from, and rows among which repeats are looked for.
_SAMPLE, _LOOKED_AT = 128, 2048


@dataclass(frozen=True)
class RowSet:
    """Some rows of a matrix, by number."""

    features: Any
    index: Index


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


class _Screen(Protocol):
    """Lower bounds and exact distances between numbered queries and numbered candidates."""

    size: tuple[int, int]

    def lowest(self, queries: slice, blocks: list[slice]) -> NDArray[Any]:
        """The lowest of `lower` for each query within each block of candidates."""

    def lower(self, queries: Index, candidates: slice) -> NDArray[Any]:
        """A lower bound of ‖u‖² − 2 l·u for each pair."""

    def exact(self, queries: Index, candidates: Index) -> NDArray[np.float64]:
        """The squared distance of each pair, to float64 rounding."""

    def ceiling(self, queries: Index, distances: NDArray[np.float64]) -> NDArray[Any]:
        """The largest lower bound that a candidate at most that far away can have."""


def _search(screen: _Screen) -> Index:
    """The nearest candidate of each query, a slice of queries at a time."""
    with one_blas_thread() as workers:
        share = -(-screen.size[0] // workers)
        tiles = slices(screen.size[0], min(_QUERIES, share))
        return np.concatenate(map_in_threads(partial(_search_tile, screen), tiles, workers))


def _search_tile(screen: _Screen, rows: slice) -> Index:
    """The nearest candidate of each of a slice of queries."""
    queries = np.arange(rows.start, rows.stop)
    blocks = list(slices(screen.size[1], _CANDIDATES))
    lowest = screen.lowest(rows, blocks)
    best = _Best(screen, queries)
    likely = lowest.argmin(axis=1)
    for number in np.unique(likely):
        best.begin(np.flatnonzero(likely == number), blocks[number])
    rivals = lowest <= screen.ceiling(queries, best.distance)[:, None]
    rivals[np.arange(len(queries)), likely] = False
    # Nothing is nearer than 0, and a tie at 0 is won by the lowest row: blocks further on are out.
    starts = np.array([block.start for block in blocks])
    rivals &= (best.distance > 0)[:, None] | (starts < best.position[:, None])
    for number in np.flatnonzero(rivals.any(axis=0)):
        best.challenge(np.flatnonzero(rivals[:, number]), blocks[number])
    return best.position


class _Best:
    """The nearest candidate found so far of each of some queries."""

    def __init__(self, screen: _Screen, queries: Index) -> None:
        self._screen, self._queries = screen, queries
        self.distance = np.empty(len(queries))
        self.position = np.empty(len(queries), dtype=np.intp)

    def begin(self, some: Index, block: slice) -> None:
        """Set the best of the queries `some` within a block."""
        bounds = self._screen.lower(self._queries[some], block)
        guess = bounds.argmin(axis=1)
        self.position[some] = guess + block.start
        self.distance[some] = self._screen.exact(self._queries[some], self.position[some])
        bounds[np.arange(len(some)), guess] = np.inf
        self._compare(some, block, bounds)

    def challenge(self, some: Index, block: slice) -> None:
        """Let the candidates of another block try."""
        self._compare(some, block, self._screen.lower(self._queries[some], block))

    def _compare(self, some: Index, block: slice, bounds: NDArray[Any]) -> None:
        """Measure the candidates that the bounds do not exclude."""
        ceiling = self._screen.ceiling(self._queries[some], self.distance[some])
        open_ = np.flatnonzero(bounds.min(axis=1) <= ceiling)
        if len(open_) == 0:
            return
        who, where = np.nonzero(bounds[open_] <= ceiling[open_, None])
        who, where = some[open_[who]], where + block.start
        exact = self._screen.exact(self._queries[who], where)
        # Nearest first, then the lowest row; the first of each query is its challenger.
        order = np.lexsort((where, exact, who))
        order = order[np.unique(who[order], return_index=True)[1]]
        who, where, exact = who[order], where[order], exact[order]
        wins = (exact < self.distance[who]) | ((exact == self.distance[who]) & (where < self.position[who]))
        self.distance[who[wins]], self.position[who[wins]] = exact[wins], where[wins]


class _DenseScreen:
    """Bounds by float32 matrix products, twice as fast as float64's."""

    def __init__(self, features: NDArray[Any], queries: Index, pool: Index) -> None:
        self.size = len(queries), len(pool)
        self._features, self._queries, self._pool = features, queries, pool
        p = features.shape[1]
        # A float32 product of k terms is off by at most k·2⁻²⁴ of the sum of its absolute terms; p + 8 covers the
        # extra columns and the rounding of the entries. With r = ‖l‖ and ‖u‖, κ(r_l + r_u)² bounds the whole error.
        self._slack = 1.1 * (p + 8) * 2.0**-24
        self._unit = _unit(features)
        # Any centre will do; a median, unlike a mean, stays with the rows when one of them is far away.
        self._centre = np.median(features[:: -(-len(features) // _SAMPLE)].astype(np.float64), axis=0)
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

    def lowest(self, queries: slice, blocks: list[slice]) -> NDArray[Any]:
        left = self._left[queries]
        out = np.empty((len(blocks), len(left)), dtype=np.float32)
        # The same memory for every tile of bounds: fresh pages would cost as much as the product.
        memory = np.empty(len(left) * _CANDIDATES, dtype=np.float32)
        for number, block in enumerate(blocks):
            right = self._right[block]
            tile = memory[: len(left) * len(right)].reshape(len(left), len(right))
            np.matmul(left, right.T, out=tile).min(axis=1, out=out[number])
        return out.T

    def lower(self, queries: Index, candidates: slice) -> NDArray[Any]:
        return self._left[queries] @ self._right[candidates].T

    def exact(self, queries: Index, candidates: Index) -> NDArray[np.float64]:
        out = np.empty(len(queries))
        for rows in slices(len(queries), _COPIED // self._left.shape[1]):
            gap = self._features[self._queries[queries[rows]]].astype(np.float64)
            gap -= self._features[self._pool[candidates[rows]]]
            gap *= self._unit
            out[rows] = np.einsum("ij,ij->i", gap, gap)
        return out

    def ceiling(self, queries: Index, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        # Rounded up: a float32 comparison must not lose a candidate.
        return np.nextafter((distances + self._offset[queries]).astype(np.float32), np.float32(np.inf))

    def _shifted(self, index: Index) -> Iterator[tuple[slice, NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Slices of `index` with x − c, ‖x − c‖² and the reach r of each row, in our unit."""
        centre = self._centre * self._unit
        for rows in slices(len(index), _COPIED // self._left.shape[1]):
            scaled = self._features[index[rows]] * self._unit
            shifted = scaled - centre
            squares = np.einsum("ij,ij->i", shifted, shifted)
            # The subtraction rounds at ε(‖x‖ + ‖c‖), whatever little is left of x − c; 1e-15 covers underflow.
            rounding = np.sqrt(np.einsum("ij,ij->i", scaled, scaled)) + np.linalg.norm(centre)
            yield rows, shifted, squares, np.sqrt(squares) + rounding * 2.0**-52 / self._slack + 1e-15


def _unit(entries: NDArray[Any]) -> float:
    """A power of two that brings the largest entry near 1: no overflow, and scaling by it rounds nothing."""
    largest = max(abs(float(entries.max())), abs(float(entries.min()))) if entries.size else 1.0
    return float(2.0 ** min(-float(np.frexp(largest)[1]), 1000.0))


def _repeats(features: NDArray[Any]) -> bool:
    """Whether most rows stand more than once, judged by one projection of each of a sample."""
    sample = features[:: -(-len(features) // _LOOKED_AT)].astype(np.float64)
    # Irrational weights: distinct rows of small integers project to distinct numbers.
    projection = sample @ np.sqrt(np.arange(2.0, sample.shape[1] + 2.0))
    return bool(len(np.unique(projection)) < len(sample) // 2)
