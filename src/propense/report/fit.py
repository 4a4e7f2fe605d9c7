"""The report of a fit: a page for the analyst who has to act on it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propense._text import listed
from propense.estimators import Naive, SeveralSources
from propense.estimators._description import reference
from propense.report.charts import (
    Bar,
    Chart,
    Curve,
    capacity_curve,
    group_chart,
    line_figure,
    rows_bar,
)
from propense.report.page import Figure, Page, render, software
from propense.report.plain import plain_learning, plain_notes, without_options
from propense.study.grids import Grid
from propense.tables import (
    GroupComparison,
    GroupShare,
    Headline,
    TableFit,
    advise_audit,
    capacity,
    conclude,
    describe_assumptions,
    describe_bounds,
    describe_groups,
    headline,
    list_rows,
    suggest_columns,
    summarise_estimator,
)
from propense.tables.learned import GROUP_SHARES, known_share
from propense.tables.promise import chance_words, too_little_learned
from propense.tables.suggest import Suggestion

__all__ = ["FitReport", "gather_fit", "report_fit"]

# Number of columns with pictures, and of rows in the review list.
_DRAWN, _LISTED = 6, 100


@dataclass(frozen=True)
class FitReport:
    """All that the page shows."""

    template: ClassVar[str] = "fit.html"
    scripts: ClassVar[tuple[str, ...]] = ("page.js", "fit.js")
    title: str
    headline: str
    bar: Bar
    sureness: list[str]
    next_steps: list[str]
    audit: str
    audit_commands: tuple[str, ...]
    review_words: str
    capacity: Curve | None
    list_words: str
    review: Grid
    reason_columns: tuple[int, ...]
    about_groups: list[str]
    group_charts: list[Chart]
    group_words: str
    groups: Grid
    learned: list[str]
    bounds: str
    at_random: str
    notes: list[str]
    assumptions: list[str]
    naive: Grid
    convergence: str
    path: Figure | None
    facts: list[tuple[str, str]]
    messages: list[str]
    effects: Grid | None
    effect_words: str
    citation: str
    configuration: str = ""


def report_fit(estimator: Any, X: Any, y: Any, *, title: str = "Report", ids: Any = None) -> Page:
    """Make the report of a fitted estimator. Notebooks show it; ``write`` saves it as a file.

    Parameters
    ----------
    estimator : fitted estimator of propense, or a pipeline or search that ends in one
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
    estimator, quoted, conclusion = found.estimator, headline(found), conclude(found)
    # What an audit found rests on no assumption, so that nothing is said of weaker ones.
    audited = hasattr(estimator, "audit_")
    advice, suggestion = advise_audit(found), suggest_columns(found)
    review, review_words, list_words = _review(found)
    curve = None if isinstance(estimator, Naive) else capacity_curve(capacity(found))
    notes = [without_options(note) for note in plain_notes(found)]
    # Only there do the options have the names of the suggestion.
    command_line = files is not None or bool(configuration)
    return FitReport(
        title=title,
        headline=str(quoted),
        bar=rows_bar(quoted),
        sureness=_sureness(quoted, audited, known_share(found)),
        next_steps=_next_steps(found, quoted, advice is not None, suggestion, curve),
        audit="" if advice is None else str(advice),
        audit_commands=()
        if advice is None or files is None
        else advice.commands(files[0], str(files[1] or "FILE"), decimal),
        review_words=review_words,
        capacity=curve,
        list_words=list_words,
        review=review,
        reason_columns=tuple(j for j, name in enumerate(review.head) if name in _WHY),
        about_groups=describe_groups(found),
        group_charts=[group_chart(each) for each in conclusion.differing[:_DRAWN]],
        group_words=_group_words(conclusion.compared, bool(conclusion.differing)),
        groups=_groups(conclusion.compared, bool(conclusion.differing)),
        learned=[*plain_learning(found), *([] if suggestion is None else [_asked(suggestion, command_line)])],
        bounds="" if audited or too_little_learned(estimator) else _bounds(found),
        at_random=conclusion.test,
        notes=notes,
        assumptions=describe_assumptions(found),
        naive=_naive_comparison(found, quoted),
        convergence=_convergence(found),
        path=line_figure("Risk after each round", estimator.risk_path_) if len(estimator.risk_path_) > 1 else None,
        facts=_facts(found),
        messages=[note for note in found.notes if note not in notes],
        effects=_effects(found),
        effect_words=_EFFECTS["prepared" if found.model is not None else "given"],
        citation=reference(type(estimator)),
        configuration=configuration,
    )


