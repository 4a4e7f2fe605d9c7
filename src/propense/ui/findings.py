"""What the page says of a fit or an audit, range first."""

from typing import Any

from propense.report.plain import plain_learning
from propense.tables import ReviewList, TableAudit, TableFit, advise_audit, suggest_columns
from propense.tables.headline import headline
from propense.tables.promise import too_little_learned
from propense.ui.words import FIELDS, in_fields

__all__ = ["describe_audit_result", "describe_result"]


def describe_result(found: TableFit, listed: ReviewList, notes: list[str]) -> dict[str, Any]:
    """The summary of a fit, as the page of its result shows it."""
    rows, labelled = found.counts.rows, found.counts.labelled
    advice, suggestion = advise_audit(found), suggest_columns(found)
    return {
        "rows": rows,
        "labelled": labelled,
        "label": "" if found.model is None else str(found.model.label),
        "id": None if found.model is None else found.model.id,
        "headline": str(headline(found)),
        "certain": not too_little_learned(found.estimator),
        "promise": str(listed.promise),
        "listed": len(listed.rows),
        "advice": "" if advice is None else str(advice),
        "size": 200 if advice is None else advice.size,
        "unlabelled": rows - labelled,
        "learned": [in_fields(line) for line in plain_learning(found)],
        "suggestion": "" if suggestion is None else _on_page(str(suggestion)),
        "notes": [in_fields(note) for note in notes],
    }


def _on_page(suggestion: str) -> str:
    """The question about columns that may be about labelling, with the boxes that answer it."""
    asked, _, options = suggestion.partition(" If you agree:")
    return f"{asked} If you agree, tick “{FIELDS['propensity_features']} it” for it." if options else asked


def describe_audit_result(found: TableAudit) -> dict[str, Any]:
    """The summary of an audit: what the page shows above its lines."""
    share, count = found.findings.positives, found.verdicts
    level = f"{100 * found.findings.confidence:g}%"
    return {
        "headline": f"About {share.estimate:.1%} of the rows are positive ({level} interval {share.low:.1%} to "
        f"{share.high:.1%}). This rests on {count.positive + count.negative:,} checked rows, not on a model.",
        "counts": vars(count),
    }
