"""The search against brute force, where rounding, ties and scale would lead it astray."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from propense._designs import neighbours
from propense._designs.neighbours import nearest_dense


def brute_force(X, queries, pool):
    """The first of the nearest, by exact differences."""
    X = X.astype(np.float64)
    return np.array([((X[pool] - X[query]) ** 2).sum(axis=1).argmin() for query in queries])


def squared_distances(X, queries, pool, found):
    X = X.astype(np.float64)
    return ((X[queries] - X[pool[found]]) ** 2).sum(axis=1)


def halves(n):
    return np.arange(0, n, 3), np.setdiff1d(np.arange(n), np.arange(0, n, 3))


@pytest.fixture(params=["one tile", "many tiles"], autouse=True)
def tiles(request, monkeypatch):
    if request.param == "many tiles":
        monkeypatch.setattr(neighbours, "_QUERIES", 16)
        monkeypatch.setattr(neighbours, "_CANDIDATES", 8)
        monkeypatch.setattr(neighbours, "_COPIED", 64)


CLOUDS = {
    "normal": lambda rng: rng.normal(size=(300, 6)),
    "wide": lambda rng: rng.normal(size=(300, 200)),
    "one column": lambda rng: rng.normal(size=(300, 1)),
    "float32": lambda rng: rng.normal(size=(300, 6)).astype(np.float32),
    "far from the origin": lambda rng: rng.normal(size=(300, 4)) + 1e7,
    "columns of unlike scale": lambda rng: rng.normal(size=(300, 5)) * [1e-6, 1, 1e3, 1e6, 1e9],
    "heavy tails": lambda rng: rng.standard_cauchy(size=(300, 3)),
    "an outlier": lambda rng: np.vstack([rng.normal(size=(299, 3)), [[1e12, 0, 0]]]),
    "a sentinel": lambda rng: np.where(rng.random((300, 4)) < 0.01, 999_999_999.0, rng.normal(size=(300, 4))),
    "huge": lambda rng: rng.normal(size=(300, 4)) * 1e200,
    "tiny": lambda rng: rng.normal(size=(300, 4)) * 1e-200,
    "column-major": lambda rng: np.asfortranarray(rng.normal(size=(300, 6))),
}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_nobody_in_the_pool_is_nearer(rng, cloud):
    X = CLOUDS[cloud](rng)
    queries, pool = halves(len(X))
    scaled = X.astype(np.float64) / np.abs(X.astype(np.float64)).max()
    found = squared_distances(scaled, queries, pool, nearest_dense(X, queries, pool))
    best = squared_distances(scaled, queries, pool, brute_force(scaled, queries, pool))
    np.testing.assert_allclose(found, best, rtol=1e-14)


TIES = {
    "binary": lambda rng: (rng.random((300, 12)) < 0.3).astype(float),
    "integers": lambda rng: rng.integers(0, 4, size=(300, 3)).astype(float),
    "constant": lambda rng: np.ones((300, 3)),
    "every row twice": lambda rng: np.repeat(rng.normal(size=(150, 3)), 2, axis=0),
    "zeros": lambda rng: np.zeros((300, 2)),
}


@pytest.mark.parametrize("ties", TIES)
def test_ties_go_to_the_lowest_row(rng, ties):
    X = TIES[ties](rng)
    queries, pool = halves(len(X))
    np.testing.assert_array_equal(nearest_dense(X, queries, pool), brute_force(X, queries, pool))


@given(
    X=arrays(np.float64, st.tuples(st.integers(2, 40), st.integers(1, 4)), elements=st.integers(-3, 3).map(float)),
    data=st.data(),
)
@settings(deadline=None, max_examples=200)
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
    pairs = []
    exact = neighbours._DenseScreen.exact
    monkeypatch.setattr(neighbours._DenseScreen, "exact", lambda self, i, j: pairs.append(len(i)) or exact(self, i, j))
    nearest_dense(X, queries, pool)
    assert sum(pairs) < 3 * len(queries)


def test_bounds_are_below_the_truth_and_close_to_it(rng):
    X = rng.normal(size=(400, 30)) * 3 + 5
    queries, pool = halves(400)
    screen = neighbours._DenseScreen(X, queries, pool)
    exact = screen.exact(np.repeat(np.arange(len(queries)), len(pool)), np.tile(np.arange(len(pool)), len(queries)))
    exact = exact.reshape(len(queries), len(pool))
    lower = screen.lower(np.arange(len(queries)), slice(0, len(pool)))
    ceiling = np.array([screen.ceiling(np.arange(len(queries)), exact[:, j]) for j in range(len(pool))]).T
    assert (lower <= ceiling).all()
    # Close enough to exclude nearly all: within a thousandth of the spread of the distances.
    assert (ceiling - lower).max() < 1e-3 * exact.std()
