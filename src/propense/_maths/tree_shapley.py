"""Shapley values of decision trees, exactly, for many rows at a time.

What a tree would say if only some columns S of a row were known is an average over its leaves: a split on a known
column is answered by the row, and a split on any other column sends the row both ways, in the shares of the rows of fit
that went there (Lundberg et al. 2020, "path dependent"). For one leaf of value v that is v·Π over the columns on the
way to it of o (1 if the row's answers lead there, else 0) where the column is in S, and of r (the share of rows) where
it is not. Its Shapley value for column i is

    φᵢ = v · ∫₀¹ (oᵢ − rᵢ) · Πⱼ≠ᵢ (rⱼ + z·(oⱼ − rⱼ)) dz,

since a set of k columns has the weight 1/k = ∫ zᵏ⁻¹ dz in it. The integrand is a polynomial, so Gauss and Legendre's
rule with half as many points as columns is exact. It depends on the row through the bits o alone: rows with the same
bits share one computation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._maths.arrays import Index, Matrix, Vector
from propense._maths.forest import Forest

__all__ = ["forest_shapley"]

# Leaves, and numbers, that are worked on at a time.
_LEAVES, _NUMBERS = 600, 2_000_000


def forest_shapley(forest: Forest, rows: NDArray[np.floating]) -> tuple[float, Vector, Matrix]:
    """The mean of the log-odds over the rows of fit, those of each row, and what each column adds to them."""
    base, value, shares = forest.start, np.full(len(rows), forest.start), np.zeros(rows.shape)
    for part in _portions(forest):
        ways = _Ways.of(forest, part)
        bits = ways.bits(forest, rows)
        base += float(ways.weight @ ways.value)
        # A leaf is reached if every bit is 1.
        value += ways.value @ (bits == ways.full[:, np.newaxis])
        for count in np.unique(ways.count):
            chosen = np.flatnonzero(ways.count == count)
            if count:
                shares += _leaf_shapley(ways, chosen, int(count), bits[chosen], rows.shape[1])
    return base, value, shares


def _portions(forest: Forest) -> Iterator[Index]:
    """The numbers of the nodes of some trees at a time."""
    ends = np.append(forest.roots, len(forest.column))
    first = 0
    while first < len(forest.roots):
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + 2 * _LEAVES, side="right")) - 1)
        yield np.arange(ends[first], ends[last])
        first = last


@dataclass(frozen=True)
class _Ways:
    """The ways to the leaves of some trees, level by level.

    Attributes
    ----------
    levels : list of (nodes, parents, is_left, bit, is_new)
        For each level below the roots: where its nodes and their parents are among all nodes of the portion, on which
        side of the parent, which bit the parent's column has, and whether it is the first split on that column.
    splits : the nodes of the portion, and their numbers in the forest
    leaves : where the leaves are
    columns, reach : of shape (n_leaves, most), the column of each bit and the share r of rows that answer so
    count : how many bits a leaf has; full: all of them
    weight, value : of each leaf, the share of rows that reach it, and what it adds
    """

    levels: list[tuple[Index, Index, NDArray[np.bool_], NDArray[np.int64], NDArray[np.bool_]]]
    nodes: Index
    leaves: Index
    columns: Index
    reach: Matrix
    count: Index
    full: NDArray[np.int64]
    weight: Vector
    value: Vector

    @classmethod
    def of(cls, forest: Forest, nodes: Index) -> "_Ways":
        start, size = nodes[0], len(nodes)
        right, splits = forest.right[nodes] - start, ~forest.is_leaf[nodes]
        at = np.flatnonzero(np.isin(nodes, forest.roots))
        columns, reach = np.full((size, 1), -1, dtype=np.intp), np.ones((size, 1))
        count, weight, levels = np.zeros(size, dtype=np.intp), np.ones(size), []
        while True:
            parents = np.repeat(at[splits[at]], 2)
            if not len(parents):
                break
            is_left = np.arange(len(parents)) % 2 == 0
            at = np.where(is_left, parents + 1, right[parents])
            covers = forest.cover[nodes[parents]]
            ratio = np.divide(forest.cover[nodes[at]], covers, out=np.full(len(at), 0.5), where=covers > 0.0)
            column = forest.column[nodes[parents]]
            columns[at], reach[at] = columns[parents], reach[parents]
            same = columns[at] == column[:, np.newaxis]
            is_new = ~same.any(axis=1)
            place = np.where(is_new, count[parents], same.argmax(axis=1))
            if place.max() >= columns.shape[1]:
                columns = np.hstack([columns, np.full((size, 1), -1, dtype=np.intp)])
                reach = np.hstack([reach, np.ones((size, 1))])
            columns[at, place] = column
            reach[at, place] *= ratio
            count[at], weight[at] = count[parents] + is_new, weight[parents] * ratio
            levels.append((at, parents, is_left, np.int64(1) << place.astype(np.int64), is_new))
        leaves = np.flatnonzero(~splits)
        full = (np.int64(1) << count[leaves].astype(np.int64)) - 1
        value = forest.number[nodes[leaves]]
        return cls(levels, nodes, leaves, columns[leaves], reach[leaves], count[leaves], full, weight[leaves], value)

    def bits(self, forest: Forest, rows: NDArray[np.floating]) -> NDArray[np.integer]:
        """For each leaf and row, which columns' answers lead to it."""
        kind = np.int16 if self.columns.shape[1] < 15 else np.int64
        found = np.zeros((len(self.nodes), len(rows)), dtype=kind)
        for at, parents, is_left, bit, is_new in self.levels:
            # Both children of a parent follow each other.
            answers = np.repeat(forest.goes_left(self.nodes[parents[::2]], rows), 2, axis=0)
            answers = answers == is_left[:, np.newaxis]
            before = found[parents]
            own: NDArray[Any] = bit.astype(kind)[:, np.newaxis]
            found[at] = np.where(answers, before | np.where(is_new[:, np.newaxis], own, 0), before & ~own)
        return found[self.leaves]


