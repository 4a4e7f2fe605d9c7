"""The tables and the figure of docs/benchmarks/natural.md, from the ledger of the study of natural labels.

Run `propense study run studies/natural.toml`, then `python benchmarks/natural_page.py`. Nothing is measured here: the
tables stand between two marks of the page, and the words around them are left as they are.
"""

import argparse
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from propense.study import Ledger, Study

ROOT = Path(__file__).parents[1]
PLAN, PAGE = ROOT / "studies/natural.toml", ROOT / "docs/benchmarks/natural.md"
FIGURE = PAGE.with_name("natural.svg")
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
TASKS = {"nhanes-diabetes": "Diabetes", "nhanes-hypertension": "High blood pressure"}
# The methods whose e is shown by group, and whose order is shown by year.
SHOWN = ("PUClassifier", "PUClassifier, access", "PUClassifier, access + audit", "SAREM, access")
BY_YEAR = (
    "Naive",
    "boosted trees",
    "boosted trees, access",
    "PUClassifier",
    "PUClassifier, access",
    "boosted trees, truth",
)
GROUPS = {
    "no visit": "visits_0",
    "one visit": "visits_1",
    "2 or 3 visits": "visits_2",
    "4 to 9 visits": "visits_3",
    "10 to 12 visits": "visits_4",
    "13 visits or more": "visits_5",
    "not insured": "insured_0",
    "insured": "insured_1",
    "youngest quarter": "age_quarter_1",
    "second quarter by age": "age_quarter_2",
    "third quarter by age": "age_quarter_3",
    "oldest quarter": "age_quarter_4",
}

Row = dict[str, Any]


def rows_of(plan: Path, ledger: Path) -> list[Row]:
    """The records of the study, the further measures beside the others; an error if one is missing."""
    study = Study.from_toml(plan)
    with Ledger(ledger) as kept:
        found = [{**row, **row.pop("more", {})} for row in map(dict, kept.rows(study.cells()))]
    missing = len(list(study.cells())) - sum(row["error"] is None for row in found)
    if missing:
        raise SystemExit(f"{missing} records of {plan} are missing. Run: propense study run {plan}")
    return found


