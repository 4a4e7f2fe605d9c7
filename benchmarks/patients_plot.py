"""The figure of ``patients.py``: four panels, legible on white and on black."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from patients import Answer

__all__ = ["draw_figure"]

TRUTH, ESTIMATE, ALARMS, INK = "#2f9e57", "#3b8ad9", "#e0702a", "#808080"


def draw_figure(path: Path, answers: "Sequence[Answer]", told: dict[str, list[float]], truth: float) -> None:
    """The share of the ill, later people found and false alarms, the list, and who was told by visits."""
    import matplotlib
    from matplotlib.figure import Figure

    # Plain words, without the marks of code.
    names = [each.name.replace("`", "") for each in answers]
    # The same answers give the same file. No background: the page's own is seen.
    inks = {f"{kind}.color": INK for kind in ("text", "xtick", "ytick")}
    style: Any = {
        "svg.hashsalt": "patients",
        "svg.fonttype": "none",
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "font.size": 9,
        **inks,
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(10.5, 6.2), layout="constrained")
        panels = figure.subplots(2, 2)
        _ranges(panels[0, 0], names, [a.share for a in answers], [truth] * len(answers), percent=True)
        panels[0, 0].set_title("How many are ill, in percent", fontsize="medium")
        _classes(panels[0, 1], answers)
        lists = [a.promised for a in answers]
        _ranges(panels[1, 0], names, lists, [a.found for a in answers], percent=False)
        panels[1, 0].set_title(f"The {answers[0].listed} people to test first: how many are ill", fontsize="medium")
        _told(panels[1, 1], told)
        for each in panels.flat:
            each.spines[["top", "right"]].set_visible(False)
            each.patch.set_visible(False)
        figure.patch.set_visible(False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


def _ranges(
    axes: Any, names: Sequence[str], said: Sequence[tuple[float, float, float]], true: Sequence[float], percent: bool
) -> None:
    """A dot with its range for each answer, from the top, and a tick for the truth."""
    at, times = np.arange(len(names))[::-1], 100.0 if percent else 1.0
    middle, low, high = times * np.array(said, dtype=np.float64).T
    axes.hlines(at, low, high, color=ESTIMATE, linewidth=3, alpha=0.5)
    axes.plot(middle, at, "o", color=ESTIMATE, label="said, with its range")
    axes.plot(times * np.array(true), at, "|", color=TRUTH, markersize=13, markeredgewidth=2.5, label="in truth")
    axes.set_yticks(at, names)
    axes.set_xlim(left=0)
    axes.set_ylim(-0.6, len(names) - 0.4)
    _legend_below(axes)


def _classes(axes: Any, answers: "Sequence[Answer]") -> None:
    """Of later people, the share of the ill that is found, and of the others the share that is called ill too."""
    at = np.arange(len(answers))[::-1]
    hits, alarms = [100 * a.hits / a.ill for a in answers], [100 * a.alarms / a.well for a in answers]
    axes.hlines(at, alarms, hits, color=INK, linewidth=1, alpha=0.5)
    axes.plot(hits, at, "o", color=TRUTH, label="of the ill: found")
    axes.plot(alarms, at, "X", color=ALARMS, label="of the others: false alarms")
    axes.set_yticks(at, [""] * len(answers))
    axes.set_xlim(0, 100)
    axes.set_ylim(-0.6, len(answers) - 0.4)
    axes.set_title("Called ill in 2013 and 2014, in percent", fontsize="medium")
    _legend_below(axes)


def _told(axes: Any, told: dict[str, list[float]]) -> None:
    """The share of the ill who were told, by visits: in truth and by the models."""
    truth, alone, named = 100 * np.array(list(told.values())).T
    at = np.arange(len(told))
    axes.bar(at, truth, width=0.6, color=TRUTH, alpha=0.45, label="in truth")
    axes.plot(at, alone, "o", markerfacecolor="none", color=ESTIMATE, label="by the labels alone")
    axes.plot(at, named, "o", color=ESTIMATE, label="with columns of access named")
    axes.set_xticks(at, list(told))
    axes.set(xlabel="visits to a doctor in the last year", ylim=(0, 105))
    axes.set_title("Of the ill, how many were told, in percent", fontsize="medium")
    axes.legend(frameon=False, loc="upper left", fontsize="small")


def _legend_below(axes: Any) -> None:
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.1)}
    axes.legend(frameon=False, ncols=2, fontsize="small", borderaxespad=0.0, **place)
