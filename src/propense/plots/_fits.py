"""Displays of one fitted model."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from propense.estimators import propensity as estimated
from propense.plots._base import axes_or_new

__all__ = ["PropensityDisplay", "RiskPathDisplay"]


class PropensityDisplay:
    """Estimated against true propensities, for data whose true propensity is known.

    Parameters
    ----------
    true, estimated : array-like of shape (n,)
        The true e(x) and its estimate.
    """

    def __init__(self, true: Any, estimated: Any) -> None:
        self.true = np.asarray(true, dtype=np.float64)
        self.estimated = np.asarray(estimated, dtype=np.float64)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, propensity: Any, *, ax: Any = None) -> Self:
        """Draw a fitted estimator's propensities against the true ones.

        Parameters
        ----------
        estimator : fitted estimator
        X : array-like of shape (n, n_features)
        propensity : array-like of shape (n,)
            The true e(x) of these rows.
        ax : matplotlib axes, default=None
        """
        return cls(propensity, estimated(estimator, X)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``."""
        self.ax_ = axes_or_new(ax)
        self.ax_.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="perfect")
        self.ax_.scatter(self.true, self.estimated, s=8, alpha=0.4, linewidths=0)
        error = float(np.abs(self.true - self.estimated).mean())
        self.ax_.set(
            xlim=(0, 1),
            ylim=(0, 1),
            aspect="equal",
            xlabel="true e(x)",
            ylabel="estimated e(x)",
            title=f"mean absolute error {error:.3f}",
        )
        return self


class RiskPathDisplay:
    """The risk after each round of a fit.

    Parameters
    ----------
    risks : array-like of shape (n_rounds,)
        ``risk_path_`` of a fitted estimator.
    """

    def __init__(self, risks: Any) -> None:
        self.risks: NDArray[np.float64] = np.asarray(risks, dtype=np.float64)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the risk path of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
        ax : matplotlib axes, default=None
        """
        return cls(estimator.risk_path_).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``."""
        self.ax_ = axes_or_new(ax)
        self.ax_.plot(np.arange(1, len(self.risks) + 1), self.risks, marker="o", markersize=3)
        self.ax_.set(xlabel="round", ylabel="risk")
        return self
