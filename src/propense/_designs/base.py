"""The one interface to a feature matrix, and the choice of who implements it."""

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._designs.dense import DenseDesign
from propense._designs.sparse import SparseDesign
from propense._maths.arrays import Rows

__all__ = ["Design", "Matrix", "Pointwise", "Vector", "as_design"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Index = NDArray[np.intp]

# (X @ coef, *rows) → (values or None, slopes), row by row.
Pointwise = Callable[..., tuple[Rows | None, Rows]]


class Design(Protocol):
    """An n × p matrix, intercept first, that stays where it is.

    Vectors of length n (Rows) live beside it; p-vectors and p × p matrices come home as float64 NumPy.
    The intercept's column of ones is implied, never stored.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p), the intercept counted in p."""

    @property
    def features(self) -> Any:
        """X without its intercept, as it was passed: for classifiers that are not ours."""

    def columns(self, index: Index) -> Self:
        """Some of the features, numbered without the intercept, which stays."""

    def matvec(self, coef: Vector) -> Rows:
        """X @ coef."""

    def rmatvec(self, rows: Rows) -> Vector:
        """X.T @ rows."""

    def gram(self, weights: Rows | None) -> Matrix:
        """X.T @ diag(weights) @ X; `None` weighs every row 1."""

    def squares(self, weights: Rows | None) -> Vector:
        """The diagonal of `gram`, without the rest."""

    def sweep(self, pointwise: Pointwise, coef: Vector, *rows: Rows) -> tuple[float, Vector]:
        """Σvᵢ and Σrᵢxᵢ with v, r = pointwise(X @ coef, *rows), in one pass over X; v = None sums to 0."""

    def take(self, mask: Rows) -> Self:
        """The rows where `mask` holds."""

    def nearest(self, queries: Rows, pool: Rows) -> Index:
        """For each row of mask `queries` the number of its Euclidean nearest row of mask `pool`, the lowest on ties."""

    def send(self, values: NDArray[Any]) -> Rows:
        """Host → beside X."""

    def bring(self, rows: Rows) -> NDArray[Any]:
        """Beside X → host."""


def as_design(features: Any) -> Design:
    """The Design of a validated feature matrix (no intercept column)."""
    return SparseDesign(features) if sp.issparse(features) else DenseDesign(features)
