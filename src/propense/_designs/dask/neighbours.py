"""The nearest neighbours of some rows of a Dask array: the queries are sent to the blocks, which do not move."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._designs.dask.blocks import Blocks
from propense._designs.neighbours import RowSet, nearest_dense, unit_of
from propense._designs.sparse_neighbours import nearest_sparse
from propense._maths.arrays import Index, Vector

__all__ = ["nearest"]

# Squared distances and the numbers of rows.
Found = tuple[Vector, Index]


def nearest(blocks: Blocks, starts: Sequence[int], columns: Index | None, queries: da.Array, pool: da.Array) -> Index:
    """For each row of mask `queries`, the number of its nearest row of mask `pool`, the lowest on ties.

    The queries of all blocks are gathered on the workers, with the largest entry: distances are compared across blocks,
    so they need one unit. Only row numbers come to the client.
    """
    gathered = blocks.join(_gather, partial(_queries, columns), queries).persist()
    found = blocks.join(_closer, partial(_search, columns), gathered, pool, each=starts)
    return np.asarray(found.compute()[1])


def _queries(columns: Index | None, block: Any, mask: NDArray[np.bool_]) -> tuple[Any, float]:
    """The rows of a mask, and the largest entry of all."""
    block = block if columns is None else block[:, columns]
    entries = block.data if sp.issparse(block) else block
    largest = max(float(entries.max()), -float(entries.min())) if entries.size else 0.0
    return (block.tocsr() if sp.issparse(block) else block)[np.flatnonzero(mask)], largest


def _gather(parts: list[tuple[Any, float]]) -> tuple[Any, float]:
    rows = [part[0] for part in parts]
    joined = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
    return joined, max(part[1] for part in parts)


def _search(columns: Index | None, block: Any, start: int, queries: tuple[Any, float], pool: Any) -> Found:
    """The nearest row of a block to each query."""
    rows, largest = queries
    block = block if columns is None else block[:, columns]
    index = np.flatnonzero(pool)
    if len(index) == 0 or rows.shape[0] == 0:
        return np.full(rows.shape[0], np.inf), np.full(rows.shape[0], np.iinfo(np.intp).max)
    find = nearest_sparse if sp.issparse(block) else nearest_dense
    # One unit for all blocks, so that their distances can be compared.
    unit = unit_of(np.array([largest]))
    distances, places = find(RowSet(rows, np.arange(rows.shape[0])), RowSet(block, index), unit)
    return distances, index[places] + start


def _closer(parts: list[Found]) -> Found:
    """The nearest of several, the lowest row on ties."""
    distances, rows = parts[0][0].copy(), parts[0][1].copy()
    for others, numbers in parts[1:]:
        wins = (others < distances) | ((others == distances) & (numbers < rows))
        distances[wins], rows[wins] = others[wins], numbers[wins]
    return distances, rows
