"""Which groups are under-labelled, as far as that is known: shares with ranges, and columns whose groups differ.

The share of a group's positives that are labelled is uncertain for two reasons. The number of positives rests on the
method's assumptions, which move all groups together for the most part; and labels fall on few positives by chance. So
groups are compared by *ratio*: the share of a group, divided by that of all groups together. This is done under the
middle estimate and at both ends of the method's range, and groups count as different only if they differ beyond chance
under all three.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from propense.tables.groups import LEAST, Group, Grouping

__all__ = ["GroupComparison", "GroupShare", "compare_groups"]

# Columns are called different by mistake in at most one fit of twenty: the level, for all columns together.
_LEVEL = 0.05
# 95 of a hundred values of a normal distribution are within this many standard deviations.
_MOST = 1.96


@dataclass(frozen=True)
class GroupShare:
    """The labelled share of a group's positives, drawn towards that of all groups as far as it is due to chance.

    Attributes
    ----------
    group : Group
    ratio, ratio_low, ratio_high : float
        The share divided by that of all groups together, with its range. NaN if the group has too few positives.
    share, low, high : float
        The share, with its range. NaN likewise, and the range if the method gives none.
    """

    group: Group
    ratio: float = math.nan
    ratio_low: float = math.nan
    ratio_high: float = math.nan
    share: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @property
    def known(self) -> bool:
        """Whether the group has enough positives for a share."""
        return not math.isnan(self.ratio)


@dataclass(frozen=True)
class GroupComparison:
    """The groups of a column, compared.

    Attributes
    ----------
    column : str
    groups : tuple of GroupShare
    p_value : float
        How often chance alone makes groups as different as these or more, under the assumption of the method's range
        that makes them the most alike, times the number of columns compared. NaN if fewer than two groups are large
        enough.
    ranged : bool
        Whether the method gives a range, so that its assumptions are allowed for. If not, only chance is.
    """

    column: str
    groups: tuple[GroupShare, ...]
    p_value: float
    ranged: bool

    @property
    def differs(self) -> bool:
        """Whether the groups differ beyond chance, whichever assumption in the range holds."""
        return self.p_value < _LEVEL

    @property
    def lowest(self) -> GroupShare:
        """The group whose positives are labelled least often."""
        return min((each for each in self.groups if each.known), key=lambda each: each.ratio)

    @property
    def highest(self) -> GroupShare:
        """The group whose positives are labelled most often."""
        return max((each for each in self.groups if each.known), key=lambda each: each.ratio)


def compare_groups(groupings: Sequence[Grouping]) -> list[GroupComparison]:
    """Compare the groups of every column; columns whose groups differ come first, those that differ most in front.

    Parameters
    ----------
    groupings : sequence of Grouping
        ``TableFit.groups``.

    Returns
    -------
    list of GroupComparison
        In a column whose groups do not differ beyond chance, every ratio is 1: the overall share is the best guess.
    """
    tested = sum(_testable(grouping) for grouping in groupings)
    found = [_compare(grouping, tested) for grouping in groupings]
    return sorted(found, key=lambda each: -_spread(each))


def _large(grouping: Grouping) -> list[Group]:
    return [group for group in grouping.groups if group.positives >= LEAST]


def _testable(grouping: Grouping) -> bool:
    return len(_large(grouping)) > 1


def _spread(found: GroupComparison) -> float:
    """How far the groups differ; 0 where they do not beyond chance."""
    return math.log(found.highest.ratio / max(found.lowest.ratio, 1e-9)) if found.differs else 0.0


@dataclass(frozen=True)
class _Level:
    """The groups under one assumption: labels, positives, the overall share, and how sure the ratios are."""

    labelled: NDArray[np.float64]
    positives: NDArray[np.float64]

    @property
    def share(self) -> float:
        return float(self.labelled.sum() / self.positives.sum())

    @property
    def distances(self) -> NDArray[np.float64]:
        """How far the share of each group is from that of all."""
        return np.asarray(self.labelled / self.positives - self.share)

    @property
    def variances(self) -> NDArray[np.float64]:
        """What chance adds: labels are binomial, given the positives."""
        # An overall share of 1 leaves no room for chance, nor for differences.
        return np.asarray(max(self.share * (1.0 - self.share), 1e-12) / self.positives)

    @property
    def p_value(self) -> float:
        """Pearson's test of one share for all groups."""
        return float(chdtrc(len(self.labelled) - 1, (self.distances**2 / self.variances).sum()))

    def ratios(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The ratios, drawn towards 1 by empirical Bayes, and the ends of their 95% intervals.

        The variance between groups is what their distances have beyond chance (DerSimonian and Laird, 1986). Intervals
        are those of the ratios as they are.
        """
        weights = 1.0 / self.variances
        surplus = (self.distances**2 * weights).sum() - (len(weights) - 1)
        between = max(surplus / (weights.sum() - (weights**2).sum() / weights.sum()), 0.0)
        kept = between / (between + self.variances)
        raw, far = 1.0 + self.distances / self.share, _MOST * np.sqrt(self.variances) / self.share
        drawn = 1.0 + kept * self.distances / self.share
        return drawn, np.minimum(raw - far, drawn), np.maximum(raw + far, drawn)


def _compare(grouping: Grouping, tested: int) -> GroupComparison:
    large = _large(grouping)
    ranged = all(group.low is not None and group.high is not None for group in grouping.groups)
    if len(large) < 2:
        return GroupComparison(grouping.column, tuple(GroupShare(group) for group in grouping.groups), math.nan, ranged)
    labelled = np.array([group.labelled for group in large], dtype=np.float64)
    counts = [[group.positives for group in large]]
    if ranged:
        counts += [[getattr(group, end) for group in large] for end in ("low", "high")]
    # A group has no fewer positives than labels; where it has neither, its share does not matter.
    levels = [_Level(labelled, np.maximum(np.array(each), np.maximum(labelled, 1e-9))) for each in counts]
    p_value = min(tested * max(level.p_value for level in levels), 1.0)
    shares = dict(zip(large, _shares(levels, large, p_value < _LEVEL), strict=True))
    groups = tuple(shares.get(group, GroupShare(group)) for group in grouping.groups)
    return GroupComparison(grouping.column, groups, p_value, ranged)


def _shares(levels: list[_Level], groups: list[Group], differs: bool) -> list[GroupShare]:
    """The ratio and the share of each group, and the outermost that chance and the levels allow."""
    drawn, lows, highs = np.stack([level.ratios() for level in levels], axis=1)
    middle = drawn[0] if differs else np.ones(len(groups))
    overall = np.array([level.share for level in levels])[:, np.newaxis]
    # All positives of a group are among its rows, so that its share is no less than this.
    least = np.array([group.labelled / group.rows for group in groups])
    ends = np.clip([(overall * lows).min(axis=0), (overall * highs).max(axis=0)], least, 1.0)
    if len(levels) == 1:
        # Chance alone: without a range of the number of positives, that of a share would be far too narrow.
        ends[:] = np.nan
    ratio_low, ratio_high = np.clip(lows.min(axis=0), 0.0, middle), np.maximum(highs.max(axis=0), middle)
    share = np.clip(middle * overall[0], least, 1.0)
    columns = zip(groups, middle, ratio_low, ratio_high, share, *ends, strict=True)
    return [GroupShare(group, *map(float, rest)) for group, *rest in columns]
