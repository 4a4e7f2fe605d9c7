"""The rows that a model was fitted on, as 64-bit hashes of their ids or values, so that scoring recognises them."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["are_among", "hash_ids", "hash_values", "remember"]

# More rows than these are not remembered: 8 MB of a model file.
_MOST = 1_000_000


def remember(matrix: NDArray[np.float64], ids: NDArray[Any] | None) -> NDArray[np.int64] | None:
    """The hashes of the rows of fit, sorted: of their ids, or else of their values; None if there are too many."""
    if len(matrix) > _MOST:
        return None
    # An empty id names no row.
    return np.unique(hash_values(matrix) if ids is None else hash_ids(each for each in ids if each))


def are_among(known: NDArray[np.int64], hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which hashes are among the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(hashes), dtype=bool)
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return np.asarray(known[places] == hashes)


def hash_ids(ids: Iterable[str]) -> NDArray[np.int64]:
    """The hash of each id."""
    found = b"".join(hashlib.blake2b(each.encode("utf-8", "surrogatepass"), digest_size=8).digest() for each in ids)
    return np.frombuffer(found, dtype="<i8").astype(np.int64)


def hash_values(matrix: NDArray[np.float64]) -> NDArray[np.int64]:
    """The hash of each row of an encoded matrix: equal numbers, and missing ones, have equal hashes."""
    # Adding 0 turns −0 into 0.
    bits = np.where(np.isnan(matrix), np.nan, matrix + 0.0).view(np.uint64)
    out = np.zeros(len(matrix), dtype=np.uint64)
    for column in bits.T:
        # The steps of SplitMix64 (Steele, Lea and Flood, 2014): a change of one bit changes half of the hash.
        out = (out ^ column) + np.uint64(0x9E3779B97F4A7C15)
        out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out ^= out >> np.uint64(31)
    return out.view(np.int64)