def _sureness(quoted: Headline, audited: bool, given: str) -> list[str]:
    """How far the number can be relied on; `given` is what was said of the share of positives."""
    if quoted.without_range:
        return [
            "The method gives an estimate without a range, so that no number is quoted here. The estimate alone is in "
            "the comparison with a naive count."
        ]
    if quoted.unquoted:
        return [f"Not sure enough to quote a number: {quoted.unquoted}."]
    if quoted.certain:
        return [f"The number is not an estimate: {quoted.certain}. Which rows are positive is estimated."]
    times = quoted.high / max(quoted.low, 1.0)
    width = f"The range is {'wide' if times >= _WIDE else 'narrow'}: its upper end is {times:.1f} times its lower end."
    if given and not audited:
        width = f"The range keeps to the share of positives that was given: {given}."
    return [
        width,
        f"In that range, {quoted.frequency} of the positives are labelled, and {quoted.hidden} have no label.",
        "It rests on the rows that people checked, not on assumptions."
        if audited
        else f"It rests on {'this share and on ' if given else ''}assumptions that labels alone cannot prove.",
    ]


def _next_steps(
    found: TableFit, quoted: Headline, audit: bool, suggestion: Suggestion | None, curve: Curve | None
) -> list[str]:
    """What the reader may do with the page."""
    steps = []
    if audit:
        steps.append("To know the number better, have some rows checked that are drawn at random: see below.")
    elif hasattr(found.estimator, "audit_"):
        steps.append("To know the number better, have more rows checked. Those of all draws count.")
    elif not quoted.certain and not isinstance(found.estimator, Naive):
        steps.append("To check the number, have people look at rows that are drawn at random (an audit).")
    if suggestion is not None:
        steps.append(
            f"If {listed(suggestion.columns)} {'says' if len(suggestion.columns) == 1 else 'say'} who gets labelled "
            "rather than who is positive, say so and fit again: see “How sure, and what it rests on”."
        )
    if curve is not None:
        steps.append(
            f"To find positives: {curve.said[0].lower()}{curve.said[1:].partition('. The cut')[0].rstrip('.')}."
        )
    elif not isinstance(found.estimator, Naive):
        steps.append("To find positives, review the list from the top; how many it holds cannot be said.")
    else:
        steps.append("Fit another method: this one does not look for hidden positives.")
    return steps


def _asked(suggestion: Suggestion, command_line: bool) -> str:
    """The question about columns that may be about labelling; the options that answer it are those of a command."""
    return str(suggestion) if command_line else str(suggestion).partition(" If you agree:")[0]


def _bounds(found: TableFit) -> str:
    """What may still be said with weaker assumptions; nothing if nothing is hidden, or if several sources say more."""
    return "" if isinstance(found.estimator, Naive | SeveralSources) else " ".join(describe_bounds(found))


def _group_words(compared: tuple[GroupComparison, ...], differing: bool) -> str:
    few = "A dash means that a group has too few positives to say anything."
    # Where groups differ, the page has said what a share is.
    shares = "" if differing else f"{GROUP_SHARES} Where chance explains all of it, every group has the overall share. "
    if not all(each.ranged for each in compared):
        return f"{shares}The method gives no range, so that shares are shown without one. {few}"
    return (
        f"{shares}Ranges are in brackets. Those of the positives can add up to more than the range over all rows: if "
        f"one group has many positives, another has few. The labelled share also allows for chance. {few}"
    )


def _groups(compared: tuple[GroupComparison, ...], differing: bool) -> Grid:
    """The groups of every column; the ratios only where groups can be distinguished."""
    head = ["group", "rows", "labelled", "estimated positives", "positives labelled"]

    def cells(column: str, each: GroupShare, shown: bool) -> list[str]:
        group = each.group
        ends = "" if np.isnan(each.low) else f" ({each.low:.0%} to {each.high:.0%})"
        line = [
            f"{column}: {group.name}",
            f"{group.rows:,}",
            f"{group.labelled:,}",
            f"{group.positives:,.0f}{_between(group.low, group.high)}",
            f"{each.share:.0%}{ends}" if each.known else "–",
        ]
        ratio = f"{each.ratio:.2f} ({each.ratio_low:.2f} to {each.ratio_high:.2f})" if each.known and shown else "–"
        return [*line, ratio] if differing else line

    lines = [cells(each.column, group, each.differs) for each in compared for group in each.groups]
    return Grid("All groups", [*head, "compared with all"] if differing else head, lines)


