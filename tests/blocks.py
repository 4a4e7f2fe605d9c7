"""Dask arrays for the tests: uneven blocks, one of them empty."""

import dask
import dask.array as da
import numpy as np

# One thread and no cluster, which are quick to start, wherever a test does not ask for others.
dask.config.set(scheduler="synchronous")


def chunks_of(n):
    """Row chunks of n rows."""
    first, second = n // 2 + 1, n // 3
    return first, 0, second, n - first - second


def as_dask(X, storage=np.asarray):
    """X in blocks of some storage."""
    return da.from_array(X, chunks=(chunks_of(len(X)), -1)).map_blocks(storage)
