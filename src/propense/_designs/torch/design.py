"""A torch tensor on the CPU or on CUDA, float64 or float32, with any strides, never copied whole."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from propense._designs.dense import DenseDesign
from propense._designs.threads import slices
from propense._maths.arrays import Index, Matrix, Rows, Vector, to_host, weigh
from propense._maths.formulas import Formula

__all__ = ["TorchDesign"]

# Entries of X processed at a time. On the CPU 4 MiB of float64, which stay in cache from the first use of a block to
# its second; on a device 256 MiB, for which the fixed cost per block, a few kernel launches, is negligible.
_BLOCK = 1 << 19
_DEVICE_BLOCK = 1 << 25
# The fewest rows per block for p × p results on the CPU, so that adding the results is a small part of the work.
_GRAM_ROWS = 4096

Tensor = Any
Part = Callable[[slice, Tensor], Tensor]


class TorchDesign:
    """Features as a tensor; float32 is read as float64 block by block, so that every sum is a float64 sum.

    On CUDA a sweep is one kernel that reads each row once, if there is one for the formula and the storage.
    """

    movable = True

    def __init__(self, features: Tensor) -> None:
        self._features = features
        self._kernels = _kernels_for(features)

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self._features.shape
        return n, p + 1

    @property
    def features(self) -> Tensor:
        return self._features

    def columns(self, index: Index) -> Self:
        return type(self)(self._features[:, self.send(index)])

    def matvec(self, coef: Vector) -> Rows:
        slopes = self.send(coef[1:])
        if self._kernels is not None:
            return self._kernels.products(self._features, slopes).add_(float(coef[0]))
        n, p = self.shape
        out = torch.empty(n, dtype=torch.float64, device=self._features.device)
        for which in slices(n, self._entries() // p):
            out[which] = self._block(which) @ slopes
        # Added separately: an infinite intercept must not be multiplied by 0.
        return out.add_(float(coef[0]))

    def rmatvec(self, rows: Rows | None) -> Vector:
        rows = self._ones() if rows is None else rows

        def part(which: slice, block: Tensor) -> Tensor:
            return torch.cat([rows[which].sum().reshape(1), rows[which] @ block])

        return self.bring(self._sum(part))

    def gram(self, weights: Rows | None) -> Matrix:
        def part(which: slice, block: Tensor) -> Tensor:
            return _gram(block, None if weights is None else weights[which])

        return self.bring(self._sum(part, _GRAM_ROWS))

    def squares(self, weights: Rows | None) -> Vector:
        weights = self._ones() if weights is None else weights

        def part(which: slice, block: Tensor) -> Tensor:
            return torch.cat([weights[which].sum().reshape(1), weights[which] @ block.square()])

        return self.bring(self._sum(part))

    def sweep(
        self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None, *, value: bool = True
    ) -> tuple[float, Vector]:
        sent = self.send(coef)
        if self._kernels is not None and self._kernels.knows(formula.name):
            sums = self._kernels.sweep(self._features, formula.name, sent, rows, weights, value=value)
        else:
            sums = self._sum(lambda which, block: _sweep(block, formula, sent, *_cut(which, rows, weights), value))
        # One transfer to the host.
        brought = self.bring(sums)
        return float(brought[0]), brought[1:].reshape(coef.shape)

    def curve(self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None) -> Matrix:
        sent = self.send(coef)

        def part(which: slice, block: Tensor) -> Tensor:
            local, local_weights = _cut(which, rows, weights)
            curvature = weigh(formula.curvature(_products(block, sent), *local), local_weights)
            if curvature.ndim == 1:
                return _gram(block, curvature)
            return torch.stack([_gram(block, each) for each in curvature.T])

        return self.bring(self._sum(part, _GRAM_ROWS))

    def take(self, mask: Rows) -> Self:
        return self if bool(mask.all()) else type(self)(self._features[mask])

    def nearest(self, queries: Rows, pool: Rows) -> Index:
        if self._features.device.type == "cpu":
            # NumPy shares the memory.
            return DenseDesign(self._features.numpy()).nearest(self.bring(queries), self.bring(pool))
        from propense._designs.torch.neighbours import nearest_tensor

        return self.bring(nearest_tensor(self._features, _numbers(queries), _numbers(pool)))

    def send(self, values: NDArray[Any]) -> Rows:
        values = np.asarray(values)
        dtype = torch.float64 if values.dtype.kind == "f" else None
        # A copy: torch warns if a read-only array would become writable.
        return torch.tensor(values, dtype=dtype, device=self._features.device)

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
            return torch.from_numpy(classes.copy()).to(self._features.device)[positive.long()]
        except TypeError:
            return classes[self.bring(positive).astype(np.intp)]

    def _ones(self) -> Tensor:
        return torch.ones(self.shape[0], dtype=torch.float64, device=self._features.device)

    def _entries(self) -> int:
        """The number of entries of X processed at a time."""
        return _BLOCK if self._features.device.type == "cpu" else _DEVICE_BLOCK

    def _block(self, which: slice) -> Tensor:
        return self._features[which].double()

    def _sum(self, part: Part, fewest: int = 1) -> Tensor:
        """Σ part(which rows, their features as float64) over blocks of at least `fewest` rows, in a fixed order."""
        n, p = self.shape
        first, *others = slices(n, max(self._entries() // p, fewest))
        total = part(first, self._block(first))
        for which in others:
            total += part(which, self._block(which))
        return total


def _kernels_for(features: Tensor) -> Any:
    """The module of kernels if they can read this tensor, otherwise None."""
    if features.device.type != "cuda":
        return None
    try:
        from propense._designs.torch import kernels
    except ImportError:
        return None  # Triton is not available on every system with CUDA.
    return kernels if kernels.suit(features) else None


def _numbers(mask: Tensor) -> Tensor:
    """The numbers of the rows of a mask."""
    return mask.nonzero().ravel()


def _cut(which: slice, rows: Sequence[Rows], weights: Rows | None) -> tuple[list[Rows], Rows | None]:
    """The rows and weights of a block."""
    return [row[which] for row in rows], None if weights is None else weights[which]


def _products(block: Tensor, coef: Tensor) -> Tensor:
    return block @ coef[1:] + coef[0]


def _sweep(
    block: Tensor, formula: Formula, coef: Tensor, rows: Sequence[Rows], weights: Rows | None, value: bool
) -> Tensor:
    """The sum of the losses of a block, then its gradient, in one vector."""
    products = _products(block, coef)
    out = torch.zeros(1 + coef.numel(), dtype=torch.float64, device=block.device)
    if value:
        out[0] = weigh(formula.loss(products, *rows), weights).sum()
    slopes = weigh(formula.slope(products, *rows), weights)
    gradient = out[1:].reshape(coef.shape)
    gradient[0] = slopes.sum(0)
    gradient[1:] = block.T @ slopes
    return out


def _gram(block: Tensor, weights: Tensor | None) -> Tensor:
    """XᵀWX of a block, intercept first."""
    p = block.shape[1] + 1
    out = torch.empty((p, p), dtype=torch.float64, device=block.device)
    scaled = block if weights is None else block * weights[:, None]
    out[0, 0] = len(block) if weights is None else weights.sum()
    out[0, 1:] = out[1:, 0] = scaled.sum(0)
    torch.mm(block.T, scaled, out=out[1:, 1:])
    return out
