"""How many rows are positive, as every output says it: at least, the range, the middle; or why there is no number."""

from collections.abc import Callable
from dataclasses import dataclass

from propense._diagnostics.diagnosis import Diagnosis
from propense.estimators import Naive
from propense.tables.fit import TableFit
from propense.tables.model import where_range_holds
from propense.tables.promise import too_little_learned

__all__ = ["SHARE_GIVEN", "Headline", "headline", "share_words"]

# Why a number has no range although nobody has checked every row.
SHARE_GIVEN = "that share was given"
_TOO_LITTLE = "too little was learned from these rows"
_NO_RANGE = "the method gives an estimate without a range"
_SOURCES = "If a label from one source may halve or double the odds of a label from another"
_NAIVE = "the naive method counts only the labelled rows and does not look for others"


@dataclass(frozen=True)
class Headline:
    """The number of positives among all rows; ``str()`` says it in words.

    Attributes
    ----------
    rows, labelled : int
    middle : float
        The estimated number of positives, labelled rows included.
    low, high : float
        Its range, no lower than the number of labelled rows; both are `middle` if the share was given or is known.
    unquoted : str
        Why no number is given; empty if one is.
    certain : str
        Why there is a number without a range: it was given, or every class is known. Empty otherwise.
    where : str
        What the range holds in, such as "In 9 of 10 worlds whose labels look like these".
    """

    rows: int
    labelled: int
    middle: float
    low: float
    high: float
    unquoted: str = ""
    certain: str = ""
    where: str = ""

    def __str__(self) -> str:
        if self.unquoted:
            return f"How many of the {self.rows:,} rows are positive is left open: {self.unquoted}."
        if self.certain:
            return (
                f"{self.middle:,.0f} of {self.rows:,} rows are positive ({self.percent(self.middle)}): {self.certain}."
            )
        return (
            f"At least {self.labelled:,} of {self.rows:,} rows are positive ({self.percent(self.labelled)}): those "
            f"that are labelled. {self.where}, {self.positives} are ({self.share}); the middle is {self.middle:,.0f} "
            f"({self.percent(self.middle)})."
        )

    @property
    def without_range(self) -> bool:
        """Whether there is an estimate, but no range to quote it with."""
        return self.unquoted == _NO_RANGE

    @property
    def hidden(self) -> str:
        """How many positives have no label, in numbers; empty if no number is given."""
        return self._counted(lambda count: f"{round(count) - self.labelled:,}")

    @property
    def frequency(self) -> str:
        """The share of the positives that are labelled, in numbers; empty if no number is given."""
        return self._counted(lambda count: f"{self.labelled / count:.0%}" if count else "–", turned=True)

    @property
    def positives(self) -> str:
        """The number of positives, in numbers; empty if no number is given."""
        return self._counted(lambda count: f"{count:,.0f}")

    @property
    def share(self) -> str:
        """The share of positives, in numbers; empty if no number is given."""
        return self._counted(self.percent)

    def percent(self, count: float) -> str:
        """A number of rows as a share of all."""
        return share_words(count / self.rows)

    def _counted(self, written: Callable[[float], str], *, turned: bool = False) -> str:
        if self.unquoted:
            return ""
        if self.certain:
            return written(self.middle)
        ends = [written(each) for each in (self.low, self.high)]
        return " to ".join(ends[::-1] if turned else ends)


def share_words(share: float) -> str:
    """A share as every output says it; a small one with more digits, so that some is not none."""
    return f"{share:.0%}" if share >= 0.0995 or not share else f"{100.0 * share:.2g}%"


def headline(found: TableFit) -> Headline:
    """How many rows of a fit are positive.

    Parameters
    ----------
    found : TableFit

    Returns
    -------
    Headline
        Without a number if too little was learned, or if the method gives no range.
    """
    counts, ends, where = found.counts, found.prior_range, where_range_holds(found.estimator)
    middle = counts.labelled + counts.hidden
    n, least = counts.rows, float(counts.labelled)
    if ends is None and found.sources is not None and len(found.sources.priors) > 1:
        shares, where = found.sources.priors.values(), _SOURCES
        ends = min(shares), max(shares)
    diagnosis = getattr(found.estimator, "diagnosis_", None)
    if isinstance(diagnosis, Diagnosis) and diagnosis.labelling == "complete":
        return Headline(n, counts.labelled, middle, middle, middle, certain="the class of every row is known")
    if ends is not None and ends[0] == ends[1]:
        return Headline(n, counts.labelled, middle, middle, middle, certain=SHARE_GIVEN)
    reason = ""
    if isinstance(found.estimator, Naive):
        reason = _NAIVE
    elif too_little_learned(found.estimator):
        reason = _TOO_LITTLE
    elif ends is None:
        reason = _NO_RANGE
    if ends is None:
        return Headline(n, counts.labelled, middle, float("nan"), float("nan"), reason)
    low, high = (max(n * share, least) for share in ends)
    return Headline(n, counts.labelled, middle, min(low, middle), max(high, middle), reason, where=where)
