"""The display of a capacity: how many rows to review to find how many positives."""

from typing import Any, Self

import numpy as np

from propense.plots._base import axes_or_new
from propense.tables import Capacity

__all__ = ["CapacityDisplay"]

_HIDDEN = "#e08214"


class CapacityDisplay:
    """How many unlabelled rows to review, most likely positives first, to find a number of positives.

    Parameters
    ----------
    capacity : Capacity
        What `propense.tables.capacity` returned.
    length : int, default=None
        How many rows can be reviewed, drawn as a line with what to expect there.
    """

    def __init__(self, capacity: Capacity, *, length: int | None = None) -> None:
        self.capacity, self.length = capacity, length

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``."""
        self.ax_ = axes_or_new(ax, figsize=(5, 3))
        found = self.capacity
        if found.unpromised:
            self.ax_.text(0.5, 0.5, f"No numbers:\n{found.unpromised}", ha="center", va="center", wrap=True)
            self.ax_.set_axis_off()
            return self
        # A few hundred points are enough to draw a curve of millions.
        places = np.unique(np.linspace(0, len(found.lengths) - 1, 400).astype(np.intp))
        self.ax_.fill_between(
            places, found.low[places], found.high[places], color=_HIDDEN, alpha=0.2, linewidth=0, label="range"
        )
        self.ax_.plot(places, found.expected[places], color=_HIDDEN, label="expected")
        if self.length is not None:
            promise = found.at(self.length)
            self.ax_.axvline(promise.rows, color="0.3", linewidth=1, linestyle="--")
            words = f"{promise.rows:,} rows: {promise.expected:,.0f} ({promise.low:,.0f} to {promise.high:,.0f})"
            self.ax_.plot([promise.rows], [promise.expected], color="0.2", marker="o", linestyle="none", label=words)
        self.ax_.set(xlabel="unlabelled rows reviewed, most likely positives first", ylabel="positives found")
        self.ax_.legend(frameon=False)
        return self
