"""How one score of the labels is split into y and e: two readings of its curve, and what lies between them.

A label score t puts the rows in an order. The labels give the probability of a label along it, s(t), and s = y·e says
no more about y. Two readings say more, each by an assumption of its own:

- the *climb*: s(t) levels off at some height. The higher it is, the larger the part of its rise that belongs to e;
- the *bells*: the scores of the positives, and those of the negatives, are spread as a bell each.

y is the mean of the two readings; e is s/y.
"""

import math
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np

from propense._designs import Design, Predictor, as_design
from propense._diagnostics.diagnosis import WIDER
from propense._inputs.sample import Sample
from propense._maths.arrays import Rows, Vector, namespace
from propense._maths.double_logistic import hidden_log_odds, shift_class
from propense._maths.logistic import log_odds_of_log, logit, sigmoid, softplus
from propense._steps.label_scores import LabelScore
from propense._steps.pair_curve import PairCurve, PairSettings, climb_share, fit_pair_curve

__all__ = ["Bells", "ScorePredictor", "Split", "fit_bells", "fit_split", "outermost", "share_range"]

# The width of each bell counts as many rows of half the variance of all scores: bells of few rows stay wide.
_ROWS, _SHRUNK = 50.0, 0.5
# The penalties on e along the score: on its slope, times √n, and on its level.
_SLOPE_RIDGE, _LEVEL_RIDGE = 3.0, 1.0
# The rounds stop when no number moves by more than this, or after so many.
_TOL, _ROUNDS = 1e-6, 500
# The most unlabelled rows, roughly, that the bells are fitted to: more hardly move them.
_MOST_ROWS = 20_000
_NONE = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Bells:
    """Normal curves of the scores of positives and negatives, and the share of positives."""

    prior: float
    centres: tuple[float, float]
    widths: tuple[float, float]

    def log_odds(self, t: Rows) -> Rows:
        """The log-odds of being positive at a score; it never falls as the score rises."""
        (high, low), (wide, other) = self.centres, self.widths
        bend = 0.5 / other**2 - 0.5 / wide**2
        if bend != 0.0:
            # Where the bells differ in width, the log-odds turn at this score: beyond it they stay level.
            turn, xp = -0.5 * (high / wide**2 - low / other**2) / bend, namespace(t)
            t = xp.clip(t, -math.inf, turn) if bend < 0.0 else xp.clip(t, turn, math.inf)
        distance = 0.5 * ((t - low) / other) ** 2 - 0.5 * ((t - high) / wide) ** 2
        return distance + math.log(other / wide) + logit(self.prior)


def fit_bells(sample: Sample, t: Rows) -> Bells:
    """The bells by expectation and maximisation, with labels as likely as σ(g₀ + g₁·t) among the positives."""
    negative = sample.labelled & ~sample.labelled if sample.negative is None else sample.negative
    step = max(1, round(sample.design.shape[0] / _MOST_ROWS))
    t, labelled, known, weights = sample.gather(partial(_thin, step), t, sample.labelled, negative)
    total = float(weights.sum())
    mean = float(weights @ t) / total
    # The spread is 1, or 0 if nothing was learned.
    spread = float(weights @ (t - mean) ** 2) / total or 1.0
    own = weights * labelled
    share = float(own.sum()) / total
    centres = np.array([own @ t, (weights - own) @ t]) / (total * np.array([share, 1.0 - share]))
    widths = np.full(2, math.sqrt(spread))
    # As if half of the positives were labelled, each as likely as the others.
    prior, chance = min(0.9, 2.0 * share), np.zeros(2)
    ridges = np.array([_LEVEL_RIDGE, _SLOPE_RIDGE * math.sqrt(total)])
    unknown = 0.0
    design = np.column_stack([np.ones(len(t)), t])
    before = np.full(7, math.inf)
    for _ in range(_ROUNDS):
        e = sigmoid(design @ chance)
        a = _raw_log_odds(t, centres, widths) + logit(prior)
        r = np.where(labelled, 1.0, np.where(known, 0.0, sigmoid(a + np.log1p(-np.minimum(e, 1 - 1e-12)) - unknown)))
        parts = np.stack([weights * r, weights * (1.0 - r)])
        sums = np.maximum(parts.sum(axis=1), 1e-12 * total)
        prior = float(np.clip(sums[0] / total, 1e-9, 1.0 - 1e-9))
        centres = (parts @ t) / sums
        squares = (parts * (t - centres[:, np.newaxis]) ** 2).sum(axis=1)
        widths = np.sqrt((squares + _ROWS * _SHRUNK * spread) / (sums + _ROWS))
        if known.any():
            unknown = math.log(max(1.0 - float(weights @ known) / sums[1], 1e-12))
        for _ in range(2):
            e = sigmoid(design @ chance)
            slope = design.T @ (parts[0] * (labelled - e)) - ridges * chance
            bend = (design * (parts[0] * e * (1.0 - e))[:, np.newaxis]).T @ design + np.diag(ridges)
            chance = chance + np.clip(np.linalg.solve(bend, slope), -1.0, 1.0)
        now = np.array([prior, *centres, *widths, *chance])
        if np.abs(now - before).max() < _TOL:
            break
        before = now
    if centres[0] < centres[1]:
        # The labels say nothing about the scores; a bell of positives on the wrong side is no reading of them.
        centres = np.array([mean, mean])
        widths = np.full(2, math.sqrt(spread))
    return Bells(prior, (float(centres[0]), float(centres[1])), (float(widths[0]), float(widths[1])))


