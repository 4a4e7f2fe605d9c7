"""The rows that a model was fitted on, as 64-bit hashes, so that scoring recognises them.

Scores of models that have not seen these rows are kept with them, where the method has such scores.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HeldOut", "are_among", "hash_ids", "hash_rows", "hash_values", "mix", "remember", "remember_scores"]

# More rows than these are not remembered: 8 MB of a model file, and 24 more with the scores held out.
_MOST = 1_000_000


@dataclass(frozen=True)
class HeldOut:
    """What models that have not seen them say of the rows of fit.

    Attributes
    ----------
    rows : int64 ndarray of shape (n_rows,)
        Hashes of the rows' values, and of their ids if they have any, sorted.
    log_odds : float32 ndarray of shape (n_rows, 2 or 4)
        The log-odds of y and e, and those of the ends of the range of h, if there is one. If several rows have the same
        hash: the mean.
    """

    rows: NDArray[np.int64]
    log_odds: NDArray[np.float32]

    def find(self, hashes: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which rows are here, and the log-odds of those that are."""
        here = are_among(self.rows, hashes)
        return here, self.log_odds[np.searchsorted(self.rows, hashes[here])].astype(np.float64)


def remember(matrix: NDArray[np.float64], ids: NDArray[Any] | None) -> NDArray[np.int64] | None:
    """The hashes of the rows of fit, sorted: of their ids, or else of their values; None if there are too many."""
    if len(matrix) > _MOST:
        return None
    # An empty id names no row.
    return np.unique(hash_values(matrix) if ids is None else hash_ids(each for each in ids if each))


def remember_scores(
    matrix: NDArray[np.float64], ids: NDArray[Any] | None, log_odds: NDArray[np.float64]
) -> HeldOut | None:
    """The scores of the rows of fit, by the hashes of the rows; None if there are too many."""
    if len(matrix) > _MOST:
        return None
    hashes = hash_rows(matrix, ids)
    if ids is not None:
        named = ids.astype(bool)
        hashes, log_odds = hashes[named], log_odds[named]
    rows, places, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    sums = np.zeros((len(rows), log_odds.shape[1]))
    np.add.at(sums, places.ravel(), log_odds)
    return HeldOut(rows, (sums / counts[:, np.newaxis]).astype(np.float32))


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


def hash_rows(matrix: NDArray[np.float64], ids: NDArray[Any] | None) -> NDArray[np.int64]:
    """The hash of each row's values and, if there are ids, of its id: a row that has changed is another row."""
    out = hash_values(matrix)
    return out if ids is None else mix(out.view(np.uint64), hash_ids(ids).view(np.uint64)).view(np.int64)


def hash_values(matrix: NDArray[np.float64]) -> NDArray[np.int64]:
    """The hash of each row of an encoded matrix: equal numbers, and missing ones, have equal hashes."""
    # Adding 0 turns −0 into 0.
    bits = np.where(np.isnan(matrix), np.nan, matrix + 0.0).view(np.uint64)
    out = np.zeros(len(matrix), dtype=np.uint64)
    for column in bits.T:
        out = mix(out, column)
    return out.view(np.int64)


def mix(out: NDArray[np.uint64], column: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The steps of SplitMix64 (Steele, Lea and Flood, 2014): a change of one bit changes half of the hash."""
    out = (out ^ column) + np.uint64(0x9E3779B97F4A7C15)
    out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(out ^ (out >> np.uint64(31)))
