"""What `propense audit read` prints of a corrected model, and its result in plain values."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from propense.inference import Interval
    from propense.tables import TableAudit, TableModel

__all__ = ["as_result", "corrected_in_words"]


def corrected_in_words(model: "TableModel", path: Path) -> list[str]:
    """What the correction changed."""
    from propense.tables.audit_words import describe_correction

    return [
        describe_correction(model),
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
        "model": {
            "positives": None if found.model_unsure else found.model_share,
            "range": None if found.model_unsure or found.model_range is None else list(found.model_range),
        },
        "advice": [{"more": more, "width": width} for more, width in findings.advice(MORE)],
        "confidence": findings.confidence,
    }


def _ends(found: "Interval") -> dict[str, float]:
    return {name: float(getattr(found, name)) for name in ("estimate", "low", "high")}
