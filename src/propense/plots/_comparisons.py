"""Several methods on one table: their estimates, and what their lists have in common."""

from typing import Any, Self

import numpy as np

from propense.plots._base import axes_or_new
from propense.tables import Comparison

__all__ = ["ComparisonDisplay"]

# Names longer than this are cut.
_LONGEST = 24


class ComparisonDisplay:
    """The share of positives by each method, with its range, and the overlap of the lists of rows to review.

    Parameters
    ----------
    comparison : Comparison
        What `propense.tables.compare_table` returned.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``, those of the overlap as ``ax_list_`` (None if not drawn).

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw the shares. The overlap is then left out.
        """
        found = self.comparison
        shown = [place for place, each in enumerate(found.results) if not each.failure]
        listed = [place for place in shown if not np.isnan(found.overlap[place, place])]
        if ax is None:
            height, both = 1.6 + 0.34 * max(len(shown), 1), len(listed) > 1
            axes = axes_or_new(None, ncols=1 + both, figsize=(9.6 if both else 5.5, height))
            self.ax_: Any = axes[0] if both else axes
            self.ax_list_: Any = axes[1] if both else None
        else:
            self.ax_, self.ax_list_ = ax, None
        self._draw_shares(shown)
        if self.ax_list_ is not None:
            self._draw_overlap(listed)
        return self

    def _draw_shares(self, shown: list[int]) -> None:
        found = self.comparison
        for line, place in enumerate(shown):
            each = found.results[place]
            colour = "0.55" if each.baseline or each.doubts else "C0"
            if each.has_range:
                self.ax_.plot(
                    [100 * each.low, 100 * each.high],
                    [line, line],
                    color=colour,
                    linewidth=5,
                    alpha=0.35,
                    solid_capstyle="butt",
                )
            self.ax_.plot(100 * each.share, line, "o", color=colour, markerfacecolor="w" if each.doubts else colour)
        self.ax_.axvline(100 * found.labelled / found.rows, color="C3", linewidth=1, linestyle="--", label="labelled")
        self.ax_.plot([], [], "o", color="0.55", markerfacecolor="w", label="doubts its own fit")
        self.ax_.plot([], [], color="C0", linewidth=5, alpha=0.35, label="range, where there is one")
        self.ax_.set(
            yticks=range(len(shown)),
            yticklabels=[_short(found.results[place].name) for place in shown],
            xlim=(0, 100),
            xlabel="rows that are positive (%)",
            title="How many positives?",
        )
        self.ax_.invert_yaxis()
        self.ax_.legend(loc="best", fontsize="small")

    def _draw_overlap(self, listed: list[int]) -> None:
        found, axes = self.comparison, self.ax_list_
        values = 100.0 * found.overlap[np.ix_(listed, listed)]
        # Rectangles, where imshow would embed an image.
        places = np.arange(len(listed))
        axes.pcolormesh(places, places, values, vmin=0, vmax=100, cmap="Blues", shading="nearest")
        axes.invert_yaxis()
        for i, line in enumerate(values):
            for j, value in enumerate(line):
                axes.text(j, i, f"{value:.0f}", ha="center", va="center", color="w" if value > 60 else "k", fontsize=8)
        names = [_short(found.results[place].name) for place in listed]
        axes.set(yticks=range(len(names)), yticklabels=names, title=f"First {found.top:,} rows in common (%)")
        axes.set_xticks(range(len(names)), names, rotation=45, ha="right")


def _short(name: str) -> str:
    # matplotlib would read $ as mathematics.
    words = "".join(each if each.isprintable() else "?" for each in name).replace("$", r"\$")
    return words if len(words) <= _LONGEST else f"…{words[-_LONGEST:]}"
