"""How good the first rows of the list are, at several lengths that do not contradict each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.isotonic import isotonic_regression

from propense._maths.arrays import Index, Vector
from propense.inference import Interval

__all__ = ["ListFinding", "without_contradictions"]


@dataclass(frozen=True)
class ListFinding:
    """How good the first rows of the list are.

    Attributes
    ----------
    length : int
        How many rows the list has.
    verdicts : int
        How many of these rows were checked.
    precision : Interval
        The share of these rows that are positive. If none was checked, the estimate is NaN and the ends are 0 and 1.
    recall : Interval
        The share of all hidden positives that are among these rows.
    """

    length: int
    verdicts: int
    precision: Interval
    recall: Interval


def without_contradictions(lists: Sequence[ListFinding]) -> list[ListFinding]:
    """The same lists, where none has fewer positives than a shorter one.

    Each length is estimated from its own verdicts. Where a longer list seems to have fewer positives, the numbers of
    both are replaced by their mean, and so are the ends of their intervals.
    """
    lengths = np.array([each.length for each in lists], dtype=np.float64)
    precision = _rising([each.precision for each in lists], lengths, lengths)
    recall = _rising([each.recall for each in lists], lengths, np.ones(len(lists)))
    return [replace(each, precision=p, recall=r) for each, p, r in zip(lists, precision, recall, strict=True)]


def _rising(found: Sequence[Interval], lengths: Vector, of: Vector) -> list[Interval]:
    """Shares, of so many, whose numbers do not fall with the length; those that are not known stay as they are."""
    out = list(found)
    known = np.array([j for j, each in enumerate(found) if np.isfinite(each.estimate)], dtype=np.intp)
    known = known[np.argsort(lengths[known], kind="stable")]
    ends = [_rise(found, known, of, name) for name in ("estimate", "low", "high")]
    for place, *values in zip(known.tolist(), *ends, strict=True):
        out[place] = Interval(*map(float, values))
    return out


def _rise(found: Sequence[Interval], known: Index, of: Vector, name: str) -> Vector:
    numbers = np.array([getattr(found[place], name) for place in known]) * of[known]
    if (np.diff(numbers) >= 0.0).all():
        # As they are, without the rounding of a product.
        return np.array([getattr(found[place], name) for place in known])
    return np.asarray(isotonic_regression(numbers) / of[known])
