"""Which library computes on an array."""

import sys
from typing import Any

import numpy as np

__all__ = ["Rows", "namespace"]

# One number per row of the feature matrix, in whatever library the matrix lives.
Rows = Any


def namespace(array: Rows) -> Any:
    """The module whose functions take `array`: torch for its tensors, NumPy for all else."""
    library = type(array).__module__.partition(".")[0]
    return sys.modules[library] if library == "torch" else np
