"""Summarise records: means, ranks and wins."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.stats import rankdata

from propense.study.measure import Record

__all__ = ["SCORES", "Duel", "Summary", "average_ranks", "comparable", "duels", "summarise", "wins"]

# The fields of a record that can be tabulated.
SCORES = tuple(each.name for each in fields(Record) if each.name not in ("converged", "error", "more"))
# One column of a table of the paper: a labelling mechanism with a label frequency, which natural labels do not have.
Setting = tuple[str, float | None]


@dataclass(frozen=True)
class Summary:
    """A method on one data set and setting: mean and standard deviation over repeats (ddof 0, as in the paper)."""

    dataset: str
    mechanism: str
    frequency: float | None
    method: str
    mean: float
    sd: float
    repeats: int

    @property
    def setting(self) -> Setting:
        return self.mechanism, self.frequency


@dataclass(frozen=True)
class Duel:
    """On how many data sets a method wins, loses and draws against another."""

    wins: int
    losses: int
    draws: int


def summarise(rows: Iterable[dict[str, Any]], score: str = "balanced_accuracy") -> list[Summary]:
    """One summary per data set, setting and method, in the order of their first records; failures are left out."""
    found: dict[tuple[str, str, float | None, str], list[float]] = defaultdict(list)
    for row in rows:
        # The further measures of natural labels are not in every record.
        if row.get(score) is not None:
            found[row["dataset"], row["mechanism"], row["frequency"], row["method"]].append(row[score])
    return [Summary(*key, float(np.mean(values)), float(np.std(values)), len(values)) for key, values in found.items()]


def comparable(summaries: Sequence[Summary]) -> list[Summary]:
    """Leave out methods with fewer repeats than others on the same problem: failures or gaps would decide."""
    most: dict[tuple[str, Setting], int] = defaultdict(int)
    for each in summaries:
        most[each.dataset, each.setting] = max(most[each.dataset, each.setting], each.repeats)
    return [each for each in summaries if each.repeats == most[each.dataset, each.setting]]


def average_ranks(
    summaries: Sequence[Summary], without: Sequence[str] = ("oracle",)
) -> dict[Setting, dict[str, float]]:
    """For each setting the rank of each method, averaged over data sets. Higher is better; ties share a rank.

    A data set is left out unless every method has a mean over the same number of repeats.
    """
    compared = [each for each in summaries if each.method not in without]
    methods = list(dict.fromkeys(each.method for each in compared))
    ranks: dict[Setting, list[Any]] = defaultdict(list)
    for (setting, _), means in _by_dataset(compared).items():
        if len(means) == len(methods):
            ranks[setting].append(rankdata([means[method].mean for method in methods]))
    return {
        setting: dict(zip(methods, np.mean(lines, axis=0).tolist(), strict=True)) for setting, lines in ranks.items()
    }


def duels(summaries: Sequence[Summary], method: str) -> dict[Setting, dict[str, Duel]]:
    """Wins, losses and draws of a method: a draw if the intervals mean ± sd overlap."""
    counts: dict[Setting, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    for (setting, _), means in _by_dataset(summaries).items():
        if method in means:
            for other in (name for name in means if name != method):
                counts[setting][other][_outcome(means[method], means[other])] += 1
    return {setting: {other: Duel(*count) for other, count in each.items()} for setting, each in counts.items()}


def wins(summaries: Sequence[Summary], method: str) -> dict[str, dict[str, float]]:
    """For each mechanism, the share of data sets on which the method's mean is higher, averaged over frequencies."""
    shares: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for (setting, _), means in _by_dataset(summaries).items():
        if method in means:
            for other in (name for name in means if name != method):
                shares[setting[0]][other].append(means[method].mean > means[other].mean)
    return {name: {other: float(np.mean(each)) for other, each in others.items()} for name, others in shares.items()}


def _by_dataset(summaries: Sequence[Summary]) -> dict[tuple[Setting, str], dict[str, Summary]]:
    """The comparable summaries for each setting and data set, by method."""
    found: dict[tuple[Setting, str], dict[str, Summary]] = defaultdict(dict)
    for each in comparable(summaries):
        found[each.setting, each.dataset][each.method] = each
    return found


def _outcome(mine: Summary, other: Summary) -> int:
    """0 for a win, 1 for a loss, 2 for a draw."""
    # Rounded, so that intervals that touch in print also touch here.
    if round(mine.mean - mine.sd, 9) > round(other.mean + other.sd, 9):
        return 0
    return 1 if round(mine.mean + mine.sd, 9) < round(other.mean - other.sd, 9) else 2
