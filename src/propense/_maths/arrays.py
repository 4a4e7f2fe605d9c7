"""Which library computes on an array, and the few operations that each spells otherwise."""

import sys
from typing import Any

import numpy as np

__all__ = ["Rows", "as_float", "home", "library_of", "namespace", "weigh"]

# One number per row of the feature matrix, in whatever library the matrix lives.
Rows = Any


def library_of(value: Any) -> str:
    """The name of the package that a value's type comes from."""
    return type(value).__module__.partition(".")[0]


def namespace(array: Rows) -> Any:
    """The module whose functions take `array`: torch for its tensors, NumPy for all else."""
    return sys.modules["torch"] if library_of(array) == "torch" else np


def as_float(rows: Rows) -> Rows:
    """Truth values or numbers as float64."""
    if namespace(rows) is np:
        return rows.astype(np.float64, copy=False)
    return rows.double()


def home(values: Any) -> Any:
    """A tensor, on whatever device, as the NumPy array it is on the host; anything else as it is."""
    if library_of(values) != "torch":
        return values
    return values.detach().cpu().numpy()


def weigh(values: Rows, weights: Rows | None) -> Rows:
    """Weights times values, which may be several a row; no weights weigh 1."""
    if weights is None:
        return values
    return values * (weights if values.ndim == 1 else weights[:, None])
