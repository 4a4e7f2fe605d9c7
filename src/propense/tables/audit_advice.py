"""Whether an audit would say more than the labels do about how many rows are positive."""

import math
import shlex
from dataclasses import dataclass

from propense._representation import Readable
from propense.tables.fit import TableFit
from propense.tables.promise import too_little_learned

__all__ = ["AuditAdvice", "advise_audit"]

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
        How far the estimate of an audit would be off at most, 95 times in a hundred.
    """

    low: float
    high: float
    size: int
    half_width: float

    def __str__(self) -> str:
        left = (
            "The labels do not show how many rows are positive."
            if math.isnan(self.low)
            else f"The labels leave open whether {self.low:.0%} or {self.high:.0%} of the rows are positive."
        )
        if self.half_width == 0.0:
            return f"{left} If people check all {self.size} unlabelled rows, the share is known."
        return (
            f"{left} If people check {self.size} rows drawn at random, the share is known to about "
            f"±{100 * self.half_width:.0f} points."
        )

    def commands(self, table: str, model: str, decimal: str | None = None) -> tuple[str, str]:
        """The two commands of the audit, before and after the check, for a table with this decimal sign."""
        names, sign = (shlex.quote(table), shlex.quote(model)), "" if decimal is None else f" --decimal {decimal}"
        return (
            f"propense audit draw {names[0]} --model {names[1]} --size {self.size} --out check.csv{sign}",
            f"propense audit read check.csv --table {names[0]} --model {names[1]}{sign}",
        )


def advise_audit(found: TableFit) -> AuditAdvice | None:
    """The audit to ask for; None if the labels say as much as it would, or if there is no range."""
    ends, n = found.prior_range, found.counts.rows
    rest = n - found.counts.labelled
    if ends is None or ends[0] == ends[1] or rest < 2:
        return None
    little = too_little_learned(found.estimator)
    low, high = (1.0 - rest / n, 1.0) if little else (max(each, 1.0 - rest / n) for each in ends)
    size = min(_SIZE, rest)
    # A simple random sample of the unlabelled rows, if their share is in the middle of the range.
    share = ((low + high) / 2 - (1.0 - rest / n)) * n / rest
    spread = share * (1.0 - share) / size * (rest - size) / (rest - 1)
    half = _Z * rest / n * math.sqrt(max(spread, 0.0))
    if high - low <= 2.0 * half:
        return None
    return AuditAdvice(math.nan, math.nan, size, half) if little else AuditAdvice(low, high, size, half)
