"""What the results of commands are as plain values, for --json. Keys stay; new ones may join them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from propense._diagnostics.diagnosis import Diagnosis
from propense.tables import (
    Headline,
    ReviewList,
    Scored,
    TableFit,
    TableModel,
    advise_audit,
    conclude,
    describe_groups,
    describe_learning,
    headline,
    suggest_columns,
)
from propense.tables.headline import SHARE_GIVEN
from propense.tables.model import prior_range, where_range_holds
from propense.tables.promise import Promise, too_little_learned

__all__ = ["fit_result", "model_numbers", "promise_result", "score_result"]


def fit_result(found: TableFit, table: str, listed: ReviewList | None) -> dict[str, Any]:
    """A fit: counts, estimates with their ranges, groups, what was learned, doubts and notes."""
    counts, estimator, quoted, conclusion = found.counts, found.estimator, headline(found), conclude(found)
    advice, suggestion = advise_audit(found), suggest_columns(found)
    return {
        "table": table,
        "label": None if found.model is None else str(found.model.label),
        "method": type(estimator).__name__,
        "rows": counts.rows,
        "labelled": counts.labelled,
        "headline": str(quoted),
        # Why there is no number, if there is none.
        "unquoted": quoted.unquoted or None,
        **_estimates(quoted),
        "share_given": quoted.certain == SHARE_GIVEN,
        "labelled_share": counts.labelled / counts.rows,
        "diagnosis": _diagnosis(estimator),
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
        "groups_that_differ": [each.column for each in conclusion.differing],
        "about_groups": describe_groups(found),
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
        else {
            **{end: _estimates(quoted)["share"][end] for end in ("low", "high")},
            "size": advice.size,
            "half_width": advice.widths[advice.size] / 2,
            "widths": advice.widths,
        },
    }


def score_result(done: Scored, model: TableModel, out: Path, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Rows that were scored: how many, what is known of them, how far they have moved, and what they promise."""
    moved = [
        {"name": each.name, "shift": each.shift, "words": each.words, "follows_time": each.follows_time}
        for each in done.drift.columns
    ]
    return {
        "rows": done.rows,
        "labelled": done.labelled,
        "label": str(model.label),
        "rows_of_fit": done.fitted,
        "held_out": done.held_out,
        "known_positive": done.known_positive,
        "known_negative": done.known_negative,
        "new_levels": done.new_levels,
        "decimal": done.decimal,
        "drift": {"checked": done.drift.checked, "much": done.drift.much, "columns": moved},
        "promise": promise_result(done.promise),
        "notes": [each.removeprefix("Note: ") for each in notes],
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
    """The share of positives and the label frequency of a fitted estimator, with their ranges; None if left open."""
    if too_little_learned(estimator):
        return {"prior": None, "label_frequency": None, "range": None}
    prior, frequency = float(estimator.prior_), float(estimator.label_frequency_)
    ends, labelled = prior_range(estimator), prior * frequency
    if ends is None:
        return {"prior": _range(prior, None, None), "label_frequency": _range(frequency, None, None), "range": None}
    low, high = (max(each, labelled) for each in ends)
    return {
        "prior": _range(prior, low, high),
        "label_frequency": _range(frequency, labelled / high, min(labelled / low, 1.0) if low > 0 else 1.0),
        "range": where_range_holds(estimator),
    }


def _diagnosis(estimator: Any) -> dict[str, Any] | None:
    """What was known of the labelling, and the worlds that the range is from; None if the method asks none."""
    found, names = getattr(estimator, "diagnosis_", None), ("labelling", "low", "middle", "high", "worlds", "strange")
    return {name: getattr(found, name) for name in names} if isinstance(found, Diagnosis) else None


def _estimates(quoted: Headline) -> dict[str, Any]:
    """The numbers that the headline quotes; null where it does not, so that no number is taken for more than it is."""
    rows, labelled = quoted.rows, quoted.labelled
    middle = None if quoted.unquoted and not quoted.without_range else quoted.middle
    low, high = (None, None) if quoted.unquoted or quoted.certain else (quoted.low, quoted.high)

    def each(convert: Callable[[float], float], *ends: float | None) -> dict[str, Any]:
        return _range(*(None if end is None else convert(end) for end in ends))

    return {
        "positives": _range(middle, low, high),
        "share": each(lambda count: count / rows, middle, low, high),
        "hidden": each(lambda count: count - labelled, middle, low, high),
        "label_frequency": each(lambda count: labelled / count, middle, high, low),
    }


def _range(estimate: Any, low: Any, high: Any) -> dict[str, Any]:
    return {"estimate": estimate, "low": low, "high": high}
