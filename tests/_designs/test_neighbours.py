"""The search against brute force, where rounding, ties and scale would lead it astray."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clouds import CLOUDS, TIES, brute_force, halves, squared_distances
from conftest import slow_where
from propense._designs import neighbours
from propense._designs.neighbours import Best, RowSet, search, unit_of
from propense._designs.sparse_neighbours import nearest_sparse


def nearest_dense(X, queries, pool):
    return neighbours.nearest_dense(RowSet(X, queries), RowSet(X, pool))[1]


@pytest.fixture(params=["one tile", *slow_where(bool, ["many tiles", "many slabs"])], autouse=True)
def tiles(request, monkeypatch):
    if request.param == "many slabs":
        monkeypatch.setattr(neighbours, "_SLAB", 320)
    if request.param != "one tile":
        request.getfixturevalue("two_blas_threads")
        monkeypatch.setattr(neighbours, "_QUERIES", 16)
        monkeypatch.setattr(neighbours, "_CANDIDATES", 8)
        monkeypatch.setattr(neighbours, "_COPIED", 64)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_nobody_in_the_pool_is_nearer(rng, cloud):
    X = CLOUDS[cloud](rng)
    queries, pool = halves(len(X))
    scaled = X.astype(np.float64) / np.abs(X.astype(np.float64)).max()
    found = squared_distances(scaled, queries, pool, nearest_dense(X, queries, pool))
    best = squared_distances(scaled, queries, pool, brute_force(scaled, queries, pool))
    np.testing.assert_allclose(found, best, rtol=1e-14)


@pytest.mark.parametrize("ties", TIES)
def test_ties_go_to_the_lowest_row(rng, ties):
    X = TIES[ties](rng)
    queries, pool = halves(len(X))
    np.testing.assert_array_equal(nearest_dense(X, queries, pool), brute_force(X, queries, pool))


@pytest.mark.slow
@given(
    X=arrays(np.float64, st.tuples(st.integers(2, 40), st.integers(1, 4)), elements=st.integers(-3, 3).map(float)),
    data=st.data(),
)
@settings(max_examples=40)
def test_any_small_grid_is_searched_exactly(X, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X))))
    mask[0], mask[-1] = True, False
    queries, pool = np.flatnonzero(mask), np.flatnonzero(~mask)
    expected = brute_force(X, queries, pool)
    np.testing.assert_array_equal(nearest_dense(X, queries, pool), expected)


@pytest.mark.parametrize("cell", [1e3, 1e9, 1e15])
def test_one_far_cell_does_not_blunt_the_bounds(rng, cell, monkeypatch):
    """What is measured exactly stays a small multiple of the queries."""
    X = rng.normal(size=(2000, 10))
    X[0, 0] = cell
    queries, pool = halves(2000)
    # Slabs of a few rows would each have a nearest one to measure.
    monkeypatch.setattr(neighbours, "_SLAB", 1 << 24)
    pairs = []
    exact = neighbours._DenseScreen.exact
    monkeypatch.setattr(neighbours._DenseScreen, "exact", lambda self, i, j: pairs.append(len(i)) or exact(self, i, j))
    nearest_dense(X, queries, pool)
    assert sum(pairs) < 3 * len(queries)


def test_bounds_are_below_the_truth_and_close_to_it(rng):
    X = rng.normal(size=(400, 30)) * 3 + 5
    queries, pool = halves(400)
    screen = neighbours._DenseScreen(RowSet(X, queries), np.median(X, axis=0), unit_of(X))
    screen.face(RowSet(X, pool), np.arange(len(pool)))
    exact = screen.exact(np.repeat(np.arange(len(queries)), len(pool)), np.tile(np.arange(len(pool)), len(queries)))
    exact = exact.reshape(len(queries), len(pool))
    lower = screen.lower(np.arange(len(queries)), slice(0, len(pool)))
    ceiling = np.array([screen.ceiling(np.arange(len(queries)), exact[:, j]) for j in range(len(pool))]).T
    assert (lower <= ceiling).all()
    # Close enough to exclude nearly all: within a thousandth of the spread of the distances.
    assert (ceiling - lower).max() < 1e-3 * exact.std()


def test_parts_of_a_pool_are_compared_in_one_unit(rng):
    """What a pool in pieces needs: distances that mean the same in each."""
    X = rng.normal(size=(300, 5)) * 1e-180
    queries, pool = halves(300)
    parts = [pool[:40], pool[40:41], pool[41:]]
    unit = unit_of(X)
    found = [
        neighbours.nearest_dense(RowSet(X, queries), RowSet(X[part], np.arange(len(part))), unit) for part in parts
    ]
    best = np.argmin([distances for distances, _ in found], axis=0)
    joined = np.array([parts[which][found[which][1][row]] for row, which in enumerate(best)])
    np.testing.assert_array_equal(joined, pool[nearest_dense(X, queries, pool)])
    distances = neighbours.nearest_dense(RowSet(X, queries), RowSet(X, pool), unit)[0]
    np.testing.assert_allclose(distances, squared_distances(X * unit, queries, pool, nearest_dense(X, queries, pool)))


def test_an_empty_pool_has_nobody_near():
    X = np.ones((3, 2))
    for kind, find in ((np.asarray, neighbours.nearest_dense), (sp.csr_array, nearest_sparse)):
        distances, _ = find(RowSet(kind(X), np.arange(3)), RowSet(kind(X[:0]), np.arange(0)))
        np.testing.assert_array_equal(distances, np.inf)


def test_a_later_slab_wins_only_by_being_nearer(rng):
    X = np.repeat(rng.integers(0, 3, size=(40, 2)).astype(float), 3, axis=0)
    queries, pool = halves(120)
    screen, best = neighbours._DenseScreen(RowSet(X, queries), np.zeros(2), 1.0), Best(len(queries))
    for some in (slice(0, 30), slice(30, 80)):
        screen.face(RowSet(X, pool[some]), np.arange(some.start, some.stop))
        search(screen, best)
    np.testing.assert_array_equal(best.position, brute_force(X, queries, pool))
