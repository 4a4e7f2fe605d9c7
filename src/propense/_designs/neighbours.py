"""The exact Euclidean nearest neighbour of each query row within a pool of rows.

With c any centre, l = query − c and u = candidate − c, the squared distance is ‖l‖² + (‖u‖² − 2 l·u), and the bracket
is one matrix product. It is computed in low precision as a *lower bound* of its true value: two extra columns subtract
the rounding error within the product. Only candidates whose lower bound does not exceed the distance of the best one
found are then measured exactly, as Σ(query − candidate)² in float64. Ties go to the lowest row. Both sides are
processed in slabs, so that nothing the size of the matrix is copied.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._designs.threads import map_in_threads, one_blas_thread, slices
from propense._maths.arrays import Index, Vector

__all__ = ["RowSet", "nearest_dense", "unit_of"]

Nearest = tuple[Vector, Index]

# Bounds are computed in tiles of at most this many queries × candidates (4 MiB of float32), which stay in cache between
# the product and its minimum.
_QUERIES, _CANDIDATES = 2048, 512
# Entries of a slab of queries, and of a slab of candidates, prepared at a time: 64 MiB of float32 each.
_SLAB = 1 << 24
# Entries of X copied at a time: 256 KiB, which the allocator can reuse without fresh pages.
_COPIED = 1 << 15
# Rows sampled for the centre, and rows sampled for repeats.
_SAMPLE, _REPEATS_SAMPLE = 128, 2048


@dataclass(frozen=True)
class RowSet:
    """Some rows of a feature matrix, by number."""

    features: Any
    index: Index

    def __len__(self) -> int:
        return len(self.index)

    def part(self, which: slice) -> "RowSet":
        """A slice of the rows."""
        return RowSet(self.features, self.index[which])


def nearest_dense(queries: RowSet, pool: RowSet, unit: float | None = None) -> Nearest:
    """The squared distance, in squares of `unit`, from each query to its nearest row of the pool, and its position.

    Distances to the parts of a pool can be compared if they use one unit: that of all rows, `unit_of`.
    """
    if not (len(queries) and len(pool)):
        return np.full(len(queries), np.inf), np.zeros(len(queries), dtype=np.intp)
    if unit is None:
        unit = min(unit_of(queries.features), unit_of(pool.features))
    rows = _SLAB // (pool.features.shape[1] + 2)
    repeats = _repeats(pool.features)
    found = [_nearest_of(queries.part(some), pool, unit, rows, repeats) for some in slices(len(queries), rows)]
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


def _nearest_of(queries: RowSet, pool: RowSet, unit: float, rows: int, repeats: bool) -> Nearest:
    """`nearest_dense` for one slab of queries, with the pool in slabs of `rows` rows."""
    inverse: Any = slice(None)
    if repeats:
        # Tables with few distinct rows (categories) have very many ties: measure each distinct row once.
        values = queries.features[queries.index]
        _, first, inverse = np.unique(values, axis=0, return_index=True, return_inverse=True)
        queries, inverse = RowSet(queries.features, queries.index[first]), inverse.reshape(-1)
    screen = _DenseScreen(queries, _centre(pool.features), unit)
    best = Best(len(queries))
    for some in slices(len(pool), rows):
        places = np.arange(some.start, some.stop)
        if repeats:
            _, first = np.unique(pool.features[pool.index[some]], axis=0, return_index=True)
            places = places[np.sort(first)]
        screen.face(RowSet(pool.features, pool.index[places]), places)
        search(screen, best)
    return best.distance[inverse], best.position[inverse]


def search(screen: "_DenseScreen", best: "Best") -> None:
    """Compare the candidates of a screen with the best so far, in threads by slices of queries."""
    with one_blas_thread() as workers:
        share = -(-screen.size[0] // workers)
        tiles = slices(screen.size[0], min(_QUERIES, share))
        map_in_threads(partial(_search_tile, screen, best), tiles, workers)


def _search_tile(screen: "_DenseScreen", best: "Best", rows: slice) -> None:
    """`search` for a slice of queries."""
    blocks = list(slices(screen.size[1], _CANDIDATES))
    lowest = screen.lowest(rows, blocks)
    queries = np.arange(rows.start, rows.stop)
    open_ = lowest.min(axis=1) <= screen.ceiling(queries, best.distance[queries])
    queries, lowest = queries[open_], lowest[open_]
    if len(queries) == 0:
        return
    likely = lowest.argmin(axis=1)
    for number in np.unique(likely):
        best.challenge(screen, queries[likely == number], blocks[number])
    rivals = lowest <= screen.ceiling(queries, best.distance[queries])[:, None]
    rivals[np.arange(len(queries)), likely] = False
    # Nothing is nearer than 0, and the lowest row wins a tie at 0: later blocks are excluded.
    starts = screen.places[[block.start for block in blocks]]
    rivals &= (best.distance[queries] > 0)[:, None] | (starts < best.position[queries][:, None])
    for number in np.flatnonzero(rivals.any(axis=0)):
        best.challenge(screen, queries[rivals[:, number]], blocks[number])


class Best:
    """The nearest candidate found so far for each query: its squared distance and its position in the pool."""

    def __init__(self, count: int) -> None:
        self.distance = np.full(count, np.inf)
        self.position = np.zeros(count, dtype=np.intp)

    def challenge(self, screen: "_DenseScreen", queries: Index, block: slice) -> None:
        """Compare the candidates of a block: the one with the lowest bound first, then all that are not excluded."""
        bounds = screen.lower(queries, block)
        guess = bounds.argmin(axis=1)
        self._offer(screen, queries, guess + block.start)
        bounds[np.arange(len(queries)), guess] = np.inf
        ceiling = screen.ceiling(queries, self.distance[queries])
        open_ = np.flatnonzero(bounds.min(axis=1) <= ceiling)
        if len(open_):
            rows, where = np.nonzero(bounds[open_] <= ceiling[open_, None])
            self._offer(screen, queries[open_[rows]], where + block.start)

    def _offer(self, screen: "_DenseScreen", queries: Index, candidates: Index) -> None:
        """Measure pairs; a query's nearest, the lowest row on ties, replaces its best so far if it is better."""
        exact, places = screen.exact(queries, candidates), screen.places[candidates]
        # One pair per query, in order, needs no sorting.
        if not (queries[1:] > queries[:-1]).all():
            order = np.lexsort((places, exact, queries))
            order = order[np.unique(queries[order], return_index=True)[1]]
            queries, places, exact = queries[order], places[order], exact[order]
        old = self.distance[queries]
        wins = (exact < old) | ((exact == old) & (places < self.position[queries]))
        self.distance[queries[wins]], self.position[queries[wins]] = exact[wins], places[wins]