def _review(found: TableFit) -> tuple[Grid, str, str]:
    """The unlabelled rows most likely positive with reasons, what they promise, and what the columns are."""
    title = "The unlabelled rows most likely to be positive"
    if isinstance(found.estimator, Naive):
        return Grid(title, ["row"], []), "The naive method treats all of them as negative.", ""
    review = list_rows(found, _LISTED)
    # The list counts the rows of the table.
    rows = found.positions(review.rows)
    numbered = found.ids is None or (found.model is not None and found.model.id is None)
    head, columns = ["row" if numbered else "id"], [_names(found, rows)]
    head.append("rank")
    columns.append([str(i + 1) for i in range(len(review.rows))])
    words = ["The most likely positives come first."]
    if review.hidden_range is not None:
        head.append("chance of being positive")
        columns.append([f"{chance_words(low)} to {chance_words(high)}" for low, high in review.hidden_range])
    if review.hidden is not None:
        head.append("middle" if review.hidden_range is not None else "chance of being positive")
        columns.append([chance_words(each) for each in review.hidden])
    learned = not too_little_learned(found.estimator)
    if learned:
        head.append("chance of a label, if positive")
        columns.append(_propensities(found, rows, review.hidden_range))
    # What was not learned is no reason.
    reasons = review.reasons if learned else ()
    if any(each.raising for each in reasons):
        head.append(_WHY[0])
        columns.append([", ".join(each.raising) or "–" for each in reasons])
        words.append("Reasons name the columns that speak most for a row, the strongest first.")
    if any(each.hiding for each in reasons):
        head.append(_WHY[2] if any(each.shared for each in reasons) else _WHY[1])
        columns.append([", ".join(each.hiding) or "–" for each in reasons])
    lines = [list(line) for line in zip(*columns, strict=True)]
    return Grid(title, head, lines), str(review.promise), " ".join(words)


def _propensities(found: TableFit, rows: NDArray[np.intp], hidden_range: NDArray[np.float64] | None) -> list[str]:
    """e of rows that were fitted, with its range if h has one."""
    e = found.scores.propensity[rows]
    if hidden_range is None:
        return [chance_words(each) for each in e]
    s = (found.scores.posterior[rows] * e)[:, np.newaxis]
    # The chance of a label s = y·e is what the labels show; y = s + (1 − s)·h.
    ends = s / (s + (1.0 - s) * hidden_range[:, ::-1])
    return [
        f"{chance_words(each)} ({chance_words(low)} to {chance_words(high)})"
        for each, (low, high) in zip(e, ends, strict=True)
    ]


def _names(found: TableFit, rows: Any) -> list[str]:
    return [str(row + 1 if found.ids is None else found.ids[row]) for row in rows]


def _naive_comparison(found: TableFit, quoted: Headline) -> Grid:
    counts = found.counts
    both = int((found.positive & found.naive_positive).sum())
    estimate = "not known" if quoted.unquoted else f"{quoted.positives} ({quoted.share})"
    if quoted.without_range:
        estimate = f"{quoted.middle:,.0f}, without a range"
    lines = [
        ["positives", f"{counts.labelled:,} ({quoted.percent(counts.labelled)})", estimate],
        ["rows classified as positive", f"{counts.naive_positive:,}", f"{counts.positive:,}"],
        ["classified as positive by both", f"{both:,}", f"{both:,}"],
    ]
    return Grid(
        "The naive count and the method", ["what", "naive: unlabelled treated as negative", "this analysis"], lines
    )


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
    separates = estimator.description.separates
    kinds = [column.kind for column in found.schema.columns]
    counts = ", ".join(f"{kinds.count(kind)} {words}" for kind, words in _KINDS.items() if kind in kinds)
    parameters = ", ".join(f"{name}={value!r}" for name, value in estimator.get_params(deep=False).items())
    return [
        ("method", f"{type(estimator).__name__}({parameters})"),
        *([("y and e are separated by", separates)] if separates else []),
        *([] if found.model is None else [("label", str(found.model.label))]),
        ("columns", counts or f"{estimator.n_features_in_} sparse"),
        ("made", f"{datetime.now(UTC):%Y-%m-%d}, {software()}"),
    ]


_EFFECTS = {
    "prepared": "Change in the log-odds for one standard deviation of a number, or for a category instead of the most "
    "frequent one.",
    "given": "Change in the log-odds for one unit of each feature.",
}
# Heads of the columns of reasons.
_WHY = ("why it may be positive", "why it may have no label", "what speaks against a label, or against being positive")
# From this ratio of the ends on, a range is called wide.
_WIDE = 1.5
_KINDS = {
    "number": "numbers",
    "truth": "true/false",
    "date": "dates",
    "duration": "durations",
    "category": "categories",
}


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or np.isnan(low) else f" ({low:,.0f} to {high:,.0f})"
