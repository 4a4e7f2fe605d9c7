"""The preparation of encoded columns against scikit-learn's own parts."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from propense._inputs.preparation import Preparation

NUMBERS = {
    "ordinary": lambda rng, n: rng.normal(size=n),
    "tiny": lambda rng, n: 1e-300 * rng.normal(size=n),
    "large": lambda rng, n: 1e50 * rng.normal(size=n),
    "constant": lambda rng, n: np.full(n, 0.1),
    "constant up to rounding": lambda rng, n: 1e8 + 1e-8 * rng.normal(size=n),
    "truths": lambda rng, n: rng.integers(0, 2, n).astype(float),
}


def by_scikit_learn(counts):
    numbers, words = np.flatnonzero(counts == 0), np.flatnonzero(counts)
    levels = [np.arange(counts[j], dtype=np.float64) for j in words]
    scaled = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    coded = OneHotEncoder(categories=levels, drop="first", handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("numbers", scaled, numbers), ("words", coded, words)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("words", [[1], [3], [4, 2], []])
@pytest.mark.parametrize("numbers", [["ordinary"], list(NUMBERS), []], ids=len)
def test_it_is_scikit_learns_to_the_bit_and_in_its_memory_layout(rng, numbers, words, gaps, order):
    n = 101
    if not numbers:
        words = [*words, 2]
    names: list[str | None] = list(numbers)
    names[1:1] = [None] * len(words)
    counts = np.zeros(len(names), dtype=np.int64)
    counts[[j for j, name in enumerate(names) if name is None]] = words
    matrix = np.empty((n, len(names)), order=order)
    for j, name in enumerate(names):
        matrix[:, j] = rng.integers(0, counts[j], n) if name is None else NUMBERS[name](rng, n)
        matrix[1:, j] = np.where((counts[j] == 0) & (rng.random(n - 1) < gaps), np.nan, matrix[1:, j])
    # Gaps where there were none, and levels that were not seen.
    other = np.where(rng.random(matrix.shape) < 0.2, np.nan, matrix)
    other = np.where(np.isnan(other) & (counts > 0), -1.0, other)
    theirs, ours = by_scikit_learn(counts).fit(matrix), Preparation.fit(counts, matrix)
    for rows in (matrix, other):
        expected, found = theirs.transform(rows), ours.transform(rows)
        assert (expected.dtype, expected.shape, expected.strides) == (found.dtype, found.shape, found.strides)
        assert expected.tobytes() == found.tobytes()


def encoded(rng, n=60):
    counts = np.array([0, 3, 0, 0])
    matrix = np.column_stack(
        [rng.normal(size=n), rng.integers(0, 3, n), rng.normal(size=n), np.round(rng.normal(size=n))]
    )
    return counts, np.where((rng.random(matrix.shape) < 0.2) & (counts == 0), np.nan, matrix)


@pytest.mark.parametrize("scale", [1.0, 0.1, 1e-9])
def test_a_weight_repeats_its_row(rng, scale):
    counts, matrix = encoded(rng)
    weights = rng.integers(1, 4, len(matrix))
    weighted = Preparation.fit(counts, matrix, scale * weights)
    repeated = Preparation.fit(counts, np.repeat(matrix, weights, axis=0))
    np.testing.assert_allclose(weighted.transform(matrix), repeated.transform(matrix), rtol=0, atol=1e-12)


def test_a_number_that_is_missing_everywhere_has_no_effect(rng):
    counts, matrix = encoded(rng)
    matrix[:, 2] = np.nan
    prepared = Preparation.fit(counts, matrix).transform(matrix)
    assert np.isfinite(prepared).all()
    assert (np.ptp(prepared, axis=0) == 0).sum() == 2


def test_a_feature_depends_on_its_source_alone(rng):
    counts = np.array([3, 0, 2, 0, 4])
    matrix = np.column_stack([rng.integers(0, each, 80) if each else rng.normal(size=80) for each in counts])
    matrix[::5, 3] = np.nan
    ours = Preparation.fit(counts, matrix)
    before = ours.transform(matrix)
    assert ours.sources.shape == (before.shape[1],)
    for column, count in enumerate(counts):
        moved = matrix.copy()
        moved[:, column] = (
            (matrix[:, column] + 1) % count if count else np.where(np.isnan(matrix[:, column]), 1, np.nan)
        )
        changed = (ours.transform(moved) != before).any(axis=0)
        np.testing.assert_array_equal(changed, ours.sources == column)
