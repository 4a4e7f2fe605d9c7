"""A Dask array: blocks of rows, NumPy or SciPy sparse, made when needed, here or on a cluster."""

import copy
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, Self

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import tokenize
from numpy.typing import NDArray

from propense._designs.dask.blocks import Blocks, hold, layer
from propense._designs.dask.neighbours import nearest
from propense._designs.host import HostRows
from propense._maths.arrays import Index, Matrix, Rows, Vector
from propense._maths.formulas import Formula
from propense._progress import begin_pass

__all__ = ["DaskDesign", "rows_of"]


class DaskDesign:
    """Features as a Dask array in one block of columns; a pass is one task per block, and only the sum comes here.

    Rows are Dask arrays in the same blocks. Each block is processed by the design for its storage.
    """

    movable = False

    def __init__(self, features: da.Array, columns: Index | None = None) -> None:
        self._features, self._columns = features, columns

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self._features.shape
        # n is NaN for the rows of a data frame, whose number is unknown until a prediction is computed.
        return n, (p if self._columns is None else len(self._columns)) + 1

    @property
    def features(self) -> da.Array:
        if self._columns is None:
            return self._features
        name = f"propense-columns-{tokenize(self._features.name, self._columns)}"
        chunks = self._features.chunks[0], (len(self._columns),)
        return layer(name, partial(_cut, columns=self._columns), self._features, chunks, self._features._meta)

    def columns(self, index: Index) -> Self:
        some = copy.copy(self)
        some._columns = index if self._columns is None else self._columns[index]
        return some

    def matvec(self, coef: Vector) -> Rows:
        begin_pass()
        # Through the blocks' own keys, so that predictions computed together read X once.
        name = f"propense-matvec-{tokenize(self._features.name, self._columns, coef)}"
        function = partial(_call, "matvec", self._columns, argument=coef)
        return layer(name, function, self._features, self._features.chunks[:1], np.empty(0))

    def rmatvec(self, rows: Rows | None) -> Vector:
        return self._sum("rmatvec", rows)

    def gram(self, weights: Rows | None) -> Matrix:
        return self._sum("gram", weights)

    def squares(self, weights: Rows | None) -> Vector:
        return self._sum("squares", weights)

    def sweep(
        self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None, *, value: bool = True
    ) -> tuple[float, Vector]:
        function = partial(_sweep, self._columns, formula, coef, value, weights is not None)
        sums = self._blocks.sum(function, *self._aligned(rows, weights))
        return float(sums[0]), sums[1:].reshape(coef.shape)

    def curve(self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None) -> Matrix:
        function = partial(_curve, self._columns, formula, coef, weights is not None)
        return np.asarray(self._blocks.sum(function, *self._aligned(rows, weights)))

    def take(self, mask: Rows) -> Self:
        counts = tuple(Blocks(mask).all(np.count_nonzero))
        return type(self)(rows_of(self._features, mask, counts), self._columns)

    def nearest(self, queries: Rows, pool: Rows) -> Index:
        return nearest(self._blocks, self._starts, self._columns, *self._aligned([queries, pool]))

    def send(self, values: NDArray[Any]) -> Rows:
        # A random name: hashing the values would take longer than sending them.
        return da.from_array(values, chunks=self._features.chunks[:1], name=False)

    def bring(self, rows: Rows) -> NDArray[Any]:
        return np.asarray(rows.compute())

    def hold(self, rows: Rows) -> Rows:
        return hold(*self._aligned([rows]))

    def pick(self, rows: Rows, index: Index) -> NDArray[Any]:
        wanted, inverse = np.unique(index, return_inverse=True)
        cuts = np.searchsorted(wanted, [*self._starts, self.shape[0]])
        local = [wanted[cuts[i] : cuts[i + 1]] - start for i, start in enumerate(self._starts)]
        parts = Blocks(self._aligned([rows])[0]).all(HostRows().pick, each=local)
        return np.concatenate(parts)[inverse]

    def ranked(self, mask: Rows, ranks: Index) -> Rows:
        # The number of rows of the mask before each block.
        before = np.cumsum([0, *Blocks(mask).all(np.count_nonzero)])[:-1]
        parts = np.split(ranks, np.searchsorted(ranks, before[1:]))
        return hold(mask, HostRows().ranked, [part - start for part, start in zip(parts, before, strict=True)])

    def gather(self, function: Callable[..., Sequence[Rows]], *rows: Rows) -> list[NDArray[Any]]:
        first, *others = self._aligned(rows)
        parts = Blocks(first).all(function, *others)
        return [np.concatenate(each) for each in zip(*parts, strict=True)]

    def name(self, positive: Rows, classes: NDArray[Any]) -> Rows:
        return positive.map_blocks(partial(HostRows().name, classes=classes), dtype=classes.dtype, meta=classes[:0])

    @cached_property
    def _blocks(self) -> Blocks:
        return Blocks(self._features)

    @property
    def _starts(self) -> list[int]:
        """The number of the first row of each block."""
        return [0, *accumulate(self._features.chunks[0][:-1])]

    def _aligned(self, rows: Sequence[Rows], weights: Rows | None = None) -> list[da.Array]:
        """Rows, and weights if there are any, in the blocks of X; those on the host are sent."""
        rows = [*rows, *([] if weights is None else [weights])]
        sent = [row if isinstance(row, da.Array) else self.send(np.asarray(row)) for row in rows]
        chunks = self._features.chunks[:1]
        return [row if row.chunks == chunks else row.rechunk(chunks) for row in sent]

    def _sum(self, method: str, rows: Rows | None) -> Vector:
        """The sum over the blocks of a method of their designs that takes rows or None."""
        aligned = self._aligned([] if rows is None else [rows])
        return np.asarray(self._blocks.sum(partial(_call, method, self._columns), *aligned))


def _design(block: Any, columns: Index | None) -> Any:
    from propense._designs.base import as_design

    return as_design(_cut(block, columns=columns))


def _cut(block: Any, *, columns: Index | None) -> Any:
    if columns is None:
        return block
    return (block.tocsc() if sp.issparse(block) else block)[:, columns]


def _call(method: str, columns: Index | None, block: Any, argument: Any = None) -> Vector:
    return np.asarray(getattr(_design(block, columns), method)(argument))


def _sweep(
    columns: Index | None, formula: Formula, coef: Vector, value: bool, weighted: bool, block: Any, *rows: Any
) -> Vector:
    """The loss, then the gradient."""
    rows, weights = (rows[:-1], rows[-1]) if weighted else (rows, None)
    total, gradient = _design(block, columns).sweep(formula, coef, rows, weights, value=value)
    return np.concatenate([[total], gradient.ravel()])


def _curve(columns: Index | None, formula: Formula, coef: Vector, weighted: bool, block: Any, *rows: Any) -> Any:
    rows, weights = (rows[:-1], rows[-1]) if weighted else (rows, None)
    return _design(block, columns).curve(formula, coef, rows, weights)


def rows_of(array: da.Array, mask: da.Array, counts: tuple[int, ...]) -> da.Array:
    """The rows of a mask, whose number in each block is known."""
    chunks = (counts, *array.chunks[1:])
    return da.map_blocks(_masked, array, mask if array.ndim == 1 else mask[:, None], chunks=chunks, meta=array._meta)


def _masked(block: Any, mask: NDArray[np.bool_]) -> Any:
    return block[np.flatnonzero(mask)]
