"""What rows that people check would say of the share of positives, whatever the labels leave open."""

import math
import shlex
from dataclasses import dataclass
from typing import Any

from scipy.special import betaincinv

from propense._representation import Readable
from propense.errors import InvalidTable
from propense.estimators import Naive
from propense.tables.fit import TableFit
from propense.tables.headline import headline
from propense.tables.model import TableModel

__all__ = ["AuditAdvice", "advise_audit", "sign_to_repeat", "widths_after"]

# Numbers of rows to check.
_SIZES = (20, 50, 200)
# What a 95 % interval, as an audit gives, leaves out at either end.
_OUTSIDE = 0.025


@dataclass(frozen=True, repr=False)
class AuditAdvice(Readable):
    """What an audit would say; ``str()`` says it in words.

    Attributes
    ----------
    widths : dict of int to float
        For numbers of unlabelled rows, drawn at random and checked, about how wide the 95 % interval of the share of
        positives is then.
    """

    widths: dict[int, float]

    @property
    def size(self) -> int:
        """The largest of the numbers of rows."""
        return max(self.widths)

    def __str__(self) -> str:
        sizes = _either([str(size) for size in self.widths])
        points = _either([f"{100 * each:.2g}" for each in self.widths.values()])
        return (
            f"If people check {sizes} unlabelled rows that propense draws at random, the 95% interval of the share of "
            f"positives is about {points} points wide, whatever decides which rows are labelled."
        )

    def with_command(self, table: str, model: str, decimal: str | None = None) -> str:
        """The words, and the command that draws the rows."""
        return f"{str(self).rstrip('.')}: {self.commands(table, model, decimal)[0]}"

    def commands(self, table: str, model: str, decimal: str | None = None) -> tuple[str, str]:
        """The two commands of the audit, before and after the check; `decimal` is a sign that they must be given."""
        names, sign = (shlex.quote(table), shlex.quote(model)), "" if decimal is None else f" --decimal {decimal}"
        return (
            f"propense audit draw {names[0]} --model {names[1]} --size {self.size} --out check.csv{sign}",
            f"propense audit read check.csv --table {names[0]} --model {names[1]}{sign}",
        )


def advise_audit(found: TableFit) -> AuditAdvice | None:
    """The audit to ask for; None if it would say no more than is known, or after an audit."""
    quoted, n = headline(found), found.counts.rows
    if quoted.certain or isinstance(found.estimator, Naive) or hasattr(found.estimator, "audit_"):
        return None
    known = not quoted.unquoted or quoted.without_range
    share = quoted.middle / n if known else (1.0 + quoted.labelled / n) / 2
    widths = widths_after(n, quoted.labelled, share)
    wide = math.inf if quoted.unquoted else (quoted.high - quoted.low) / n
    return AuditAdvice(widths) if widths and min(widths.values()) < wide else None


def widths_after(rows: int, labelled: int, share: float) -> dict[int, float]:
    """About how wide the 95 % interval of the share of positives is after so many checks, if it is `share`.

    That of Clopper and Pearson (1934) for unlabelled rows drawn at random, as many of them positive as are expected;
    narrower where they are much of all unlabelled rows. It assumes nothing of the labels.
    """
    rest, widths = rows - labelled, {}
    hidden = min(max((share * rows - labelled) / max(rest, 1), 0.0), 1.0)
    for size in (each for each in _SIZES if each < rest):
        yes, no = size * hidden, size * (1.0 - hidden)
        low = betaincinv(yes, no + 1.0, _OUTSIDE) if yes else 0.0
        high = betaincinv(yes + 1.0, no, 1.0 - _OUTSIDE) if no else 1.0
        widths[size] = float(high - low) * rest / rows * math.sqrt((rest - size) / (rest - 1))
    return widths


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


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
