"""The library of worlds: what each looked like, what was true in it, and the forest that says which look alike.

``studies/worlds.py`` simulates the worlds, and ``studies/library.py`` writes the file. Summaries are kept in bins, one
byte each; a tree is its nodes in the order in which they are reached, left side first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._maths.arrays import Index, Matrix, Vector
from propense._maths.logistic import logit, sigmoid
from propense.worlds.answer import Answer, Given

__all__ = ["LEAF", "Trees", "Worlds", "the_worlds"]

# What stands for a leaf in the place of a summary.
LEAF = 255
# Labels given at random, as good as: the spread of e over the positives, divided by its mean, is at most this.
_EVEN = 0.1
# So many shares stand for all of them.
_EVENLY = 100
# If what is known is true of few worlds, the nearest speak, too: those that have this weight together.
_ENOUGH = 0.2
# h in a block is at least this, and at most 1 less this.
_CERTAIN = 0.004


@dataclass(frozen=True)
class Trees:
    """Binary trees over binned summaries, one after the other: a row goes left if its bin is at most the threshold."""

    starts: Index
    feature: NDArray[np.uint8]
    threshold: NDArray[np.uint8]
    right: NDArray[np.uint16]

    def with_row(self, own: NDArray[np.uint8], bins: NDArray[np.uint8]) -> Iterator[Index]:
        """For each tree, which of the rows `bins` are in the leaf of the row `own`."""
        for start in self.starts.tolist():
            node, rows = start, np.arange(len(bins))
            while (feature := self.feature[node]) != LEAF:
                left = bins[rows, feature] <= self.threshold[node]
                goes_left = own[feature] <= self.threshold[node]
                rows = rows[left if goes_left else ~left]
                node = node + 1 if goes_left else start + int(self.right[node])
            yield rows


@dataclass(frozen=True)
class Worlds:
    """The worlds that a table is compared with.

    Attributes
    ----------
    edges : ndarray of shape (n_summaries, n_edges)
        Where one bin of a summary ends.
    bins : uint8 ndarray of shape (n_worlds, n_summaries)
    trees : Trees
        Worlds in one leaf look alike.
    hidden, unevenness : ndarray of shape (n_worlds,)
        What was true: the log-odds of the share of positives among unlabelled rows; the standard deviation of e over
        the positives, divided by its mean.
    curve : uint8 ndarray of shape (n_worlds, len(BLOCKS) - 1)
        The share of positives in each block of unlabelled rows, times 255.
    far : float
        How far from the nearest world a table is at most, nearly always.
    tails, known_tails : (float, float)
        The ends of the range of h among worlds that look alike, and where the share of positives is known, which tells
        nothing of how pure the top rows are. ``python studies/library.py --tails`` shows what each pair holds.
    """

    edges: Matrix
    bins: NDArray[np.uint8]
    trees: Trees
    hidden: Vector
    unevenness: Vector
    curve: NDArray[np.uint8]
    far: float
    tails: tuple[float, float] = (0.2, 0.95)
    known_tails: tuple[float, float] = (0.05, 0.95)

    def weights(self, values: Vector) -> Vector:
        """How much each world looks like a table with these summaries; they add up to 1."""
        out = np.zeros(len(self.bins))
        for rows in self.trees.with_row(self._bins_of(values), self.bins):
            out[rows] += 1.0 / len(rows)
        return out / len(self.trees.starts)

    def distance(self, values: Vector) -> float:
        """How far the nearest world is, in shares of the worlds between, on average over the summaries."""
        far = np.abs(self.bins.astype(np.int16) - self._bins_of(values).astype(np.int16)).mean(axis=1)
        return float(far.min() / (self.edges.shape[1] + 1))

    def _bins_of(self, values: Vector) -> NDArray[np.uint8]:
        found = [np.searchsorted(edges, value) for edges, value in zip(self.edges, values, strict=True)]
        return np.array(found, dtype=np.uint8)

    def like(self, rate: float, values: Vector, given: Given) -> Answer:
        """What was true in worlds like a table: of this share labelled, with these summaries, and what is given."""
        weights, curves = self.weights(values), self.curve / 255.0
        shares = rate + (1.0 - rate) * sigmoid(self.hidden)
        if strange := self.distance(values) > self.far:
            # Half of the weight goes to all shares that the labels allow; more of it to the least and to the most, so
            # that no end of a range moves inwards.
            even = np.sin(0.5 * np.pi * (np.arange(_EVENLY) + 0.5) / _EVENLY) ** 2
            shares = np.append(shares, rate + (1.0 - rate) * even)
            curves = np.vstack([curves, np.tile(even[:, np.newaxis], curves.shape[1])])
            weights = 0.5 * np.append(weights, np.full(_EVENLY, 1.0 / _EVENLY))
        elif given.at_random:
            weights = _nearest(weights, self.unevenness, _EVEN)
        low, high = max(given.low, rate), min(given.high, 1.0 - given.negative)
        away = np.maximum(low - shares, shares - high)
        weights = _nearest(weights, away, 0.0)
        # Worlds beyond what is known say no more than that: they stand for all of it.
        beyond = np.flatnonzero((away > 0.0) & (weights > 0.0))
        beyond = beyond[np.argsort(shares[beyond], kind="stable")]
        shares[beyond] = low + (high - low) * (np.arange(len(beyond)) + 0.5) / max(len(beyond), 1)
        order = np.argsort(shares, kind="stable")
        order = order[weights[order] > 0.0]
        weights, curves = weights[order], np.clip(curves[order], _CERTAIN, 1.0 - _CERTAIN)
        tails = self.tails if given.low <= rate and given.high >= 1.0 else self.known_tails
        ends = np.array([_quantiles(each, weights, tails) for each in curves.T])
        shares = shares[order]
        return Answer(
            shares,
            weights,
            float(weights @ shares),
            weights @ logit(curves),
            logit(ends[:, 0]),
            logit(ends[:, 1]),
            strange,
        )


def _quantiles(values: Vector, weights: Vector, levels: tuple[float, float]) -> Vector:
    order = np.argsort(values, kind="stable")
    return np.interp(levels, np.cumsum(weights[order]) - 0.5 * weights[order], values[order])


def _nearest(weights: Vector, away: Vector, most: float) -> Vector:
    """The weights of the worlds that are at most so far away, or of the nearest; they add up to 1."""
    order = np.argsort(away, kind="stable")
    enough = away[order[min(int(np.searchsorted(np.cumsum(weights[order]), _ENOUGH)), len(order) - 1)]]
    some = np.where(away <= max(most, enough), weights, 0.0)
    return np.asarray(some / some.sum())


@cache
def the_worlds(kind: str = "plain") -> Worlds:
    """The library in the package: of "plain" labels, or with columns that were "named" for the labelling."""
    with files("propense.worlds").joinpath("worlds.npz").open("rb") as file, np.load(file, allow_pickle=False) as found:
        arrays: dict[str, Any] = {
            name.removeprefix(f"{kind} "): found[name] for name in found.files if name.startswith(f"{kind} ")
        }
    trees = Trees(*(arrays.pop(name) for name in Trees.__dataclass_fields__))
    real = {name: value.astype(np.float64) for name, value in arrays.items() if value.dtype.kind == "f"}
    return Worlds(**{**arrays, **real, "trees": trees, "far": float(arrays["far"])})
