"""The share of positives if the hardest positives are at most Λ times harder to label than the easiest."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.isotonic import isotonic_regression
from sklearn.utils import check_random_state

from propense._inputs.options import Count, Number, Seed
from propense._maths.arrays import Index, Vector
from propense._representation import Readable, Sheet, as_html
from propense.errors import InvalidOption
from propense.inference._bound_rows import ReadRows, read_rows

__all__ = ["Bounds", "LabelCurve", "bounds", "find_bounds"]

_DRAWS = 200
# The fewest labels in the top rows: the relative error of their labelled share is then about 1/√20, or 22 %.
_LABELS = 20
_PURITY = (1.0, 0.8)


@dataclass(frozen=True)
class LabelCurve:
    """The distribution of s(x): s(x)/s_top in blocks of rows, in rising order, and the share of the rows in each."""

    labelled: float
    top_share: float
    relative: Vector
    shares: Vector

    @classmethod
    def of(cls, s: Vector, weights: Vector) -> "LabelCurve":
        """The curve of cells with their s(x), in rising order, and their weights."""
        starts = np.flatnonzero(np.diff(s, prepend=-1.0))
        shares = np.add.reduceat(weights, starts) / weights.sum()
        return cls(float(s[starts] @ shares), float(s[-1]), s[starts] / s[-1], shares)

    def ends(self, spread: Any, purity: Any) -> tuple[Any, Any]:
        """p·P(S)/s_top and p·E min(1, Λ s/s_top) for each Λ and p; the limits of p are not checked."""
        least = np.multiply.outer(np.ones(np.shape(spread)), np.asarray(purity) * self.labelled / self.top_share)
        curve = np.minimum(1.0, np.multiply.outer(spread, self.relative)) @ self.shares
        return least, np.maximum(least, np.multiply.outer(curve, purity))


@dataclass(frozen=True, repr=False)
class Bounds(Readable):
    """The result of `bounds`; ``str()`` explains it in words.

    Attributes
    ----------
    top_rows : int
        How many top rows there are: those to which the model gives the highest chance of a label.
    top_score : float
        The top rows are those with a score y(x)·e(x) of at least this.
    estimate : float
        The share of positive rows that the fit estimates.
    spread : tuple of float
        Λ: how many times harder to label the hardest positives may be than those of the top rows.
    purity : tuple of float
        p: the share of the top rows that is positive.
    checked : (int, int) or None
        How many of the unlabelled top rows that were checked are positive, and how many were checked.
    purity_limits : (float, float) or None
        The limits of the purity, if rows were checked.
    low, high : ndarray of shape (n_spread, n_purity)
        The least and the largest share of positive rows.
    low_limit, high_limit : ndarray of shape (n_spread, n_purity)
        The same with what chance adds: another sample of rows would have had other labels.
    confidence : float
        How often the limits should hold, if the spread and the purity do.
    curve : LabelCurve
        The distribution of s(x), relative to that of the top rows.
    """

    top_rows: int
    top_score: float
    estimate: float
    spread: tuple[float, ...]
    purity: tuple[float, ...]
    checked: tuple[int, int] | None
    purity_limits: tuple[float, float] | None
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    low_limit: NDArray[np.float64]
    high_limit: NDArray[np.float64]
    confidence: float
    curve: LabelCurve

    @property
    def labelled(self) -> float:
        """The share of labelled rows."""
        return self.curve.labelled

    @property
    def top_share(self) -> float:
        """The labelled share of the top rows."""
        return self.curve.top_share

    def between(self, spread: float, purity: float | None = None) -> tuple[float, float]:
        """The least and the largest share of positive rows for any spread and purity; the first purity by default."""
        low, high = self.curve.ends(_read_spread([spread])[0], self._read_purity(purity))
        return float(low), float(high)

    def robustness(self, prior: float, purity: float | None = None) -> float:
        """The spread from which on more than `prior` of the rows could be positive.

        It is 1 if they are at any spread, and infinite if they are at none, which is so above the purity.
        """
        if not Number(0.0, 1.0).allows(prior):
            raise InvalidOption(f"prior={prior!r}: must be {Number(0.0, 1.0)}.")
        purity = self._read_purity(purity)
        if prior > purity:
            return math.inf
        # The upper end is linear in Λ between the values at which a block reaches 1.
        turns = 1.0 / self.curve.relative[::-1]
        return float(np.interp(prior, self.curve.ends(turns, purity)[1], turns))

    def robustness_words(self, prior: float, purity: float | None = None) -> str:
        """`robustness` in a sentence."""
        spread, purity = self.robustness(prior, purity), self._read_purity(purity)
        given = f"If {'all' if purity == 1.0 else f'{_share(purity)} of the'} top rows are positive"
        if spread == 1.0:
            least = self.between(1.0, purity)[0]
            return f"{given}, at least {least:.1%} of the rows are, even if some positives are much harder to label."
        if math.isinf(spread):
            return f"{given}, no more than {purity:.1%} of the rows are, so {prior:.1%} cannot be reached."
        times = f"{spread:.1f}" if spread < 10.0 else f"{spread:,.0f}"
        return (
            f"{given}, labelling would have to be {times} times harder for the hardest positives than for the easiest "
            f"before more than {prior:.1%} of the rows could be positive."
        )

    def _read_purity(self, purity: Any) -> float:
        return self.purity[0] if purity is None else _read_purity([purity], self.top_share)[0]

    def _headline(self) -> str:
        ends = _between(self.low[-1, 0], self.high[-1, 0])
        given = f"positives up to {self.spread[-1]:g} times harder to label, top rows {_share(self.purity[0])} positive"
        return f"{ends} of rows are positive; {given}"

    def _sheets(self) -> list[Sheet]:
        ends = np.dstack([self.low, self.high, self.low_limit, self.high_limit])
        lines = [
            [f"{spread:g}", *(f"{_between(*cell[:2])} ({_between(*cell[2:])})" for cell in cells)]
            for spread, cells in zip(self.spread, ends, strict=True)
        ]
        return [Sheet("", ["times harder", *(f"top rows {_share(each)} positive" for each in self.purity)], lines)]

    def _words(self) -> list[str]:
        """What is said; the table stands before the last line."""
        lines = [
            f"{self.labelled:.1%} of the rows are labelled, so at least as many are positive.",
            f"Top rows: the {self.top_rows:,} rows to which the model gives the highest chance of a label. "
            f"{self.top_share:.1%} of them are labelled.",
        ]
        if self.checked and self.purity_limits:
            lines.append(
                f"{self.checked[0]:,} of {self.checked[1]:,} unlabelled top rows that were checked are positive: of "
                f"all top rows, {self.purity[0]:.1%} ({self.purity_limits[0]:.1%} to {self.purity_limits[1]:.1%})."
            )
        return [
            *lines,
            "Positive rows, if the hardest positives are at most so many times harder to label than those of the top "
            f"rows, and in brackets the {100 * self.confidence:g}% limits:",
            f"The fit estimates {self.estimate:.1%}. {self.robustness_words(min(1.0, self.estimate))}",
        ]

    def __str__(self) -> str:
        (sheet,), words = self._sheets(), self._words()
        table = [sheet.head, *sheet.lines]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in table]
        return "\n".join([*words[:-1], *lines, words[-1]])

    def _repr_html_(self) -> str:
        return as_html(type(self).__name__, self._words(), self._sheets())


def _share(purity: float) -> str:
    return f"{round(100.0 * purity, 1):g}%"


def _between(low: float, high: float) -> str:
    one, other = f"{low:.1%}", f"{high:.1%}"
    return one if one == other else f"{one} to {other}"


def bounds(
    model: Any,
    X: Any,
    y: Any,
    *,
    spread: Any = (1, 1.5, 2, 3, 5),
    purity: Any = None,
    checked: tuple[int, int] | None = None,
    top: float = 0.02,
    sample_weight: Any = None,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> Bounds:
    """The share of positives, if labelling differs between positives by no more than a factor.

    Let s(x) = y(x)·e(x) be the chance of a label, and s_top that of the *top rows*, which are most often labelled. If a
    share p of the top rows is positive, nowhere else are more rows positive, and a positive elsewhere is not easier to
    label than those of the top rows and at most Λ times harder, then

        p · P(S)/s_top  ≤  P(Y=1)  ≤  p · E min(1, Λ s(x)/s_top).

    The labels show s(x), but neither Λ nor p: these are yours to choose and to defend. Rows that were checked show p.

    Parameters
    ----------
    model : fitted estimator of propense, or a pipeline or search that ends in one
        Its y(x)·e(x) orders the rows, out of fold if X are the rows of fit and it has kept these values; the labels of
        the rows then give s(x).
    X : array-like, sparse matrix, data frame or tensor of shape (n_rows, n_features)
        The rows of fit, or other rows of the same population. The trees of a model that was loaded from a file have
        seen the rows of fit, and would make the ranges wrong: fit it again, or pass other rows.
    y : array-like of shape (n_rows,)
        Their labels.
    spread : float or several, default=(1, 1.5, 2, 3, 5)
        Λ: how many times harder to label some positives are than those of the top rows; 1 means labels at random.
    purity : float or several, default=None
        p, the share of the top rows that is positive, at least their labelled share. None is 1 and 0.8, or only 1 if
        the labels contradict 0.8.
    checked : (int, int), default=None
        (k, m): m rows were drawn at random among the *unlabelled* top rows and checked, and k of them are positive.
        Then p = s_top + (1 − s_top)·k/m. It replaces ``purity``.
    top : float, default=0.02
        The least share of the rows that are top rows, those with the highest y(x)·e(x). There are more of them if this
        is needed for 20 labels, or if rows below are labelled more often.
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
    s(x) is the isotonic regression of the labels on the score. The top rows share one value, and so do the lowest rows
    that hold 20 labels: the rows below the lowest label do not show that no row like them is ever labelled.

    Both ends can be reached, so that no narrower range is justified: the lower one if e(x) = s_top/p for all positives,
    the upper one if e(x) = max(s(x), s_top/Λ)/p. With Λ = 1 and p = 1, the range is one point, the answer of methods
    that assume labels at random and top rows that are all positive. Without a limit of Λ, P(Y=1) is anything up to p.

    The limits are percentiles of both ends over 200 draws of random weights for the rows (the Bayesian bootstrap), less
    twice the bias that the draws show: isotonic regression makes s_top too large. With ``checked``, half of the error
    is allowed for p, whose limits are those of Clopper and Pearson.

    References
    ----------
    Z. Tan. A distributional approach for causal inference using propensity scores. JASA 101, 2006. The factor Λ.
    Q. Zhao, D. S. Small, B. B. Bhattacharya. Sensitivity analysis for inverse probability weighting estimators via the
    percentile bootstrap. JRSS B 81, 2019. The limits.

    Examples
    --------
    >>> from propense import JointMLE, bounds
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(3000, 6, random_state=0)
    >>> model = JointMLE(propensity_features=[3, 4, 5], random_state=0).fit(data.X, data.labelled)
    >>> found = bounds(model, data.X, data.labelled)
    >>> print("{:.2f} to {:.2f}".format(*found.between(3)), f"in truth {data.positive.mean():.2f}")
    0.28 to 0.54 in truth 0.51
    """
    given = {"purity": purity, "checked": checked, "top": top, "confidence": confidence, "random_state": random_state}
    return find_bounds(read_rows(model, X, y, sample_weight), spread=spread, **given)


def find_bounds(
    read: ReadRows,
    *,
    spread: Any = (1, 1.5, 2, 3, 5),
    purity: Any = None,
    checked: Any = None,
    top: Any = 0.02,
    confidence: Any = 0.95,
    random_state: Any = 0,
    draws: int = _DRAWS,
) -> Bounds:
    """`bounds` for rows that are read; without draws, the limits are the ends."""
    spread = _read_spread(spread)
    if not Number(0.0, 1.0).allows(top) or top == 0:
        raise InvalidOption(f"top={top!r}: must be a share of the rows, above 0 and at most 1, such as 0.02.")
    if not Number(0.0, 1.0).allows(confidence) or confidence in (0, 1):
        raise InvalidOption(f"confidence={confidence!r}: must be a number above 0 and below 1, such as 0.95.")
    if not Seed().allows(random_state):
        raise InvalidOption(f"random_state={random_state!r}: must be {Seed()}.")
    rates = None if checked is None else _read_checked(checked, purity, 0.5 + 0.5 * confidence)
    cells = _cells(read, top)
    s, cell_weights = _isotonic(read.labelled, read.weights, cells)
    curve = LabelCurve.of(s, cell_weights)
    at_top = s[cells] == s[-1]
    if rates is None:
        purity = tuple(each for each in _PURITY if each >= curve.top_share) if purity is None else purity
        purity = _read_purity(purity, curve.top_share)
    else:
        purity = (_purity_of(curve, rates[0]),)

    def reach(drawn: LabelCurve) -> tuple[Vector, Vector]:
        """The ends of a draw, in which more of the top rows may be labelled than are positive by assumption."""
        if rates is None:
            return drawn.ends(spread, np.maximum(purity, drawn.top_share))
        least, most = (np.array([_purity_of(drawn, each)]) for each in rates[1:])
        return drawn.ends(spread, least)[0], drawn.ends(spread, most)[1]

    low, high = curve.ends(spread, purity)
    low_limit, high_limit = low, high
    if draws:
        rng = check_random_state(random_state)
        # As if the rows were drawn again (Rubin, 1981).
        weights = (read.weights * rng.standard_exponential(len(cells)) for _ in range(draws))
        drawn = np.array([reach(LabelCurve.of(*_isotonic(read.labelled, each, cells))) for each in weights])
        # The isotonic regression makes the top too high, and once more in each draw.
        drawn -= 2.0 * (drawn.mean(axis=0) - reach(curve))
        error = 0.5 * (1.0 - confidence) * (1.0 if rates is None else 0.5)
        low_limit = np.clip(np.quantile(drawn[:, 0], error, axis=0), 0.0, low)
        high_limit = np.maximum(high, np.quantile(drawn[:, 1], 1.0 - error, axis=0))
        # The purity of checked rows has a chance of its own.
        high_limit = np.minimum(high_limit, purity if rates is None else 1.0)
    return Bounds(
        top_rows=int(at_top.sum()),
        top_score=float(read.score[at_top].min()),
        estimate=read.estimate,
        spread=spread,
        purity=purity,
        checked=None if checked is None else (int(checked[0]), int(checked[1])),
        purity_limits=None if rates is None else (_purity_of(curve, rates[1]), _purity_of(curve, rates[2])),
        low=low,
        high=high,
        low_limit=low_limit,
        high_limit=high_limit,
        confidence=float(confidence),
        curve=curve,
    )


def _isotonic(labelled: Vector, weights: Vector, cells: Index) -> tuple[Vector, Vector]:
    """The isotonic regression s(x) of the labels on the cells, and the weights of the cells."""
    of_cells = np.asarray(np.bincount(cells, weights), dtype=np.float64)
    s = isotonic_regression(np.bincount(cells, weights * labelled) / of_cells, sample_weight=of_cells)
    return s, of_cells


def _cells(read: ReadRows, top: float) -> Index:
    """The cell of each row along the score; the last one has the top rows, the first one the lowest."""
    cells = np.unique(read.score, return_inverse=True)[1]
    labels = np.cumsum(np.bincount(cells, read.labelled)[::-1])[::-1]
    weights = np.cumsum(np.bincount(cells, read.weights)[::-1])[::-1]
    # Rounding must not add a row to the top.
    enough = (weights >= top * weights[0] * (1.0 - 1e-9)) & (labels >= _LABELS)
    first = int(np.flatnonzero(enough)[-1]) if enough.any() else 0
    if labels[0] == labels[first]:
        # No label below: that would show as a chance of exactly 0.
        first = 0
    # The lowest rows, up to the one with which they hold enough labels.
    last = min(int(np.searchsorted(labels[0] - np.append(labels[1:], 0.0), _LABELS)), max(first - 1, 0))
    cells = np.clip(cells, last, first) - last
    # A cell without labels always joins the one below, whatever the weights.
    starts = np.bincount(cells, read.labelled) > 0
    starts[0] = True
    return (np.cumsum(starts) - 1)[cells]


def _read_spread(spread: Any) -> tuple[float, ...]:
    return _several("spread", spread, Number(1.0), "a factor ≥ 1, or several, such as 2; 1 is labels at random")


def _read_purity(purity: Any, top_share: float) -> tuple[float, ...]:
    several = _several("purity", purity, Number(0.0, 1.0), "a share from 0 to 1, or several, such as 0.8")
    # A share of exactly s_top may differ from it by rounding.
    if min(several) < top_share - 1e-9:
        raise InvalidOption(
            f"purity={min(several):g}: {top_share:.1%} of the top rows are labelled, and therefore positive. Pass a "
            f"share of at least {math.ceil(1000 * top_share) / 1000:g}."
        )
    return several


def _several(name: str, value: Any, allowed: Number, words: str) -> tuple[float, ...]:
    several = tuple(value) if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else (value,)
    wrong = [each for each in several if not allowed.allows(each)] if several else [several]
    if wrong:
        raise InvalidOption(f"{name}={wrong[0]!r}: must be {words}.")
    return tuple(map(float, several))


def _read_checked(checked: Any, purity: Any, confidence: float) -> tuple[float, float, float]:
    """The positive share of the checked rows, and its limits."""
    pair = isinstance(checked, tuple | list) and len(checked) == 2
    if not pair or not Count(low=0).allows(checked[0]) or not Count(low=1).allows(checked[1]):
        raise InvalidOption(
            f"checked={checked!r}: must be two whole numbers, how many rows are positive and how many were checked."
        )
    if checked[0] > checked[1]:
        raise InvalidOption(
            f"checked={checked!r}: {checked[0]} of {checked[1]} rows cannot be positive. Put the number of positive "
            "rows first, then that of all that were checked."
        )
    if purity is not None:
        raise InvalidOption("purity= and checked= exclude each other: the rows that were checked give the purity.")
    found = binomtest(int(checked[0]), int(checked[1])).proportion_ci(confidence)
    return checked[0] / checked[1], float(found.low), float(found.high)


def _purity_of(curve: LabelCurve, rate: float) -> float:
    """p = s_top + (1 − s_top)·k/m."""
    return curve.top_share + (1.0 - curve.top_share) * rate
