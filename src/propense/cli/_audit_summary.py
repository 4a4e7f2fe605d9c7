"""What `propense audit read` prints: in words, or as JSON."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propense.cli._flags import with_flags
from propense.tables.audit_words import MORE, describe_audit, describe_correction

if TYPE_CHECKING:
    from propense.inference import Interval
    from propense.tables import TableAudit, TableModel

__all__ = ["as_json", "corrected_in_words", "in_words"]


def in_words(found: "TableAudit") -> list[str]:
    """What the verdicts say."""
    return [with_flags(line) for line in describe_audit(found)]


def corrected_in_words(model: "TableModel", path: Path) -> list[str]:
    """What the correction changed."""
    return [
        describe_correction(model),
        f"Wrote {path}. It remembers the verdicts: audit draw does not draw these rows again, and score --top leaves "
        "them out.",
    ]


def as_json(found: "TableAudit") -> str:
    """One JSON object, without NaN."""
    findings = found.findings
    facts: dict[str, Any] = {
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
    return json.dumps(facts, allow_nan=False)


def _ends(found: "Interval") -> dict[str, float | None]:
    values = {name: float(getattr(found, name)) for name in ("estimate", "low", "high")}
    return {name: None if math.isnan(value) else value for name, value in values.items()}
