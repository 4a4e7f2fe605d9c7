"""The report of a fit: a page for the analyst who has to act on it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

import numpy as np

from propense.estimators import PUClassifier
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
from propense.tables import TableFit, summarise_estimator

__all__ = ["FitReport", "gather_fit", "report_fit"]

# Number of columns with figures, and of rows in the review list.
_DRAWN, _LISTED = 6, 25
# Level of the test of labels at random.
_LEVEL = 0.05


# Assumptions of every method.
_ALWAYS = (
    "No row is labelled by mistake: every labelled row is positive.",
    "The labels show only how often rows are both positive and labelled. The method's assumptions decide how much of "
    "that is due to being positive and how much to being labelled, and no data can prove them.",
    "The estimate is used for rows like these.",
)


@dataclass(frozen=True)
class FitReport:
    """All that the page shows."""

    template: ClassVar[str] = "fit.html"
    title: str
    method: str
    rows: str
    labelled: str
    positives: str
    hidden: str
    frequency: str
    prevalence: Figure
    caution: str
    drawings: list[Figure]
    diagnosis: list[str]
    at_random: str
    simulations: Figure | None
    groups: Grid
    review: Grid
    review_words: str
    hits: Figure
    naive: Grid
    effects: Grid | None
    effect_words: str
    convergence: str
    path: Figure | None
    assumptions: list[str]
    notes: list[str]
    citation: str
    facts: list[tuple[str, str]]


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


def gather_fit(found: TableFit, title: str) -> FitReport:
    """Collect what the page of a fit shows."""
    estimator = found.estimator
    n, labelled = len(found.labelled), int(found.labelled.sum())
    positives = float(found.expected.sum())
    hidden = found.scores.hidden[~found.labelled]
    review, review_words = _review(found)
    path = RiskPathDisplay(estimator.risk_path_)
    return FitReport(
        title=title,
        method=type(estimator).__name__,
        rows=f"{n:,}",
        labelled=f"{labelled:,}",
        positives=f"{positives:,.0f}",
        hidden=f"{hidden.sum():,.0f}",
        frequency=_percent(labelled / positives),
        prevalence=to_svg("Labelled, hidden positive and negative rows", PrevalenceDisplay(n, labelled, positives)),
        caution=_caution(found),
        drawings=_drawings(found),
        diagnosis=str(estimator.diagnosis_).splitlines() if isinstance(estimator, PUClassifier) else [],
        at_random="" if found.scar is None else f"{found.scar} {found.scar.rows:,} rows were tested.",
        simulations=None if found.scar is None else to_svg("Simulated and observed labels", ScarDisplay(found.scar)),
        groups=_groups(found),
        review=review,
        review_words=review_words,
        hits=to_svg("Positives expected among the rows reviewed", ReviewDisplay(hidden)),
        naive=_naive_comparison(found),
        effects=_effects(found),
        effect_words=_EFFECTS["prepared" if found.model is not None else "given"],
        convergence=_convergence(found),
        # PUClassifier has two risks, with a constant and a varying propensity, which are not rounds.
        path=to_svg("Risk after each round", path) if len(path.risks) > 2 else None,
        assumptions=[*_ALWAYS, *estimator.description.assumes],
        notes=found.notes,
        citation=reference(type(estimator)),
        facts=_facts(found),
    )


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


def _caution(found: TableFit) -> str:
    """A sentence that keeps the figures by group from contradicting the test."""
    if found.scar is None or found.scar.p_value <= _LEVEL or not found.groups:
        return ""
    return "Differences between groups may be due to chance: the test below does not rule out labels given at random."


def _groups(found: TableFit) -> Grid:
    lines = [
        [
            f"{grouping.column}: {group.name}",
            f"{group.rows:,}",
            f"{group.labelled:,}",
            f"{group.positives:,.0f}",
            _percent(group.frequency),
        ]
        for grouping in found.groups
        for group in grouping.groups
    ]
    return Grid("All groups", ["group", "rows", "labelled", "estimated positives", "positives labelled"], lines)


def _review(found: TableFit) -> tuple[Grid, str]:
    """The unlabelled rows most likely positive."""
    unlabelled = np.flatnonzero(~found.labelled)
    order = unlabelled[np.argsort(-found.scores.hidden[unlabelled], kind="stable")[:_LISTED]]
    scores = found.scores
    lines = [
        [
            str(row + 1 if found.ids is None else found.ids[row]),
            f"{scores.hidden[row]:.3f}",
            f"{scores.posterior[row]:.3f}",
            f"{scores.propensity[row]:.3f}",
        ]
        for row in order
    ]
    name = "row" if found.ids is None else "id"
    head = [name, "positive, given no label", "positive, label not known", "labelled, if positive"]
    words = f"About {scores.hidden[order].sum():.1f} of these {len(order)} rows are expected to be positive."
    return Grid("The unlabelled rows most likely to be positive", head, lines), words


def _naive_comparison(found: TableFit) -> Grid:
    n, labelled = len(found.labelled), int(found.labelled.sum())
    name = type(found.estimator).__name__
    both = int((found.positive & found.naive_positive).sum())
    lines = [
        ["estimated positives", _count_of(labelled, n), _count_of(float(found.expected.sum()), n)],
        ["share of positives labelled", "100%", _percent(labelled / float(found.expected.sum()))],
        ["rows classified as positive", f"{int(found.naive_positive.sum()):,}", f"{int(found.positive.sum()):,}"],
        ["classified as positive by both", f"{both:,}", f"{both:,}"],
    ]
    return Grid(f"The naive method and {name}", ["", "naive: unlabelled treated as negative", name], lines)


def _effects(found: TableFit) -> Grid | None:
    """The coefficients, if y(x) and e(x) both have them; those of the prepared columns, so that sizes compare."""
    names = [column.name for column in found.schema.columns] if found.model is None else found.model.feature_names
    try:
        beta, gamma = found.estimator.coef_[0], found.estimator.propensity_coef_[0]
    except AttributeError:
        return None
    if len(names) != len(beta):
        return None
    order = np.argsort(-np.abs(gamma), kind="stable")
    lines = [[names[j], f"{beta[j]:+.2f}", f"{gamma[j]:+.2f}"] for j in order]
    return Grid("Coefficients", ["feature", "of being positive", "of being labelled, if positive"], lines)


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


def _count_of(count: float, of: int) -> str:
    return f"{count:,.0f} ({_percent(count / of)})"