def _thin(step: int, t: Rows, labelled: Rows, known: Rows, weights: Rows) -> list[Rows]:
    """All rows whose class is known, and every `step`-th of the others, which stands for `step` of them."""
    xp, certain = namespace(t), labelled | known
    rows = xp.concatenate([xp.where(certain)[0], xp.where(~certain)[0][::step]])
    weights = xp.where(certain, weights, weights * step)
    return [each[rows] for each in (t, labelled, known, weights)]


def _raw_log_odds(t: Vector, centres: Vector, widths: Vector) -> Vector:
    far = ((t - centres[:, np.newaxis]) / widths[:, np.newaxis]) ** 2
    return np.asarray(0.5 * (far[1] - far[0]) + math.log(widths[1] / widths[0]))


@dataclass(frozen=True)
class Split:
    """y and e as functions of a label score t.

    Attributes
    ----------
    level, slope, height : float
        The curve of the labels, s(t) = height·σ(level + slope·t).
    share : float or None
        The part of its steepness that e gets in the reading "climb"; None leaves the bells alone.
    bells : Bells or None
        The reading "bells"; None leaves the climb alone.
    """

    level: float
    slope: float
    height: float
    share: float | None
    bells: Bells | None

    def label_log_chance(self, t: Rows) -> Rows:
        """log s(t)."""
        return math.log(self.height) - softplus(-(self.level + self.slope * t))

    def posterior(self, t: Rows) -> Rows:
        """The log-odds of y: of the mean of its readings. y is never below s."""
        readings = []
        if self.share is not None:
            readings.append(log_odds_of_log((1.0 - self.share) * -softplus(-(self.level + self.slope * t))))
        if self.bells is not None:
            readings.append(self.bells.log_odds(t))
        least = log_odds_of_log(self.label_log_chance(t))
        return namespace(t).maximum(reduce(_mean_log_odds, readings), least)

    def propensity(self, t: Rows) -> Rows:
        """The log-odds of e = s/y."""
        return log_odds_of_log(self.label_log_chance(t) + softplus(-self.posterior(t)))

    @property
    def readings(self) -> dict[str, "Split"]:
        """Each reading by itself, "constant" (e is constant) among them."""
        constant, climb = replace(self, share=0.0, bells=None), replace(self, bells=None)
        found = {"constant": constant, "climb": climb}
        return found if self.bells is None else {**found, "bells": replace(self, share=None)}

    def pairs(self, t: Rows, moves: tuple[float, ...] = ()) -> list[tuple[Rows, Rows]]:
        """The log-odds of y and e in each reading, the one in use last; y moved to a known prior by `moves`."""
        pairs = [(each.posterior(t), each.propensity(t)) for each in (*self.readings.values(), self)]
        return [shift_class(*pair, move) for pair, move in zip(pairs, moves, strict=True)] if moves else pairs


def outermost(pairs: list[tuple[Rows, Rows]]) -> tuple[Rows, Rows]:
    """The log-odds of the least and the most that h can be, row by row: the outermost readings, and `WIDER` beyond."""
    hidden = [hidden_log_odds(*pair) for pair in pairs]
    xp = namespace(hidden[0])
    return reduce(xp.minimum, hidden) - WIDER, reduce(xp.maximum, hidden) + WIDER


def share_range(sample: Sample, pairs: list[tuple[Rows, Rows]], unknowns: list[float]) -> tuple[float, float]:
    """The least and the most that the share of positives can be: that of the rows under one reading, as above.

    `unknowns` are log(1 − d) in each reading, where d is the share of negatives that are known.
    """
    low, high = (
        [sample.share_positive(a + way, b, unknown) for (a, b), unknown in zip(pairs, unknowns, strict=True)]
        for way in (-WIDER, WIDER)
    )
    return min(low), max(high)


def _mean_log_odds(a: Rows, b: Rows) -> Rows:
    """The log-odds of (σ(a) + σ(b))/2."""
    xp = namespace(a)
    return xp.logaddexp(-softplus(-a), -softplus(-b)) - xp.logaddexp(-softplus(a), -softplus(b))


def fit_split(sample: Sample, t: Rows, settings: PairSettings, share: float | None) -> tuple[Split, PairCurve]:
    """The two readings of the labels along t, and the search of their curve; a given share leaves the climb alone."""
    along = replace(
        sample, design=as_design(t[:, np.newaxis]), propensity_columns=_NONE, levels=None, class_columns=None
    )
    curve = fit_pair_curve(along, settings)
    (level, slope), height = curve.beta, curve.height
    if slope < 0.0:
        # Labels are rarer where learners expect them: they have learned nothing that holds for rows they have not seen.
        level, slope = logit(min(sample.mean(sample.labelled) / height, 1.0 - 1e-9)), 0.0
    if share is not None:
        return Split(float(level), float(slope), height, float(share), None), curve
    return Split(float(level), float(slope), height, climb_share(height), fit_bells(sample, t)), curve


@dataclass(frozen=True)
class ScorePredictor:
    """y, or e, of a row as a function of its label score; `own` is added to the log-odds of y."""

    score: LabelScore
    split: Split
    of_class: bool
    own: Predictor | None = None

    def log_odds(self, design: Design) -> Rows:
        return self.along(self.score.of(design), design)

    def along(self, t: Rows, design: Design) -> Rows:
        """The log-odds of rows whose score is known."""
        if not self.of_class:
            return self.split.propensity(t)
        a = self.split.posterior(t)
        return a if self.own is None else a + self.own.log_odds(design)
