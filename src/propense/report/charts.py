"""Pictures of the page of a fit: bars in the cells of tables, and one curve. They follow the colours of the page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.report.page import Figure
from propense.study.grids import Grid
from propense.tables import Capacity, GroupComparison, GroupShare, Headline

__all__ = ["Bar", "Chart", "Curve", "capacity_curve", "group_chart", "line_figure", "rows_bar"]

# The slider begins at lists of this length, and its curve ends where this share of the positives should be found.
_START, _MOST = 50, 0.95
# A mark on an axis of ratios is never further out than this.
_WIDEST = 4.0


@dataclass(frozen=True)
class Mark:
    """Part of a bar, in per cent of its length."""

    kind: str
    left: str
    width: str = ""


@dataclass(frozen=True)
class Bar:
    """All rows as one bar, and what its colours mean."""

    title: str
    marks: list[Mark]
    legend: list[tuple[str, str]]


@dataclass(frozen=True)
class Line:
    """A line of a chart: what it is about, its marks, and the same in numbers."""

    name: str
    marks: list[Mark]
    value: str


@dataclass(frozen=True)
class Chart:
    """A table with a picture in its second column."""

    title: str
    head: tuple[str, str, str]
    lines: list[Line]


@dataclass(frozen=True)
class Curve:
    """What lists of every length should find, for the slider and without it."""

    caption: str
    band: str
    line: str
    data: str
    points: int
    start: int
    start_words: str
    said: str
    top_words: str
    last_words: str
    ends: str
    alternative: str
    table: Grid | None


def _at(share: float) -> str:
    return f"{100.0 * min(max(share, 0.0), 1.0):.2f}"


def _mark(kind: str, low: float, high: float) -> Mark:
    low, high = (min(max(each, 0.0), 1.0) for each in (low, high))
    return Mark(kind, _at(low), _at(high - low))


def rows_bar(quoted: Headline) -> Bar:
    """All rows: labelled, the range of the positives, and the rest."""
    n, labelled = quoted.rows, quoted.labelled
    marks = [_mark("is-labelled", 0.0, labelled / n)]
    legend = [("is-labelled", f"labelled: {labelled:,}")]
    if quoted.unquoted:
        return Bar("Labelled and other rows", marks, [*legend, ("is-rest", f"not known: {n - labelled:,}")])
    if quoted.certain:
        marks.append(_mark("is-hidden", labelled / n, quoted.middle / n))
        legend += [("is-hidden", f"positive without a label: {quoted.hidden}")]
        return Bar("All rows", marks, [*legend, ("is-rest", f"negative: {n - round(quoted.middle):,}")])
    marks += [_mark("is-maybe", quoted.low / n, quoted.high / n), Mark("is-dot", _at(quoted.middle / n))]
    legend.append(("is-maybe", f"range of all positives: {quoted.positives}, the dot is its middle"))
    return Bar("All rows", marks, [*legend, ("is-rest", "other rows")])


def group_chart(comparison: GroupComparison) -> Chart:
    """How often the positives of each group are labelled, compared with all."""
    known = [each for each in comparison.groups if each.known]
    most = min(max(1.25, *(each.ratio_high for each in known)), _WIDEST)

    def marks(each: GroupShare) -> list[Mark]:
        return [
            _mark("is-maybe", each.ratio_low / most, each.ratio_high / most),
            Mark("is-line", _at(1.0 / most)),
            Mark("is-dot", _at(each.ratio / most)),
        ]

    lines = [
        Line(
            f"{each.group.name} ({each.group.rows:,} rows)",
            marks(each),
            f"{each.ratio:.2f} ({each.ratio_low:.2f} to {each.ratio_high:.2f})",
        )
        for each in known
    ]
    title = f"{comparison.column}: how often positives are labelled, compared with all positives"
    return Chart(
        title, ("group", f"0 to {most:.3g} times as often; dashed: as often as all", "ratio, with its range"), lines
    )


def _sampled(total: int) -> NDArray[np.intp]:
    """Lengths of lists: all short ones, round ones, and fewer of the long ones."""
    short = np.arange(1, min(total, 20) + 1)
    steps = [np.arange(start, 10 * start + 1, start // 2 or 1) for start in 10 ** np.arange(1, 9) if start <= total]
    fives = np.arange(20, min(total, 200) + 1, 5)
    return np.unique(np.concatenate([short, fives, *steps, [total]]).clip(1, total)).astype(np.intp)


def capacity_curve(capacity: Capacity) -> Curve | None:
    """The curve and what the slider shows; None if no number is promised."""
    if capacity.unpromised or len(capacity.lengths) < 2:
        return None
    enough = int(np.searchsorted(capacity.expected, _MOST * capacity.expected[-1]))
    last = min(max(enough, 2 * _START), len(capacity.lengths) - 1)
    lengths = _sampled(last)
    promises = [capacity.at(int(length)) for length in lengths]
    expected = np.array([each.expected for each in promises])
    low, high = np.array([(each.low, each.high) for each in promises]).T
    cut = capacity.hidden[lengths - 1].clip(0.01, 0.99)
    top = max(float(high.max()), 1.0)
    start = int(np.searchsorted(lengths, min(_START, last)))

    def path(values: NDArray[np.float64], places: Sequence[int]) -> str:
        return " ".join(f"{100 * lengths[i] / last:.2f},{100 - 100 * values[i] / top:.2f}" for i in places)

    forth = range(len(lengths))
    table, all_rows = capacity.table(), capacity.unlabelled
    data = {
        "lengths": lengths.tolist(),
        "expected": expected.round(2).tolist(),
        "low": low.round(2).tolist(),
        "high": high.round(2).tolist(),
        "cut": cut.round(2).tolist(),
        "top": round(top, 2),
    }
    first = f"{lengths[start]:,} rows" if lengths[start] != 1 else "1 row"
    rows = f"the first {first}" if lengths[start] != 1 else "the first row"
    said = "95% interval" if capacity.audited else "range of 8 of 10 worlds whose labels look like these"
    return Curve(
        caption=f"Positives that the first rows of the list should hold: the middle, and the {said}",
        band=f"M0,100 L{path(high, forth)} L{path(low, forth[::-1])} Z",
        line=f"M0,100 L{path(expected, forth)}",
        # Nothing in it comes from the table, but a page should not rely on that.
        data=json.dumps(data, allow_nan=False).replace("<", "\\u003c"),
        points=len(lengths),
        start=start,
        start_words=first,
        said=f"Review {rows}: {_whole(low[start])} to {_whole(high[start])} should be positive, "
        f"{_whole(expected[start])} in the middle. The cut: the last of them has a chance of "
        f"{cut[start]:.2f}.",
        top_words=f"{top:,.0f}",
        last_words=f"{last:,} rows",
        ends=_why_it_ends(capacity, last),
        alternative=f"A curve that rises from 0 to {low[-1]:,.0f} to {high[-1]:,.0f} positives in {last:,} rows.",
        table=Grid(
            "How many rows to review, by the number of positives to find",
            ["positives to find", "rows to review, range", "middle"],
            [
                [
                    f"{each.positives:,}",
                    f"{_review(each.low, all_rows)} to {_review(each.high, all_rows)}",
                    _review(each.expected, all_rows),
                ]
                for each in table
            ],
        )
        if table
        else None,
    )


def _why_it_ends(capacity: Capacity, last: int) -> str:
    """Why the curve ends before all unlabelled rows; empty if it does not."""
    if last == capacity.unlabelled:
        return ""
    share = 1.0 - capacity.expected[last] / capacity.expected[-1]
    few = "less than 1%" if share < 0.005 else f"{share:.0%}"
    return (
        f"The curve ends after {last:,} of the {capacity.unlabelled:,} unlabelled rows: in the middle, the others "
        f"hold only {few} of the positives without a label."
    )


def _review(rows: int | None, all_rows: int) -> str:
    """How many rows to review; None means that even all of them may not be enough."""
    if rows is None:
        return f"all {all_rows:,}, which may hold fewer"
    return f"all {rows:,}" if rows == all_rows else f"{rows:,}"


def _whole(value: float) -> str:
    """Rounded as a browser rounds, so that the page says the same with and without scripts."""
    return f"{int(np.floor(np.round(value, 2) + 0.5)):,}"


def line_figure(title: str, values: Any) -> Figure:
    """A line over equal steps, from the first value to the last."""
    heights = np.asarray(values, dtype=np.float64)
    spread = float(np.ptp(heights)) or 1.0
    points = [
        f"{100 * i / max(len(heights) - 1, 1):.2f},{100 - 100 * (value - heights.min()) / spread:.2f}"
        for i, value in enumerate(heights)
    ]
    words = f"From {heights[0]:.4g} to {heights[-1]:.4g} in {len(heights)} rounds"
    svg = (
        f'<div class="curve" role="img" aria-label="{words}"><svg viewBox="0 0 100 100" preserveAspectRatio="none" '
        f'aria-hidden="true"><path class="middle" d="M{" L".join(points)}"></path></svg></div><p>{words}.</p>'
    )
    return Figure(title, svg)
