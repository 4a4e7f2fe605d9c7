"""The one interface to a feature matrix, and the choice of who implements it."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._designs.dense import DenseDesign
from propense._designs.sparse import SparseDesign
from propense._maths.arrays import Rows, library_of
from propense._maths.formulas import Formula

__all__ = ["Design", "Matrix", "Vector", "as_design"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Index = NDArray[np.intp]


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

    def rmatvec(self, rows: Rows | None) -> Vector:
        """X.T @ rows; `None` is 1 for every row."""

    def gram(self, weights: Rows | None) -> Matrix:
        """X.T @ diag(weights) @ X; `None` weighs every row 1."""

    def squares(self, weights: Rows | None) -> Vector:
        """The diagonal of `gram`, without the rest."""

    def sweep(
        self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None, *, value: bool = True
    ) -> tuple[float, Vector]:
        """Σwᵢ·lossᵢ and its gradient, in one pass over X; without `value` the sum is 0 and no loss is computed.

        `coef` has a column for each product that the formula takes, and so has the gradient.
        """

    def curve(self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None) -> Matrix:
        """X.T @ diag(wᵢ·curvatureᵢ) @ X, in one pass over X: one p × p matrix, or one for each column of curvature."""

    @property
    def movable(self) -> bool:
        """Whether taking rows is cheap beside a pass over X."""

    def take(self, mask: Rows) -> Self:
        """The rows where `mask` holds."""

    def nearest(self, queries: Rows, pool: Rows) -> Index:
        """For each row of mask `queries` the number of its Euclidean nearest row of mask `pool`, the lowest on ties."""

    def send(self, values: NDArray[Any]) -> Rows:
        """Host → beside X."""

    def bring(self, rows: Rows) -> NDArray[Any]:
        """Beside X → host."""

    def hold(self, rows: Rows) -> Rows:
        """Rows that were computed once and are kept, where they would else be computed whenever they are used."""

    def pick(self, rows: Rows, index: Index) -> NDArray[Any]:
        """The rows of these numbers, on the host."""

    def ranked(self, mask: Rows, ranks: Index) -> Rows:
        """Of the rows of a mask, counted from 0, those of the given ranks, which ascend."""

    def gather(self, function: Callable[..., Sequence[Rows]], *rows: Rows) -> list[NDArray[Any]]:
        """What a picklable function makes of the rows, on the host: meant for arrays far shorter than n.

        X may lie in blocks: the function sees the rows of one at a time, and its results are joined.
        """

    def name(self, positive: Rows, classes: NDArray[Any]) -> Rows:
        """classes[0] or classes[1] of every row."""


def as_design(features: Any) -> Design:
    """The Design of a validated feature matrix (no intercept column)."""
    library = library_of(features)
    if library == "torch":
        from propense._designs.torch.design import TorchDesign

        return TorchDesign(features)
    if library == "dask":
        from propense._designs.dask.design import DaskDesign

        return DaskDesign(features)
    return SparseDesign(features) if sp.issparse(features) else DenseDesign(features)
