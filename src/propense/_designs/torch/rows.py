"""Rows beside a tensor: tensors of its device, float64 or truth values."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from propense._maths.arrays import Rows, to_host

__all__ = ["TensorRows"]


class TensorRows:
    """The moving of rows between the host and a device."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def send(self, values: NDArray[Any]) -> Rows:
        values = np.asarray(values)
        # A copy: what is read-only there would be writable here, of which torch warns.
        return torch.tensor(values, dtype=torch.float64 if values.dtype.kind == "f" else None, device=self._device)

    def bring(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(to_host(rows))

    def hold(self, rows: Rows) -> Rows:
        return rows

    def pick(self, rows: Rows, index: NDArray[np.intp]) -> NDArray[Any]:
        return self.bring(rows[self.send(index)])

    def ranked(self, mask: Rows, ranks: NDArray[np.intp]) -> Rows:
        out = torch.zeros_like(mask)
        out[mask.nonzero().ravel()[self.send(ranks)]] = True
        return out

    def gather(self, function: Callable[..., Sequence[Rows]], *rows: Rows) -> list[NDArray[Any]]:
        return [self.bring(each) for each in function(*rows)]

    def name(self, positive: Rows, classes: NDArray[Any]) -> Rows:
        """A tensor where the classes are numbers or truth values; of words, which no tensor holds, a NumPy array."""
        try:
            return torch.from_numpy(classes.copy()).to(self._device)[positive.long()]
        except TypeError:
            return classes[self.bring(positive).astype(np.intp)]
