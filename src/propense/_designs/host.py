"""What designs in this process's memory share: rows are NumPy arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._maths.arrays import Index, Rows

__all__ = ["HostRows"]


class HostRows:
    """Rows as NumPy arrays, which need not be moved."""

    def send(self, values: NDArray[Any]) -> Rows:
        return values

    def bring(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(rows)

    def hold(self, rows: Rows) -> Rows:
        return rows

    def pick(self, rows: Rows, index: Index) -> NDArray[Any]:
        return np.asarray(rows[index])

    def ranked(self, mask: Rows, ranks: Index) -> Rows:
        out = np.zeros(len(mask), dtype=bool)
        out[np.flatnonzero(mask)[ranks]] = True
        return out

    def gather(self, function: Callable[..., Sequence[Rows]], *rows: Rows) -> list[NDArray[Any]]:
        return [np.asarray(each) for each in function(*rows)]

    def name(self, positive: Rows, classes: NDArray[Any]) -> Rows:
        return classes[positive.astype(np.intp)]
