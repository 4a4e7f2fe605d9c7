"""Shapley values of trees against their definition: a sum over all sets of columns."""

import itertools
import math

import numpy as np
import pytest

from propense._maths.forest import Forest
from propense._maths.tree_shapley import forest_shapley


def grow(rng, depth, cover=100.0):
    """Nodes of a tree with random splits: column, number, missing_left, by_level, cover."""
    if not depth or rng.random() < 0.15:
        return [(-1, rng.normal(), False, False, cover)]
    share, by_level = rng.uniform(0.05, 0.95), rng.random() < 0.3
    split = (rng.integers(5), rng.integers(2) if by_level else rng.random(), rng.random() < 0.5, by_level, cover)
    return [split, *grow(rng, depth - 1, cover * share), *grow(rng, depth - 1, cover * (1 - share))]


def known_value(forest, node, row, known):
    """What a tree says if only some columns of a row are known."""
    if forest.is_leaf[node]:
        return forest.number[node]
    left, right = node + 1, forest.right[node]
    if forest.column[node] in known:
        goes_left = forest.goes_left(np.array([node]), row[np.newaxis])[0, 0]
        return known_value(forest, left if goes_left else right, row, known)
    shares = forest.cover[[left, right]] / forest.cover[node]
    return sum(share * known_value(forest, each, row, known) for share, each in zip(shares, (left, right), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 200])
def test_every_column_gets_its_shapley_value(rng, count):
    # 200 rows are more than the combinations of answers at most leaves, 3 are fewer: two ways to the same values.
    nodes = zip(*(node for _ in range(4) for node in grow(rng, 6)), (-1, 2.5, False, False, 100.0), strict=True)
    kinds = (np.int32, float, bool, bool, float)
    forest = Forest(0.25, *map(np.array, nodes, kinds), sets=np.array([[True, False], [False, True]]))
    assert forest.problem(5) == ""
    rows = rng.choice([0.0, 1.0, np.nan, *rng.random(5)], size=(count, 6))
    base, value, shares = forest_shapley(forest, rows)
    for row, found in zip(rows[:3], shares, strict=False):
        said = {
            known: sum(known_value(forest, root, row, known) for root in forest.roots)
            for size in range(6)
            for known in itertools.combinations(range(5), size)
        }
        for column in range(5):
            others = [known for known in said if column not in known]
            gains = [said[tuple(sorted((*known, column)))] - said[known] for known in others]
            weights = [1 / (5 * math.comb(4, len(known))) for known in others]
            assert found[column] == pytest.approx(np.dot(weights, gains), abs=1e-12)
        assert base == pytest.approx(0.25 + said[()], abs=1e-12)
    assert not shares[:, 5].any()
    np.testing.assert_allclose(value, forest.log_odds(rows), atol=1e-12)
    np.testing.assert_allclose(base + shares.sum(axis=1), value, atol=1e-12)
