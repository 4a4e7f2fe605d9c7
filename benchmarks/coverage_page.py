"""The tables and the figure of ``coverage.py``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unseen import Rows

__all__ = ["draw_figure", "judge", "page"]

Row = dict[str, Any]

# What is said of P(Y=1), and of lists.
SAID = ("worlds", "holds", "width", "score", "off", "log (estimate / truth)", "lists hold", "width", "score", "off")
# How much worse a range is for missing by 1: 2 / (1 − level).
_MISS = 20.0
HOLDS, MISSES, POINT, INK = "#3b8ad9", "#e0702a", "#2f5f8f", "#808080"
# Estimates that are further off are drawn here.
_EDGE = 0.7


def judge(low: Any, high: Any, truth: Any) -> Rows:
    """Whether ranges hold the truth, their widths and their scores."""
    low, high, truth = (np.asarray(each, dtype=np.float64) for each in (low, high, truth))
    missed = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    holds = np.where(np.isnan(missed), np.nan, missed == 0.0)
    return np.array([holds, high - low, high - low + _MISS * missed])


def columns(rows: list[Row], *names: str) -> list[Rows]:
    """The values of these names."""
    return [np.array([row[name] for row in rows], dtype=np.float64) for name in names]


def number(value: float) -> str:
    """Two digits without the leading 0; nothing for NaN."""
    return "" if np.isnan(value) else f"{value:.2f}".replace("-0.", "-.").removeprefix("0")


def table(head: Sequence[str], lines: Sequence[Sequence[str]], words: int = 1) -> str:
    """A Markdown table whose first columns are words."""
    rule = " --- |" * words + " ---: |" * (len(head) - words)
    return "\n".join([f"| {' | '.join(head)} |", f"|{rule}", *(f"| {' | '.join(each)} |" for each in lines)])


def by(rows: list[Row], *names: str) -> list[list[str]]:
    """A line for each group of rows: its words, then `SAID`, of P(Y=1) and of lists."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(str(row[name] or "all") for name in names), []).append(row)
    lines = []
    for words, some in groups.items():
        low, high, estimate, truth = columns(some, "low", "high", "estimate", "truth")
        lists = np.array([row["lists"] for row in some]).reshape(-1, 4)
        said = [*judge(low, high, truth).mean(axis=1), np.abs(estimate - truth).mean(), np.log(estimate / truth).mean()]
        said += [*judge(lists[:, 0], lists[:, 2], lists[:, 3]).mean(axis=1), np.abs(lists[:, 1] - lists[:, 3]).mean()]
        lines.append([*words, str(len(some)), *map(number, said)])
    return lines


def of_methods(rows: list[Row], mechanisms: Sequence[str], methods: Sequence[str]) -> list[list[str]]:
    """The errors of each method, and what its interval holds if it gives one, in the same worlds."""
    lines = []
    for method in methods:
        if some := [row for row in rows if row["method"] == method]:
            low, high, estimate, truth = columns(some, "low", "high", "estimate", "truth")
            off, kinds = estimate - truth, np.array([row["mechanism"] for row in some])
            means = [np.abs(off[kinds == kind]).mean() if (kinds == kind).any() else np.nan for kind in mechanisms]
            ranges = judge(low, high, truth).mean(axis=1)
            lines.append([method, str(len(some)), *map(number, [off.mean(), np.abs(off).mean(), *means, *ranges])])
    return lines


def page(rows: list[Row], mechanisms: Sequence[str], followed: Sequence[str], methods: Sequence[str]) -> str:
    """The tables; ours is the first of the methods."""
    kinds = [*mechanisms, *followed]
    rows = sorted(rows, key=lambda row: (kinds.index(row["mechanism"]), row["c"], row["rows"], row["method"]))
    plain = [row for row in rows if row["mechanism"] in mechanisms]
    own, named = (
        [row for row in plain if row["method"] == methods[0]],
        [row for row in rows if row["mechanism"] in followed],
    )
    sums = [["all", *line] for line in by(own)]
    sums += [[f"{name} {line[0]}", *line[1:]] for name in ("mechanism", "c", "rows") for line in by(own, name)]
    parts = [
        table(("", *SAID), sums),
        table(("mechanism", "c", "rows", *SAID), by(own, "mechanism", "c", "rows"), 3),
        table(("labelling follows", "method", *SAID), by(named, "mechanism", "method"), 2),
        table(("labelling follows", "c", "method", *SAID), by(named, "mechanism", "c", "method"), 3),
    ]
    if len(own) < len(plain):
        head = ("", "worlds", "mean error", "off", *mechanisms, "holds", "width", "score")
        parts.append(table(head, of_methods(plain, mechanisms, methods)))
    return "\n\n".join(parts)


