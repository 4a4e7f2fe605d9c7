"""A share of positives that is known from elsewhere: y moves to meet it, and what the labels show stays as it is.

It may be known of all rows, or of the rows of some groups; then each group moves by itself, and other rows stay.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from scipy.optimize import brentq

from propense._designs import Design, Predictor
from propense._inputs.prior_groups import PriorGroups
from propense._inputs.sample import Sample
from propense._maths.arrays import Rows
from propense._maths.double_logistic import shift_class
from propense._steps.predictors import Model, from_dense_rows
from propense.errors import InvalidOption

__all__ = ["KnownPrior", "Shift", "ShiftedPredictor", "meet_prior", "read_known_prior", "shift_to", "unmoved"]

# How far y's log-odds move: in all rows, or in each of the groups.
Shift = float | tuple[float, ...]
Pair = tuple[Rows, Rows]

# Shifts of y's log-odds beyond this change nothing that float64 shows.
_FAR = 60.0
# What the rows are called if the share is known of all of them.
_ALL = "all rows"


@dataclass(frozen=True)
class ShiftedPredictor:
    """y with its log-odds moved by `shift`, or the e that leaves y·e as it was.

    `moves` are the shifts at both ends of a range and in use; empty if there is no range.
    With `groups`, every shift is one number for each of them.
    """

    posterior: Predictor
    propensity: Predictor
    shift: Shift
    of_class: bool
    moves: tuple[Shift, ...] = ()
    groups: PriorGroups | None = None

    def log_odds(self, design: Design) -> Rows:
        pair = self.posterior.log_odds(design), self.propensity.log_odds(design)
        return self.move(design, pair)[0 if self.of_class else 1]

    def move(self, design: Design, pair: Pair) -> Pair:
        """The log-odds of y and e moved, from those of the two predictors."""
        return shift_class(*pair, by_row(self.shift, self.groups, design))

    def moves_of(self, design: Design) -> tuple[Any, ...]:
        """`moves` for the rows of a design."""
        return tuple(by_row(each, self.groups, design) for each in self.moves)


def by_row(shift: Shift, groups: PriorGroups | None, design: Design) -> Any:
    """The shift of every row: one number for all, or Rows where there are groups."""
    if groups is None or isinstance(shift, float):
        return shift
    return from_dense_rows(design.columns(groups.columns), partial(groups.spread, shift))


def shift_to(prior: float, sample: Sample, a: Any, b: Any, log_unknown: float = 0.0, member: Rows = None) -> float:
    """How far y's log-odds must move for the rows' estimated share of positives to be `prior`, as far as it can be.

    `member` is 1 for the rows that count and 0 for others; None means that all do.
    """

    def excess(shift: float) -> float:
        return _share(sample, shift_class(a, b, shift), log_unknown, member) - prior

    if excess(-_FAR) >= 0.0:
        return -_FAR
    if excess(_FAR) <= 0.0:
        return _FAR
    return float(brentq(excess, -_FAR, _FAR, xtol=1e-10))


def _share(sample: Sample, pair: Pair, log_unknown: float, member: Rows) -> float:
    """The estimated share of positives among the rows that count."""
    if member is None:
        return sample.share_positive(*pair, log_unknown)
    return sample.weight_of(sample.expected(*pair, log_unknown) * member) / sample.weight_of(member)


@dataclass(frozen=True)
class KnownPrior:
    """What is known of the share of positives in a sample.

    Attributes
    ----------
    ranges : dict of str to (float, float)
        The range of each group, or of all rows; both ends are the same if the share is known exactly.
    members : list of Rows, or of None
        1 for the rows of each group and 0 for others; None means all rows.
    others : Rows, or None
        1 for the rows of no group; None if the share is known of all rows.
    bounds : (float, float)
        The least and the most that the share of positives among all rows can then be.
    groups : PriorGroups or None
    """

    ranges: dict[str, tuple[float, float]]
    members: list[Rows]
    others: Rows
    bounds: tuple[float, float]
    groups: PriorGroups | None

    def shift(self, sample: Sample, pair: Pair, log_unknown: float) -> Shift:
        """How far y's log-odds must move for each share to be what is known, or within it."""
        shifts = []
        for found, (low, high), member in self._parts(sample, pair, log_unknown):
            wanted = min(max(found, low), high)
            shifts.append(0.0 if wanted == found else shift_to(wanted, sample, *pair, log_unknown, member))
        return shifts[0] if self.groups is None else tuple(shifts)

    def move(self, sample: Sample, pair: Pair, shift: Shift) -> Pair:
        """The pair with y moved, and e such that y·e stays as it is."""
        return shift_class(*pair, by_row(shift, self.groups, sample.design))

    def predictors(
        self, pair: tuple[Predictor, Predictor], shift: Shift, moves: tuple[Shift, ...] = ()
    ) -> tuple[ShiftedPredictor, ShiftedPredictor]:
        """Predictors of y and e that move new rows in the same way."""
        y, e = (ShiftedPredictor(*pair, shift, of_class, moves, self.groups) for of_class in (True, False))
        return y, e

    def moved(self, sample: Sample, before: Pair, after: Pair, log_unknown: float) -> dict[str, tuple[float, float]]:
        """The share of positives in each group before and after y was moved."""
        shares = ([found for found, _, _ in self._parts(sample, pair, log_unknown)] for pair in (before, after))
        return dict(zip(self.ranges, zip(*shares, strict=True), strict=True))

    def _parts(self, sample: Sample, pair: Pair, log_unknown: float) -> list[tuple[float, tuple[float, float], Rows]]:
        """The share of positives in each group, the range it must lie in, and its rows."""
        return [
            (_share(sample, pair, log_unknown, member), ends, member)
            for ends, member in zip(self.ranges.values(), self.members, strict=True)
        ]


