"""Whether an audit would say more than the labels do about how many rows are positive."""

import math
import shlex
from dataclasses import dataclass
from typing import Any

from propense._representation import Readable
from propense._text import listed
from propense.errors import InvalidTable
from propense.tables.fit import TableFit
from propense.tables.headline import share_words
from propense.tables.model import TableModel
from propense.tables.promise import too_little_learned

__all__ = ["AuditAdvice", "advise_audit", "sign_to_repeat", "usual_audit"]

# Verdicts that are asked for, and what a 95 % interval of a share takes.
_SIZE, _Z = 200, 1.96


@dataclass(frozen=True, repr=False)
class AuditAdvice(Readable):
    """What an audit would add to the labels; ``str()`` says it in words.

    Attributes
    ----------
    low, high : float
        The range of the share of positives; NaN if too little was learned for one.
    size : int
        How many rows to check.
    half_width : float
        How far the estimate of an audit would be off at most, 95 times in a hundred; 0 if every unlabelled row is
        checked.
    basis : str
        What the range follows from: the labels, columns that were named, a share that was given.
    """

    low: float
    high: float
    size: int
    half_width: float
    basis: str = "labels"

    def __str__(self) -> str:
        left = (
            "The labels do not show how many rows are positive."
            if math.isnan(self.low)
            else f"The {self.basis} leave open whether {share_words(self.low)} or {share_words(self.high)} of the rows "
            "are positive."
        )
        if self.half_width == 0.0:
            return f"{left} If people check all {self.size} unlabelled rows, the share is known."
        points = f"{100 * self.half_width:.0f}" if self.half_width > 0.0095 else f"{100 * self.half_width:.1g}"
        checked = f"If people check {self.size} rows that propense draws"
        return f"{left} {checked}, the share is known to about ±{points} points."

    def commands(self, table: str, model: str, decimal: str | None = None) -> tuple[str, str]:
        """The two commands of the audit, before and after the check; `decimal` is a sign that they must be given."""
        names, sign = (shlex.quote(table), shlex.quote(model)), "" if decimal is None else f" --decimal {decimal}"
        return (
            f"propense audit draw {names[0]} --model {names[1]} --size {self.size} --out check.csv{sign}",
            f"propense audit read check.csv --table {names[0]} --model {names[1]}{sign}",
        )


def advise_audit(found: TableFit) -> AuditAdvice | None:
    """The audit to ask for; None if it would add nothing to the labels, or if there is no range of positives."""
    ends, n = found.prior_range, found.counts.rows
    rest = n - found.counts.labelled
    if ends is None or ends[0] == ends[1] or rest < 2:
        return None
    little = too_little_learned(found.estimator)
    low, high = (1.0 - rest / n, 1.0) if little else (max(each, 1.0 - rest / n) for each in ends)
    size, half = usual_audit(n, n - rest, (low + high) / 2)
    if high - low <= 2.0 * half:
        return None
    return AuditAdvice(math.nan, math.nan, size, half) if little else AuditAdvice(low, high, size, half, _basis(found))


def _basis(found: TableFit) -> str:
    """What the range of the share of positives follows from, after "The"."""
    asked = found.estimator.get_params(deep=False)
    columns = [asked.get(kind) for kind in ("class_features", "propensity_features")]
    named = any(each is not None and len(each) > 0 for each in columns)
    given = asked.get("prior") is not None
    return listed(["labels", *["the named columns"] * named, *["the given share"] * given])


def sign_to_repeat(model: TableModel, given: str | None, table: Any, where: str) -> str | None:
    """The decimal sign that was given, if commands that take the model would read this table otherwise without it."""
    if given is None:
        return None
    sign = model.decimal_sign(None, where)
    try:
        sign.points(table, model.schema.names)
    except InvalidTable:
        return given
    return None if sign.sign == given else given


def usual_audit(rows: int, labelled: int, share: float) -> tuple[int, float]:
    """How many unlabelled rows to check, and how far the share of positives may then be off, 95 times in a hundred.

    The rows are a simple random sample of the unlabelled ones, and `share` of all rows are positive.
    """
    rest = rows - labelled
    size = min(_SIZE, rest)
    hidden = min(max((share * rows - labelled) / rest, 0.0), 1.0)
    spread = hidden * (1.0 - hidden) / size * (rest - size) / max(rest - 1, 1)
    return size, _Z * rest / rows * math.sqrt(spread)
