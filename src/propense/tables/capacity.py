"""How many rows must be reviewed? What lists of every length should find, and which length is worth its cost."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propense.errors import InvalidOption
from propense.estimators import Naive
from propense.tables.fit import TableFit
from propense.tables.headline import headline
from propense.tables.model import review_order
from propense.tables.promise import TOO_LITTLE, Promise, audited_range, chance_words, likely_range, too_little_learned

__all__ = ["Capacity", "Cheapest", "ToFind", "capacity", "keep_to_headline", "why_unpromised"]

_NO_LIST = "the naive method treats unlabelled rows as negatives"
_SAMPLE = "only a sample of the rows is in memory"
_NO_RANGE = "the method gives no range of the chances"
# Round numbers of positives to find: these, and ten, a hundred, … times as many.
_ROUND = (1, 2, 5)


class ToFind(NamedTuple):
    """How many rows to review, the most likely positives first, to find a given number of positives.

    Attributes
    ----------
    positives : int
        The number of positives to find.
    low, expected, high : int or None
        The fewest rows that may do, the number that should do on average, and the number that does even if the list
        yields as few positives as it may: all unlabelled rows, if only they are sure to hold as many. None if even all
        unlabelled rows do not.
    """

    positives: int
    low: int | None
    expected: int | None
    high: int | None


class Cheapest(NamedTuple):
    """The length of a list at which the expected cost is lowest.

    Attributes
    ----------
    length : int
        How many rows to review.
    cut : float
        The chance of being positive from which on a review is worth it: alarm / (miss + alarm).
    range : (int, int)
        The lengths that are cheapest at the lower and at the upper ends of the chances.
    """

    length: int
    cut: float
    range: tuple[int, int]


@dataclass(frozen=True)
class Capacity:
    """What a list of any length should find; ``str()`` says it in words.

    Attributes
    ----------
    lengths : int ndarray of shape (n_lengths,)
        From 0 to the number of unlabelled rows. Empty if no number is promised.
    expected, low, high : ndarray of shape (n_lengths,)
        How many positives are expected among the first rows of the list, and the range of this number, as in `Promise`.
        A longer list finds at least as many, so none of them ever falls. None is above the most positives that there
        may be by the headline, and all unlabelled rows hold at least the fewest.
    hidden : ndarray of shape (n_lengths - 1,)
        h(x) of the rows of the list, in its order.
    rows : int ndarray of shape (n_lengths - 1,)
        Where they are in the table, from 0.
    unpromised : str
        Why no numbers are given; empty if they are.
    audited : bool
        Whether an audit has corrected the chances.
    """

    lengths: NDArray[np.intp]
    expected: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    hidden: NDArray[np.float64]
    rows: NDArray[np.intp]
    unpromised: str = ""
    audited: bool = False
    # What `Promise` says of each length, and the sums of both ends of the chances.
    _ends: NDArray[np.float64] = field(default_factory=lambda: np.empty((2, 0)), repr=False)
    _sums: NDArray[np.float64] = field(default_factory=lambda: np.empty((2, 0)), repr=False)
    _total: int = 0

    @property
    def unlabelled(self) -> int:
        """The number of unlabelled rows, which is the longest list."""
        return self._total

    def at(self, length: int) -> Promise:
        """What a list of this length promises; all unlabelled rows if there are fewer."""
        length = min(_whole("length", length, 0), self._total)
        if self.unpromised:
            return Promise(length, np.nan, np.nan, np.nan, self.unpromised)
        low, high = self._ends[:, length]
        return Promise(length, float(self.expected[length]), float(low), float(high), audited=self.audited)

    def to_find(self, count: int) -> tuple[int | None, int | None, int | None]:
        """How many rows to review to find `count` positives: the fewest, the expected number, and the most.

        None means that even all unlabelled rows may not be enough, or, of the first two, are not.
        """
        count = _whole("count", count, 0)
        if self.unpromised:
            return None, None, None
        # Sums of chances are not exact: 50 positives of 50 certain rows are found.
        ends = (int(np.searchsorted(curve, count - 1e-9)) for curve in (self.high, self.expected, self.low))
        low, expected, high = (place if place < len(self.lengths) else None for place in ends)
        return low, expected, high

    def cheapest(self, miss: float, alarm: float) -> Cheapest:
        """The length of the list with the lowest expected cost.

        Parameters
        ----------
        miss : float
            What a positive row costs that is not reviewed.
        alarm : float
            What a negative row costs that is reviewed. Only the ratio of the two matters.

        Returns
        -------
        Cheapest
        """
        for name, cost in (("miss", miss), ("alarm", alarm)):
            if not (isinstance(cost, int | float | np.number) and np.isfinite(cost) and cost > 0):
                raise InvalidOption(f"The cost of {_COSTS[name]} is {cost!r}, and must be a number above 0.")
        if self.unpromised:
            raise InvalidOption(f"No length of the list can be recommended: {self.unpromised}.")

        def best(found: NDArray[np.float64]) -> int:
            return int(np.argmin(alarm * (self.lengths - found) - miss * found))

        low, high = (best(each) for each in self._sums)
        length = best(self.expected)
        return Cheapest(length, float(alarm / (miss + alarm)), (min(low, length), max(high, length)))

    def table(self) -> list[ToFind]:
        """How many rows to review for round numbers of positives, as many as are expected in the whole table."""
        if self.unpromised:
            return []
        most = float(self.expected[-1])
        counts = [one * 10**power for power in range(1, 12) for one in _ROUND if one * 10**power <= most]
        counts = counts if len(counts) > 1 else [count for count in (1, 2, 5, *counts) if count <= most]
        return [ToFind(count, *self.to_find(count)) for count in counts]

    def about_length(self, length: int) -> str:
        """What to expect if `length` rows can be reviewed, in words."""
        promise = self.at(length)
        if self.unpromised:
            return str(promise)
        if not promise.rows:
            return "No row is reviewed, so none is found."
        first = "the first row" if promise.rows == 1 else f"the first {promise.rows:,} rows"
        return f"{promise.about(f'{first} of the list')} {self.about_cut(promise.rows)}"

    def about_cut(self, length: int) -> str:
        """Where a list of this length ends, in words; empty without numbers."""
        length = min(_whole("length", length, 0), self._total)
        if self.unpromised or not length:
            return ""
        if length == self._total:
            return f"These are all {self._total:,} unlabelled rows."
        low, high = self._sums[:, length] - self._sums[:, length - 1]
        last = f"{chance_words(self.hidden[length - 1])} ({chance_words(low)} to {chance_words(high)})"
        return f"The list ends at a row with a chance of {last} of being positive."

    def about_count(self, count: int) -> str:
        """How many rows to review to find `count` positives, in words."""
        if self.unpromised:
            return f"No number is promised: {self.unpromised}."
        low, expected, high = self.to_find(count)
        many = "1 positive" if count == 1 else f"{count:,} positives"
        if low is None:
            return f"{many.capitalize()} cannot be expected: all {self._total:,} unlabelled rows hold fewer."
        if expected is None:
            return f"To find {many}, review at least {low:,} rows; all {self._total:,} unlabelled rows may hold fewer."
        if high is None:
            return (
                f"To find {many}, expect to review {expected:,} rows (at least {low:,}; all {self._total:,} unlabelled "
                "rows may hold fewer)."
            )
        most = f"all {high:,}" if high == self._total else f"{high:,}"
        return f"To find {many}, expect to review {expected:,} rows ({low:,} to {most})."

    def about_costs(self, miss: float, alarm: float) -> str:
        """The list with the lowest expected cost, in words."""
        if self.unpromised:
            return f"No length of the list can be recommended: {self.unpromised}."
        length, cut, (low, high) = self.cheapest(miss, alarm)
        costs = f"If missing a positive costs {miss:g} and reviewing a negative costs {alarm:g}"
        worth = f"a row is worth reviewing if its chance is at least {chance_words(cut)}"
        ends = "" if low == high == length else f" ({low:,} to {high:,})"
        rows = "no row" if not length else "the first row" if length == 1 else f"the first {length:,} rows"
        return f"{costs}, {worth}: review {rows} of the list{ends}."

    def __str__(self) -> str:
        if self.unpromised:
            return f"No number of positives is given for the unlabelled rows: {self.unpromised}."
        return "\n".join(self.about_count(row.positives) for row in self.table()) or self.about_length(self._total)


_COSTS = {"miss": "a positive that is missed", "alarm": "a negative that is reviewed"}


def capacity(found: TableFit) -> Capacity:
    """How many of the unlabelled rows of a fit to review, most likely positives first, to find how many positives.

    The numbers are those of `Promise`, from h(x) by models that have not seen the rows. So they agree with what
    `list_rows` promises for a list of the same length.

    Parameters
    ----------
    found : TableFit
        What `fit_table` returned.

    Returns
    -------
    Capacity

    Examples
    --------
    >>> from propense.tables import TableFile, capacity, fit_table
    >>> found = fit_table(TableFile("patients.csv").read(), "reported", id="patient")  # doctest: +SKIP
    >>> print(capacity(found))  # doctest: +SKIP
    >>> capacity(found).to_find(50)  # doctest: +SKIP
    >>> capacity(found).cheapest(miss=20, alarm=1)  # doctest: +SKIP
    """
    unlabelled = np.flatnonzero(~found.labelled)
    order = review_order(found.estimator, found.scores)[unlabelled]
    rows = unlabelled[np.argsort(-order, kind="stable")]
    hidden, ends, slopes = found.scores.hidden[rows], found.scores.hidden_range, found.scores.slopes
    reason = _why_not(found)
    if reason or ends is None:
        none = np.empty(0)
        return Capacity(
            np.empty(0, np.intp), none, none, none, hidden[:0], rows[:0], reason or _NO_RANGE, _total=len(rows)
        )
    parts = np.column_stack([np.ones(len(rows)), hidden, ends[rows], hidden * (1.0 - hidden)])
    sums = np.concatenate([np.zeros((1, 5)), np.cumsum(parts, axis=0)]).T
    audit = getattr(found.estimator, "audit_", None)
    if audit is not None and slopes is not None:
        added = np.concatenate([np.zeros((1, slopes.shape[1])), np.cumsum(slopes[rows], axis=0)]).T
        low, high = audited_range(sums, added, audit.covariance)
    else:
        low, high = likely_range(sums)
    low, high = keep_to_headline(found, sums[0], low, high)
    return Capacity(
        np.arange(len(rows) + 1),
        sums[1],
        np.maximum.accumulate(low),
        np.maximum.accumulate(high),
        hidden,
        found.in_table(rows),
        audited=audit is not None,
        _ends=np.stack([low, high]),
        _sums=sums[2:4],
        _total=len(rows),
    )


def keep_to_headline(found: TableFit, rows: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The range of the positives among so many unlabelled rows, without contradicting the number for all rows.

    All unlabelled rows hold as many as it says, and no list is sure to hold more than they are, or may hold more than
    they may. The sums of a range of each row can do so: not every row is at the same end at once.
    """
    quoted = headline(found)
    if quoted.unquoted:
        return low, high
    least, most = quoted.low - quoted.labelled, quoted.high - quoted.labelled
    complete = np.asarray(rows) == found.counts.rows - found.counts.labelled
    return np.where(complete, least, np.minimum(low, least)), np.where(complete, most, np.minimum(high, most))


def why_unpromised(found: TableFit) -> str:
    """Why no number of positives is promised of rows of a fit; empty if one is."""
    audited = hasattr(found.estimator, "audit_")
    if too_little_learned(found.estimator):
        return TOO_LITTLE
    if not found.out_of_fold and not audited:
        return "the method was fitted to them, so what it says of them is too certain"
    return ""


def _why_not(found: TableFit) -> str:
    """Why nothing is said of lists of all lengths."""
    if isinstance(found.estimator, Naive):
        return _NO_LIST
    return _SAMPLE if len(found.labelled) < found.counts.rows else why_unpromised(found)


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidOption(f"{name}={value!r} is not a number of rows: use {least}, {least + 1}, …")
    return int(value)
