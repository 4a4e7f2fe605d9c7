"""What the results of commands are as plain values, for --json. Keys stay; new ones may join them."""

from pathlib import Path
from typing import Any

from propense.tables import (
    ReviewList,
    Scored,
    TableFit,
    TableModel,
    advise_audit,
    describe_learning,
    headline,
    suggest_columns,
)
from propense.tables.model import prior_range
from propense.tables.promise import Promise

__all__ = ["fit_result", "model_numbers", "promise_result", "score_result"]


def fit_result(found: TableFit, table: Path, listed: ReviewList | None) -> dict[str, Any]:
    """A fit: counts, estimates with their ranges, groups, what was learned, doubts and notes."""
    counts, estimator = found.counts, found.estimator
    ends = found.prior_range
    given = ends is not None and ends[0] == ends[1]
    advice, suggestion = advise_audit(found), suggest_columns(found)
    return {
        "table": table.name,
        "label": None if found.model is None else str(found.model.label),
        "method": type(estimator).__name__,
        "rows": counts.rows,
        "labelled": counts.labelled,
        **_estimates(counts.rows, counts.labelled, estimator.prior_ * counts.rows, None if given else ends),
        "share_given": given,
        # Why the text gives no number, so that a script need not quote one either.
        "unquoted": headline(found).unquoted or None,
        "predicted_positive": counts.positive,
        "naive_predicted_positive": counts.naive_positive,
        "columns": [{"name": each.name, "kind": each.kind} for each in found.schema.columns],
        "groups": [
            {
                "column": grouping.column,
                "groups": [
                    {
                        "name": each.name,
                        "rows": each.rows,
                        "labelled": each.labelled,
                        "positives": _range(each.positives, each.low, each.high),
                        "label_frequency": _range(each.frequency, *(each.frequency_range or (None, None))),
                    }
                    for each in grouping.groups
                ],
            }
            for grouping in found.groups
        ],
        "learned": describe_learning(found),
        "suggestion": None if suggestion is None else str(suggestion),
        "scar_test": None
        if found.scar is None
        else {"p_value": found.scar.p_value, "rows": found.scar.rows, "words": str(found.scar)},
        "doubts": [{"kind": each.kind, "message": each.message} for each in estimator.doubts_],
        "notes": found.notes,
        "list": None if listed is None else {"rows": len(listed.rows), "promise": promise_result(listed.promise)},
        "audit_advice": None
        if advice is None
        else {"low": advice.low, "high": advice.high, "size": advice.size, "half_width": advice.half_width},
    }


def score_result(done: Scored, model: TableModel, out: Path) -> dict[str, Any]:
    """Rows that were scored: how many, what is known of them, and what they promise."""
    return {
        "rows": done.rows,
        "labelled": done.labelled,
        "label": str(model.label),
        "rows_of_fit": done.fitted,
        "held_out": done.held_out,
        "known_positive": done.known_positive,
        "known_negative": done.known_negative,
        "new_levels": done.new_levels,
        "promise": promise_result(done.promise),
        "seconds": done.seconds,
        "files": {"out": out},
    }


def promise_result(promise: Promise) -> dict[str, Any]:
    """How many rows should be positive; the numbers are null if none is promised, and the reason is in words."""
    promised = not promise.unpromised
    return {
        "rows": promise.rows,
        "expected": promise.expected if promised else None,
        "low": promise.low if promised else None,
        "high": promise.high if promised else None,
        "words": str(promise),
    }


def model_numbers(estimator: Any) -> dict[str, Any]:
    """The share of positives and the label frequency of a fitted estimator, with their ranges."""
    prior, frequency = float(estimator.prior_), float(estimator.label_frequency_)
    ends, labelled = prior_range(estimator), prior * frequency
    if ends is None:
        return {"prior": _range(prior, None, None), "label_frequency": _range(frequency, None, None)}
    low, high = (max(each, labelled) for each in ends)
    return {
        "prior": _range(prior, low, high),
        "label_frequency": _range(frequency, labelled / high, min(labelled / low, 1.0) if low > 0 else 1.0),
    }


def _estimates(rows: int, labelled: int, positives: float, ends: tuple[float, float] | None) -> dict[str, Any]:
    low, high = (None, None) if ends is None else (max(rows * each, labelled) for each in ends)
    return {
        "positives": _range(positives, low, high),
        "share": _range(
            positives / rows, *((None, None) if low is None or high is None else (low / rows, high / rows))
        ),
        "hidden": _range(
            positives - labelled, *((None, None) if low is None or high is None else (low - labelled, high - labelled))
        ),
        "label_frequency": _range(
            labelled / positives, *((None, None) if low is None or high is None else (labelled / high, labelled / low))
        ),
    }


def _range(estimate: Any, low: Any, high: Any) -> dict[str, Any]:
    return {"estimate": estimate, "low": low, "high": high}
