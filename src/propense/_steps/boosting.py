"""The engine of boosted trees, scikit-learn's, and its trees as a `Forest`: the one place that knows where it has them.

It is the only engine that installs wherever scikit-learn does: the wheels of LightGBM and xgboost need a library of
OpenMP that macOS lacks.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._designs import Predictor
from propense._maths.forest import Forest
from propense._maths.logistic import LARGEST_LOG_ODDS
from propense._steps.predictors import ClassifierPredictor, ForestPredictor

__all__ = ["as_forest"]

# The largest number of a level: a forest has a place for each up to it.
_MOST_LEVELS = 1024
# Rows that both must agree on.
_TRIED = 200


def as_forest(predictor: Predictor, features: Any) -> Predictor:
    """The predictor, as arrays if it is a classifier of boosted trees; `features` are rows that it was fitted to.

    Arrays are a model that can be kept in files, explained and used on blocks, whatever becomes of scikit-learn. Other
    predictors stay what they are, and so do boosted trees that say something else than their arrays would.
    """
    if not isinstance(predictor, ClassifierPredictor) or not isinstance(features, np.ndarray):
        return predictor
    # Imported here and not above: models that only score do without.
    from sklearn.ensemble import HistGradientBoostingClassifier

    classifier = predictor.classifier
    if type(classifier) is not HistGradientBoostingClassifier:
        return predictor
    forest, tried = _forest_of(classifier), features[:: max(1, len(features) // _TRIED)]
    if forest is None or forest.problem(features.shape[1]):
        return predictor
    said = np.clip(classifier.decision_function(tried), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    return ForestPredictor(forest, predictor.columns) if np.array_equal(forest.log_odds(tried), said) else predictor


def _forest_of(classifier: Any) -> Forest | None:
    """The trees of a classifier; None if scikit-learn has them elsewhere, or in another form."""
    try:
        trees = [tree for (tree,) in classifier._predictors]
        nodes = np.concatenate([tree.nodes for tree in trees])
        leaf, by_level, left = (nodes[name] != 0 for name in ("is_leaf", "is_categorical", "missing_go_to_left"))
        column, sets = nodes["feature_idx"].astype(np.int32), np.zeros((0, 0), dtype=bool)
        number = np.where(leaf, nodes["value"], nodes["num_threshold"])
        if classifier._preprocessor is not None:
            # A row of bits for each split by levels, in their order.
            bits = np.concatenate([tree.raw_left_cat_bitsets for tree in trees])
            levels = classifier._preprocessor.named_transformers_["encoder"].categories_
            asked = np.flatnonzero(by_level)
            sets = _sets([levels[column[node]] for node in asked], bits, left[asked])
            number[asked] = np.arange(len(asked))
            # There, columns of levels come first.
            marked = np.asarray(classifier.is_categorical_)
            column = np.argsort(~marked, kind="stable").astype(np.int32)[column]
        column[leaf] = -1
        start = float(np.ravel(classifier._baseline_prediction)[0])
        return Forest(start, column, number, left & ~leaf, by_level, nodes["count"].astype(np.float64), sets)
    except (AttributeError, KeyError, ValueError, IndexError, TypeError):
        return None


def _sets(levels: list[NDArray[np.float64]], bits: NDArray[np.uint32], left: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For each split by levels those that go left: of bit k if that is the k-th level, else as missing cells do."""
    known = [each[~np.isnan(each)] for each in levels]
    width = int(max((each.max(initial=-1.0) + 1 for each in known), default=0))
    if width > _MOST_LEVELS or any(((each < 0) | (np.floor(each) != each)).any() for each in known):
        raise ValueError
    out = np.repeat(left[:, np.newaxis], width, axis=1)
    for row, each, own in zip(out, known, bits, strict=True):
        place = np.arange(len(each))
        row[each.astype(np.intp)] = (own[place // 32] >> (place % 32).astype(np.uint32)) & 1 == 1
    return out
