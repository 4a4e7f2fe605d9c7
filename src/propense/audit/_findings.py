"""What the verdicts of an audit say: how many positives there are, and how good the list is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from propense._maths.arrays import Index, Vector
from propense._representation import Readable, Sheet
from propense.audit._draw import Draw, count_moved, list_order, read_chances, read_mask
from propense.audit._lists import ListFinding, without_contradictions
from propense.audit._part import Ends, Part, join, ratio_interval, smooth_rates, total_interval
from propense.audit._survey import Population, Weighted, read_weighted
from propense.errors import InvalidInput, InvalidOption
from propense.inference import Interval

__all__ = ["Audit", "Findings", "ListFinding", "read"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Audit:
    """A draw and its verdicts.

    Attributes
    ----------
    draw : Draw
    verdict : ndarray of shape (n_drawn,)
        1 if the row is positive, 0 if it is negative, NaN if it was not checked or nobody can say.
    """

    draw: Draw
    verdict: Vector


def read(
    audits: Audit | Sequence[Audit],
    hidden: Any,
    *,
    labelled: Any,
    order: Any = None,
    confidence: float = 0.95,
    sample_weight: Any = None,
    strata: Any = None,
    clusters: Any = None,
) -> "Findings":
    """What verdicts on a random sample of rows say about all rows.

    Nothing here assumes that the model is right. The strata follow its order of the rows, and its h(x) makes the
    intervals narrower where the verdicts agree with it: a wrong model only makes them wider.

    Parameters
    ----------
    audits : Audit or list of Audit
        Draws with their verdicts, the earliest first.
    hidden, labelled, order : array-like of shape (n_rows,)
        As in `draw`: the same rows, and the same order of the list.
    confidence : float, default=0.95
        How often the intervals should hold the truth. That needs verdicts that are right, and labelled rows that are
        all positive: the audit checks neither.
    sample_weight, strata, clusters : array-like of shape (n_rows,), default=None
        If the rows are a survey's sample: how many members of the population each row stands for, and the stratum and
        the cluster (primary sampling unit) it was drawn from. All shares are then those of the population, and the
        intervals allow for the survey's own sample too. Without any of them, they are shares of these rows.

    Returns
    -------
    Findings
        Print it.

    Notes
    -----
    Rows without a verdict are taken to be like the checked rows of their stratum. Set them all to 0, or all to 1, to
    see how much that matters.

    Examples
    --------
    >>> import numpy as np
    >>> from propense.audit import Audit, draw, read
    >>> rng = np.random.default_rng(0)
    >>> chances = rng.random(5000) ** 3
    >>> positive, labelled = rng.random(5000) < chances / 2, np.zeros(5000, dtype=bool)
    >>> drawn = draw(chances, 200, labelled=labelled, random_state=0)
    >>> found = read(Audit(drawn, positive[drawn.rows].astype(float)), chances, labelled=labelled)
    >>> print(f"model {chances.mean():.3f}, truth {positive.mean():.3f}, {found.positives.low:.3f} to "
    ...       f"{found.positives.high:.3f}")
    model 0.250, truth 0.127, 0.095 to 0.174
    """
    several = [audits] if isinstance(audits, Audit) else list(audits)
    chances = read_chances("hidden", hidden)
    among = chances if order is None else read_chances("order", order, len(chances), any_number=True)
    is_labelled = read_mask("labelled", labelled, len(chances))
    if not 0.0 < confidence < 1.0:
        raise InvalidOption(f"read: confidence={confidence!r} must be between 0 and 1.")
    checked = [_checked(each, is_labelled, among) for each in several]
    _check_sequence(checked)
    if not any(np.isfinite(each.verdict).any() for each in checked):
        raise InvalidInput("read: there is no verdict yet.")
    survey = read_weighted(sample_weight, strata, clusters, len(chances))
    return Findings(checked, chances, is_labelled, among, confidence, survey)


def _checked(audit: Audit, labelled: Mask, order: Vector) -> Audit:
    """An audit whose parts belong together, and to these rows."""
    draw, verdict = audit.draw, np.asarray(audit.verdict, dtype=np.float64)
    if verdict.shape != draw.rows.shape:
        raise InvalidInput(f"read: {len(draw.rows)} rows were drawn, but there are {len(verdict)} verdicts.")
    if not np.isin(verdict[~np.isnan(verdict)], (0.0, 1.0)).all():
        raise InvalidInput("read: a verdict must be 1 (positive), 0 (negative) or NaN (not known).")
    rest = len(labelled) - int(labelled.sum()) - len(draw.known)
    if int(draw.sizes.sum()) != rest or (len(draw.rows) and draw.rows.max() >= len(labelled)):
        raise InvalidInput(
            f"read: rows were drawn from {int(draw.sizes.sum())} unlabelled rows, but there are {rest}. Pass the rows "
            "and labels of the draw."
        )
    if labelled[draw.rows].any():
        raise InvalidInput(f"read: row {int(draw.rows[labelled[draw.rows]][0])} was drawn, but it is labelled.")
    moved = count_moved(draw, labelled, order)
    if moved:
        raise InvalidInput(
            f"read: {moved} of {len(draw.rows)} rows are not in the part of the list that they were drawn from. Pass "
            "the hidden and order of the draw."
        )
    return Audit(draw, verdict)


def _check_sequence(audits: list[Audit]) -> None:
    """Rows that a draw left out, since they had been checked, need their verdicts from an earlier audit."""
    before: set[int] = set()
    for each in audits:
        missing = set(each.draw.known.tolist()) - before
        if missing:
            raise InvalidInput(
                f"read: row {min(missing)} had been checked before a draw, but no earlier audit has its verdict. Pass "
                "all audits, the earliest first."
            )
        before |= set(each.draw.rows[np.isfinite(each.verdict)].tolist())


@dataclass(frozen=True, repr=False)
class Findings(Readable):
    """What the verdicts say; ``str()`` says it in words.

    Each `Interval` holds the truth as often as the confidence says if every verdict is right and every labelled row is
    positive.

    Attributes
    ----------
    positives : Interval
        The share of all rows that are positive, labelled or not.
    hidden : Interval
        The share of the unlabelled rows that are positive.
    label_frequency : Interval
        The share of the positives that are labelled.
    verdicts : int
        How many rows were checked, with an answer.
    known : ndarray of shape (n_rows,)
        The verdict on each row, 1 or 0, and NaN where there is none.
    confidence : float
        The confidence of the intervals.
    survey : Weighted or None
        The ``sample_weight``, strata and clusters that `read` was given; None without them.
    factor : float
        How much of the variance within the strata is left after h(x) has explained its part: 1 if h(x) does not help,
        and the smaller, the more it narrows the intervals.
    """

    audits: list[Audit]
    chances: Vector
    labelled: Mask
    order: Vector
    confidence: float
    survey: Weighted | None = None

    def at(self, lengths: Sequence[int]) -> list[ListFinding]:
        """How good the list is at some lengths; a longer list never has fewer positives than a shorter one.

        Parameters
        ----------
        lengths : list of int
            Numbers of rows, each at most the number of unlabelled rows.

        Returns
        -------
        list of ListFinding
            One for each length.
        """
        return without_contradictions([self._of_list(length) for length in lengths])

    @property
    def verdicts(self) -> int:
        return int(np.isfinite(self.known).sum())

    @cached_property
    def hidden(self) -> Interval:
        if self._population is not None:
            return self._population.hidden()
        return _scaled(total_interval(self._part(~self.labelled), self._z, self.factor), 1.0 / (~self.labelled).sum())

    @cached_property
    def positives(self) -> Interval:
        if self._population is not None:
            return self._population.positives()
        rest, rows = self.hidden, len(self.labelled)
        return Interval(*(float((self.labelled.sum() + (~self.labelled).sum() * x) / rows) for x in _ends(rest)))

    @cached_property
    def label_frequency(self) -> Interval:
        found = self.positives
        if self._population is not None:
            return self._population.label_frequency()
        share = self.labelled.mean()
        return Interval(*(float(share / x) if x > 0 else 1.0 for x in (found.estimate, found.high, found.low)))

    def advice(self, more: Sequence[int] = (50, 100, 200, 500, 1000)) -> list[tuple[int, float]]:
        """About how wide the interval of ``positives`` would be after further verdicts.

        Parameters
        ----------
        more : list of int, default=(50, 100, 200, 500, 1000)
            Numbers of further verdicts. Those that are more than the unlabelled rows that are left are skipped.

        Returns
        -------
        list of (int, float)
            The number of further verdicts, and the width: the upper end minus the lower.
        """
        width, rest = self.positives.high - self.positives.low, int((~self.labelled).sum())
        left = 1.0 / self.verdicts - 1.0 / rest
        possible = [number for number in more if self.verdicts + number <= rest]
        return [(n, width * math.sqrt((1.0 / (self.verdicts + n) - 1.0 / rest) / left)) for n in possible]

    def _headline(self) -> str:
        found = self.positives
        return (
            f"{found.estimate:.1%} of rows are positive, {found.low:.1%} to {found.high:.1%}; {self.verdicts} checked"
        )

    def _sheets(self) -> list[Sheet]:
        kept = {
            "all rows that are positive": self.positives,
            "unlabelled rows that are positive": self.hidden,
            "positives that are labelled": self.label_frequency,
        }
        lines = [[name, *(f"{each:.1%}" for each in _ends(found))] for name, found in kept.items()]
        return [Sheet(f"{100 * self.confidence:g}% intervals", ["share", "estimate", "low", "high"], lines)]

    def __str__(self) -> str:
        level, found, rest = f"{100 * self.confidence:g}%", self.positives, self.hidden
        return (
            f"{self.verdicts} rows were checked. {found.estimate:.1%} of all rows are positive ({level} interval "
            f"{found.low:.1%} to {found.high:.1%}), {rest.estimate:.1%} of the unlabelled ones ({rest.low:.1%} to "
            f"{rest.high:.1%}). {self.label_frequency.estimate:.1%} of the positives are labelled "
            f"({self.label_frequency.low:.1%} to {self.label_frequency.high:.1%})."
        )

    @cached_property
    def known(self) -> Vector:
        """The verdict on each row, NaN where there is none."""
        out = np.full(len(self.labelled), np.nan)
        for each in self.audits:
            answered = np.isfinite(each.verdict)
            out[each.draw.rows[answered]] = each.verdict[answered]
        return out

    @property
    def _z(self) -> float:
        return float(ndtri(0.5 + self.confidence / 2))

    @cached_property
    def _list(self) -> Index:
        """The unlabelled rows, in the order of the list."""
        return list_order(self.order, ~self.labelled)

    @cached_property
    def _strata(self) -> list[tuple[Index, Index]]:
        """For each audit, the rows that could be drawn, in the order of the list, and their strata."""
        out = []
        for each in self.audits:
            could = ~self.labelled
            could[each.draw.known] = False
            order = self._list[could[self._list]]
            stratum = np.zeros(len(self.labelled), dtype=np.intp)
            stratum[order] = np.repeat(np.arange(len(each.draw.sizes)), each.draw.sizes)
            # Rows with the same score may be in another order than at the draw, which knows better.
            stratum[each.draw.rows] = each.draw.stratum
            out.append((order, stratum[order]))
        return out

    @cached_property
    def _tuned(self) -> tuple[float, float, float]:
        """λ, which makes the variance of the difference estimator least, and what it leaves of the variance.

        The third number, times the variance of h, is what it takes off.

        As in prediction-powered inference, λ is kept from 0 to 1. If h is worthless, it is near 0.
        """
        both = chances = verdicts = 0.0
        spare = -1.0
        for each in self.audits:
            answered = np.isfinite(each.verdict)
            stratum, y = each.draw.stratum[answered], each.verdict[answered]
            h = self.chances[each.draw.rows[answered]]
            n, of_h, of_y = _sums(stratum, len(each.draw.sizes), h, y)
            use = np.where(n > 1, each.draw.sizes**2 / np.maximum(n, 1) / np.maximum(n - 1, 1), 0.0)[stratum]
            h, y = h - (of_h / np.maximum(n, 1))[stratum], y - (of_y / np.maximum(n, 1))[stratum]
            both += float(use @ (h * y))
            chances += float(use @ (h * h))
            verdicts += float(use @ (y * y))
            spare += float((n - 1.0)[n > 1].sum())
        if min(chances, verdicts) <= 0.0 or spare < 1.0:
            return 0.0, 1.0, 0.0
        slope = both / chances
        weight = min(max(slope, 0.0), 1.0)
        left = (verdicts - 2.0 * weight * both + weight**2 * chances) / verdicts
        return weight, min(left * (spare + 1.0) / spare, 1.0), 2.0 * weight * slope - weight**2

    @property
    def factor(self) -> float:
        return self._tuned[1]

    def _part(self, rows: Mask) -> Part:
        """The cells of some unlabelled rows; an error if none of them was checked."""
        parts, checked = [], []
        for audit, (order, stratum) in zip(self.audits, self._strata, strict=True):
            part = self._part_of(audit, order, stratum, rows)
            if part is not None:
                parts.append(part)
                checked.append(part.checked.sum())
        if not parts:
            raise _NothingChecked
        return join(parts, [n / sum(checked) for n in checked])

    def _part_of(self, audit: Audit, order: Index, stratum: Index, rows: Mask) -> Part | None:
        """The same of one audit; None if none of the rows was checked in it."""
        draw, strata = audit.draw, len(audit.draw.sizes)
        answered = np.isfinite(audit.verdict)
        inside = answered & rows[draw.rows]
        if not inside.any():
            return None
        rate, near = smooth_rates(*_sums(draw.stratum[answered], strata, audit.verdict[answered]))
        among = rows[order]
        h = self.chances[order[among]]
        size, mean, square = _sums(stratum[among], strata, h, h**2)
        verdict, chance = audit.verdict[inside], self.chances[draw.rows[inside]]
        checked, positive, sampled = _sums(draw.stratum[inside], strata, verdict, chance)
        # A cell without a verdict joins the nearest one that has some.
        has, filled = np.flatnonzero(checked), np.flatnonzero(size)
        cell = np.abs(filled[:, np.newaxis] - has).argmin(axis=1)
        _, total, mean, square, rates = _sums(cell, len(has), *(x[filled] for x in (size, mean, square, rate * size)))
        checked, positive, sampled = checked[has], positive[has], sampled[has]
        unseen = (1.0 - checked / total) / (1.0 - np.maximum(1.0 / near[has] - 1.0 / checked.sum(), 0.0))
        weight, _, gain = self._tuned
        ahead = weight * (mean / total - sampled / checked)
        # Not more than h varies in the cell: where it does not, verdicts elsewhere say nothing of what it misses.
        explained = gain * np.maximum(square / total - (mean / total) ** 2, 0.0)
        known = self.known[rows & ~self.labelled]
        before = self.known[draw.known][rows[draw.known]]
        least, most = float((known == 1).sum()), float(len(known) - (known == 0).sum())
        offset = float((before == 1).sum())
        return Part(total, checked, positive, ahead, unseen, rates / total, explained, offset, least, most)

    @cached_property
    def _population(self) -> Population | None:
        """The population that the rows stand for, if they are a survey's sample.

        The value of a row is such that its mean over draws is 1 if it is positive, else 0.
        """
        if self.survey is None:
            return None
        out, stands_for = self.labelled.astype(float), np.zeros(len(self.labelled))
        answered = [int(np.isfinite(each.verdict).sum()) for each in self.audits]
        for audit, (order, stratum), verdicts in zip(self.audits, self._strata, answered, strict=True):
            if not verdicts:
                continue
            filled = np.isfinite(audit.verdict)
            rows, y, strata = audit.draw.rows[filled], audit.verdict[filled], len(audit.draw.sizes)
            # A stratum without a verdict joins the nearest one that has some.
            has = np.unique(audit.draw.stratum[filled])
            group = np.abs(np.arange(strata)[:, np.newaxis] - has).argmin(axis=1)
            of_order, of_rows = group[stratum], group[audit.draw.stratum[filled]]
            weight = np.bincount(of_order) / np.bincount(of_rows)
            values = np.zeros(len(out))
            values[order] = self._tuned[0] * self.chances[order]
            values[rows] += weight[of_rows] * (y - self._tuned[0] * self.chances[rows])
            values[audit.draw.known] = self.known[audit.draw.known]
            out += verdicts / sum(answered) * values
            stands_for[rows] += verdicts / sum(answered) * weight[of_rows]
            stands_for[audit.draw.known] += verdicts / sum(answered)
        return Population(self.survey, out, self.labelled, self.known, stands_for, self.confidence)

    def _of_list(self, length: int) -> ListFinding:
        rest = int((~self.labelled).sum())
        if not 1 <= length <= rest:
            raise InvalidOption(f"A list has from 1 to {rest} rows, but its length was to be {length}.")
        inside = np.zeros(len(self.labelled), dtype=bool)
        inside[self._list[:length]] = True
        outside = ~inside & ~self.labelled
        checked = int(np.isfinite(self.known[inside]).sum())
        if self._population is not None:
            of_list = self._population.precision(inside), self._population.recall(inside)
            return ListFinding(length, checked, *of_list)
        try:
            part = self._part(inside)
        except _NothingChecked:
            return ListFinding(length, 0, Interval(math.nan, 0.0, 1.0), Interval(math.nan, 0.0, 1.0))
        precision = _scaled(total_interval(part, self._z, self.factor), 1.0 / length)
        if not outside.any():
            return ListFinding(length, checked, precision, Interval(1.0, 1.0, 1.0))
        try:
            recall = Interval(*map(float, ratio_interval(part, self._part(outside), self._z, self.factor)))
        except _NothingChecked:
            recall = Interval(math.nan, 0.0, 1.0)
        return ListFinding(length, checked, precision, recall)


class _NothingChecked(Exception):
    """None of the rows has a verdict."""


def _sums(groups: Index, count: int, *values: Vector) -> list[Vector]:
    """How many members each group has, and the sums of values over them."""
    return [np.bincount(groups, each, count).astype(float) for each in (np.ones(len(groups)), *values)]


def _scaled(found: Ends, scale: float) -> Interval:
    return Interval(*(float(each * scale) for each in found))


def _ends(found: Interval) -> Ends:
    return found.estimate, found.low, found.high
