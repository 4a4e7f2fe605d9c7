"""Displays of a study."""

from collections.abc import Sequence
from typing import Any, Self

from propense.plots._base import axes_or_new
from propense.study.significance import Ranking, rank_methods
from propense.study.summaries import Summary

__all__ = ["FrequencyDisplay", "RankDisplay"]


class FrequencyDisplay:
    """Balanced accuracy against the label frequency, for one data set and mechanism, as in the paper's figures.

    Parameters
    ----------
    summaries : sequence of Summary
        The summaries of that data set and mechanism.
    """

    def __init__(self, summaries: Sequence[Summary]) -> None:
        self.summaries = list(summaries)

    @classmethod
    def from_summaries(cls, summaries: Sequence[Summary], dataset: str, mechanism: str, *, ax: Any = None) -> Self:
        """Draw one data set and mechanism of a study.

        Parameters
        ----------
        summaries : sequence of Summary
        dataset, mechanism : str
        ax : matplotlib axes, default=None
        """
        chosen = [each for each in summaries if (each.dataset, each.mechanism) == (dataset, mechanism)]
        return cls(chosen).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display. The axes are kept as ``ax_``."""
        self.ax_ = axes_or_new(ax)
        for method in dict.fromkeys(each.method for each in self.summaries):
            mine = sorted(
                (each for each in self.summaries if each.method == method), key=lambda each: each.frequency or 0.0
            )
            style = {"color": "k", "linestyle": ":"} if method == "oracle" else {"marker": "o", "markersize": 3}
            self.ax_.plot([each.frequency for each in mine], [each.mean for each in mine], label=method, **style)
        where = {(each.dataset, each.mechanism) for each in self.summaries}
        self.ax_.set(
            xlabel="label frequency c", ylabel="balanced accuracy", title=", ".join(" ".join(w) for w in where)
        )
        self.ax_.legend(fontsize="small")
        return self


class RankDisplay:
    """Critical-difference diagram: average ranks on a line, with a bar over methods that do not differ significantly.

    Parameters
    ----------
    ranking : Ranking
    """

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking

    @classmethod
    def from_summaries(cls, summaries: Sequence[Summary], *, ax: Any = None) -> Self:
        """Draw the average ranks of a study's methods.

        Parameters
        ----------
        summaries : sequence of Summary
        ax : matplotlib axes, default=None
        """
        return cls(rank_methods(summaries)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the diagram. The axes are kept as ``ax_``, the joined groups as ``groups_``."""
        ranks = dict(sorted(self.ranking.ranks.items(), key=lambda item: item[1]))
        self.groups_ = _groups(list(ranks.items()), self.ranking.critical_difference)
        self.ax_ = axes_or_new(ax, figsize=(6, 0.6 + 0.35 * (len(ranks) + len(self.groups_))))
        for height, (method, rank) in enumerate(ranks.items()):
            self.ax_.plot([rank, rank], [0, -height - 1], color="0.7", linewidth=0.8)
            self.ax_.plot([rank], [0], "o", color="C0", markersize=4)
            # To the left of its line, where the lines of better methods do not cross it.
            self.ax_.annotate(f"{method} {rank:.2f}", (rank, -height - 1), ha="right", va="top", fontsize="small")
        for level, group in enumerate(self.groups_):
            ends = [ranks[group[0]], ranks[group[-1]]]
            self.ax_.plot(ends, [0.5 + 0.4 * level] * 2, color="C3", linewidth=3, solid_capstyle="butt")
        low, high = min(ranks.values()), max(ranks.values())
        self.ax_.set(
            xlim=(low - 0.2 * (high - low) - 0.05, high + 0.05 * (high - low) + 0.05),
            ylim=(-len(ranks) - 1, 1 + 0.4 * len(self.groups_)),
            yticks=[],
            xlabel=f"average rank over {self.ranking.problems} problems, higher is better "
            f"(critical difference {self.ranking.critical_difference:.2f})",
        )
        for side in ("left", "right", "top"):
            self.ax_.spines[side].set_visible(False)
        return self


def _groups(ranks: list[tuple[str, float]], distance: float) -> list[list[str]]:
    """The longest runs of two or more methods whose first and last rank are closer than the distance."""
    runs: list[list[str]] = []
    for start, (_, low) in enumerate(ranks):
        run = [method for method, rank in ranks[start:] if rank - low < distance]
        if len(run) > 1 and not any(set(run) <= set(other) for other in runs):
            runs.append(run)
    return runs
