"""What a model remembers of audits: the rows that were drawn, and the verdicts on them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propense.tables.verdicts import NO, OPEN, UNSURE, YES

__all__ = ["PastDraw", "answers"]

Hashes = NDArray[np.int64]


@dataclass(frozen=True)
class PastDraw:
    """A draw with its verdicts, whose rows are named by hashes.

    Attributes
    ----------
    code : str
        What the table, the model, the seed and the size of the draw are recognised by.
    rows : int64 ndarray of shape (n_drawn,)
        Hashes of the rows: of their ids, or else of their numbers and values.
    stratum : int64 ndarray of shape (n_drawn,)
        The stratum of each row.
    sizes : int64 ndarray of shape (n_strata,)
        How many rows each stratum has in the table.
    verdict : int32 ndarray of shape (n_drawn,)
        1 (positive), 0 (negative), −1 (not checked) or −2 (cannot say).
    known : int64 ndarray of shape (n_known,)
        Hashes of the rows that had a verdict before the draw, and so were not drawn.
    """

    code: str
    rows: Hashes
    stratum: NDArray[np.int64]
    sizes: NDArray[np.int64]
    verdict: NDArray[np.int32]
    known: Hashes

    @property
    def answered(self) -> NDArray[np.bool_]:
        return np.isin(self.verdict, (YES, NO))

    def is_valid(self) -> bool:
        """Whether the numbers of a model file belong together."""
        n, strata = len(self.rows), len(self.sizes)
        one = all(each.ndim == 1 for each in (self.rows, self.stratum, self.sizes, self.verdict, self.known))
        if not one or not n or len(self.stratum) != n or len(self.verdict) != n or len(set(self.rows.tolist())) < n:
            return False
        if not strata or self.stratum.min() < 0 or self.stratum.max() >= strata:
            return False
        counts = np.bincount(self.stratum, minlength=strata)
        return bool((counts <= self.sizes).all() and np.isin(self.verdict, (YES, NO, OPEN, UNSURE)).all())


def answers(draws: Sequence[PastDraw], rows: Hashes) -> NDArray[np.int8]:
    """What is known of rows: YES, NO, or OPEN."""
    out = np.full(len(rows), OPEN, dtype=np.int8)
    for each in draws:
        order = np.argsort(each.rows)
        places = np.minimum(np.searchsorted(each.rows, rows, sorter=order), len(order) - 1)
        found = order[places]
        known = (each.rows[found] == rows) & each.answered[found]
        out[known] = each.verdict[found[known]]
    return out
