"""The largest share of positives over the two numbers that the labels do not show."""

from typing import Any, Self

import numpy as np

from propense.inference import Bounds
from propense.inference._bound_rows import read_rows
from propense.inference._bounds import find_bounds
from propense.plots._base import axes_or_new

__all__ = ["BoundsDisplay"]

# Points along each axis, and the largest spread.
_POINTS, _FARTHEST = 50, 10.0


class BoundsDisplay:
    """The largest share of positive rows, as contour lines over the spread of labelling and the purity of the top rows.

    On the line, it is the share that the fit estimates. A band shows the limits of the purity, if rows were checked.

    Parameters
    ----------
    found : Bounds
        The result of `propense.bounds`.
    """

    def __init__(self, found: Bounds) -> None:
        self.found = found

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        checked: tuple[int, int] | None = None,
        top: float = 0.02,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Compute the bounds of a fitted estimator and draw them.

        Parameters
        ----------
        estimator : fitted estimator of propense, or a pipeline that ends in one
        X, y, checked, top, sample_weight
            As in `propense.bounds`.
        ax : matplotlib axes, default=None
        """
        found = find_bounds(read_rows(estimator, X, y, sample_weight), checked=checked, top=top, draws=0)
        return cls(found).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``."""
        self.ax_ = axes_or_new(ax, figsize=(5.5, 3.6))
        found = self.found
        spread, purity = np.geomspace(1.0, _FARTHEST, _POINTS), np.linspace(found.top_share, 1.0, _POINTS)
        self.shares_ = found.curve.ends(spread, purity)[1].T
        values, level = 100.0 * self.shares_, 100.0 * found.estimate
        filled = self.ax_.contourf(spread, 100.0 * purity, values, levels=10, cmap="Blues")
        self.ax_.figure.colorbar(filled, ax=self.ax_, label="at most positive (%)")
        if values.min() < level < values.max():
            self.ax_.contour(spread, 100.0 * purity, values, levels=[level], colors="C3", linewidths=1.5)
            self.ax_.plot([], [], color="C3", label=f"the fit: {found.estimate:.0%}")
        if found.purity_limits is not None:
            low, high = (100.0 * each for each in found.purity_limits)
            self.ax_.axhspan(low, high, facecolor="none", edgecolor="C7", hatch="//", label="limits from checked rows")
        if self.ax_.get_legend_handles_labels()[0]:
            self.ax_.legend(loc="lower right", fontsize="small")
        self.ax_.set(
            xscale="log",
            xticks=[1, 2, 5, 10],
            xticklabels=["1", "2", "5", "10"],
            xlabel="hardest positives: times harder to label",
            ylabel="top rows that are positive (%)",
            title=f"{found.labelled:.0%} of the rows are labelled",
        )
        self.ax_.minorticks_off()
        return self
