"""What `propense audit read` prints of a corrected model, and its result in plain values."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from propense.inference import Interval
    from propense.tables import TableAudit, TableModel

__all__ = ["as_result", "corrected_in_words"]


def corrected_in_words(model: "TableModel", found: "TableAudit", path: Path) -> list[str]:
    """What the correction changed."""
    facts = model.estimator.audit_
    before, after = facts.prior_before, facts.prior
    way = f"{'less' if after < before else 'more'} often positive than the model said"
    if f"{after:.1%}" == f"{before:.1%}":
        way = "about as often positive as the model said"
    return [
        f"The corrected model gives {after:.1%} positive rows instead of {before:.1%}: unlabelled rows are {way}. "
        "What the labels show, and the order of the list, stay as they are.",
        f"Wrote {path}. It remembers the verdicts: audit draw does not draw these rows again, and score --top leaves "
        "them out.",
    ]


def as_result(found: "TableAudit") -> dict[str, Any]:
    """What the verdicts say in plain values."""
    from propense.tables.audit_words import MORE

    findings = found.findings
    return {
        "verdicts": vars(found.verdicts),
        "positives": _ends(findings.positives),
        "hidden": _ends(findings.hidden),
        "label_frequency": _ends(findings.label_frequency),
        "list": [
            {"length": each.length, "precision": _ends(each.precision), "recall": _ends(each.recall)}
            for each in found.lists
        ],
        "cannot_say": {"positives_if_all_no": found.if_all_no, "positives_if_all_yes": found.if_all_yes},
        "model": {"positives": found.model_share},
        "advice": [{"more": more, "width": width} for more, width in findings.advice(MORE)],
        "confidence": findings.confidence,
    }


def _ends(found: "Interval") -> dict[str, float]:
    return {name: float(getattr(found, name)) for name in ("estimate", "low", "high")}
