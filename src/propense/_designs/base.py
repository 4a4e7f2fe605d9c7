"""The interface to a feature matrix, the choice of its implementation, and the scales of its columns."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._designs.dense import DenseDesign
from propense._designs.sparse import SparseDesign
from propense._maths.arrays import Index, Matrix, Rows, Vector, library_of
from propense._maths.formulas import Formula

__all__ = ["Design", "Predictor", "as_design", "column_moments", "column_scales"]


class Design(Protocol):
    """An n × p matrix, intercept first, that stays where it is.

    Vectors of length n (Rows) stay with it; p-vectors and p × p matrices are returned as float64 NumPy arrays.
    The intercept's column of ones is implicit, never stored.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p), including the intercept."""

    @property
    def features(self) -> Any:
        """X without the intercept, as it was passed: for other libraries' classifiers."""

    def columns(self, index: Index) -> Self:
        """A design of some features, numbered without the intercept, which is kept."""

    def matvec(self, coef: Vector) -> Rows:
        """X @ coef."""

    def rmatvec(self, rows: Rows | None) -> Vector:
        """X.T @ rows; `None` means 1 for every row."""

    def gram(self, weights: Rows | None) -> Matrix:
        """X.T @ diag(weights) @ X; `None` means 1 for every row."""

    def squares(self, weights: Rows | None) -> Vector:
        """The diagonal of `gram`, without the rest."""

    def sweep(
        self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None, *, value: bool = True
    ) -> tuple[float, Vector]:
        """Σwᵢ·lossᵢ and its gradient, in one pass over X; without `value` the sum is 0 and no loss is computed.

        `coef` and the gradient have a column for each product that the formula takes.
        """

    def curve(self, formula: Formula, coef: Vector, rows: Sequence[Rows], weights: Rows | None = None) -> Matrix:
        """X.T @ diag(wᵢ·curvatureᵢ) @ X, in one pass over X: one p × p matrix, or one for each column of curvature."""

    @property
    def movable(self) -> bool:
        """Whether taking rows is cheap compared with a pass over X."""

    def take(self, mask: Rows) -> Self:
        """The rows where `mask` is true."""

    def nearest(self, queries: Rows, pool: Rows) -> Index:
        """For each row of mask `queries`, the number of the nearest (Euclidean) row of mask `pool`, lowest on ties."""

    def send(self, values: NDArray[Any]) -> Rows:
        """Host → where X is."""

    def bring(self, rows: Rows) -> NDArray[Any]:
        """Where X is → host."""

    def hold(self, rows: Rows) -> Rows:
        """The rows, computed once and kept, if they would otherwise be computed at every use."""

    def pick(self, rows: Rows, index: Index) -> NDArray[Any]:
        """The rows with these numbers, on the host."""

    def ranked(self, mask: Rows, ranks: Index) -> Rows:
        """A mask of those rows of `mask` that have the given ranks, counted from 0 and ascending."""

    def gather(self, function: Callable[..., Sequence[Rows]], *rows: Rows) -> list[NDArray[Any]]:
        """The results of a picklable function of the rows, on the host: meant for arrays far shorter than n.

        If X is in blocks, the function gets the rows of one block at a time, and its results are concatenated.
        """

    def name(self, positive: Rows, classes: NDArray[Any]) -> Rows:
        """classes[0] or classes[1] for every row."""


class Predictor(Protocol):
    """One of y(x), e(x)."""

    def log_odds(self, design: Design) -> Rows:
        """log y/(1−y), or log e/(1−e), of every row."""


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


def column_moments(design: Design, weights: Rows | None = None) -> tuple[Vector, Vector]:
    """The mean and the standard deviation of every feature; the latter is 0 for a constant feature."""
    total, *sums = design.rmatvec(weights)
    means = np.asarray(sums) / total
    squares = design.squares(weights)[1:] / total
    variances = squares - means**2
    # A variance smaller than this is rounding of a constant.
    return means, np.sqrt(np.where(variances > 1e-12 * squares, variances, 0.0))


def column_scales(design: Design, weights: Rows | None = None) -> tuple[Vector, Vector]:
    """The mean and the variance of every feature. Squared slopes times variances do not depend on units.

    If a variance is 0, it is replaced by the squared mean, or by 1.
    """
    means, spreads = column_moments(design, weights)
    squares = np.where(spreads > 0.0, spreads, means) ** 2
    return means, np.where(squares > 0.0, squares, 1.0)
