"""What a comparison of methods means, in plain words."""

import itertools
import math
import re

from propense._text import listed
from propense.tables.audit_advice import AuditAdvice, widths_after
from propense.tables.compare import Comparison, MethodResult

__all__ = ["describe_comparison"]

# Two lists that share at least this much are nearly the same.
_SAME_LIST = 0.8

# Options in words.
_OPTIONS = {
    "class_features": "the columns named for being positive",
    "propensity_features": "the columns named for labelling",
    "prior": "the known share of positives",
    "prior_groups": "its groups",
}


def describe_comparison(found: Comparison) -> list[str]:
    """Sentences: how many positives, where methods agree and where not, their lists, doubts, and what to do."""
    lines = _about(found)
    sure = [each for each in found.answered if not each.doubts]
    if not found.answered:
        return [*lines, "No method gave an estimate of the number of positives.", *_failures(found), *_notes(found)]
    lines += _shares(found, sure or found.answered)
    lines += _checks(found, sure or found.answered)
    lines += _ranges(found)
    lines += _lists(found)
    lines += _doubts(found)
    lines += [
        f"{each.name} cannot use {listed([_OPTIONS.get(name, name) for name in each.ignored])}: it leaves that out."
        for each in found.answered
        if each.ignored
    ]
    return [*lines, *_failures(found), *_notes(found)]


def _notes(found: Comparison) -> list[str]:
    return [f"Note: {note}" for note in found.notes]


def _about(found: Comparison) -> list[str]:
    share = found.labelled / found.rows
    lines = [
        f"{found.labelled:,} of {found.rows:,} rows are labelled ({share:.1%}), so at least as many are positive. The "
        "naive method stops there: it counts every unlabelled row as negative."
        if any(each.baseline for each in found.results)
        else f"{found.labelled:,} of {found.rows:,} rows are labelled ({share:.1%}), so at least as many are positive."
    ]
    if found.rows < found.rows_of_table:
        lines[0] = (
            f"The methods were compared on {found.rows:,} rows drawn at random from the {found.rows_of_table:,} of the "
            f"table. {lines[0]}"
        )
    return lines


def _shares(found: Comparison, counted: list[MethodResult]) -> list[str]:
    """Whether the estimates agree, more closely than a check of some rows could show; and if not, what they rest on."""
    ordered = sorted(counted, key=lambda each: each.share)
    low, high = ordered[0].share, ordered[-1].share
    if len(ordered) == 1:
        only = ordered[0]
        which = "with an estimate"
        if len(found.answered) > 1:
            which = "that does not doubt its own fit"
        return [f"{only.name} is the only method {which}: it says {_said(only)}."]
    unsure = "" if not any(each.doubts for each in found.answered) else " that do not doubt their own fit"
    if all(each.doubts for each in counted):
        unsure = ", all of which doubt their own fit,"
    widths = _widths(found, ordered)
    if high - low <= min(widths.values(), default=0.0):
        return [
            f"The {len(ordered)} methods{unsure} agree: they say {_between(low, high)}. They differ by less than a "
            f"check of {max(widths, default=found.rows)} rows could show. Agreement is not proof: an assumption that "
            "they share may be wrong."
        ]
    below, above = _split(ordered)
    return [
        f"The {len(ordered)} methods{unsure} do not agree: they say that {_between(low, high)} of the rows are "
        "positive. The labels alone do not show who is right: the same labels fit few positives that are often "
        "labelled and many that are rarely labelled, and each method decides by an assumption of its own.",
        f"Fewer positives: {_sides(below)}. More positives: {_sides(above)}. What they assume:",
        *_assumptions(ordered),
        "Choose by what you know of the labelling, or have rows checked.",
    ]


def _widths(found: Comparison, counted: list[MethodResult]) -> dict[int, float]:
    shares = [each.share for each in counted]
    return widths_after(found.rows, found.labelled, (min(shares) + max(shares)) / 2)


def _checks(found: Comparison, counted: list[MethodResult]) -> list[str]:
    """What checked rows would say, and the command that draws them."""
    widths = _widths(found, counted)
    draw = "propense audit draw, with the model of propense fit --model"
    return [f"{str(AuditAdvice(widths)).rstrip('.')}: {draw}."] if widths else []


