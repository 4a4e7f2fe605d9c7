"""The values of e(x) that assumptions leave, row by row, and the averages of y(x) that follow from them.

The labels show s(x) = y(x)·e(x). So y = s/e, and every assumption is one about e: it leaves e between lo(x) and hi(x),
and y between s/hi and min(1, s/lo). Each end can be reached in all rows at once, so the averages of the ends are sharp.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betainc
from sklearn.isotonic import isotonic_regression

from propense._maths.arrays import Index, Vector
from propense._maths.logistic import logit, sigmoid

__all__ = ["Assumptions", "LabelledRows", "averages", "band", "class_ends", "hidden_ends", "violation"]

# Labels expected in one cell of rows: the fewer, the sharper, and the more a matter of luck. Chosen by
# benchmarks/bound_coverage.py, on simulated worlds: the truth was outside the 95% limits in 2 of 612 cases with 50
# labels, and in 5 with 25.
_LABELS, _MOST_CELLS = 50.0, 50
# s(x) is corrected in larger cells: it is right on average, or nearly so, and labels vary.
_CORRECTED = 4.0
# The fewest labels by which assumptions are contradicted; every test has twice as many as the one before.
_TEST_LABELS = 25.0
# A cell's labels count as if so many more had come out as the fit expects.
_EXPECTED = 10.0
# Rounds of correcting s(x).
_ROUNDS = 2
# The chance that labels which keep to the assumptions are called a contradiction, and its one-sided normal quantile.
_FALSE_ALARM, _FALSE_ALARM_Z = 0.001, 3.1
# Chances of a label that are nearer to 0 or 1 have no finite odds.
_NEAR = 1e-9


@dataclass(frozen=True)
class Assumptions:
    """What is assumed of e(x); the defaults assume nothing.

    Attributes
    ----------
    propensity : (float, float)
        The least and the largest e.
    odds_ratio : float
        The odds of a label, e/(1 − e), differ between any two positives by at most this factor.
    departure : float
        The odds of a label differ from those of the fit by at most this factor, up or down.
    rising : bool
        e never falls as the class score rises.
    clearest : float
        The share of positives among the rows with the highest class scores is at least this.
    """

    propensity: tuple[float, float] = (0.0, 1.0)
    odds_ratio: float = math.inf
    departure: float = math.inf
    rising: bool = False
    clearest: float = 0.0


@dataclass(frozen=True)
class LabelledRows:
    """What is known of rows: their labels, and what a fit that has not seen them says.

    Attributes
    ----------
    labelled : Vector
        1 for labelled rows, else 0.
    chance : Vector
        s(x), the chance of a label, as the fit has it.
    score : Vector
        The class score: rows with a higher one are more likely to be positive.
    propensity : Vector
        e(x) of the fit.
    weights : Vector
    along_chance, along_score : Index
        The cell of each row: a run of rows along s(x), and along the class score.
    corrected : tuple of Index
        Larger cells along s(x), the class score and e(x).
    ranks : Index
        The rank of each row's class score; rows with the same score have the same.
    doubt : float
        The weight of an unlabelled row that is added to each cell before its share of labels is taken: that all rows of
        a cell are labelled does not show that all rows like these are.
    """

    labelled: Vector
    chance: Vector
    score: Vector
    propensity: Vector
    weights: Vector
    along_chance: Index
    along_score: Index
    corrected: tuple[Index, ...]
    ranks: Index
    doubt: float = 0.0

    @classmethod
    def of(
        cls,
        labelled: Vector,
        chance: Vector,
        score: Vector,
        propensity: Vector,
        weights: Vector,
        labels_per_cell: float = _LABELS,
    ) -> "LabelledRows":
        """The rows with their cells; with 0 labels per cell, each value of a score is a cell of its own."""
        expected, doubt = weights * chance, float(weights.mean()) if labels_per_cell else 0.0
        fine, coarse = (_cell_count(labelled, weights, labels_per_cell * each) for each in (1.0, _CORRECTED))
        along_chance, along_score = (_cells_along(each, expected, fine) for each in (chance, score))
        ranks = np.unique(score, return_inverse=True)[1]
        # Half by rows: else most rows would be in one cell, where labels are rare, and a curve of s that is too steep
        # would go uncorrected there.
        mass = expected / max(float(expected.sum()), 1e-300) + weights / float(weights.sum())
        larger = tuple(_cells_along(each, mass, coarse) for each in (propensity, score, chance))
        return cls(labelled, chance, score, propensity, weights, along_chance, along_score, larger, ranks, doubt)

    def reweighted(self, weights: Vector, doubt: float) -> "LabelledRows":
        """The same rows and cells with other weights."""
        return replace(self, weights=weights, doubt=doubt)

    def among(self, mask: np.ndarray) -> "LabelledRows":
        """Some of the rows, with cells of their own."""
        parts = (each[mask] for each in (self.labelled, self.chance, self.score, self.propensity, self.weights))
        return LabelledRows.of(*parts)

    @property
    def share_labelled(self) -> float:
        """P(S=1)."""
        return float(self.weights @ self.labelled / self.weights.sum())

    @property
    def top(self) -> np.ndarray:
        """The rows of the last cell along the class score."""
        return np.asarray(self.along_score == self.along_score.max())

    def calibrated(self) -> Vector:
        """s(x), corrected by the labels of each cell, along each of the three orders in turn; it adds up to them.

        So the averages below hold even where the fit of s(x) is too simple, as long as it puts rows in some order.
        """
        w, s = self.weights, self.chance
        labels = float(w @ self.labelled)
        if labels == 0.0:
            return np.zeros_like(s)
        # In units of one labelled row.
        own = _EXPECTED * float((w**2) @ self.labelled) / labels
        for _ in range(_ROUNDS):
            for cells in self.corrected:
                s = s * (labels / max(float(w @ s), 1e-300))
                seen, expected = np.bincount(cells, w * self.labelled), np.bincount(cells, w * s)
                s = np.minimum(s * ((seen + own) / (expected + own))[cells], 1.0)
        return np.asarray(np.minimum(s * (labels / max(float(w @ s), 1e-300)), 1.0))

    def rates(self, cells: Index) -> Vector:
        """The share of labels in each cell, with those that fall put together until none does."""
        sizes = np.maximum(np.bincount(cells, self.weights) + self.doubt, 1e-300)
        raw = np.bincount(cells, self.weights * self.labelled) / sizes
        return np.asarray(isotonic_regression(raw, sample_weight=sizes))

    def share_in(self, mask: np.ndarray, z: float = 0.0) -> float:
        """The share of labels among some rows, plus z standard errors."""
        w, s = self.weights[mask], self.labelled[mask]
        share = min(float(w @ s / w.sum()), 1.0)
        return share + z * math.sqrt(share * (1.0 - share) * float(w @ w)) / float(w.sum())


def _cell_count(labelled: Vector, weights: Vector, per_cell: float) -> int:
    """How many cells: by the number of labels, or 0 for as many as there are values."""
    if per_cell == 0.0:
        return 0
    labels = float(weights @ labelled) ** 2 / max(float((weights**2) @ labelled), 1e-300)
    return int(np.clip(labels / per_cell, 1, _MOST_CELLS))


def _cells_along(score: Vector, expected: Vector, count: int) -> Index:
    """Cells along a score in which about as many labels are expected; rows with the same score share one."""
    places = np.unique(score, return_inverse=True)[1]
    if count == 0:
        return np.asarray(places)
    sums = np.bincount(places, expected)
    before = np.cumsum(sums) - sums
    cells = np.floor(count * before / max(float(sums.sum()), 1e-300)).astype(np.intp)
    return np.asarray(np.unique(np.minimum(cells, count - 1), return_inverse=True)[1][places])


def _times_odds(chance: Vector | float, factor: float) -> Vector:
    """The chance whose odds are `factor` times those of another."""
    chance = np.clip(chance, _NEAR, 1.0 - _NEAR)
    return np.asarray(factor * chance / (1.0 - chance + factor * chance))


def band(rows: LabelledRows, given: Assumptions, z: float = 0.0) -> tuple[Vector, Vector]:
    """lo(x) and hi(x), the ends of e(x), before e ≥ s; with `z`, rates that limit e from above get z standard errors.

    An assumption with an unknown centre (no two odds differ by more than a factor) leaves several bands: this is lo of
    the lowest of them and hi of the highest.
    """
    n = len(rows.chance)
    lo, hi = np.full(n, given.propensity[0]), np.full(n, given.propensity[1])
    if given.departure < math.inf:
        centre, step = logit(np.clip(rows.propensity, _NEAR, 1.0 - _NEAR)), math.log(given.departure)
        lo, hi = np.maximum(lo, sigmoid(centre - step)), np.minimum(hi, sigmoid(centre + step))
    # Among the clearest rows, s = y·e ≥ clearest·(the least e among them), so that this e is at most `least`.
    least = 1.0 if given.clearest == 0.0 else min(1.0, rows.share_in(rows.top, z) / given.clearest)
    if given.rising:
        hi = np.where(rows.top, hi, np.minimum(hi, least))
    if given.odds_ratio < math.inf:
        height = float(rows.rates(rows.along_chance)[-1])
        hi = np.minimum(hi, _times_odds(min(float(hi.min()), least), given.odds_ratio))
        lo = np.maximum(lo, _times_odds(max(float(lo.max()), height), 1.0 / given.odds_ratio))
    if given.rising:
        # Rows of a lower cell have an e of at least their share of labels, and so do all rows above them.
        below = np.concatenate([[0.0], rows.rates(rows.along_score)])
        lo, hi = _envelope(rows.ranks, np.maximum(lo, below[rows.along_score]), hi)
    return lo, hi


def _envelope(ranks: Index, lo: Vector, hi: Vector) -> tuple[Vector, Vector]:
    """The ends of an e that never falls with the score: lo of no row below, and hi of no row above, is passed."""
    count = int(ranks.max()) + 1
    least, most = np.zeros(count), np.ones(count)
    np.maximum.at(least, ranks, lo)
    np.minimum.at(most, ranks, hi)
    # Rows with the same score do not limit each other.
    before = np.concatenate([[0.0], np.maximum.accumulate(least)[:-1]])
    after = np.concatenate([np.minimum.accumulate(most[::-1])[::-1][1:], [1.0]])
    return np.maximum(lo, before[ranks]), np.minimum(hi, after[ranks])


def class_ends(chance: Vector, lo: Vector, hi: Vector) -> tuple[Vector, Vector]:
    """s/hi and min(1, s/lo): the ends of y(x).

    Where s is above hi, by chance or in contradiction, the first is above 1. Left as it is, it has the mean of S/hi,
    and so does not depend on how well s was estimated.
    """
    low = chance / np.maximum(hi, _NEAR)
    # Where nothing keeps e above 0, y can be 1 even if there are no labels.
    return low, np.where(lo > 0.0, np.minimum(1.0, chance / np.maximum(lo, 1e-300)), 1.0)


def hidden_ends(chance: Vector, lo: Vector, hi: Vector) -> Vector:
    """The ends of h(x) = (y − s)/(1 − s), of shape (n, 2)."""
    chance = np.minimum(chance, 1.0 - _NEAR)
    low, high = class_ends(chance, lo, hi)
    low = np.minimum(low, 1.0)
    ends = [(y - chance) / (1.0 - chance) for y in (low, np.maximum(low, high))]
    return np.clip(np.stack(ends, axis=1), 0.0, 1.0)


def averages(
    rows: LabelledRows, lo: Vector, hi: Vector, clearest: float = 0.0, chance: Vector | None = None
) -> tuple[float, float]:
    """The least and the largest share of positives among the rows; `chance` is `rows.calibrated()`, if it is known."""
    w, total = rows.weights, float(rows.weights.sum())
    low, high = class_ends(rows.calibrated() if chance is None else chance, lo, hi)
    least, most = float(w @ low), float(w @ high)
    if clearest > 0.0:
        # Single rows may have fewer; together the clearest have no fewer than this.
        top = rows.top
        least += max(0.0, clearest * float(w[top].sum()) - float(w[top] @ low[top]))
    least = min(max(least / total, rows.share_labelled), 1.0)
    return least, min(max(most / total, least), 1.0)


@dataclass(frozen=True)
class Violation:
    """Rows with more labels than an assumption allows: how many, their share of labels, and the most allowed."""

    rows: int
    share: float
    allowed: float


def violation(rows: LabelledRows, given: Assumptions) -> Violation | None:
    """The rows whose labels clearly contradict the assumptions, if there are any.

    Labels can only contradict an upper limit of e, because s ≤ e: many rows together are compared with it, by the
    binomial distribution, so that one unlikely label does not count.
    """
    hi = band(rows, given, _FALSE_ALARM_Z)[1]
    if bool((hi >= 1.0).all()):
        return None
    w = rows.weights
    # More labels than allowed are most likely where s/hi is largest: the first rows in this order, then twice as many.
    values, places = np.unique(-rows.chance / np.maximum(hi, _NEAR), return_inverse=True)
    sums = [np.cumsum(np.bincount(places, each)) for each in (w, w**2, w * rows.labelled, w * hi, w * rows.chance)]
    unit = float((w**2) @ rows.labelled) / max(float(w @ rows.labelled), 1e-300)
    marks = _TEST_LABELS * unit * 2.0 ** np.arange(30)
    ends = np.unique(np.searchsorted(sums[4], marks[marks < sums[4][-1]]))
    ends = np.unique([*ends, len(values) - 1])
    sizes, squares, labels, allowed, _ = (each[ends] for each in sums)
    shares, allowed = labels / sizes, allowed / sizes
    # Kish's effective number of rows: as many rows of equal weight.
    effective = sizes**2 / squares
    # P(Binomial ≥ labels), for numbers that need not be whole.
    chances = betainc(np.maximum(effective * shares, 1e-9), effective * (1.0 - shares) + 1.0, np.minimum(allowed, 1.0))
    chances = np.where(shares > allowed, chances, 1.0)
    worst = int(np.argmin(chances))
    if chances[worst] * len(ends) >= _FALSE_ALARM:
        return None
    return Violation(int((places <= ends[worst]).sum()), float(shares[worst]), float(allowed[worst]))
