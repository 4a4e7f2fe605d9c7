"""The trees of scikit-learn's classifiers as forests, and what each of their columns adds to the log-odds of a row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from propense._maths.arrays import Index, Matrix, Vector
from propense._maths.logistic import LARGEST_LOG_ODDS
from propense._maths.shapley import Part, carry
from propense._maths.tree_shapley import MOST_COLUMNS, Forest, forest_shapley, join_trees

__all__ = ["tree_part"]

_FORESTS = (ExtraTreesClassifier, RandomForestClassifier)
_TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
# How far the sum of the trees may be from what the classifier says: it rounds in other places.
_ROUNDING = 1e-6


def tree_part(classifier: Any, rows: NDArray[np.floating], log_odds: Vector) -> Part | None:
    """The log-odds of some rows, which the classifier gives as `log_odds`, split over the columns; None if it cannot.

    It can be where the classifier is an ensemble of trees of scikit-learn. The trees of boosting add up to log-odds.
    Those of a forest add up to the chance, so its columns get their part of the log-odds in proportion to what they
    add to the chance.
    """
    kind = type(classifier)
    if kind is HistGradientBoostingClassifier:
        found = _boosted(classifier, rows)
        part = None if found is None else carry(_within, found)
    elif kind in _FORESTS or kind in _TREES:
        found = _averaged(classifier, rows)
        part = None if found is None else carry(_log_odds, found)
    else:
        return None
    # The trees are read where scikit-learn keeps them: had that changed, their sum would be another one.
    if part is None or np.abs(part.value - log_odds).max(initial=0.0) > _ROUNDING * (1.0 + np.abs(log_odds)).max():
        return None
    return part


def _within(raw: Vector) -> Vector:
    return np.clip(raw, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def _log_odds(chance: Vector) -> Vector:
    """The log-odds of a chance, within the largest there are."""
    chance = np.clip(chance, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return _within(np.log(chance) - np.log1p(-chance))


def _boosted(classifier: HistGradientBoostingClassifier, rows: NDArray[np.floating]) -> Part | None:
    """The sum of boosted trees; None if their columns are not where they are expected."""
    try:
        prepared = np.asarray(classifier._preprocess_X(rows, reset=False), dtype=np.float64)
        trees = [each for each, *_ in classifier._predictors]
        start = float(np.ravel(classifier._baseline_prediction)[0])
        # Categories come first.
        remapped = classifier._is_categorical_remapped
        known, places = classifier._bin_mapper.make_known_categories_bitsets()
    except AttributeError:
        return None
    order = np.arange(rows.shape[1])
    if remapped is not None:
        order = np.concatenate(
            [np.flatnonzero(classifier.is_categorical_), np.flatnonzero(~classifier.is_categorical_)]
        )
    nodes: Any = np.concatenate([tree.nodes for tree in trees]) if trees else ()
    if not len(nodes):
        return Part(start, np.full(len(rows), start), np.zeros((len(rows), rows.shape[1])))
    is_leaf = [tree.nodes["is_leaf"].astype(bool) for tree in trees]
    forest = join_trees(
        [
            (
                np.where(leaf, -1, tree.nodes["left"].astype(np.intp)),
                np.where(leaf, -1, tree.nodes["right"].astype(np.intp)),
                tree.nodes["feature_idx"],
                tree.nodes["count"],
                tree.nodes["value"],
            )
            for tree, leaf in zip(trees, is_leaf, strict=True)
        ]
    )
    owners = np.repeat(np.arange(len(trees)), forest.sizes())

    def goes_left(chosen: Index) -> NDArray[np.bool_]:
        own = nodes[chosen]
        cells = prepared.T[own["feature_idx"]]
        out = cells <= own["num_threshold"][:, np.newaxis]
        for place in np.flatnonzero(own["is_categorical"]):
            bits = trees[owners[chosen[place]]].raw_left_cat_bitsets[own["bitset_idx"][place]]
            seen = known[places[own["feature_idx"][place]]]
            whole = np.where(np.isnan(cells[place]) | (cells[place] < 0), 0, cells[place]).astype(np.uint8)
            lost = np.isnan(cells[place]) | (cells[place] < 0) | (~_is_in(bits, whole) & ~_is_in(seen, whole))
            out[place] = np.where(lost, bool(own["missing_go_to_left"][place]), _is_in(bits, whole))
        missing = np.isnan(cells)
        if missing.any():
            out = np.where(missing, own["missing_go_to_left"].astype(bool)[:, np.newaxis], out)
        return np.asarray(out)

    found = _split(forest, goes_left, rows.shape)
    if found is None:
        return None
    base, value, shares = found
    back = np.empty_like(shares)
    back[:, order] = shares
    return Part(start + base, start + value, back)


def _is_in(bitset: NDArray[np.uint32], whole: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether each number is in a set of those from 0 to 255, kept as bits."""
    return np.asarray((bitset[whole // 32] >> (whole % 32).astype(np.uint32)) & 1 == 1)


def _averaged(classifier: Any, rows: NDArray[np.floating]) -> Part | None:
    """The mean chance of the positive class over the trees of a forest."""
    models = [classifier] if isinstance(classifier, _TREES) else classifier.estimators_
    trees = [model.tree_ for model in models]
    # scikit-learn compares in float32.
    cells = rows.astype(np.float32).T
    forest = join_trees(
        [
            (
                tree.children_left,
                tree.children_right,
                tree.feature,
                tree.weighted_n_node_samples,
                tree.value[:, 0, 1] / np.maximum(tree.value[:, 0, :].sum(axis=1), 1e-300) / len(trees),
            )
            for tree in trees
        ]
    )
    thresholds = np.concatenate([tree.threshold for tree in trees])
    ways = [getattr(tree, "missing_go_to_left", None) for tree in trees]
    missing = [
        np.zeros(tree.node_count, dtype=bool) if way is None else way for way, tree in zip(ways, trees, strict=True)
    ]
    without = np.concatenate(missing).astype(bool)

    def goes_left(chosen: Index) -> NDArray[np.bool_]:
        own = cells[forest.column[chosen]]
        out = own <= thresholds[chosen, np.newaxis]
        empty = np.isnan(own)
        return np.where(empty, without[chosen, np.newaxis], out) if empty.any() else out

    found = _split(forest, goes_left, rows.shape)
    return None if found is None else Part(*found)


def _split(forest: Forest, goes_left: Any, shape: tuple[int, int]) -> tuple[float, Vector, Matrix] | None:
    """What each column adds; None if a way to a leaf asks for more columns than can be."""
    if shape[1] > MOST_COLUMNS and _deepest(forest) > MOST_COLUMNS:
        return None
    return forest_shapley(forest, goes_left, *shape)


def _deepest(forest: Forest) -> int:
    """The length of the longest way to a leaf."""
    at, depth = forest.roots, 0
    while True:
        at = at[forest.left[at] >= 0]
        if not len(at):
            return depth
        at, depth = np.concatenate([forest.left[at], forest.right[at]]), depth + 1
