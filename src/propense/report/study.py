"""The report of a study: all its tables and figures in one page that works offline."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from propense.plots import FrequencyDisplay, RankDisplay
from propense.report.page import Figure, software, to_svg
from propense.study import Study
from propense.study.compare import caveats, compare, difference_grids, published_methods
from propense.study.grids import Grid, duel_grid, favourite, mean_grids, win_grid
from propense.study.significance import Ranking, rank_methods
from propense.study.summaries import Summary, summarise

__all__ = ["StudyReport", "gather_study"]

# Cells listed as those that differ most from the paper.
_MOST = 25


@dataclass(frozen=True)
class StudyReport:
    """All that the page shows."""

    template: ClassVar[str] = "study.html"
    scripts: ClassVar[tuple[str, ...]] = ("page.js",)
    title: str
    facts: list[tuple[str, str]]
    failures: list[tuple[str, str]]
    ranks: Figure | None
    significance: str
    means: list[Grid]
    wins: list[Grid]
    comparison: list[Grid]
    caveats: list[str]
    figures: list[Figure]


def gather_study(study: Study, rows: Sequence[dict[str, Any]], title: str) -> StudyReport:
    """Collect what the page of a study shows."""
    summaries = summarise(rows)
    ranking = rank_methods(summaries)
    champion = favourite(study)
    failures = [row for row in rows if row["error"]]
    return StudyReport(
        title=title,
        facts=_facts(study, rows, failures),
        failures=[(_cell(row), row["error"]) for row in failures],
        ranks=None if len(ranking.ranks) < 2 else to_svg("Average ranks", RankDisplay(ranking)),
        significance=_significance(ranking),
        means=mean_grids(summaries),
        wins=[duel_grid(summaries, champion), win_grid(summaries, champion)],
        comparison=difference_grids(compare(summaries, published_methods(study)), _MOST),
        caveats=caveats(study),
        figures=_frequency_figures(summaries),
    )


def _facts(study: Study, rows: Sequence[dict[str, Any]], failures: Sequence[Any]) -> list[tuple[str, str]]:
    seconds = sum(row["seconds"] or 0.0 for row in rows)
    protocol = {
        "paper": "paper: columns are selected and scaled on all rows with the true classes, as in the paper. Test rows "
        "leak into the preparation.",
        "clean": "clean: columns are selected and scaled on the training rows only, with their true classes.",
        "natural": "natural: nobody drew the labels. Methods are fitted to the past and tested on the years that "
        "followed.",
    }[study.protocol]
    return [
        ("records", f"{len(rows) - len(failures)} of {len(study)}, {len(failures)} failed"),
        ("time spent fitting", f"{seconds / 60:.1f} minutes, summed over processes"),
        ("protocol", protocol),
        ("seed, repeats", f"{study.seed}, {study.repeats}"),
        ("methods", "; ".join(_method(each) for each in study.methods)),
        ("page made on", f"{platform.machine()}, {software()}"),
    ]


def _method(method: Any) -> str:
    parameters = ", ".join(f"{name}={value!r}" for name, value in method.parameters)
    return f"{method.name} = {method.path}({parameters})"


def _cell(row: dict[str, Any]) -> str:
    names = ("dataset", "mechanism", "frequency", "method", "repeat")
    return " ".join(str(row[name]) for name in names if row[name] is not None)


def _significance(ranking: Ranking) -> str:
    over = f"Ranks are averaged over {ranking.problems} problems, each a data set with one way of labelling."
    if np.isnan(ranking.p_value):
        return f"{over} Testing for differences (Friedman's test) needs three methods and two problems."
    return (
        f"{over} Methods joined by a bar do not differ significantly: their ranks are closer than Nemenyi's critical "
        f"difference, {ranking.critical_difference:.2f} at level {ranking.level:g}. Friedman's test of no difference "
        f"between any methods gives p = {ranking.p_value:.2g}. Problems from the same data set are not independent, so "
        "both are descriptive only."
    )


def _frequency_figures(summaries: Sequence[Summary]) -> list[Figure]:
    """Accuracy against the label frequency, for studies with at least three frequencies."""
    found = []
    for dataset, mechanism in dict.fromkeys((each.dataset, each.mechanism) for each in summaries):
        mine = [each for each in summaries if (each.dataset, each.mechanism) == (dataset, mechanism)]
        if len({each.frequency for each in mine}) >= 3:
            found.append(to_svg(f"{dataset}, {mechanism}", FrequencyDisplay(mine)))
    return found
