"""Who reads what a user passes: chosen by where the feature matrix lives."""

from typing import Any, Protocol

from numpy.typing import NDArray

from propense._inputs.labels import LabelReader
from propense._maths.arrays import Rows
from propense.errors import InvalidInput

__all__ = ["LARGEST", "Reader", "place"]

# Sums of squares of anything smaller stay far inside float64.
LARGEST = 1e100


class Reader(Protocol):
    """Checks of one kind of input; what it returns lives where the features live."""

    def read_matrix(self, estimator: Any, X: Any, *, reset: bool) -> Any:
        """The features, finite, float64 or float32: what `as_design` takes.

        With `reset`, as in fit, the estimator learns the number and names of the columns, else they are compared.
        """

    def read_labels(self, y: Any, features: Any, read: LabelReader) -> tuple[Rows, NDArray[Any]]:
        """Who is labelled, and the two classes."""

    def read_numbers(self, name: str, title: str, values: Any, features: Any, error_type: type[InvalidInput]) -> Rows:
        """One finite number per row, from an array or from one number for all."""

    def keep(self, mask: Rows, *arrays: Rows | None) -> list[Any]:
        """The numbers of the rows of a mask, then those of each array; None stays None."""


def place(estimator: Any, row: int, column: int) -> str:
    """Where an entry stands, in words."""
    names = getattr(estimator, "feature_names_in_", None)
    return f"row {row}, " + (f"column {column}" if names is None else f"column {names[column]!r}")
