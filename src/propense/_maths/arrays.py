"""Names for arrays, the library that one belongs to, and the few operations that the libraries spell differently."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Index", "Matrix", "Rows", "Vector", "as_float", "by_block", "library_of", "namespace", "to_host", "weigh"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Index = NDArray[np.intp]
# One number per row of the feature matrix, as an array of the library that holds the matrix.
Rows = Any


def library_of(value: Any) -> str:
    """The name of the package that a value's type comes from; Dask's data frames once had one of their own."""
    return type(value).__module__.partition(".")[0].replace("dask_expr", "dask")


def namespace(array: Rows) -> Any:
    """The module whose functions accept `array`: torch for its tensors, NumPy for everything else."""
    # Not by `library_of`: this is the innermost call of every formula.
    return sys.modules["torch"] if type(array).__module__.partition(".")[0] == "torch" else np


def by_block(function: Callable[..., Rows]) -> Callable[..., Rows]:
    """Make a function from rows to float64 rows work on Dask arrays block by block.

    The whole formula is one task per block, so that `np.errstate` applies when it is computed.
    """

    @wraps(function)
    def apply(*rows: Rows) -> Rows:
        if "dask" not in sys.modules or all(library_of(each) != "dask" for each in rows):
            return function(*rows)
        # Not `function`, which cannot be pickled: its name now refers to `apply`.
        return sys.modules["dask.array"].map_blocks(apply, *rows, dtype=np.float64, meta=np.empty(0))

    return apply


def as_float(rows: Rows) -> Rows:
    """Booleans or numbers as float64."""
    if namespace(rows) is np:
        return rows.astype(np.float64, copy=False)
    return rows.double()


def to_host(values: Any) -> Any:
    """A tensor on any device, or a Dask array, as a NumPy array; anything else unchanged."""
    library = library_of(values)
    if library == "torch":
        return values.detach().cpu().numpy()
    return values.compute() if library == "dask" else values


def weigh(values: Rows, weights: Rows | None) -> Rows:
    """Weights times values, which may be several per row; None means weights of 1."""
    if weights is None:
        return values
    return values * (weights if values.ndim == 1 else weights[:, None])