def number(value: float | None, digits: int = 3) -> str:
    """A share, without its leading 0."""
    if value is None or math.isnan(value):
        return ""
    return f"{value:.{digits}f}".removeprefix("0")


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table; numbers stand to the right."""
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    return [*lines, *(f"| {' | '.join(cells)} |" for cells in body), ""]


def main_table(rows: list[Row], task: str, last: str) -> list[str]:
    """Every method on one task, fitted to the years before the last cycle."""
    own = [row for row in rows if row["dataset"] == task and row["mechanism"] == last]
    truth = own[0]["true_prior"]
    head = ["method, told", "area", "among the unlabelled", "balanced accuracy", f"P(Y=1), true {number(truth)}"]
    head += ["first 50", "first 200", "promised", "off", "first 1 000", "off", "e by group, off"]
    body = []
    for row in own:
        hidden = f"{number(row['hidden_auc'])} ({number(row['hidden_auc_low'])}–{number(row['hidden_auc_high'])})"
        cells = [row["method"], number(row["auc"]), hidden, number(row["balanced_accuracy"]), number(row.get("prior"))]
        cells += [number(row["precision_50"], 2), number(row["precision_200"])]
        cells += [number(row.get(name)) for name in ("promised_200", "promise_error_200")]
        cells += [number(row.get(name)) for name in ("precision_1000", "promise_error_1000", "group_error")]
        body.append(cells)
    return [f"### {TASKS[task]}", "", *table(head, body)]


def year_table(rows: list[Row], years: Sequence[str]) -> list[str]:
    """The order of the unlabelled rows in each cycle, by methods that saw the cycles before."""
    found = {(row["dataset"], row["mechanism"], row["method"]): row["hidden_auc"] for row in rows}
    head = ["method, told", *(f"{words.lower()}, {year.split()[-1]}" for words in TASKS.values() for year in years)]
    body = ([method, *(number(found[task, year, method]) for task in TASKS for year in years)] for method in BY_YEAR)
    return ["### By year", "", *table(head, body)]


def group_table(rows: list[Row], task: str, last: str) -> list[str]:
    """The share of the positives that are labelled, in truth and by some methods."""
    own = {row["method"]: row for row in rows if row["dataset"] == task and row["mechanism"] == last}
    truth = own[SHOWN[0]]
    names = {words: key for words, key in GROUPS.items() if f"true_propensity_{key}" in truth}
    body = (
        [words, number(truth[f"true_propensity_{key}"], 2), *(number(own[m][f"propensity_{key}"], 2) for m in SHOWN)]
        for words, key in names.items()
    )
    return [f"### Who was told: {TASKS[task].lower()}", "", *table(["", "true", *SHOWN], body)]


def draw_figure(path: Path, rows: list[Row], last: str) -> None:
    """The order of the unlabelled rows by each method, with its interval; one panel for each task."""
    import matplotlib
    from matplotlib.figure import Figure

    ink, colours = "#808080", {"nothing": "#3b8ad9", "access": "#2f9e57", "truth": "#e0702a"}
    style: Any = {"svg.hashsalt": "natural", "svg.fonttype": "none", "font.size": 9}
    style |= {f"{kind}.color": ink for kind in ("text", "xtick", "ytick")}
    with matplotlib.rc_context(style | {"axes.edgecolor": ink, "axes.labelcolor": ink}):
        figure = Figure(figsize=(10.5, 7.0), layout="constrained")
        for panel, (task, words) in zip(figure.subplots(1, 2, sharey=True), TASKS.items(), strict=True):
            own = [row for row in rows if row["dataset"] == task and row["mechanism"] == last]
            # An audit and a known share do not change the order.
            own = [row for row in own if not {"audit", "prevalence"} & set(row["method"].replace("+", ",").split(", "))]
            names = list(dict.fromkeys(row["method"].split(", ")[0] for row in own))
            for row in own:
                method, told = (*row["method"].split(", "), "nothing")[:2]
                place = names.index(method) + {"nothing": -0.2, "access": 0.0, "truth": 0.2}[told]
                ends = [[row["hidden_auc"] - row["hidden_auc_low"]], [row["hidden_auc_high"] - row["hidden_auc"]]]
                panel.errorbar(row["hidden_auc"], place, xerr=ends, fmt="o", ms=4, lw=1, color=colours[told])
            panel.set_yticks(range(len(names)), names)
            panel.set_title(words, fontsize="medium")
            panel.set_xlabel("area under the curve among the unlabelled")
            panel.spines[["top", "right"]].set_visible(False)
            panel.patch.set_visible(False)
        figure.axes[0].invert_yaxis()
        for place, (told, colour) in enumerate(colours.items()):
            figure.axes[0].plot(
                [], [], "o", ms=4, color=colour, label=f"told {told}" if place < 2 else "knows the truth"
            )
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        figure.patch.set_visible(False)
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Write the tables into the page, and the figure beside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, default=PLAN)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--figure", type=Path, default=FIGURE)
    asked = parser.parse_args()
    rows = rows_of(asked.plan, asked.plan.with_suffix(".ledger"))
    years = list(dict.fromkeys(row["mechanism"] for row in rows))
    parts = [main_table(rows, task, years[0]) for task in TASKS]
    parts += [year_table(rows, years), *(group_table(rows, task, years[0]) for task in TASKS)]
    text = asked.page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    lines = [line for part in parts for line in part]
    asked.page.write_text("\n".join([before + BEGIN, "", *lines, END + rest.split(END)[1]]), encoding="utf-8")
    draw_figure(asked.figure, rows, years[0])


if __name__ == "__main__":
    main()
