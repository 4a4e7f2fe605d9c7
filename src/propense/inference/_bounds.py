"""Bounds on the share of positives, on e by group and on h(x) of each row, under assumptions a person can judge."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.utils import check_random_state

from propense._representation import Readable, Sheet
from propense.errors import InvalidOption
from propense.inference._bound_options import Asked, read_assumptions
from propense.inference._bound_rows import ReadRows, read_groups, read_rows
from propense.inference._correlated_bounds import Ends, correlated_ends
from propense.inference._label_bands import Assumptions, LabelledRows, averages, band, hidden_ends, violation

__all__ = ["Bounds", "Robustness", "bound_rows", "bounds", "find_bounds", "find_robustness"]

# Draws for the limits: their spread is then known to within 7 %.
_DRAWS = 100
# Differences below this are rounding.
_SAME = 1e-6
# The largest departure that is looked for.
_FARTHEST = 1e6


@dataclass(frozen=True)
class Robustness:
    """How far the odds of a label must be from those of the fit to change its answer.

    Attributes
    ----------
    halved : float
        The factor on the odds of a label, the same in all rows, at which half of the hidden positives that the fit
        finds would be left. NaN if it finds none.
    doubled : float
        The factor at which there would be twice as many; infinite if that is more than there are rows.
    """

    halved: float
    doubled: float


@dataclass(frozen=True, repr=False)
class Bounds(Readable):
    """The result of `bounds`; ``str()`` explains it in words.

    Attributes
    ----------
    prior : (float, float)
        The least and the largest share of positive rows that the assumptions leave.
    prior_limits : (float, float)
        The same with what chance adds: another sample of rows would have shown other labels.
    estimate : float
        The share of positive rows that the fit estimates.
    labelled : float
        The share of labelled rows.
    hidden : ndarray of shape (n_rows, 2)
        The range of h(x) = P(Y=1 | x, S=0) of each row, with s(x) as the fit has it. NaN for rows of weight 0.
    prior_by_group, propensity_by_group : dict of group to (float, float)
        The ranges of the share of positives, and of the share of the positives that are labelled, in each group.
    prior_limits_by_group, propensity_limits_by_group : dict of group to (float, float)
        The same with what chance adds.
    robustness_value : Robustness
        How far the fit's odds of a label must be wrong to halve, or double, the number of hidden positives.
    contradicted : str
        Why the assumptions cannot hold, or "" if nothing speaks against them. If they cannot, every range is NaN.
    assumptions : tuple of str
        What was assumed, in words.
    confidence : float
        How often the limits should hold, if the assumptions do.
    """

    prior: tuple[float, float]
    prior_limits: tuple[float, float]
    estimate: float
    labelled: float
    hidden: NDArray[np.float64]
    robustness_value: Robustness
    contradicted: str
    assumptions: tuple[str, ...]
    confidence: float
    prior_by_group: dict[Any, tuple[float, float]] = field(default_factory=dict)
    propensity_by_group: dict[Any, tuple[float, float]] = field(default_factory=dict)
    prior_limits_by_group: dict[Any, tuple[float, float]] = field(default_factory=dict)
    propensity_limits_by_group: dict[Any, tuple[float, float]] = field(default_factory=dict)

    def _headline(self) -> str:
        if self.contradicted:
            return f"the assumptions cannot hold: {self.contradicted}"
        return (
            f"{self.prior[0]:.1%} to {self.prior[1]:.1%} of rows are positive under {len(self.assumptions)} assumptions"
        )

    def _sheets(self) -> list[Sheet]:
        lines = [
            [str(group), _between(self.prior_by_group[group]), _between(self.propensity_by_group[group])]
            for group in self.prior_by_group
        ]
        head = ["group", "positive rows", "positives that are labelled"]
        return [Sheet("By group", head, [] if self.contradicted else lines)]

    def __str__(self) -> str:
        lines = [f"{self.labelled:.1%} of the rows are labelled, so at least as many are positive."]
        if self.contradicted:
            lines.append(f"The assumptions cannot hold: {self.contradicted}")
        elif not self.assumptions:
            lines.append("Without an assumption about the labelling, all of them may be: the labels do not say more.")
        else:
            given = "; and if ".join(self.assumptions)
            lines.append(f"If {given}: {self.prior[0]:.1%} to {self.prior[1]:.1%} of the rows are positive.")
            low, high = self.prior_limits
            limits = f"{low:.1%} to {high:.1%} ({100 * self.confidence:g}% limits)"
            lines.append(f"With chance added, in the population of these rows: {limits}.")
        lines.append(f"The fit estimates {self.estimate:.1%}. {self._robustness()}")
        for group, (low, high) in self.propensity_by_group.items():
            if not self.contradicted:
                lines.append(f"{group}: {low:.0%} to {high:.0%} of the positives are labelled.")
        return "\n".join(lines)

    def _robustness(self) -> str:
        found = self.robustness_value
        if math.isnan(found.halved):
            return "It finds no hidden positives."
        words = f"If the true odds of a label are {found.halved:.3g} times those of the fit, there are half as many"
        if math.isinf(found.doubled):
            return f"{words} hidden positives; twice as many would be more than there are rows."
        return f"{words} hidden positives; if they are {found.doubled:.3g} times lower, twice as many."


def _between(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.0%} to {ends[1]:.0%}"


def bounds(
    model: Any,
    X: Any,
    y: Any,
    *,
    propensity: Any = None,
    odds_ratio: float | None = None,
    departure: float | None = None,
    rising: bool = False,
    clearest: float | None = None,
    correlation: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> Bounds:
    """What can be said of the positives under assumptions about the labelling, and no others.

    Labels show the chance s(x) = y(x)·e(x) of a label, not its two factors. Each assumption limits e(x), the chance
    that a positive row is labelled, and so y(x) = s(x)/e(x). Assumptions can be combined, except with ``correlation``.
    Without any, the share of positives lies anywhere from the share of labels to 1.

    Parameters
    ----------
    model : fitted estimator of propense, or a pipeline or search that ends in one
        Its s(x) is used, out of fold if X are the rows of fit and it has kept these values; its e(x) only for
        ``departure``, and its y(x) as the class score of ``rising`` and ``clearest``.
    X : array-like, sparse matrix, data frame or tensor of shape (n_rows, n_features)
        The rows of fit, or other rows of the same population. The trees of a model that was loaded from a file have
        seen the rows of fit, and would make the ranges too narrow: fit it again, or pass other rows.
    y : array-like of shape (n_rows,)
        Their labels.
    propensity : float or (float, float), default=None
        e(x) lies between these two in every row. A single number is the least value.
    odds_ratio : float, default=None
        The odds of a label, e/(1−e), differ by at most this factor between any two positives; 1 means labels at random.
    departure : float, default=None
        The odds of a label are at most this factor above or below those that the model gives the row.
    rising : bool, default=False
        e(x) never falls as the model's class score y(x) rises.
    clearest : float, default=None
        At least this share of the rows with the highest class scores are positive.
    correlation : float or (float, float), default=None
        Being positive and being labelled follow two probit models, linear in the columns, and what no column shows is
        correlated between the two: from the first number to the second, or up to one number in either direction.
    groups : array-like of shape (n_rows,), default=None
        The group of each row, for ranges by group.
    sample_weight : array-like of shape (n_rows,), default=None
    confidence : float, default=0.95
        How often the limits should hold.
    random_state : int, RandomState instance or None, default=0
        Draws the weights from which the limits are computed.

    Returns
    -------
    Bounds

    Notes
    -----
    The range is what the assumptions leave, if s(x) were known. The limits add chance: the ends are computed again from
    rows with random weights, and the limits lie as many standard deviations beyond the ends as the confidence asks for.

    The labels can contradict an upper limit of e(x), because no row has more labels than positives; see
    ``contradicted``. They can never contradict a lower limit: that every positive is labelled fits all labels.

    References
    ----------
    C. F. Manski. Partial Identification of Probability Distributions. Springer, 2003.
    Z. Tan. A distributional approach for causal inference using propensity scores. JASA 101, 2006. ``departure``.
    D. J. Poirier. Partial observability in bivariate probit models. Journal of Econometrics 12, 1980. ``correlation``.

    Examples
    --------
    >>> from propense import JointMLE, bounds
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(3000, 6, random_state=0)
    >>> model = JointMLE(propensity_features=[3, 4, 5], random_state=0).fit(data.X, data.labelled)
    >>> found = bounds(model, data.X, data.labelled, propensity=0.2)
    >>> print("{:.2f} to {:.2f}".format(*found.prior), f"in truth {data.positive.mean():.2f}")
    0.25 to 0.62 in truth 0.51
    """
    asked = read_assumptions(
        propensity=propensity,
        odds_ratio=odds_ratio,
        departure=departure,
        rising=rising,
        clearest=clearest,
        correlation=correlation,
        confidence=confidence,
        random_state=random_state,
    )
    return bound_rows(read_rows(model, X, y, sample_weight), asked, groups)


def bound_rows(read: ReadRows, asked: Asked, groups: Any = None) -> Bounds:
    """`bounds` for rows and assumptions that are read."""
    of_rows = None if groups is None else read_groups(groups, read.count)[read.kept]
    if asked.correlation is None:
        result = find_bounds(read.rows, asked, read.estimate, of_rows)
    else:
        ends = correlated_ends(read.sample, read.rows, asked, of_rows)
        result = _result(read.rows, asked, read.estimate, ends.prior, ends.hidden, ends.contradicted, ends.groups)
    everywhere = np.full((read.count, 2), np.nan)
    everywhere[read.kept] = result.hidden
    return replace(result, hidden=everywhere)


def find_bounds(rows: LabelledRows, asked: Asked, estimate: float, groups: NDArray[Any] | None = None) -> Bounds:
    """The bounds under assumptions about e(x), for rows that are read already."""
    given = asked.given
    if given.clearest > 0.0 and rows.top.all():
        raise InvalidOption(
            f"clearest={given.clearest:g}: there are too few labels to see how many of the clearest rows have one. It "
            "takes about 100. Use another assumption."
        )
    names = [] if groups is None else sorted(set(groups.tolist()), key=lambda each: (str(type(each)), each))
    masks = [np.ones(len(rows.chance), dtype=bool), *(groups == name for name in names)]
    parts = [rows, *(rows.among(mask) for mask in masks[1:])]
    found = _ends(rows, given, masks, parts)
    rng, draws = check_random_state(asked.random_state), []
    for _ in range(_DRAWS):
        # Exponential weights, as if rows were drawn again (the Bayesian bootstrap of Rubin, 1981).
        factors, doubt = rng.standard_exponential(len(rows.weights)), rows.doubt * float(rng.standard_exponential())
        drawn = rows.weights * factors
        of_parts = [part.reweighted(drawn[mask], doubt) for part, mask in zip(parts, masks, strict=True)]
        draws.append(_ends(of_parts[0], given, masks, of_parts))
    away = float(ndtri(0.5 + asked.confidence / 2.0)) * np.std(draws, axis=0)
    limits = np.clip(found + away * np.array([-1.0, 1.0, -1.0, 1.0]), 0.0, 1.0)
    ends = [
        Ends(*(tuple(map(float, each)) for each in (line[:2], limit[:2], line[2:], limit[2:])))  # type: ignore[arg-type]
        for line, limit in zip(found, limits, strict=True)
    ]
    lo, hi = band(rows, given)
    by_group = dict(zip(names, ends[1:], strict=True))
    contradicted = _contradiction(rows, given)
    return _result(rows, asked, estimate, ends[0], hidden_ends(rows.chance, lo, hi), contradicted, by_group)


def _ends(rows: LabelledRows, given: Assumptions, masks: list[Any], parts: list[LabelledRows]) -> NDArray[np.float64]:
    """For all rows and for each group: the ends of the share of positives, and of the share of these with a label."""
    lo, hi = band(rows, given)
    out = []
    for place, (mask, part) in enumerate(zip(masks, parts, strict=True)):
        low, high = averages(part, lo[mask], hi[mask], given.clearest if place == 0 else 0.0)
        share = part.share_labelled
        # Without labels in a group, all that is known of its e are the ends of its rows.
        e = (share / high, share / low) if share > 0.0 else (float(lo[mask].min()), float(hi[mask].max()))
        out.append([low, high, *e])
    return np.array(out)


def _contradiction(rows: LabelledRows, given: Assumptions) -> str:
    """Why the assumptions cannot hold, in a sentence; empty if they may."""
    # Without labels: what the assumptions alone say of e.
    silent = replace(rows, labelled=np.zeros(len(rows.chance)))
    lo, hi = band(silent, replace(given, clearest=0.0))
    gap = lo - hi
    if float(gap.max()) > _SAME:
        row = int(np.argmax(gap))
        return (
            f"they contradict each other. In some rows a positive would have to be labelled with a chance of at least "
            f"{lo[row]:.2f} and of at most {hi[row]:.2f}. Choose a wider range or a larger factor."
        )
    found = violation(rows, given)
    if found is None:
        return ""
    return (
        f"labels contradict them. {found.share:.1%} of {found.rows:,} rows where labels are most frequent are "
        f"labelled, and no more than {found.allowed:.1%} could be, even if all were positive. Allow a larger chance of "
        "a label."
    )


def _result(
    rows: LabelledRows,
    asked: Asked,
    estimate: float,
    prior: Ends,
    hidden: NDArray[np.float64],
    contradicted: str,
    groups: dict[Any, Ends],
) -> Bounds:
    if contradicted:
        # No value is left.
        none = math.nan, math.nan
        prior = Ends(none, none, none, none)
        groups, hidden = dict.fromkeys(groups, prior), np.full_like(hidden, math.nan)
    return Bounds(
        prior=prior.prior,
        prior_limits=prior.prior_limits,
        estimate=estimate,
        labelled=rows.share_labelled,
        hidden=hidden,
        robustness_value=find_robustness(rows, estimate),
        contradicted=contradicted,
        assumptions=asked.words,
        confidence=asked.confidence,
        prior_by_group={name: ends.prior for name, ends in groups.items()},
        propensity_by_group={name: ends.propensity for name, ends in groups.items()},
        prior_limits_by_group={name: ends.prior_limits for name, ends in groups.items()},
        propensity_limits_by_group={name: ends.propensity_limits for name, ends in groups.items()},
    )


def find_robustness(rows: LabelledRows, estimate: float) -> Robustness:
    """The factors on the odds of a label at which the hidden positives of the fit are halved and doubled."""
    share = rows.share_labelled
    hidden = estimate - share
    if hidden <= _SAME:
        return Robustness(math.nan, math.nan)
    chance = rows.calibrated()

    def departure(target: float, end: int) -> float:
        """Where one end of the share of positives reaches a target, by bisection of the logarithm."""
        low, high = 0.0, math.log(_FARTHEST)
        for _ in range(40):
            middle = 0.5 * (low + high)
            lo, hi = band(rows, Assumptions(departure=math.exp(middle)))
            found = averages(rows, lo, hi, chance=chance)[end]
            reached = found <= target if end == 0 else found >= target
            low, high = (low, middle) if reached else (middle, high)
        return math.inf if high == math.log(_FARTHEST) else math.exp(high)

    twice = share + 2.0 * hidden
    return Robustness(departure(share + 0.5 * hidden, 0), math.inf if twice > 1.0 else departure(twice, 1))
