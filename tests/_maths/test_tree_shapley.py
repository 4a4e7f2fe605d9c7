"""Shapley values of trees against their definition: a sum over all sets of columns."""

import itertools
import math

import numpy as np
import pytest

from propense._maths.tree_shapley import forest_shapley, join_trees


def random_tree(rng, columns, depth):
    """A tree with random splits: left, right, column, cover, value; and a threshold for each node."""
    nodes = []

    def grow(cover, left_to_go):
        place = len(nodes)
        nodes.append([-1, -1, 0, cover, rng.normal(), rng.uniform()])
        if left_to_go and rng.uniform() < 0.85:
            share = rng.uniform(0.05, 0.95)
            nodes[place][2] = int(rng.integers(columns))
            nodes[place][0] = grow(cover * share, left_to_go - 1)
            nodes[place][1] = grow(cover * (1 - share), left_to_go - 1)
        return place

    grow(100.0, depth)
    *tree, thresholds = (np.array(each) for each in zip(*nodes, strict=True))
    return tuple(tree), thresholds


def known_value(tree, thresholds, row, known, node=0):
    """What a tree says if only some columns of a row are known."""
    left, right, column, cover, value = (each[node] for each in tree)
    if left < 0:
        return value
    parts = [known_value(tree, thresholds, row, known, int(child)) for child in (left, right)]
    if column in known:
        return parts[0] if row[int(column)] <= thresholds[node] else parts[1]
    share = tree[3][int(left)] / cover
    return share * parts[0] + (1 - share) * parts[1]


def by_definition(tree, thresholds, row, columns):
    out = np.zeros(columns)
    for column in range(columns):
        others = [each for each in range(columns) if each != column]
        for size in range(columns):
            weight = math.factorial(size) * math.factorial(columns - size - 1) / math.factorial(columns)
            for known in itertools.combinations(others, size):
                with_it = known_value(tree, thresholds, row, {*known, column})
                out[column] += weight * (with_it - known_value(tree, thresholds, row, set(known)))
    return out


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, 200])
def test_every_column_gets_its_shapley_value(rng, rows):
    # 200 rows are more than the combinations of answers at most leaves, 3 are fewer: two ways to the same values.
    columns, grown = 5, [random_tree(rng, 5, 6) for _ in range(4)]
    X = rng.uniform(size=(rows, columns))
    forest = join_trees([tree for tree, _ in grown])
    thresholds = np.concatenate([each for _, each in grown])

    def goes_left(nodes):
        return X.T[forest.column[nodes]] <= thresholds[nodes, np.newaxis]

    base, value, shares = forest_shapley(forest, goes_left, rows, columns)
    for row in range(min(rows, 3)):
        expected = sum(by_definition(*each, X[row], columns) for each in grown)
        np.testing.assert_allclose(shares[row], expected, atol=1e-12)
        said = sum(known_value(*each, X[row], set(range(columns))) for each in grown)
        assert value[row] == pytest.approx(said, abs=1e-12)
    np.testing.assert_allclose(base + shares.sum(axis=1), value, atol=1e-12)
    assert base == pytest.approx(sum(known_value(*each, X[0], set()) for each in grown), abs=1e-12)


def test_a_tree_without_splits_and_many_columns_add_nothing(rng):
    leaf = tuple(np.array(each) for each in ([-1], [-1], [0], [10.0], [2.5]))
    base, value, shares = forest_shapley(join_trees([leaf, leaf]), lambda nodes: None, 3, 40)
    assert base == 5.0
    assert (value == 5.0).all()
    assert not shares.any()


def test_nodes_that_are_not_trees_have_an_end():
    ring = tuple(np.array(each) for each in ([1, 0], [1, 0], [0, 0], [10.0, 5.0], [0.0, 1.0]))
    with pytest.raises(ValueError, match="not trees"):
        forest_shapley(join_trees([ring]), lambda nodes: np.ones((len(nodes), 3), dtype=bool), 3, 2)
