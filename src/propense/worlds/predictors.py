"""Predictors along a label score: of y and e from their curves, or of y on a line."""

from dataclasses import dataclass
from typing import Any

from propense._designs import Design, Predictor
from propense._maths.arrays import Rows, namespace
from propense._maths.double_logistic import hidden_log_odds, shift_class
from propense._steps.known_prior import ShiftedPredictor
from propense._steps.label_scores import LabelScore
from propense.worlds.curves import Curves

__all__ = ["CurvePredictor", "LinePredictor", "Pair", "pairs_along", "pairs_of", "range_of_hidden"]

Pair = tuple[Rows, Rows]


@dataclass(frozen=True)
class CurvePredictor:
    """y, or e, of a row as a function of its label score."""

    score: LabelScore
    curves: Curves
    of_class: bool

    def log_odds(self, design: Design) -> Rows:
        t = self.score.of(design)
        return self.curves.posterior(t) if self.of_class else self.curves.propensity(t)


@dataclass(frozen=True)
class LinePredictor:
    """The log-odds level + slope·t along a label score t, and `own` added to them."""

    score: LabelScore
    level: float
    slope: float
    own: Predictor | None = None

    def log_odds(self, design: Design) -> Rows:
        return self.along(self.score.of(design), design)

    def along(self, t: Rows, design: Design) -> Rows:
        """The log-odds of rows whose score is known."""
        a = self.level + self.slope * t
        return a if self.own is None else a + self.own.log_odds(design)


def pairs_of(y: Any, e: Any, design: Design) -> list[Pair]:
    """The log-odds of y and e at the low end of the range, at the high end, and in use."""
    if isinstance(y, ShiftedPredictor):
        return pairs_along(pairs_of(y.posterior, y.propensity, design), y.moves_of(design))
    if isinstance(y, CurvePredictor):
        t = y.score.of(design)
        return [each.pair(t) for each in y.curves.three()]
    pair = y.log_odds(design), e.log_odds(design)
    return [pair, pair, pair]


def pairs_along(pairs: list[Pair], moves: tuple[Any, ...]) -> list[Pair]:
    """Each pair with y moved, and e such that y·e stays as it is."""
    return [shift_class(*pair, move) for pair, move in zip(pairs, moves, strict=True)]


def range_of_hidden(pairs: list[Pair]) -> Pair:
    """The log-odds of the ends of the range of h."""
    one, two, use = (hidden_log_odds(*pair) for pair in pairs)
    xp = namespace(use)
    return xp.minimum(xp.minimum(one, two), use), xp.maximum(xp.maximum(one, two), use)
