"""Displays of a fit to rows: how many are positive, which groups are under-labelled, which rows to review."""

from typing import Any, Self

import numpy as np

from propense._inputs.inside import method_inside
from propense.estimators import hidden as chance_of_hidden
from propense.inference import ScarTest
from propense.plots._base import axes_or_new
from propense.tables.groups import Grouping
from propense.tables.model import out_of_fold_scores, prior_range
from propense.tables.promise import likely_range
from propense.tables.under_labelled import GroupComparison, compare_groups

__all__ = ["GroupDisplay", "PrevalenceDisplay", "PropensityCurveDisplay", "ReviewDisplay", "ScarDisplay"]

# Longest name of a group that is drawn whole.
_LONGEST = 24
_LABELLED, _HIDDEN, _REST = "#1f6fb4", "#e08214", "#d9d9d9"


class PrevalenceDisplay:
    """All rows as one bar: labelled, probably positive but unlabelled, and probably negative.

    Parameters
    ----------
    rows, labelled : int
    positives : float
        The estimated number of positives, labelled rows included.
    positives_range : tuple of float, default=None
        The least and the most that this is likely to be.
    """

    def __init__(
        self, rows: int, labelled: int, positives: float, *, positives_range: tuple[float, float] | None = None
    ) -> None:
        self.rows, self.labelled, self.positives, self.positives_range = rows, labelled, positives, positives_range

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the estimate of a fitted estimator for the rows it was fitted on.

        Parameters
        ----------
        estimator : fitted estimator
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            The labels; ``estimator.classes_[1]`` marks the labelled rows.
        ax : matplotlib axes, default=None
        """
        inside = method_inside(estimator)
        estimator, X = inside.method, inside.transform(X)
        labelled = np.asarray(y) == estimator.classes_[1]
        kept = out_of_fold_scores(estimator, len(labelled))
        hidden = (estimator.predict_hidden(X) if kept is None else kept.hidden)[~labelled].sum()
        ends = prior_range(estimator)
        if ends is not None:
            ends = len(labelled) * ends[0], len(labelled) * ends[1]
        count = int(labelled.sum())
        return cls(len(labelled), count, float(count + hidden), positives_range=ends).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``."""
        self.ax_ = axes_or_new(ax, figsize=(7, 1.6))
        left = 0.0
        ends = self.positives_range
        hidden = negative = ""
        if ends is not None:
            low, high = (min(max(each, self.labelled), self.rows) for each in ends)
            hidden = f" ({low - self.labelled:,.0f} to {high - self.labelled:,.0f})"
            negative = f" ({self.rows - high:,.0f} to {self.rows - low:,.0f})"
            self.ax_.plot([low, high], [0, 0], color="0.2", linewidth=2, marker="|", markersize=12)
        for width, colour, words, between in (
            (self.labelled, _LABELLED, "labelled", ""),
            (self.positives - self.labelled, _HIDDEN, "probably positive, unlabelled", hidden),
            (self.rows - self.positives, _REST, "probably negative", negative),
        ):
            self.ax_.barh(0, width, left=left, color=colour, label=f"{words}: {width:,.0f}{between}")
            left += width
        self.ax_.set(xlim=(0, self.rows), yticks=[], xlabel="rows")
        self.ax_.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize="x-small")
        return self


