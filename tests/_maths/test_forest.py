"""Trees as arrays say what following them says, to the bit, and damaged arrays are refused."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from propense._designs import as_design
from propense._maths import forest as module
from propense._maths.forest import Forest
from propense._maths.logistic import LARGEST_LOG_ODDS
from propense._steps.boosting import as_forest
from propense._steps.predictors import ClassifierPredictor, ForestPredictor


def made(column, number, **others):
    """A forest of these nodes."""
    count = len(column)
    given = {"missing_left": np.zeros(count, bool), "by_level": np.zeros(count, bool), "cover": np.ones(count)}
    given |= {"start": 0.0, "sets": np.zeros((0, 0), bool)} | others
    return Forest(column=np.array(column, dtype=np.int32), number=np.array(number, dtype=float), **given)


PER_NODE = ("column", "number", "missing_left", "by_level", "cover")
# A split by level, a split at 1, three leaves; a tree of one leaf.
WHOLE = made(
    [1, 0, -1, -1, -1, -1],
    [0.0, 1.0, -0.5, 0.25, 2.0, 0.125],
    start=0.5,
    missing_left=np.array([True, *[False] * 5]),
    by_level=np.array([True, *[False] * 5]),
    cover=np.array([10.0, 6.0, 2.0, 4.0, 4.0, 10.0]),
    sets=np.array([[True, False, True]]),
)


@pytest.fixture(scope="module")
def table():
    """Numbers and levels with missing cells, and labels that depend on both."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 5)).astype(np.float32)
    X[:, 1], X[:, 3] = rng.choice([0, 2, 3, 11], 3000), rng.integers(0, 40, 3000)
    y = rng.random(3000) < 1 / (1 + np.exp(1 - X[:, 0] ** 2 - 2 * np.isin(X[:, 1], (2, 11)) * X[:, 2] - X[:, 3] % 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    # Levels that no row of fit has, and numbers beyond all of them.
    fresh = X[rng.permutation(3000)] * np.array([3.0, 1.0, 1.0, 1.0, -1.0], dtype=np.float32)
    fresh[:400, [1, 3]] = rng.choice([1, 12, 40, 999, -1, 2.5], (400, 2))
    return X, y, np.concatenate([X, fresh])


@pytest.mark.slow
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("leaves", [2, 4, 8, 16, 31, 60])
def test_scores_are_those_of_boosting_to_the_bit(table, leaves, missing, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 1700)
    X, y, rows = (np.nan_to_num(each) if each.ndim == 2 and not missing else each for each in table)
    for levels in (None, [1, 3]):
        boosting = HistGradientBoostingClassifier(
            max_iter=12, max_leaf_nodes=leaves, min_samples_leaf=5, categorical_features=levels, random_state=0
        ).fit(X, y)
        # As thresholds, numbers of float64 lie between those of float32.
        found = as_forest(ClassifierPredictor(boosting), X)
        assert isinstance(found, ForestPredictor)
        for some in (rows, rows.astype(np.float64) * (1 + 1e-12), rows[:0], np.full((3, 5), np.nan)):
            np.testing.assert_array_equal(found.forest.log_odds(some), _said(boosting, some))
        np.testing.assert_array_equal(found.log_odds(as_design(X)), _said(boosting, X))


def _said(boosting, rows):
    said = boosting.decision_function(rows) if len(rows) else np.empty(0)
    return np.clip(said, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def follow(forest, row):
    """What the trees say, by walking down; and which nodes were met."""
    total, met = forest.start, []
    for root in forest.roots:
        node = root
        while met.append(node) or not forest.is_leaf[node]:
            cell = row[forest.column[node]]
            if forest.by_level[node]:
                own = forest.sets[int(forest.number[node])]
                left = own[int(cell)] if cell in range(len(own)) else forest.missing_left[node]
            else:
                left = forest.missing_left[node] if np.isnan(cell) else cell <= forest.number[node]
            node = node + 1 if left else forest.right[node]
        total += forest.number[node]
    return total, met


def test_scores_are_those_of_walking_down():
    rows = np.array([[x, level] for x in (0.0, 1.0, 1.5, np.nan) for level in (0.0, 1.0, 2.0, 7.0, 0.5, -1.0, np.nan)])
    assert WHOLE.problem(2) == ""
    np.testing.assert_array_equal(WHOLE.log_odds(rows), [follow(WHOLE, row)[0] for row in rows])
    np.testing.assert_array_equal(WHOLE.log_odds(rows[[0, 1, 14]]), [0.125, 2.625, 0.875])
    assert made([], [], start=0.25).problem(0) == ""
    np.testing.assert_array_equal(made([], [], start=0.25).log_odds(rows[:2]), [0.25, 0.25])
    # In float32 the cut would be 1, and 1 not above it.
    assert made([0, -1, -1], [1 - 1e-12, 0.0, 1.0]).log_odds(np.ones((1, 1), dtype=np.float32)) == [1.0]
    assert made([-1], [1e100]).log_odds(rows[:1]) == [LARGEST_LOG_ODDS]


@pytest.mark.slow
def test_importances_are_the_squares_by_which_splits_move_rows(table):
    X, y, _ = table
    boosting = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=6, categorical_features=[1, 3]).fit(X, y)
    forest, out = as_forest(ClassifierPredictor(boosting), X).forest, np.zeros(5)
    ways = [follow(forest, row)[1] for row in X]
    for tree, root in enumerate(forest.roots):
        end = [*forest.roots, len(forest.column)][tree + 1]
        met = np.array([[node in way for node in range(root, end)] for way in ways])
        np.testing.assert_array_equal(met.sum(axis=0), forest.cover[root:end])
        said = met @ np.where(forest.is_leaf, forest.number, 0.0)[root:end]
        for node in np.flatnonzero(~forest.is_leaf[root:end]):
            here = met[:, node]
            apart = sum(
                met[:, child].sum() * (said[met[:, child]].mean() - said[here].mean()) ** 2
                for child in (node + 1, forest.right[root + node] - root)
            )
            out[forest.column[root + node]] += apart
    np.testing.assert_allclose(forest.importances(5), out, rtol=1e-9)


def test_what_are_not_trees_is_refused():
    def of(place, value, name="number"):
        array = getattr(WHOLE, name).copy()
        array[place] = value
        return {name: array}

    levels = "splits by levels that are not there"
    damages = {
        "differ in length": [{name: getattr(WHOLE, name)[:-1]} for name in PER_NODE],
        "not finite": [{"start": np.nan}, of(2, np.inf), of(3, np.nan), of([2, 3], 1e308)],
        "not a number": [of(1, np.nan), of(0, -1.0, "cover"), of(0, np.inf, "cover"), of(3, np.nan, "cover")],
        "not among 2": [of(0, 2, "column"), of(2, -2, "column")],
        levels: [of(0, 1.0), of(0, -1.0), of(0, 0.5), {"sets": np.zeros((1, 0), bool)}, of(2, True, "by_level")],
        "no end": [of(5, 1, "column"), of(4, 1, "column"), of([2, 3, 4, 5], [1, 1, -1, -1], "column")],
    }
    for words, cases in damages.items():
        for changed in cases:
            assert words in replace(WHOLE, **changed).problem(2), changed
    for start in ([0, -1], [-1, -1, 0, -1]):
        assert "no end" in made(start, np.zeros(len(start))).problem(1)
    long = [0, -1] * 63 + [-1]
    assert "more than 63 leaves" in made(long, np.zeros(127)).problem(1)
    assert made(long[2:], np.zeros(125)).problem(1) == ""


@pytest.mark.slow
def test_random_arrays_without_a_problem_are_scored_as_they_say(rng):
    rows, whole = rng.choice([-1.0, 0.0, 1.0, 0.5, 2.0, np.nan, 1e300], (25, 2)), 0
    for _ in range(4000):
        count = rng.integers(0, 8)
        forest = made(
            rng.choice([-2, -1, 0, 1, 2], count, p=[0.02, 0.53, 0.215, 0.215, 0.02]),
            rng.choice([-1.0, 0.0, 1.0, 0.5, np.nan, np.inf, 1e308], count, p=[0.1, 0.4, 0.3, 0.14, 0.02, 0.02, 0.02]),
            missing_left=rng.random(count) < 0.5,
            by_level=rng.random(count) < 0.1,
            cover=rng.choice([0.0, 1.0, 9.0], count),
            sets=rng.random((rng.integers(3), rng.integers(3))) < 0.5,
        )
        if not forest.problem(2):
            whole += 1
            np.testing.assert_allclose(
                forest.log_odds(rows), np.clip([follow(forest, each)[0] for each in rows], -36, 36)
            )
    assert whole > 300


def test_a_forest_is_pickled_without_what_follows_from_its_arrays(rng):
    forest, rows = made([0, -1, -1], [0.5, -1.0, 1.0]), rng.normal(size=(9, 1))
    before = pickle.dumps(forest)
    said = forest.log_odds(rows)
    assert pickle.dumps(forest) == before
    np.testing.assert_array_equal(pickle.loads(before).log_odds(rows), said)
