"""The sparse search against brute force: text-like columns, ties, copies, empty rows and extreme scales."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conftest import slow_where
from propense._designs import sparse_neighbours
from propense._designs.neighbours import RowSet
from propense._designs.sparse_neighbours import nearest_sparse


@pytest.fixture(params=["one tile", *slow_where(bool, ["many tiles", "many slabs", "all columns dense"])], autouse=True)
def tiles(request, monkeypatch):
    changed = {
        "one tile": {},
        "many tiles": {"_PAIRS": 900, "_SHARED": 300, "_COPIED": 64},
        "many slabs": {"_CANDIDATES": 17},
        "all columns dense": {"_COMMON": 0.0},
    }[request.param]
    if changed:
        request.getfixturevalue("two_blas_threads")
    for name, value in changed.items():
        monkeypatch.setattr(sparse_neighbours, name, value)


def terms(rng, n, p, per_row, power):
    """Counts of terms, column j in proportion to 1/jᵖᵒʷᵉʳ."""
    chances = 1.0 / np.arange(1, p + 1) ** power
    drawn = rng.choice(p, size=(n, per_row), p=chances / chances.sum())
    out = np.zeros((n, p))
    np.add.at(out, (np.arange(n)[:, None], drawn), 1.0)
    return out


def unit_rows(X):
    return X / np.sqrt((X**2).sum(axis=1, keepdims=True))


CLOUDS = {
    "uniform terms": lambda rng: unit_rows(terms(rng, 150, 500, 12, 0.0) * rng.uniform(1, 5, size=500)),
    "terms as in text": lambda rng: unit_rows(terms(rng, 150, 500, 30, 1.1) * rng.uniform(1, 5, size=500)),
    "float32": lambda rng: unit_rows(terms(rng, 150, 200, 20, 1.1)).astype(np.float32),
    "signed": lambda rng: np.where(rng.random((150, 40)) < 0.2, rng.normal(size=(150, 40)), 0.0),
    "nearly dense": lambda rng: rng.normal(size=(150, 6)),
    "far from the origin": lambda rng: np.where(rng.random((150, 4)) < 0.9, rng.normal(size=(150, 4)) + 1e6, 0.0),
    "columns of unlike scale": lambda rng: terms(rng, 150, 5, 3, 0.0) * [1e-6, 1, 1e3, 1e6, 1e9],
    "huge": lambda rng: terms(rng, 150, 30, 5, 1.0) * rng.uniform(1, 2, size=30) * 1e200,
    "tiny": lambda rng: terms(rng, 150, 30, 5, 1.0) * rng.uniform(1, 2, size=30) * 1e-200,
}
TIES = {
    "counts": lambda rng: terms(rng, 150, 30, 10, 1.0),
    "short counts": lambda rng: terms(rng, 150, 200, 2, 0.5),
    "no common term": lambda rng: np.eye(150),
    "one column": lambda rng: rng.integers(0, 5, size=(150, 1)).astype(float),
    "empty rows": lambda rng: terms(rng, 150, 30, 4, 1.0) * (rng.random((150, 1)) < 0.5),
    "nothing at all": lambda rng: np.zeros((150, 3)),
    "every row thrice": lambda rng: np.repeat(terms(rng, 50, 50, 8, 1.0), 3, axis=0),
}


def halves(n):
    return np.arange(0, n, 3), np.setdiff1d(np.arange(n), np.arange(0, n, 3))


def all_distances(X, queries, pool):
    X = X.astype(np.float64)
    return np.array([((X[pool] - X[query]) ** 2).sum(axis=1) for query in queries])


def search(X, queries, pool, unit=None):
    features = sp.csr_array(X)
    return nearest_sparse(RowSet(features, queries), RowSet(features, pool), unit)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_nobody_in_the_pool_is_nearer(rng, cloud):
    X = CLOUDS[cloud](rng)
    queries, pool = halves(len(X))
    # A power of two, so that nothing is rounded.
    unit = 2.0 ** -np.ceil(np.log2(np.abs(X.astype(np.float64)).max()))
    expected = all_distances(X.astype(np.float64) * unit, queries, pool)
    distances, positions = search(X, queries, pool, unit)
    np.testing.assert_allclose(distances, expected.min(axis=1), rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(expected[np.arange(len(queries)), positions], expected.min(axis=1), rtol=1e-13)
    np.testing.assert_array_equal(search(X, queries, pool)[1], positions)


@pytest.mark.parametrize("ties", TIES)
def test_ties_go_to_the_lowest_row(rng, ties):
    X = TIES[ties](rng)
    queries, pool = halves(len(X))
    expected = all_distances(X, queries, pool)
    distances, positions = search(X, queries, pool, 1.0)
    np.testing.assert_array_equal(positions, expected.argmin(axis=1))
    np.testing.assert_array_equal(distances, expected.min(axis=1))


@pytest.mark.parametrize("X", [np.array([[1.0, 0.1], [0.1, 1.0]]).repeat([1, 40], axis=0) / 3], ids=["thirds"])
def test_copies_of_a_row_of_any_numbers_tie(X):
    """Equal rows are equally far to the bit, however often they are measured."""
    np.testing.assert_array_equal(search(X, np.array([0]), np.arange(1, 41))[1], 0)


@pytest.mark.slow
@given(
    X=arrays(np.float64, st.tuples(st.integers(2, 40), st.integers(1, 4)), elements=st.integers(-3, 3).map(float)),
    data=st.data(),
)
@settings(max_examples=25)
def test_any_small_grid_is_searched_exactly(X, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X))))
    mask[0], mask[-1] = True, False
    queries, pool = np.flatnonzero(mask), np.flatnonzero(~mask)
    expected = all_distances(X, queries, pool)
    distances, positions = search(X, queries, pool, 1.0)
    np.testing.assert_array_equal(positions, expected.argmin(axis=1))
    np.testing.assert_array_equal(distances, expected.min(axis=1))


def test_stored_zeros_and_unsorted_columns_are_the_same_rows(rng):
    X = terms(rng, 90, 20, 5, 1.0)
    queries, pool = halves(90)
    entries = np.append(X.ravel(), 0.0)
    rows, columns = np.append(np.repeat(np.arange(90), 20), 0), np.append(np.tile(np.arange(20)[::-1], 90), 3)
    messy = sp.coo_array((entries, (rows, columns)), shape=(90, 20)).tocsr()
    found = nearest_sparse(RowSet(messy, queries), RowSet(messy, pool), 1.0)
    np.testing.assert_array_equal(found[1], all_distances(X, queries, pool).argmin(axis=1))


def test_the_matrix_is_left_as_it_was(rng):
    features = sp.csr_array(terms(rng, 90, 20, 5, 1.0))
    kept = features.copy()
    nearest_sparse(RowSet(features, np.arange(90)), RowSet(features, np.arange(90)))
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(features, part), getattr(kept, part), strict=True)
