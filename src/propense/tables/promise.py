"""How many of some unlabelled rows should be positive, with a range; and when no number is given."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._maths.logistic import logit, sigmoid
from propense._representation import Readable
from propense.estimators._base import BasePUClassifier

__all__ = [
    "TOO_LITTLE",
    "UNSURE",
    "Promise",
    "add_up",
    "audited_range",
    "chance_words",
    "likely_range",
    "too_little_learned",
]

# The doubts with which no number of positives is promised. With the first five, rows or labels are too few, too
# unrelated to the columns or too closely followed to say how likely any row is; with the last three, the number of
# positives is not determined at all. The other doubts are about how labels divide into being positive and being
# labelled, which is what the range of h(x) is for.
UNSURE = (
    "few_rows",
    "few_labels",
    "labels_per_feature",
    "unexplained",
    "memorised",
    "all_positive",
    "all_labelled",
    "no_overlap",
)
TOO_LITTLE = "too little was learned, as the notes on the fit explain"
_COVERS = "In brackets: what 8 of 10 worlds whose labels look like these allow, with chance."
_COVERS_AUDITED = "The range covers, in 95 of 100 cases, chance in the verdicts of the audit and in the number found."
# Eight of ten values of a normal distribution are within this many standard deviations.
_EIGHT_OF_TEN = 1.28
# And 95 of a hundred within this many.
_MOST = 1.96


@dataclass(frozen=True, repr=False)
class Promise(Readable):
    """How many of some unlabelled rows are expected to be positive; ``str()`` says it in words.

    Attributes
    ----------
    rows : int
        How many rows there are.
    expected : float
        The expected number of positives: the sum over the rows of h(x), the chance that an unlabelled row is positive.
    low, high : float
        The range of the number of positives. It begins with the sums of the lower ends and of the upper ends of h(x),
        which are those of worlds whose labels look like these. Each end is then moved outwards by 1.28 standard
        deviations of the number of positives among the rows, what chance adds in eight of ten cases. NaN if the method
        gives no range. If an audit has corrected h(x), this is a 95 % interval instead.
    unpromised : str
        Why the numbers should not be relied on; empty if they may.
    audited : bool
        Whether an audit has corrected the chances.
    """

    rows: int
    expected: float
    low: float
    high: float
    unpromised: str = ""
    audited: bool = False

    @classmethod
    def of(cls, sums: NDArray[np.float64], unpromised: str = "") -> "Promise":
        """The promise for rows that `add_up` has added up."""
        rows, expected = sums[:2].tolist()
        low, high = likely_range(sums)
        return cls(round(rows), expected, float(low), float(high), unpromised)

    @classmethod
    def of_audit(cls, sums: NDArray[np.float64], slopes: NDArray[np.float64], covariance: Any) -> "Promise":
        """The same with chances that an audit has corrected; `slopes` are the sums of their slopes.

        How uncertain the sum of h is follows from its slopes and the covariance of the correction, in log-odds of the
        share, so that it stays between none and all. What chance adds to the number joins as variances do.
        """
        low, high = audited_range(sums, slopes, covariance)
        return cls(round(float(sums[0])), float(sums[1]), float(low), float(high), audited=True)

    def __str__(self) -> str:
        return self.about("this row" if self.rows == 1 else f"these {self.rows:,} rows")

    def about(self, rows: str) -> str:
        """The promise in words, for rows called this."""
        if self.unpromised:
            return f"No number of positives is given for {rows}: {self.unpromised}."
        count = f"{self.expected:,.0f}"
        words = f"Of {rows}, about {count} {'is' if count == '1' else 'are'} expected to be positive"
        if np.isnan(self.low):
            return f"{words}. The method gives no range."
        return f"{words} ({self.low:,.0f} to {self.high:,.0f}). {_COVERS_AUDITED if self.audited else _COVERS}"


def add_up(hidden: NDArray[np.float64], ends: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The number of rows, and their sums of h, of both ends of its range, and of h(1 − h), for `Promise.of`."""
    low, high = (np.nan, np.nan) if ends is None else ends.sum(axis=0)
    return np.array([len(hidden), hidden.sum(), low, high, (hidden * (1.0 - hidden)).sum()])


def likely_range(sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the most positives among rows that are added up, or among each of several sets of them."""
    rows, _, low, high, variance = sums
    chance = _EIGHT_OF_TEN * np.sqrt(np.maximum(variance, 0.0))
    return np.clip(low - chance, 0.0, rows), np.clip(high + chance, 0.0, rows)


def audited_range(
    sums: NDArray[np.float64], slopes: NDArray[np.float64], covariance: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The 95 % interval of `Promise.of_audit`, for rows that are added up, or each of several sets of them.

    `slopes` have a row for each value of the correction.
    """
    count, expected, _, _, chance = sums
    rows = np.maximum(count, 1.0)
    share = np.clip(expected / rows, 1e-9, 1.0 - 1e-9)
    spread = np.maximum((slopes * (np.asarray(covariance) @ slopes)).sum(axis=0), 0.0)
    far = _MOST * np.sqrt(spread) / (rows * share * (1.0 - share))
    noise = _MOST * np.sqrt(np.maximum(chance, 0.0))
    low, high = (np.hypot(expected - rows * sigmoid(logit(share) + way * far), noise) for way in (-1.0, 1.0))
    return np.maximum(expected - low, 0.0), np.minimum(expected + high, count)


def chance_words(chance: float) -> str:
    """A chance as every output says it: two digits, from 0.01 to 0.99, as no estimate is surer."""
    return f"{min(max(float(chance), 0.01), 0.99):.2f}"


def too_little_learned(estimator: BasePUClassifier) -> bool:
    """Whether a doubt of the fit says that no number should be promised, and no audit has corrected the chances."""
    return not hasattr(estimator, "audit_") and any(doubt.kind in UNSURE for doubt in estimator.doubts_)