class _DenseScreen:
    """Lower bounds and exact distances between numbered queries and numbered candidates.

    The bounds are float32 matrix products, which are twice as fast as float64 ones.
    """

    def __init__(self, queries: RowSet, centre: Vector, unit: float) -> None:
        self._queries, self._centre, self._unit = queries, centre, unit
        p = queries.features.shape[1]
        # A float32 product of k terms is off by at most k·2⁻²⁴ of the sum of its absolute terms; p + 8 covers the
        # extra columns and the rounding of the entries. With r = ‖l‖ and ‖u‖, κ(r_l + r_u)² bounds the whole error.
        self._slack = 1.1 * (p + 8) * 2.0**-24
        self._left = np.empty((len(queries), p + 2), dtype=np.float32)
        self._offset = np.empty(len(queries))
        for rows, shifted, squares, reach in self._shifted(queries):
            self._left[rows, :p] = -2.0 * shifted
            self._left[rows, p] = 1.0
            self._left[rows, p + 1] = -2.0 * self._slack * reach
            self._offset[rows] = self._slack * reach**2 - squares

    def face(self, pool: RowSet, places: Index) -> None:
        """Switch to other candidates, with these positions in the whole pool, ascending."""
        self._pool, self.places = pool, places
        self.size = len(self._queries), len(pool)
        p = pool.features.shape[1]
        self._right = np.empty((len(pool), p + 2), dtype=np.float32)
        for rows, shifted, squares, reach in self._shifted(pool):
            self._right[rows, :p] = shifted
            self._right[rows, p] = squares - self._slack * reach**2
            self._right[rows, p + 1] = reach

    def lowest(self, queries: slice, blocks: list[slice]) -> NDArray[Any]:
        """The lowest of `lower` for each query within each block of candidates."""
        left = self._left[queries]
        out = np.empty((len(blocks), len(left)), dtype=np.float32)
        # All tiles of bounds share memory: fresh pages would cost as much as the product.
        memory = np.empty(len(left) * _CANDIDATES, dtype=np.float32)
        for number, block in enumerate(blocks):
            right = self._right[block]
            tile = memory[: len(left) * len(right)].reshape(len(left), len(right))
            np.matmul(left, right.T, out=tile).min(axis=1, out=out[number])
        return out.T

    def lower(self, queries: Index, candidates: slice) -> NDArray[Any]:
        """A lower bound of ‖u‖² − 2 l·u for each pair."""
        return self._left[queries] @ self._right[candidates].T

    def exact(self, queries: Index, candidates: Index) -> Vector:
        """The squared distance of each pair, to float64 rounding."""
        out = np.empty(len(queries))
        for rows in slices(len(queries), _COPIED // self._left.shape[1]):
            gap = self._queries.features[self._queries.index[queries[rows]]].astype(np.float64)
            gap -= self._pool.features[self._pool.index[candidates[rows]]]
            gap *= self._unit
            out[rows] = np.einsum("ij,ij->i", gap, gap)
        return out

    def ceiling(self, queries: Index, distances: Vector) -> Vector:
        """The largest lower bound that a candidate at most that far away can have."""
        # Rounded up, so that a float32 comparison does not lose a candidate.
        return np.nextafter((distances + self._offset[queries]).astype(np.float32), np.float32(np.inf))

    def _shifted(self, some: RowSet) -> Iterator[tuple[slice, NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Slices of rows with x − c, ‖x − c‖² and the reach r of each row, in our unit."""
        centre = self._centre * self._unit
        for rows in slices(len(some), _COPIED // self._left.shape[1]):
            scaled = some.features[some.index[rows]] * np.float64(self._unit)
            shifted = scaled - centre
            squares = np.einsum("ij,ij->i", shifted, shifted)
            # The subtraction rounds at ε(‖x‖ + ‖c‖), however small x − c is; 1e-15 covers underflow.
            rounding = np.sqrt(np.einsum("ij,ij->i", scaled, scaled)) + np.linalg.norm(centre)
            yield rows, shifted, squares, np.sqrt(squares) + rounding * 2.0**-52 / self._slack + 1e-15


def unit_of(entries: NDArray[Any]) -> float:
    """A power of two that brings the largest entry near 1: no overflow, and scaling by it rounds nothing."""
    largest = max(abs(float(entries.max())), abs(float(entries.min()))) if entries.size else 1.0
    return float(2.0 ** min(-float(np.frexp(largest)[1]), 1000.0))


def _repeats(features: NDArray[Any]) -> bool:
    """Whether most rows occur more than once, judged by projecting a sample of them."""
    sample = features[:: -(-len(features) // _REPEATS_SAMPLE)].astype(np.float64)
    # With irrational weights, distinct rows of small integers project to distinct numbers.
    projection = sample @ np.sqrt(np.arange(2.0, sample.shape[1] + 2.0))
    return bool(len(np.unique(projection)) < len(sample) // 2)


def _centre(features: NDArray[Any]) -> Vector:
    """Any centre will do; unlike a mean, a median stays near the rows if one of them is far away."""
    return np.asarray(np.median(features[:: -(-len(features) // _SAMPLE)].astype(np.float64), axis=0))
