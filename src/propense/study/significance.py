"""Test whether ranks differ by more than chance: Friedman's test, Nemenyi's critical difference (Demšar 2006)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from propense.study.summaries import Summary, comparable

__all__ = ["Ranking", "rank_methods"]


@dataclass(frozen=True)
class Ranking:
    """Average ranks of methods over problems, where a problem is a data set with a setting. Higher is better.

    Attributes
    ----------
    ranks : dict of str to float
    problems : int
        Number of problems on which every method has a mean.
    p_value : float
        Of Friedman's test that the methods do not differ.
    critical_difference : float
        Average ranks closer than this do not differ significantly (Nemenyi's test at `level`).
    level : float
    """

    ranks: dict[str, float]
    problems: int
    p_value: float
    critical_difference: float
    level: float


def rank_methods(summaries: Sequence[Summary], *, without: Sequence[str] = ("oracle",), level: float = 0.05) -> Ranking:
    """Rank methods over all problems of a study."""
    methods = list(dict.fromkeys(each.method for each in summaries if each.method not in without))
    means = {(each.dataset, each.setting, each.method): each.mean for each in comparable(summaries)}
    problems = dict.fromkeys((each.dataset, each.setting) for each in summaries)
    complete = [key for key in problems if all((*key, method) in means for method in methods)]
    table = np.array([[means[*key, method] for method in methods] for key in complete])
    k, n = len(methods), len(complete)
    spread = float(studentized_range.ppf(1.0 - level, k, np.inf)) / np.sqrt(2.0)
    # Friedman's test needs three or more methods.
    p_value = float(friedmanchisquare(*table.T).pvalue) if k > 2 and n > 1 else float("nan")
    ranks = rankdata(table, axis=1).mean(axis=0) if n else np.full(k, np.nan)
    return Ranking(
        dict(zip(methods, ranks.tolist(), strict=True)),
        n,
        p_value,
        float(spread * np.sqrt(k * (k + 1) / (6.0 * n))) if n else float("nan"),
        level,
    )
