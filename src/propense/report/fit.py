"""The report of a fit: a page for the doctor, auditor or moderator who has to act on it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from propense.estimators import PUClassifier
from propense.plots import (
    GroupDisplay,
    PrevalenceDisplay,
    PropensityCurveDisplay,
    ReviewDisplay,
    RiskPathDisplay,
    ScarDisplay,
)
from propense.report.page import Figure, Page, drawn, render, software
from propense.report.words import ALWAYS, ASSUMES, reference
from propense.study.grids import Grid
from propense.tables import TableFit, explain

__all__ = ["FitReport", "gather_fit", "render_fit", "report_fit"]

# Columns drawn, and rows listed.
_DRAWN, _LISTED = 6, 25


@dataclass(frozen=True)
class FitReport:
    """Everything the page shows, in plain words and numbers."""

    title: str
    method: str
    labelled: str
    positives: str
    hidden: str
    frequency: str
    prevalence: Figure
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
    """The page of an estimator fitted by hand; notebooks show it, and ``write`` keeps it.

    Parameters
    ----------
    estimator : fitted estimator of propense, or a pipeline that ends in one
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The features it was fitted on.
    y : array-like of shape (n_samples,)
        The labels it was fitted on.
    title : str, default="Report"
    ids : array-like of shape (n_samples,), default=None
        Names of the rows, for the review list.

    Returns
    -------
    Page
    """
    return Page(render_fit(gather_fit(explain(estimator, X, y, ids=ids), title)))


def gather_fit(found: TableFit, title: str) -> FitReport:
    """What a fit says."""
    estimator = found.estimator
    n, labelled = len(found.labelled), int(found.labelled.sum())
    positives = float(found.expected.sum())
    hidden = found.scores.hidden[~found.labelled]
    review, words = _review(found)
    path = RiskPathDisplay(estimator.risk_path_)
    return FitReport(
        title=title,
        method=type(estimator).__name__,
        labelled=f"{labelled:,} of {n:,}",
        positives=f"{positives:,.0f}",
        hidden=f"{hidden.sum():,.0f}",
        frequency=_percent(labelled / positives),
        prevalence=drawn("Rows", PrevalenceDisplay(n, labelled, positives)),
        drawings=_drawings(found),
        diagnosis=str(estimator.diagnosis_).splitlines() if isinstance(estimator, PUClassifier) else [],
        at_random="" if found.scar is None else f"{found.scar} {found.scar.rows:,} rows were looked at.",
        simulations=None if found.scar is None else drawn("Labels drawn at random, and these", ScarDisplay(found.scar)),
        groups=_groups(found),
        review=review,
        review_words=words,
        hits=drawn("What a look at the likeliest rows is expected to find", ReviewDisplay(hidden)),
        naive=_beside_naive(found),
        effects=_effects(found),
        effect_words=_EFFECTS["prepared" if found.model is not None else "given"],
        convergence=_convergence(found),
        path=drawn("Risk after each round", path) if len(path.risks) > 1 else None,
        assumptions=[*ALWAYS, *ASSUMES.get(type(estimator).__name__, ())],
        notes=found.notes,
        citation=reference(type(estimator)),
        facts=_facts(found),
    )


def render_fit(report: FitReport) -> str:
    """The page."""
    return render("fit.html", report)


def _drawings(found: TableFit) -> list[Figure]:
    """The columns with the largest differences: bars by group, and for numbers the curve of the propensity."""
    overall = float(found.labelled.sum() / found.expected.sum())
    places = {column.name: j for j, column in enumerate(found.schema.columns)}
    figures = []
    for grouping in found.groups[:_DRAWN]:
        figures.append(drawn(f"Labelled share by {grouping.column}", GroupDisplay(grouping, overall)))
        values = found.matrix[:, places[grouping.column]]
        kind = found.schema.columns[places[grouping.column]].kind
        if kind == "number" and len(np.unique(values[~np.isnan(values)])) > 2 * len(grouping.groups):
            curve = PropensityCurveDisplay(values, found.scores.propensity, found.expected, name=grouping.column)
            figures.append(drawn(f"Chance of a label along {grouping.column}", curve))
    return figures


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
    return Grid("Every group", ["group", "rows", "labelled", "positives, estimated", "of them labelled"], lines)


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
    head = ["row" if found.ids is None else "id", "positive, though unlabelled", "positive", "labelled if positive"]
    words = f"Of these {len(order)} rows about {scores.hidden[order].sum():.1f} are expected to be positive."
    return Grid("Chances of the likeliest unlabelled rows", head, lines), words


def _beside_naive(found: TableFit) -> Grid:
    n, labelled = len(found.labelled), int(found.labelled.sum())
    name = type(found.estimator).__name__
    both = int((found.positive & found.naive_positive).sum())
    lines = [
        ["positives, estimated", f"{labelled:,} ({_percent(labelled / n)})", _counted(float(found.expected.sum()), n)],
        ["of them labelled", "100 %", _percent(labelled / float(found.expected.sum()))],
        ["rows called positive", f"{int(found.naive_positive.sum()):,}", f"{int(found.positive.sum()):,}"],
        ["called positive by both", f"{both:,}", f"{both:,}"],
    ]
    return Grid(f"The naive method and {name}", ["", "naive: unlabelled taken for negative", name], lines)


def _effects(found: TableFit) -> Grid | None:
    """The coefficients, where both predictors have some; of the prepared columns, so that sizes compare."""
    names = [column.name for column in found.schema.columns] if found.model is None else found.model.feature_names
    try:
        beta, gamma = found.estimator.coef_[0], found.estimator.propensity_coef_[0]
    except AttributeError:
        return None
    if len(names) != len(beta):
        return None
    order = np.argsort(-np.abs(gamma), kind="stable")
    lines = [[names[j], f"{beta[j]:+.2f}", f"{gamma[j]:+.2f}"] for j in order]
    return Grid("Coefficients", ["feature", "being positive", "being labelled, if positive"], lines)


def _convergence(found: TableFit) -> str:
    estimator = found.estimator
    rounds = "one round" if estimator.n_iter_ == 1 else f"{estimator.n_iter_} rounds"
    if estimator.converged_:
        return f"The fit came to rest after {rounds}."
    return f"The fit was stopped after {rounds} and had not come to rest. See the warnings."


def _facts(found: TableFit) -> list[tuple[str, str]]:
    estimator = found.estimator
    kinds = [column.kind for column in found.schema.columns]
    counts = ", ".join(f"{kinds.count(kind)} {words}" for kind, words in _KINDS.items() if kind in kinds)
    parameters = ", ".join(f"{name}={value!r}" for name, value in estimator.get_params(deep=False).items())
    return [
        ("method", f"{type(estimator).__name__}({parameters})"),
        *([] if found.model is None else [("labelled", str(found.model.label))]),
        ("columns", counts or f"{estimator.n_features_in_} sparse"),
        ("made", f"{datetime.now(UTC):%Y-%m-%d}, {software()}"),
    ]


_EFFECTS = {
    "prepared": "Log-odds for one standard deviation of a number, or for a level against the most frequent one.",
    "given": "Log-odds for one unit of each feature as it was given.",
}
_KINDS = {"number": "numbers", "truth": "true/false", "category": "categories"}


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.0f} %"


def _counted(count: float, of: int) -> str:
    return f"{count:,.0f} ({_percent(count / of)})"
