"""The report of a fit: a page for the analyst who has to act on it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from propense.estimators import Naive, SeveralSources
from propense.estimators._description import reference
from propense.plots import (
    GroupDisplay,
    PrevalenceDisplay,
    PropensityCurveDisplay,
    ReviewDisplay,
    RiskPathDisplay,
    ScarDisplay,
)
from propense.report.page import Figure, Page, render, software, to_svg
from propense.study.grids import Grid
from propense.tables import (
    ReviewList,
    TableFit,
    advise_audit,
    describe_assumptions,
    describe_bounds,
    describe_groups,
    describe_learning,
    list_rows,
    suggest_columns,
    summarise_estimator,
)
from propense.tables.model import review_order

__all__ = ["FitReport", "gather_fit", "report_fit"]

# Number of columns with figures, and of rows in the review list.
_DRAWN, _LISTED = 6, 25


@dataclass(frozen=True)
class FitReport:
    """All that the page shows."""

    template: ClassVar[str] = "fit.html"
    title: str
    method: str
    rows: str
    labelled: str
    positives: str
    positives_range: str
    certainty: str
    hidden: str
    hidden_range: str
    frequency: str
    frequency_range: str
    prevalence: Figure
    audit: str
    audit_commands: tuple[str, ...]
    about_groups: str
    group_ranges: bool
    drawings: list[Figure]
    learned: list[str]
    at_random: str
    simulations: Figure | None
    groups: Grid
    review: Grid
    review_words: str
    hits: Figure | None
    naive: Grid
    effects: Grid | None
    effect_words: str
    convergence: str
    path: Figure | None
    assumptions: list[str]
    bounds: str
    notes: list[str]
    citation: str
    facts: list[tuple[str, str]]
    configuration: str = ""


def report_fit(estimator: Any, X: Any, y: Any, *, title: str = "Report", ids: Any = None) -> Page:
    """Make the report of a fitted estimator. Notebooks show it; ``write`` saves it as a file.

    Parameters
    ----------
    estimator : fitted estimator of propense, or a pipeline that ends in one
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The features that the estimator was fitted on.
    y : array-like of shape (n_samples,)
        The labels that it was fitted on.
    title : str, default="Report"
    ids : array-like of shape (n_samples,), default=None
        Names of the rows, shown in the review list.

    Returns
    -------
    Page
    """
    return render(gather_fit(summarise_estimator(estimator, X, y, ids=ids), title))


def gather_fit(
    found: TableFit,
    title: str,
    files: tuple[str, Path | None] | None = None,
    decimal: str | None = None,
    configuration: str = "",
) -> FitReport:
    """Collect what the page of a fit shows; `files` are the table, with its decimal sign, and the model file."""
    estimator = found.estimator
    n, labelled = len(found.labelled), int(found.labelled.sum())
    positives = float(found.expected.sum())
    ends, known = found.prior_range, False
    if ends is not None and ends[0] == ends[1]:
        ends, known = None, True
    low, high = (np.nan, np.nan) if ends is None else (max(n * share, labelled) for share in ends)
    given = ", kept to the share of positives that was given"
    review, review_words, hits = _review(found)
    advice = advise_audit(found)
    path, suggestion = RiskPathDisplay(estimator.risk_path_), suggest_columns(found)
    return FitReport(
        title=title,
        method=type(estimator).__name__,
        rows=f"{n:,}",
        labelled=f"{labelled:,}",
        positives=f"{positives:,.0f}",
        positives_range=" (as was given)" if known else _between(low, high),
        certainty=given if known else ", which gives no range" if ends is None else "",
        hidden=f"{positives - labelled:,.0f}",
        hidden_range=_between(low - labelled, high - labelled),
        frequency=_percent(labelled / positives),
        frequency_range="" if ends is None else _percents((labelled / high, labelled / low)),
        prevalence=to_svg(
            "Labelled, hidden positive and negative rows",
            PrevalenceDisplay(n, labelled, positives, positives_range=None if ends is None else (low, high)),
        ),
        audit="" if advice is None else str(advice),
        audit_commands=()
        if advice is None or files is None
        else advice.commands(files[0], str(files[1] or "FILE"), decimal),
        about_groups=" ".join(describe_groups(found)),
        group_ranges=found.scores.hidden_range is not None,
        drawings=_drawings(found),
        learned=[*describe_learning(found), *([] if suggestion is None else [str(suggestion)])],
        at_random="" if found.scar is None else f"{found.scar} {found.scar.rows:,} rows were tested.",
        simulations=None if found.scar is None else to_svg("Simulated and observed labels", ScarDisplay(found.scar)),
        groups=_groups(found),
        review=review,
        review_words=review_words,
        hits=hits,
        naive=_naive_comparison(found),
        effects=_effects(found),
        effect_words=_EFFECTS["prepared" if found.model is not None else "given"],
        convergence=_convergence(found),
        # PUClassifier has two risks, with a constant and a varying propensity, which are not rounds.
        path=to_svg("Risk after each round", path) if len(path.risks) > 2 else None,
        assumptions=describe_assumptions(found),
        bounds=_bounds(found),
        notes=found.notes,
        citation=reference(type(estimator)),
        facts=_facts(found),
        configuration=configuration,
    )


def _bounds(found: TableFit) -> str:
    """What may still be said with weaker assumptions; nothing if nothing is hidden, or if several sources say more."""
    return "" if isinstance(found.estimator, Naive | SeveralSources) else " ".join(describe_bounds(found))


def _drawings(found: TableFit) -> list[Figure]:
    """Figures of the columns with the largest differences: bars by group, and for numbers the propensity curve."""
    overall = float(found.labelled.sum() / found.expected.sum())
    places = {column.name: j for j, column in enumerate(found.schema.columns)}
    figures = []
    for grouping in found.groups[:_DRAWN]:
        figures.append(to_svg(f"Share of positives labelled, by {grouping.column}", GroupDisplay(grouping, overall)))
        values = found.matrix[:, places[grouping.column]]
        kind = found.schema.columns[places[grouping.column]].kind
        if kind == "number" and len(np.unique(values[~np.isnan(values)])) > 2 * len(grouping.groups):
            curve = PropensityCurveDisplay(values, found.scores.propensity, found.expected, name=grouping.column)
            figures.append(to_svg(f"Probability of a label, by {grouping.column}", curve))
    return figures


def _groups(found: TableFit) -> Grid:
    lines = [
        [
            f"{grouping.column}: {group.name}",
            f"{group.rows:,}",
            f"{group.labelled:,}",
            f"{group.positives:,.0f}{_between(group.low, group.high)}",
            _percent(group.frequency) + _percents(group.frequency_range),
        ]
        for grouping in found.groups
        for group in grouping.groups
    ]
    return Grid("All groups", ["group", "rows", "labelled", "estimated positives", "positives labelled"], lines)


def _review(found: TableFit) -> tuple[Grid, str, Figure | None]:
    """The unlabelled rows most likely positive, what they promise, and how many a longer list would find."""
    title = "The unlabelled rows most likely to be positive"
    if isinstance(found.estimator, Naive):
        return Grid(title, ["row"], []), "The naive method treats all of them as negative.", None
    review = list_rows(found, _LISTED)
    head, columns = ["row" if found.ids is None else "id"], [_names(found, review.rows)]
    if review.hidden is not None:
        head.append("positive, given no label")
        columns.append([_chance(each) for each in review.hidden])
    if review.hidden_range is not None:
        head.append("range")
        columns.append([f"{_chance(low)} to {_chance(high)}" for low, high in review.hidden_range])
    head.append("labelled, if positive")
    columns.append(_propensities(found, review))
    figure = None
    if not review.promise.unpromised:
        scores, rest = found.scores, ~found.labelled
        ends = None if scores.hidden_range is None else scores.hidden_range[rest]
        order = review_order(found.estimator, scores)[rest]
        display = ReviewDisplay(scores.hidden[rest], order=order, hidden_range=ends)
        figure = to_svg("Positives expected among the rows reviewed", display)
    lines = [list(line) for line in zip(*columns, strict=True)]
    return Grid(title, head, lines), str(review.promise), figure


def _propensities(found: TableFit, review: ReviewList) -> list[str]:
    """e of the rows of a list, with its range if there is one."""
    e = found.scores.propensity[review.rows]
    if review.hidden_range is None:
        return [_chance(each) for each in e]
    s = (found.scores.posterior[review.rows] * e)[:, np.newaxis]
    # The chance of a label s = y·e is what the labels show; y = s + (1 − s)·h.
    ends = s / (s + (1.0 - s) * review.hidden_range[:, ::-1])
    return [f"{_chance(each)} ({_chance(low)} to {_chance(high)})" for each, (low, high) in zip(e, ends, strict=True)]


def _names(found: TableFit, rows: Any) -> list[str]:
    return [str(row + 1 if found.ids is None else found.ids[row]) for row in rows]


def _naive_comparison(found: TableFit) -> Grid:
    n, labelled = len(found.labelled), int(found.labelled.sum())
    name = type(found.estimator).__name__
    both = int((found.positive & found.naive_positive).sum())
    ends = found.prior_range
    between = "" if ends is None or ends[0] == ends[1] else f"; {ends[0]:.0%} to {ends[1]:.0%}"
    lines = [
        ["estimated positives", _count_of(labelled, n), _count_of(float(found.expected.sum()), n, between)],
        ["rows classified as positive", f"{int(found.naive_positive.sum()):,}", f"{int(found.positive.sum()):,}"],
        ["classified as positive by both", f"{both:,}", f"{both:,}"],
    ]
    return Grid(f"The naive method and {name}", ["", "naive: unlabelled treated as negative", name], lines)


def _effects(found: TableFit) -> Grid | None:
    """The coefficients, if y(x) and e(x) both have them; those of the prepared columns, so that sizes compare."""
    names = getattr(found.estimator, "coef_names_", [column.name for column in found.schema.columns])
    names = names if found.model is None else found.model.feature_names
    head = ["of being labelled, if positive"]
    try:
        beta = found.estimator.coef_[0]
        if isinstance(found.estimator, SeveralSources):
            gammas = found.estimator.source_coef_
            head = [f"of being labelled by {name}, if positive" for name in found.estimator.source_names_]
        else:
            gammas = found.estimator.propensity_coef_
    except AttributeError:
        return None
    if len(names) != len(beta):
        return None
    order = np.argsort(-np.abs(gammas).max(axis=0), kind="stable")
    lines = [[names[j], f"{beta[j]:+.2f}", *(f"{gamma[j]:+.2f}" for gamma in gammas)] for j in order]
    return Grid("Coefficients", ["feature", "of being positive", *head], lines)


def _convergence(found: TableFit) -> str:
    estimator = found.estimator
    rounds = "one round" if estimator.n_iter_ == 1 else f"{estimator.n_iter_} rounds"
    if estimator.converged_:
        return f"The fit converged after {rounds}."
    return f"The fit stopped after {rounds} without converging. See the warnings."


def _facts(found: TableFit) -> list[tuple[str, str]]:
    estimator = found.estimator
    kinds = [column.kind for column in found.schema.columns]
    counts = ", ".join(f"{kinds.count(kind)} {words}" for kind, words in _KINDS.items() if kind in kinds)
    parameters = ", ".join(f"{name}={value!r}" for name, value in estimator.get_params(deep=False).items())
    return [
        ("method", f"{type(estimator).__name__}({parameters})"),
        *([] if found.model is None else [("label", str(found.model.label))]),
        ("columns", counts or f"{estimator.n_features_in_} sparse"),
        ("made", f"{datetime.now(UTC):%Y-%m-%d}, {software()}"),
    ]


_EFFECTS = {
    "prepared": "Change in the log-odds for one standard deviation of a number, or for a category instead of the most "
    "frequent one.",
    "given": "Change in the log-odds for one unit of each feature.",
}
_KINDS = {"number": "numbers", "truth": "true/false", "date": "dates", "category": "categories"}


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{share:.0%}"


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or np.isnan(low) else f" ({low:,.0f} to {high:,.0f})"


def _percents(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f" ({ends[0]:.0%} to {ends[1]:.0%})"


def _chance(chance: float) -> str:
    """Two digits, from 0.01 to 0.99: no estimate is surer."""
    return f"{min(max(chance, 0.01), 0.99):.2f}"


def _count_of(count: float, of: int, between: str = "") -> str:
    return f"{count:,.0f} ({_percent(count / of)}{between})"
