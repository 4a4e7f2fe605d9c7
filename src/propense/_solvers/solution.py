"""What a solver returns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propense._risks import Objective

__all__ = ["Solution", "gradient_norm"]


@dataclass(frozen=True, slots=True)
class Solution:
    """Where a solver stopped, and how it stood there; `value` is the risk, a sum over the rows."""

    coef: NDArray[np.float64]
    value: float
    gradient_norm: float
    n_iter: int
    converged: bool


def gradient_norm(risk: Objective, gradient: NDArray[np.float64]) -> float:
    """max over columns of |gradient| / √(Σw·¼Σwx²): it depends on neither the number of rows nor the columns' units."""
    return float((np.abs(gradient) / risk.units).max() / np.sqrt(risk.total_weight))