class GroupDisplay:
    """How often the positives of each group of a column are labelled, compared with all positives, with ranges.

    Parameters
    ----------
    comparison : GroupComparison or Grouping
        One of `propense.tables.compare_groups`; or one of ``TableFit.groups``, which is then compared by itself. Groups
        with too few positives are left out.
    """

    def __init__(self, comparison: GroupComparison | Grouping) -> None:
        self.comparison = compare_groups([comparison])[0] if isinstance(comparison, Grouping) else comparison

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``."""
        groups = [share for share in self.comparison.groups if share.known]
        self.ax_ = axes_or_new(ax, figsize=(4.5, 0.9 + 0.32 * max(len(groups), 1)))
        places = np.arange(len(groups))[::-1]
        ratios = np.array([share.ratio for share in groups])
        ends = np.array([[share.ratio_low, share.ratio_high] for share in groups]).reshape(-1, 2).T
        self.ax_.errorbar(ratios, places, xerr=np.abs(ends - ratios), fmt="o", color=_LABELLED, capsize=3)
        self.ax_.axvline(1.0, color="0.3", linewidth=1, linestyle="--")
        self.ax_.set(yticks=places, title=self.comparison.column, xlabel="labelled, compared with all positives (1)")
        self.ax_.set_xlim(left=0.0)
        names = [share.group.name for share in groups]
        names = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in names]
        self.ax_.set_yticklabels([f"{name} ({each.group.rows:,})" for name, each in zip(names, groups, strict=True)])
        return self


class PropensityCurveDisplay:
    """The probability that a positive row is labelled, as a function of one numeric column.

    Parameters
    ----------
    values : array-like of shape (n,)
        The column. Rows with NaN are left out.
    propensity : array-like of shape (n,)
        e(x).
    positive : array-like of shape (n,)
        P(Y=1 | x, s), the weight of each row, because e(x) is about positives.
    name : str, default="value"
        What the axis calls the column.
    parts : int, default=12
        Number of points on the curve, each an average over about the same number of rows.
    """

    def __init__(self, values: Any, propensity: Any, positive: Any, *, name: str = "value", parts: int = 12) -> None:
        values = np.asarray(values, dtype=np.float64)
        order = np.argsort(values, kind="stable")[: int(np.count_nonzero(~np.isnan(values)))]
        chunks = [chunk for chunk in np.array_split(order, parts) if len(chunk)]
        weights = np.maximum(np.asarray(positive, dtype=np.float64), 1e-12)
        self.name = name
        self.x = np.array([np.average(values[chunk], weights=weights[chunk]) for chunk in chunks])
        self.propensity = np.array([np.average(np.asarray(propensity)[c], weights=weights[c]) for c in chunks])

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``."""
        self.ax_ = axes_or_new(ax, figsize=(4.5, 2.6))
        self.ax_.plot(self.x, self.propensity, marker="o", markersize=3, color=_LABELLED)
        self.ax_.set(ylim=(0, 1), xlabel=self.name, ylabel="probability of a label")
        return self


class ReviewDisplay:
    """The number of positives expected among the first k unlabelled rows, most likely positives first.

    Parameters
    ----------
    hidden : array-like of shape (n,)
        h(x) of the unlabelled rows, in any order.
    order : array-like of shape (n,), default=None
        What the rows are ordered by, the largest first; None means h(x).
    hidden_range : array-like of shape (n, 2), default=None
        The range of h(x), for a range of the number.
    """

    def __init__(self, hidden: Any, *, order: Any = None, hidden_range: Any = None) -> None:
        hidden = np.asarray(hidden, dtype=np.float64)
        places = np.argsort(-np.asarray(hidden if order is None else order), kind="stable")
        ends = np.full((len(hidden), 2), np.nan) if hidden_range is None else np.asarray(hidden_range)
        parts = np.column_stack([np.ones(len(hidden)), hidden, ends, hidden * (1.0 - hidden)])[places]
        sums = np.concatenate([np.zeros((1, 5)), np.cumsum(parts, axis=0)]).T
        self.hits = sums[1]
        self.ends = None if hidden_range is None else likely_range(sums)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> Self:
        """Draw the curve for unlabelled rows.

        Parameters
        ----------
        estimator : fitted estimator
        X : array-like of shape (n, n_features)
            Unlabelled rows.
        ax : matplotlib axes, default=None
        """
        return cls(chance_of_hidden(estimator, X)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``."""
        self.ax_ = axes_or_new(ax, figsize=(5, 3))
        # A few hundred points are enough to draw a curve of millions.
        places = np.unique(np.linspace(0, len(self.hits) - 1, 400).astype(np.intp))
        if self.ends is not None:
            low, high = (each[places] for each in self.ends)
            self.ax_.fill_between(places, low, high, color=_HIDDEN, alpha=0.2, linewidth=0, label="range")
        self.ax_.plot(places, self.hits[places], color=_HIDDEN, label="ordered by this model")
        self.ax_.plot([0, len(self.hits) - 1], [0, self.hits[-1]], color="0.6", linewidth=1, label="in random order")
        self.ax_.set(xlabel="unlabelled rows reviewed, most likely positives first", ylabel="expected positives found")
        self.ax_.legend(frameon=False)
        return self


class ScarDisplay:
    """The statistic of ``scar_test`` for labels simulated at random among the positives, and for the observed labels.

    Parameters
    ----------
    result : ScarTest
        What ``scar_test`` returned.
    """

    def __init__(self, result: ScarTest) -> None:
        self.result = result

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``."""
        self.ax_ = axes_or_new(ax, figsize=(5, 2.6))
        self.ax_.hist(self.result.simulated, bins="auto", color=_REST, label="labels simulated at random")
        self.ax_.axvline(self.result.statistic, color=_LABELLED, linewidth=2, label="observed labels")
        self.ax_.set(xlabel="how unevenly labels are given (test statistic)", ylabel="simulations")
        self.ax_.legend(frameon=False)
        return self
