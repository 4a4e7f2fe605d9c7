"""Rows of a design over a tensor: tensors on its device, float64 or Boolean."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from propense._maths.arrays import Index, Rows, to_host

__all__ = ["TensorRows"]


class TensorRows:
    """Moves rows between the host and a device."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def send(self, values: NDArray[Any]) -> Rows:
        values = np.asarray(values)
        # A copy: torch warns if a read-only array would become writable.
        return torch.tensor(values, dtype=torch.float64 if values.dtype.kind == "f" else None, device=self._device)

    def bring(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(to_host(rows))

    def hold(self, rows: Rows) -> Rows:
        return rows

    def pick(self, rows: Rows, index: Index) -> NDArray[Any]:
        return self.bring(rows[self.send(index)])

    def ranked(self, mask: Rows, ranks: Index) -> Rows:
        out = torch.zeros_like(mask)
        out[mask.nonzero().ravel()[self.send(ranks)]] = True
        return out

    def gather(self, function: Callable[..., Sequence[Rows]], *rows: Rows) -> list[NDArray[Any]]:
        return [self.bring(each) for each in function(*rows)]

    def name(self, positive: Rows, classes: NDArray[Any]) -> Rows:
        """A tensor if the classes are numbers or Booleans; a NumPy array if they are strings, which no tensor holds."""
        try:
            return torch.from_numpy(classes.copy()).to(self._device)[positive.long()]
        except TypeError:
            return classes[self.bring(positive).astype(np.intp)]
