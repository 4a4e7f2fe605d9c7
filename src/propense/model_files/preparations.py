"""The preparation of columns as plain values. The numbers of levels are not among them: the columns have them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.preparation import Preparation
from propense.errors import ModelFileError
from propense.estimators._description import is_array

__all__ = ["build_preparation", "describe_preparation"]


def describe_preparation(preparation: Preparation | None) -> dict[str, Any] | None:
    """The numbers of a preparation, without levels."""
    if preparation is None:
        return None
    return {name: value for name, value in vars(preparation).items() if name != "levels"}


def build_preparation(levels: NDArray[np.int64] | None, width: int, facts: Any, what: str) -> Preparation:
    """The preparation of so many columns, of numbers if `levels` is None; errors say that the file holds `what`."""
    if not isinstance(facts, dict) or facts.keys() != {"medians", "marked", "means", "scales"}:
        raise ModelFileError(f"it holds {what} without a preparation of its columns")
    numbers, marked = width if levels is None else int((levels == 0).sum()), facts["marked"]
    whole = is_array("iu", None)(marked, 0) and all(0 <= j < numbers for j in marked)
    lengths = {"medians": numbers, "means": numbers + len(marked), "scales": numbers + len(marked)} if whole else {}
    right = [
        is_array("f", length)(facts[name], 0) and np.isfinite(facts[name]).all() for name, length in lengths.items()
    ]
    if not right or not all(right) or not (facts["scales"] > 0).all():
        raise ModelFileError(f"it holds {what} whose preparation does not match its columns")
    # Only now: a file may announce any width.
    return Preparation(np.zeros(width, dtype=np.int64) if levels is None else levels, **facts)
