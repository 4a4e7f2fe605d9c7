"""Adam (Kingma and Ba 2015): a fixed budget of steps, as behind the published numbers of LBE, not a minimiser."""

import numpy as np

from propense._maths.arrays import Vector

__all__ = ["Adam"]


class Adam:
    """The state of one run: the moving means of the gradients and of their squares."""

    def __init__(self, size: int, *, rate: float, decay: float = 0.9, square_decay: float = 0.999) -> None:
        self._rate, self._decay, self._square_decay = rate, decay, square_decay
        self._mean, self._square = np.zeros(size), np.zeros(size)
        self._count = 0

    def step(self, coef: Vector, gradient: Vector) -> Vector:
        """The next coefficients."""
        self._count += 1
        self._mean += (1.0 - self._decay) * (gradient - self._mean)
        self._square += (1.0 - self._square_decay) * (gradient**2 - self._square)
        mean = self._mean / (1.0 - self._decay**self._count)
        square = self._square / (1.0 - self._square_decay**self._count)
        return np.asarray(coef - self._rate * mean / (np.sqrt(square) + 1e-8))