def _leaf_shapley(ways: _Ways, chosen: Index, count: int, bits: NDArray[np.integer], columns: int) -> Matrix:
    """What each column adds in the leaves that have `count` columns on their way; `bits` are theirs."""
    rows = bits.shape[1]
    out = np.zeros((rows, columns))
    patterns = min(rows, 2**count)
    step = max(1, _NUMBERS // (patterns * count * ((count + 1) // 2)))
    for first in range(0, len(chosen), step):
        leaves, own = chosen[first : first + step], bits[first : first + step]
        if rows > 2**count:
            # One table for each leaf, of what each combination of bits gives.
            every = np.broadcast_to(np.arange(2**count), (len(leaves), 2**count))
            places = own.T + np.arange(len(leaves)) * 2**count
        else:
            every, places = own, (np.arange(len(leaves)) * rows)[np.newaxis, :] + np.arange(rows)[:, np.newaxis]
        found = _integrate(ways.reach[leaves, :count], ways.value[leaves], every)
        names, which = np.unique(ways.columns[leaves, :count], return_inverse=True)
        table = np.zeros((found.shape[0] * found.shape[1], len(names)))
        which = which.reshape(len(leaves), count)
        table[np.arange(len(table))[:, np.newaxis], np.repeat(which, every.shape[1], axis=0)] = found.reshape(-1, count)
        ends = np.arange(rows + 1) * len(leaves)
        picked = sp.csr_array(
            (np.ones(places.size), places.ravel().astype(np.int32), ends.astype(np.int32)), shape=(rows, len(table))
        )
        out[:, names] += picked @ table
    return out


def _integrate(reach: Matrix, value: Vector, patterns: NDArray[np.integer]) -> NDArray[np.float64]:
    """φ of each leaf, pattern of bits and bit; `reach` has a row of r for each leaf."""
    count = reach.shape[1]
    points, weights = np.polynomial.legendre.leggauss((count + 1) // 2)
    points, weights = (points + 1.0) / 2.0, weights / 2.0
    answered = (patterns[..., np.newaxis] >> np.arange(count)) & 1 == 1
    r = reach[:, np.newaxis, :]
    out = np.zeros(answered.shape)
    for z, weight in zip(points, weights, strict=True):
        # rⱼ + z·(oⱼ − rⱼ) is r + z(1 − r) or r(1 − z); (oᵢ − rᵢ) over that is (1 − r)/(r + z(1 − r)) or −1/(1 − z).
        met = r + z * (1.0 - r)
        product = np.where(answered, met, r * (1.0 - z)).prod(axis=2, keepdims=True)
        out += weight * product * np.where(answered, (1.0 - r) / met, -1.0 / (1.0 - z))
    return out * value[:, np.newaxis, np.newaxis]
