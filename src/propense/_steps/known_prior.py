"""A share of positives that is known from elsewhere: y moves to meet it, and what the labels show stays as it is."""

from dataclasses import dataclass
from typing import Any

from scipy.optimize import brentq

from propense._designs import Design, Predictor
from propense._inputs.sample import Sample
from propense._maths.arrays import Rows
from propense._maths.double_logistic import shift_class

__all__ = ["ShiftedPredictor", "shift_to"]

# Shifts of y's log-odds beyond this change nothing that float64 shows.
_FAR = 60.0


@dataclass(frozen=True)
class ShiftedPredictor:
    """y with its log-odds moved by `shift`, or the e that leaves y·e as it was.

    `moves` are the shifts of each reading of a label score, the one in use last; empty if there is one reading only.
    """

    posterior: Predictor
    propensity: Predictor
    shift: float
    of_class: bool
    moves: tuple[float, ...] = ()

    def log_odds(self, design: Design) -> Rows:
        moved = shift_class(self.posterior.log_odds(design), self.propensity.log_odds(design), self.shift)
        return moved[0 if self.of_class else 1]


def shift_to(prior: float, sample: Sample, a: Any, b: Any, log_unknown: float = 0.0) -> float:
    """How far y's log-odds must move for the rows' estimated share of positives to be `prior`, as far as it can be."""

    def excess(shift: float) -> float:
        return sample.share_positive(*shift_class(a, b, shift), log_unknown) - prior

    if excess(-_FAR) >= 0.0:
        return -_FAR
    if excess(_FAR) <= 0.0:
        return _FAR
    return float(brentq(excess, -_FAR, _FAR, xtol=1e-10))
