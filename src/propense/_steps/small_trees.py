"""Boosted trees so small that each is a table: the answers to its few questions are the number of a cell.

A tree of 8 leaves asks 7 questions of the form "is x below the threshold?". All are asked of every row, whether or not
the row passes the question on its way, and the 7 answers, as bits, number one of 128 cells. The table is filled once,
by following the tree for every combination of answers. To score rows takes comparisons and one look-up for each tree;
any numbers of the right shapes are a model, which makes a file of them easy to check.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design
from propense._maths.arrays import Index, Matrix, Rows, Vector
from propense._maths.logistic import LARGEST_LOG_ODDS
from propense._steps.predictors import from_dense_rows

__all__ = ["MOST_QUESTIONS", "Tree", "TreePredictor", "as_tables"]

# A table has 2 to the power of this many cells at most.
MOST_QUESTIONS = 10
# Rows scored at a time: their columns stay in cache.
_ROWS = 8192


@dataclass(frozen=True)
class Tree:
    """A binary tree from its root, node 0: rows with x[feature] < threshold go left; a leaf has no left child (−1)."""

    left: Index
    right: Index
    feature: Index
    threshold: Vector
    value: Vector


@dataclass(frozen=True)
class TreePredictor:
    """Log-odds as a constant and a sum of small trees.

    Attributes
    ----------
    start : float
        The log-odds before the first tree.
    features : int ndarray of shape (n_trees, n_questions)
        The column that each question is about.
    thresholds : ndarray of shape (n_trees, n_questions)
        The answer is yes below it. A missing value is not below it.
    values : ndarray of shape (n_trees, 2 ** n_questions)
        What a tree adds; question i contributes 2^i to the number of the cell if its answer is yes.
    """

    start: float
    features: Index
    thresholds: Matrix
    values: Matrix

    def log_odds(self, design: Design) -> Rows:
        return from_dense_rows(design, self.of_rows)

    def of_rows(self, rows: NDArray[np.floating]) -> Vector:
        """The log-odds of dense rows."""
        used, places = np.unique(self.features, return_inverse=True)
        places = places.reshape(self.features.shape)
        out = np.full(len(rows), self.start)
        for first in range(0, len(rows), _ROWS):
            # In float64, as the thresholds are: NumPy 1 would compare float32 numbers as such.
            columns = np.ascontiguousarray(rows[first : first + _ROWS][:, used].T, dtype=np.float64)
            part = out[first : first + _ROWS]
            for tree, values in enumerate(self.values):
                cell = np.zeros(len(part), dtype=np.intp)
                for question, column in enumerate(places[tree]):
                    cell += (columns[column] < self.thresholds[tree, question]).astype(np.intp) << question
                part += values[cell]
        return np.asarray(np.clip(out, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))


def as_tables(start: float, trees: list[Tree]) -> TreePredictor:
    """The predictor of some trees, none with more questions than `MOST_QUESTIONS`."""
    splits = [np.flatnonzero(tree.left >= 0) for tree in trees]
    count = max((len(each) for each in splits), default=0)
    assert count <= MOST_QUESTIONS
    features = np.zeros((len(trees), count), dtype=np.intp)
    # A question that a smaller tree does not ask is answered with no.
    thresholds = np.full((len(trees), count), -np.inf)
    values = np.empty((len(trees), 2**count))
    for place, (tree, nodes) in enumerate(zip(trees, splits, strict=True)):
        features[place, : len(nodes)] = tree.feature[nodes]
        thresholds[place, : len(nodes)] = tree.threshold[nodes]
        values[place] = _fill(tree, nodes, count)
    return TreePredictor(start, features, thresholds, values)


def _fill(tree: Tree, splits: Index, count: int) -> Vector:
    """The leaf that every combination of answers leads to."""
    question = np.zeros(len(tree.left), dtype=np.intp)
    question[splits] = np.arange(len(splits))
    cells = np.arange(2**count)
    node = np.zeros(2**count, dtype=np.intp)
    # No way to a leaf is longer than all questions.
    for _ in range(len(splits)):
        yes = (cells >> question[node]) & 1 == 1
        below = np.where(yes, tree.left[node], tree.right[node])
        node = np.where(tree.left[node] >= 0, below, node)
    return np.asarray(tree.value[node], dtype=np.float64)
