"""Rows to search for neighbours, and the search that cannot be wrong."""

import numpy as np

CLOUDS = {
    "normal": lambda rng: rng.normal(size=(300, 6)),
    "wide": lambda rng: rng.normal(size=(300, 60)),
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

TIES = {
    "binary": lambda rng: (rng.random((300, 12)) < 0.3).astype(float),
    "integers": lambda rng: rng.integers(0, 4, size=(300, 3)).astype(float),
    "constant": lambda rng: np.ones((300, 3)),
    "every row twice": lambda rng: np.repeat(rng.normal(size=(150, 3)), 2, axis=0),
    "zeros": lambda rng: np.zeros((300, 2)),
}


def brute_force(X, queries, pool):
    """The first of the nearest, by exact differences."""
    X = X.astype(np.float64)
    return np.array([((X[pool] - X[query]) ** 2).sum(axis=1).argmin() for query in queries])


def squared_distances(X, queries, pool, found):
    X = X.astype(np.float64)
    return ((X[queries] - X[pool[found]]) ** 2).sum(axis=1)


def halves(n):
    return np.arange(0, n, 3), np.setdiff1d(np.arange(n), np.arange(0, n, 3))
