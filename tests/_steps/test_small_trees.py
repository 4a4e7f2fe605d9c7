"""Trees as tables give what the trees give, wherever the rows live."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from conftest import coarse
from propense._maths.arrays import to_host
from propense._steps.small_trees import MOST_QUESTIONS, Tree, as_tables


@pytest.fixture
def trees(rng):
    """Trees of 1 to 8 leaves, grown by scikit-learn, with values of their own."""
    grown = []
    for leaves in (8, 2, 5, 8, 3):
        X, y = coarse(rng.normal(size=(60, 3))), rng.random(60) < 0.5
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=leaves).fit(X, y).tree_
        grown.append(
            Tree(
                tree.children_left,
                tree.children_right,
                np.maximum(tree.feature, 0),
                coarse(tree.threshold),
                rng.normal(size=tree.node_count),
            )
        )
    # A tree without a question.
    return [*grown, Tree(*(np.array([each]) for each in (-1, -1, 0)), np.array([np.nan]), np.array([0.7]))]


def follow(tree, row):
    node = 0
    while tree.left[node] >= 0:
        node = tree.left[node] if row[tree.feature[node]] < tree.threshold[node] else tree.right[node]
    return tree.value[node]


def test_tables_give_what_following_the_trees_gives(trees, rng):
    rows = coarse(rng.normal(size=(300, 3)))
    # On the thresholds themselves, and where a value is missing: neither is below.
    rows[:40, 0] = rng.choice(np.concatenate([tree.threshold for tree in trees[:5]]), 40)
    rows[40:80, 1] = np.nan
    expected = [-0.3 + sum(follow(tree, row) for tree in trees) for row in rows]
    np.testing.assert_allclose(as_tables(-0.3, trees).of_rows(rows), expected, atol=1e-12)


def test_tables_are_the_same_for_every_storage(trees, rng, design_kind):
    rows = coarse(rng.normal(size=(70, 3)))
    found = as_tables(0.5, trees)
    np.testing.assert_allclose(to_host(found.log_odds(design_kind(rows))), found.of_rows(rows), atol=1e-12)


def test_more_rows_than_are_scored_at_a_time(trees, rng, monkeypatch):
    rows, found = rng.normal(size=(50, 3)), as_tables(0.0, trees)
    at_once = found.of_rows(rows)
    monkeypatch.setattr("propense._steps.small_trees._ROWS", 7)
    assert found.of_rows(rows).tobytes() == at_once.tobytes()


def test_float32_rows_are_compared_in_float64():
    # In float32 the threshold would be 1, and 1 not below it.
    tree = Tree(np.array([1, -1, -1]), np.array([2, -1, -1]), np.zeros(3, int), np.full(3, 1 + 1e-12), np.arange(3.0))
    assert as_tables(0.0, [tree]).of_rows(np.ones((1, 1), dtype=np.float32)) == [1.0]


def test_log_odds_stay_finite():
    tree = Tree(*(np.array([each]) for each in (-1, -1, 0)), np.array([0.0]), np.array([1e100]))
    assert np.isfinite(as_tables(1e100, [tree, tree]).of_rows(np.zeros((2, 1)))).all()


def test_a_tree_with_too_many_questions_is_not_made():
    n = MOST_QUESTIONS + 1
    left = np.array([*range(1, n + 1), *[-1] * (n + 1)])
    right = np.array([*range(n + 1, 2 * n + 1), *[-1] * (n + 1)])
    with pytest.raises(AssertionError):
        as_tables(0.0, [Tree(left, right, np.zeros(2 * n + 1, int), np.zeros(2 * n + 1), np.zeros(2 * n + 1))])
