"""The preparation of a table against scikit-learn's own parts."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from propense.tables.model import Preparation
from propense.tables.schema import Column, Schema

NUMBERS = {
    "ordinary": lambda rng, n: rng.normal(size=n),
    "tiny": lambda rng, n: 1e-300 * rng.normal(size=n),
    "large": lambda rng, n: 1e50 * rng.normal(size=n),
    "constant": lambda rng, n: np.full(n, 0.1),
    "constant up to rounding": lambda rng, n: 1e8 + 1e-8 * rng.normal(size=n),
    "truths": lambda rng, n: rng.integers(0, 2, n).astype(float),
}


def by_scikit_learn(schema):
    numbers = [j for j, column in enumerate(schema.columns) if column.kind == "number"]
    words = [j for j, column in enumerate(schema.columns) if column.kind == "category"]
    levels = [np.arange(len(schema.columns[j].levels), dtype=np.float64) for j in words]
    scaled = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    coded = OneHotEncoder(categories=levels, drop="first", handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("numbers", scaled, numbers), ("words", coded, words)])


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("words", [[1], [3], [4, 2], []])
@pytest.mark.parametrize("numbers", [["ordinary"], list(NUMBERS), []], ids=len)
def test_it_is_scikit_learns_to_the_bit_and_in_its_memory_layout(rng, numbers, words, gaps, order):
    n = 101
    if not numbers:
        words = [*words, 2]
    columns = [Column(name, "number") for name in numbers]
    columns[1:1] = [Column(f"word {j}", "category", tuple("abcd"[:count])) for j, count in enumerate(words)]
    schema = Schema(tuple(columns))
    matrix = np.empty((n, len(columns)), order=order)
    for j, column in enumerate(columns):
        numbered = column.kind == "number"
        matrix[:, j] = NUMBERS[column.name](rng, n) if numbered else rng.integers(0, len(column.levels), n)
        matrix[1:, j] = np.where(numbered & (rng.random(n - 1) < gaps), np.nan, matrix[1:, j])
    # Gaps where there were none, and levels that were not seen.
    other = np.where(rng.random(matrix.shape) < 0.2, np.nan, matrix)
    for j, column in enumerate(columns):
        other[:, j] = np.where(np.isnan(other[:, j]) & (column.kind == "category"), -1.0, other[:, j])
    theirs, ours = by_scikit_learn(schema).fit(matrix), Preparation.fit(schema, matrix)
    for rows in (matrix, other):
        expected, found = theirs.transform(rows), ours.transform(rows)
        assert (expected.dtype, expected.shape, expected.strides) == (found.dtype, found.shape, found.strides)
        assert expected.tobytes() == found.tobytes()