def _ranges(found: Comparison) -> list[str]:
    """Which estimates lie in the range of a method that gives one, as far as the digits that are shown."""
    lines = []
    baseline = [each for each in found.results if each.baseline and not each.failure]
    for each in found.answered:
        others = [other for other in found.answered if other is not each]
        if not each.has_range or not others:
            continue
        others += baseline
        low, high = _points(each.low), _points(each.high)
        outside = [other.name for other in others if not low <= _points(other.share) <= high]
        words = f"The range of {each.name}, {each.low:.0%} to {each.high:.0%}, contains"
        if not outside:
            lines.append(f"{words} the estimates of all other methods.")
        elif len(outside) < len(others):
            lines.append(f"{words} the estimates of all other methods except {listed(outside)}.")
        else:
            lines.append(f"{words} no other estimate.")
    without = [each.name for each in found.answered if math.isnan(each.low)]
    if without:
        s = "s" if len(without) == 1 else ""
        lines.append(f"{listed(without)} give{s} no range: the estimate rests on the assumptions being right.")
    return lines


def _points(share: float) -> int:
    """Per cent, as it is shown."""
    return int(f"{share:.0%}".removesuffix("%"))


def _lists(found: Comparison) -> list[str]:
    kept = [place for place, each in enumerate(found.results) if not math.isnan(found.overlap[place, place])]
    if len(kept) < 2:
        return []
    shared = {place: found.with_others(found.overlap, place) for place in kept}
    mean, odd = sum(shared.values()) / len(kept), min(kept, key=lambda place: shared[place])
    count, lists = len(found.on_all), "both" if len(kept) == 2 else f"all {len(kept)}"
    advice = "Which rows to review depends on the assumptions."
    if min(shared.values()) >= _SAME_LIST:
        advice = "The lists are nearly the same: which rows to review hardly depends on the assumptions."
    elif count:
        advice = "Review the rows that are on every list first: they do not depend on one assumption."
    lines = [
        f"{count:,} of the first {found.top:,} rows to review {'is' if count == 1 else 'are'} on {lists} lists; two "
        f"lists share {mean:.0%} on average. {advice}"
    ]
    if shared[odd] < min(_SAME_LIST, mean - 0.1):
        lines.append(
            f"The list of {found.results[odd].name} differs most: it shares {shared[odd]:.0%} with the others."
        )
    return lines


def _doubts(found: Comparison) -> list[str]:
    return [
        " ".join(
            [
                f"{each.name} says {_said(each)}, and doubts its own fit.",
                *(_first(doubt.message) for doubt in each.doubts),
            ]
        )
        for each in found.answered
        if each.doubts
    ]


def _first(message: str) -> str:
    """What is wrong, without the numbers that show it and what to do: a fit of this method says those."""
    first = re.split(r"[:.] ", message)[0].rstrip(".")
    # Without names of Python, such as (prior_).
    return re.sub(r" \(\w+_\)", "", first) + "."


def _failures(found: Comparison) -> list[str]:
    return [f"{each.name} gave no estimate: {each.failure}" for each in found.results if each.failure]


def _split(ordered: list[MethodResult]) -> tuple[list[MethodResult], list[MethodResult]]:
    """Estimates in ascending order, split where the gap is widest."""
    gaps = [after.share - before.share for before, after in itertools.pairwise(ordered)]
    place = gaps.index(max(gaps)) + 1
    return ordered[:place], ordered[place:]


def _sides(side: list[MethodResult]) -> str:
    return listed([f"{each.name} ({_said(each)})" for each in side])


def _said(each: MethodResult) -> str:
    """The estimate, with its range if there is one."""
    return f"{each.share:.0%}" + (f", range {each.low:.0%} to {each.high:.0%}" if each.has_range else "")


def _assumptions(ordered: list[MethodResult]) -> list[str]:
    """What each method assumes, those that assume the same on one line."""
    said: dict[str, list[str]] = {}
    for each in ordered:
        said.setdefault(" ".join(each.assumes) or "What it assumes is not said.", []).append(each.name)
    return [f"- {', '.join(names)}: {sentences}" for sentences, names in said.items()]


def _between(low: float, high: float) -> str:
    return f"about {low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"
