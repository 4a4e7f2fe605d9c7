"""The share of positives over two assumptions at once."""

from typing import Any, Self

import numpy as np

from propense._inputs.options import Choice
from propense._maths.logistic import logit, sigmoid
from propense.errors import InvalidOption
from propense.inference._bound_rows import read_rows
from propense.inference._label_bands import averages
from propense.plots._base import axes_or_new

__all__ = ["BoundsDisplay"]

# Points along each axis, and the largest departure.
_POINTS, _FARTHEST = 25, 10.0
# Chances nearer to 0 or 1 have no finite odds.
_NEAR = 1e-9


class BoundsDisplay:
    """One end of the share of positives, as a function of two limits on the chance of a label: contour lines.

    For the upper end, both are lower limits: the odds of a label are at most Γ times below those of the fit, and its
    chance is at least as large as a number. For the lower end, both are upper limits.

    Parameters
    ----------
    limits : array-like of shape (n_limits,)
        The least chance of a label, for the upper end; the largest, for the lower end.
    departures : array-like of shape (n_departures,)
        Γ, the factors between the odds of a label and those of the fit.
    shares : array-like of shape (n_departures, n_limits)
        The end of the share of positives.
    estimate, labelled : float
        The share of positives that the fit estimates, and the share of labels.
    end : {"high", "low"}, default="high"
    """

    def __init__(
        self, limits: Any, departures: Any, shares: Any, *, estimate: float, labelled: float, end: str = "high"
    ) -> None:
        _check(end)
        self.limits, self.departures = np.asarray(limits), np.asarray(departures)
        self.shares, self.estimate, self.labelled, self.end = np.asarray(shares), estimate, labelled, end

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, end: str = "high", sample_weight: Any = None, ax: Any = None
    ) -> Self:
        """Compute the shares for a fitted estimator and draw them.

        Parameters
        ----------
        estimator : fitted estimator of propense, or a pipeline that ends in one
        X, y, sample_weight
            As in `propense.bounds`.
        end : {"high", "low"}, default="high"
        ax : matplotlib axes, default=None
        """
        _check(end)
        read = read_rows(estimator, X, y, sample_weight)
        rows, high = read.rows, end == "high"
        odds = logit(np.clip(rows.propensity, _NEAR, 1.0 - _NEAR))
        departures = np.geomspace(1.0, _FARTHEST, _POINTS)
        limits = np.linspace(0.0, 0.5, _POINTS) if high else np.linspace(0.5, 1.0, _POINTS)
        chance = rows.calibrated()
        none, every = np.zeros_like(odds), np.ones_like(odds)
        shares = [
            [
                averages(rows, np.maximum(limit, sigmoid(odds - step)), every, chance=chance)[1]
                if high
                else averages(rows, none, np.minimum(limit, sigmoid(odds + step)), chance=chance)[0]
                for limit in limits
            ]
            for step in np.log(departures)
        ]
        facts = {"estimate": read.estimate, "labelled": rows.share_labelled}
        return cls(limits, departures, shares, **facts, end=end).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``."""
        self.ax_ = axes_or_new(ax, figsize=(5.5, 3.6))
        filled = self.ax_.contourf(self.limits, self.departures, 100.0 * self.shares, levels=10, cmap="Blues")
        high = self.end == "high"
        hidden = self.estimate - self.labelled
        target = 100.0 * (self.labelled + (2.0 if high else 0.5) * hidden)
        values = 100.0 * self.shares
        if values.min() < target < values.max():
            self.ax_.contour(self.limits, self.departures, values, levels=[target], colors="C3", linewidths=1.5)
            self.ax_.plot([], [], color="C3", label=f"{'twice' if high else 'half'} as many hidden positives")
            self.ax_.legend(loc="upper right", fontsize="small")
        self.ax_.figure.colorbar(filled, ax=self.ax_, label=f"{'most' if high else 'fewest'} rows positive (%)")
        self.ax_.set(
            yscale="log",
            yticks=[1, 2, 5, 10],
            yticklabels=["1", "2", "5", "10"],
            xlabel=f"{'least' if high else 'largest'} chance that a positive is labelled",
            ylabel=f"odds of a label: times {'below' if high else 'above'} the fit",
            title=f"the fit: {self.estimate:.0%} positive, {self.labelled:.0%} labelled",
        )
        self.ax_.minorticks_off()
        return self


def _check(end: Any) -> None:
    ends = Choice(("high", "low"))
    if not ends.allows(end):
        raise InvalidOption(f"end={end!r}: must be {ends}.")
