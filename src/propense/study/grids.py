"""Tables of text cells, and how to write them as Markdown, LaTeX and CSV."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from propense.study.natural_scores import LISTS
from propense.study.plan import Study
from propense.study.summaries import Setting, Summary, average_ranks, duels, wins

__all__ = ["HIGHER_IS_BETTER", "WRITERS", "Grid", "duel_grid", "favourite", "mean_grids", "win_grid"]


# Scores where higher is better. For the others, such as errors and seconds, lower is better.
HIGHER_IS_BETTER = (
    *("balanced_accuracy", "accuracy", "auc", "f1", "hidden_auc"),
    *(f"precision_{length}" for length in LISTS),
)


@dataclass(frozen=True)
class Grid:
    """A table: a title, column names, and rows of cells whose first cell names the row."""

    title: str
    head: list[str]
    lines: list[list[str]]


def mean_grids(summaries: Sequence[Summary], score: str = "balanced_accuracy") -> list[Grid]:
    """One table for each setting, as in the paper: mean ± sd by data set and method, and average ranks in the last row.

    A method with fewer repeats than others has their number after its mean. Only scores where higher is better have
    ranks.
    """
    most = max((each.repeats for each in summaries), default=0)
    methods = list(dict.fromkeys(each.method for each in summaries))
    ranks = average_ranks(summaries) if score in HIGHER_IS_BETTER else {}
    grids = []
    for setting in dict.fromkeys(each.setting for each in summaries):
        cells = {(each.dataset, each.method): each for each in summaries if each.setting == setting}
        lines = [
            [dataset, *(_mean(cells.get((dataset, method)), most) for method in methods)]
            for dataset in dict.fromkeys(dataset for dataset, _ in cells)
        ]
        mine = ranks.get(setting, {})
        if score in HIGHER_IS_BETTER:
            lines.append(["average rank", *(f"{mine[method]:.2f}" if method in mine else "–" for method in methods)])
        title = score.replace("_", " ").capitalize()
        grids.append(Grid(f"{title}, {_name(setting)}", ["data set", *methods], lines))
    return grids


def favourite(study: Study) -> str:
    """The method whose wins are counted by default: JERM if the study has it, else its last method."""
    names = [method.name for method in study.methods]
    return "jerm" if "jerm" in names else names[-1]


def duel_grid(summaries: Sequence[Summary], method: str) -> Grid:
    """Wins/losses/draws of a method against each of the others, by the paper's rule (intervals mean ± sd)."""
    found = duels(summaries, method)
    others = [name for name in dict.fromkeys(each.method for each in summaries) if name != method]
    lines = []
    for setting, line in found.items():
        cells = [line.get(other) for other in others]
        shown = ["–" if cell is None else f"{cell.wins}/{cell.losses}/{cell.draws}" for cell in cells]
        lines.append([_name(setting), *shown])
    return Grid(f"Wins/losses/draws of {method} over data sets", ["labels", *others], lines)


def win_grid(summaries: Sequence[Summary], method: str) -> Grid:
    """The share of data sets on which the method's mean is higher, averaged over frequencies."""
    found = wins(summaries, method)
    others = [name for name in dict.fromkeys(each.method for each in summaries) if name != method]
    lines = [
        [name, *(f"{line[other]:.2f}" if other in line else "–" for other in others)] for name, line in found.items()
    ]
    return Grid(f"Share of wins of {method}, averaged over frequencies", ["labels", *others], lines)


def to_markdown(grids: Sequence[Grid]) -> str:
    """Markdown tables under their titles."""
    parts = []
    for grid in grids:
        rule = ["---", *["---:"] * (len(grid.head) - 1)]
        table = [[cell.replace("|", r"\|") for cell in line] for line in (grid.head, rule, *grid.lines)]
        lines = [f"| {' | '.join(line)} |" for line in table]
        parts.append(f"### {grid.title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def to_latex(grids: Sequence[Grid]) -> str:
    """LaTeX tables (booktabs)."""
    parts = []
    for grid in grids:
        lines = [" & ".join(map(_escape, line)) + r" \\" for line in (grid.head, *grid.lines)]
        body = "\n".join([lines[0], r"\midrule", *lines[1:]])
        columns = "l" + "c" * (len(grid.head) - 1)
        parts.append(
            f"\\begin{{table}}\n\\caption{{{_escape(grid.title)}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{body}\n"
            "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
        )
    return "\n".join(parts)


def to_csv(grids: Sequence[Grid]) -> str:
    """One CSV of all tables: each row begins with its table's title, and each table with its column names."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for grid in grids:
        writer.writerow(["table", *grid.head])
        writer.writerows([grid.title, *line] for line in grid.lines)
    return out.getvalue()


_LATEX = {
    **{letter: f"\\{letter}" for letter in "%_&#${}"},
    "±": r"$\pm$",
    "–": "--",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
WRITERS = {"markdown": to_markdown, "latex": to_latex, "csv": to_csv}


def _mean(summary: Summary | None, most: int) -> str:
    if summary is None:
        return "–"
    return f"{summary.mean:.3f} ± {summary.sd:.3f}" + (f" ({summary.repeats})" if summary.repeats < most else "")


def _name(setting: Setting) -> str:
    return setting[0] if setting[1] is None else f"{setting[0]}, c = {setting[1]}"


def _escape(words: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in words)