def draw_figure(path: Path, rows: list[Row], mechanisms: Sequence[str], methods: Sequence[str]) -> None:
    """Estimate minus truth, a panel for each mechanism; a method with ranges has a line for each world."""
    import matplotlib
    from matplotlib.figure import Figure

    ranged = [each for each in methods if any(r["method"] == each and np.isfinite(r["low"]) for r in rows)]
    methods = [each for each in methods if any(r["method"] == each for r in rows)]
    heights = {each: 4.0 if each in ranged else 1.0 for each in methods}
    style: Any = {"svg.hashsalt": "coverage", "svg.fonttype": "none", "axes.edgecolor": INK, "axes.labelcolor": INK}
    style |= {"font.size": 9, **{f"{kind}.color": INK for kind in ("text", "xtick", "ytick")}}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(13, 1.2 + 0.32 * sum(heights.values())), layout="constrained")
        panels = figure.subplots(1, len(mechanisms), sharey=True)
        for axes, mechanism in zip(np.atleast_1d(panels), mechanisms, strict=True):
            top, ticks = 0.0, []
            for method in methods:
                some = [r for r in rows if r["method"] == method and r["mechanism"] == mechanism]
                if some:
                    (_ranges if method in ranged else _errors)(axes, some, top, heights[method])
                ticks.append(top - heights[method] / 2)
                top -= heights[method]
            axes.axvline(0.0, color=INK, linewidth=0.8)
            axes.set(xlim=(-_EDGE, _EDGE), ylim=(top, 0.2), xticks=(-0.5, 0.0, 0.5))
            axes.set_title(mechanism, fontsize="medium")
            axes.set_yticks(ticks, methods)
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.tick_params(left=False)
            axes.patch.set_visible(False)
        figure.supxlabel("estimated minus true P(Y=1); lines: 90 % ranges, orange where they miss", fontsize="medium")
        figure.patch.set_visible(False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


def _values(rows: list[Row], name: str) -> Any:
    return np.array([row[name] for row in rows]) - np.array([row["truth"] for row in rows])


def _ranges(axes: Any, rows: list[Row], top: float, height: float) -> None:
    """A line for each world, in the order of the errors, and how many hold."""
    order = np.argsort(_values(rows, "estimate"))
    low, high, error = (_values(rows, name)[order].clip(-_EDGE, _EDGE) for name in ("low", "high", "estimate"))
    at = top - height * (0.1 + 0.8 * (np.arange(len(rows)) + 0.5) / len(rows))
    held = (_values(rows, "low")[order] <= 0.0) & (_values(rows, "high")[order] >= 0.0)
    for some, colour in ((held, HOLDS), (~held, MISSES)):
        axes.hlines(at[some], low[some], high[some], color=colour, linewidth=0.9, alpha=0.7)
    axes.plot(error, at, color=POINT, linewidth=1.2)
    axes.text(_EDGE, top, f"{held.mean():.0%}", ha="right", va="center", fontsize="small")


def _errors(axes: Any, rows: list[Row], top: float, height: float) -> None:
    """A dot for the median, a thick line for the middle half of the errors and a thin one for nine tenths."""
    least, low, middle, high, most = np.quantile(_values(rows, "estimate"), [0.05, 0.25, 0.5, 0.75, 0.95])
    at = top - height / 2
    for ends, width in (((least, most), 1.0), ((low, high), 4.0)):
        axes.plot(np.clip(ends, -_EDGE, _EDGE), [at, at], color=INK, linewidth=width, solid_capstyle="butt")
    axes.plot(np.clip(middle, -_EDGE, _EDGE), at, "o", color=INK, markersize=5)