def meet_prior(known: KnownPrior | None, sample: Sample, model: Model) -> tuple[Predictor, Predictor]:
    """The model's y and e, moved to what is known of the share of positives, unless its method has done so."""
    pair = model.posterior, model.propensity
    if known is None or model.knows_prior:
        return pair
    rows = sample.log_odds(model.posterior), sample.log_odds(model.propensity)
    return known.predictors(pair, known.shift(sample, rows, model.log_unknown))


def unmoved(posterior: Predictor, propensity: Predictor) -> tuple[Predictor, Predictor]:
    """y and e as the method found them, before they were moved to a known share."""
    while isinstance(moved := posterior, ShiftedPredictor):
        posterior, propensity = moved.posterior, moved.propensity
    return posterior, propensity


def read_known_prior(prior: Any, sample: Sample, who: str) -> KnownPrior | None:
    """What `prior` says of a sample, checked against its labels; None if it says nothing."""
    if prior is None:
        return None
    if sample.is_complete:
        raise InvalidOption(
            f"{who}(prior={prior!r}): the class of every row is known, so the share of positives is "
            f"{sample.mean(sample.labelled):.1%} and nothing is left to estimate. Leave out prior, or the known "
            "negatives."
        )
    argument = f"{who}(prior={prior!r})"
    if not isinstance(prior, Mapping) or sample.groups is None:
        _check(argument, sample, _ends(prior), None)
        return KnownPrior({_ALL: _ends(prior)}, [None], None, _ends(prior), None)
    groups, design = sample.groups, sample.design
    ranges = {str(name): _ends(share) for name, share in prior.items()}
    rows = design.columns(groups.columns)
    members = [design.hold(from_dense_rows(rows, partial(groups.member, each))) for each in range(len(ranges))]
    for (name, ends), member in zip(ranges.items(), members, strict=True):
        _check(argument, sample, ends, member, f" in the group {name!r}")
    others = design.hold(1.0 - sum(members))
    negative = 0.0 if sample.negative is None else sample.mean(sample.negative * others)
    edges = sample.mean(sample.labelled * others), sample.mean(others) - negative
    weights = [sample.mean(member) for member in members]
    low, high = (
        sum((ends[side] * weight for ends, weight in zip(ranges.values(), weights, strict=True)), start=edge)
        for side, edge in enumerate(edges)
    )
    return KnownPrior(ranges, members, others, (low, high), groups)


def _ends(share: Any) -> tuple[float, float]:
    low, high = share if isinstance(share, tuple | list) else (share, share)
    return float(low), float(high)


def _check(argument: str, sample: Sample, ends: tuple[float, float], member: Rows, where: str = "") -> None:
    """Refuse a share that the labels, or known negatives, contradict."""
    labelled = _among(sample, sample.labelled, member)
    if ends[1] < labelled:
        raise InvalidOption(
            f"{argument}: {labelled:.1%} of the rows{where} are labelled, so at least that share is positive. Correct "
            "the prior, or the labels."
        )
    negative = 0.0 if sample.negative is None else _among(sample, sample.negative, member)
    if ends[0] > 1.0 - negative:
        raise InvalidOption(
            f"{argument}: {negative:.1%} of the rows{where} are known to be negative, so at most {1.0 - negative:.1%} "
            "are positive. Correct the prior, or the known negatives."
        )


def _among(sample: Sample, mask: Rows, member: Rows) -> float:
    """The share of the rows that count for which a mask is true."""
    return sample.mean(mask) if member is None else sample.weight_of(mask * member) / sample.weight_of(member)
