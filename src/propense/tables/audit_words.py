"""What an audit found, and what the correction of a model changed, in plain words."""

import math
from typing import TYPE_CHECKING

from propense.inference import Interval
from propense.tables.promise import UNSURE

if TYPE_CHECKING:
    from propense.tables.audit import TableAudit
    from propense.tables.model import TableModel

__all__ = ["MORE", "describe_audit", "describe_correction"]

# Further verdicts that the advice looks at.
MORE = (50, 100, 200, 500, 1000)


def describe_audit(found: "TableAudit") -> list[str]:
    """What the verdicts say."""
    verdicts, findings = found.verdicts, found.findings
    answered = verdicts.positive + verdicts.negative
    lines = [
        f"{verdicts.drawn:,} rows were drawn: {verdicts.positive:,} positive, {verdicts.negative:,} negative, "
        f"{verdicts.cannot_say:,} cannot say, {verdicts.open:,} open."
    ]
    if found.earlier:
        lines.append("Verdicts that the model remembers from earlier audits are included.")
    if found.missing:
        lines.append(f"Note: {found.missing:,} of the open rows are in no file.")
    if verdicts.positive and verdicts.open and not verdicts.negative:
        lines.append(
            "Note: No verdict is negative, and open rows count as not checked. If an empty cell means that the row is "
            "negative, pass negative=''."
        )
    level = f"{100 * findings.confidence:g}%"
    whole = "all rows" if findings is found.of_rows else "the population"
    lines += [
        f"Positive rows, of {whole}: {_shares(findings.positives)}. In brackets: the {level} interval, which rests on "
        "the draw and not on the model.",
        _of_model(found),
        f"Positive rows, of those without a label: {_shares(findings.hidden)}.",
        f"Positives that are labelled: {_shares(findings.label_frequency)}.",
    ]
    if verdicts.cannot_say:
        lines.append(
            f"Rows that nobody could judge are assumed to be like the others. If they were all negative, "
            f"{found.if_all_no:.1%} of {whole} would be positive; if they were all positive, {found.if_all_yes:.1%}."
        )
    lines.append("The list of rows to review, by its length: share of its rows that are positive; share of the hidden")
    lines[-1] += " positives that it finds."
    lines += [
        f"  first {each.length:,}: {_shares(each.precision, 'not checked')}; {_shares(each.recall, 'not known')}"
        for each in found.lists
    ]
    width = 100 * (findings.positives.high - findings.positives.low)
    advice = [f"{100 * wide:.1f} with {more:,} more" for more, wide in findings.advice(MORE)]
    after = "1 verdict" if answered == 1 else f"{answered:,} verdicts"
    words = f"The interval of the share of positives is {width:.1f} points wide after {after}"
    lines.append(f"{words}; about {', '.join(advice)}." if advice else f"{words}.")
    return lines


def describe_correction(model: "TableModel") -> str:
    """What the correction changed."""
    facts = model.estimator.audit_
    before, after = facts.prior_before, facts.prior
    ends = f"{facts.low:.1%} to {facts.high:.1%}"
    unsure = any(doubt.kind in UNSURE for doubt in model.estimator.doubts_)
    said = "its scores said" if unsure else "the model said"
    way = f"{'less' if after < before else 'more'} often positive than {said}"
    if facts.low <= before <= facts.high:
        way = f"about as often positive as {said}, as far as the verdicts show"
    return (
        f"The corrected model gives {after:.1%} positive rows (95% interval {ends}): unlabelled rows are {way}. What "
        "the labels show, and the order of the list, stay as they are."
    )


def _of_model(found: "TableAudit") -> str:
    share, ends, known = found.model_share, found.findings.positives, found.model_range
    if found.model_unsure:
        return "The model alone gave no number: too little was learned."
    if known is None or known[0] == known[1]:
        where = "inside" if ends.low <= share <= ends.high else "outside"
        return f"The model alone said {share:.1%}, which is {where} the interval."
    said = f"The model alone said {known[0]:.1%} to {known[1]:.1%}, with {share:.1%} as the middle estimate"
    if known[0] <= ends.low and ends.high <= known[1]:
        return f"{said}. The interval is within that range."
    if ends.low <= known[1] and known[0] <= ends.high:
        return f"{said}. The interval overlaps that range."
    return f"{said}. The interval is outside that range: what the model assumes does not hold here."


def _shares(found: Interval, unknown: str = "not known") -> str:
    ends = f"{found.low:.1%} to {found.high:.1%}"
    return f"{unknown} ({ends})" if math.isnan(found.estimate) else f"{found.estimate:.1%} ({ends})"
