"""Risks of one predictor."""

import copy
from typing import Self

from propense._designs import Design
from propense._maths.arrays import Rows, as_float
from propense._maths.double_logistic import class_log_odds_shift
from propense._maths.formulas import JOINT, KNOWN_JOINT, LOGISTIC
from propense._maths.known_negatives import known_shift
from propense._risks.base import Risk, Vector

__all__ = ["JointRisk", "LogisticRisk"]


class LogisticRisk(Risk):
    """Σ wᵢ·(softplus(aᵢ) − tᵢaᵢ) with targets t in [0, 1]: H_P of the paper, and with soft targets the M-step of EM."""

    _formula = LOGISTIC

    def __init__(
        self,
        design: Design,
        targets: Rows,
        *,
        weights: Rows | None = None,
        ridge: float | Vector = 0.0,
        intercept_ridge: float = 0.0,
    ) -> None:
        super().__init__(design, (as_float(targets),), weights, ridge, intercept_ridge)


class JointRisk(Risk):
    """n·Qₙ as a function of one predictor, with the other held at `other` = X @ (its coefficients)."""

    _formula = JOINT

    def __init__(
        self,
        design: Design,
        labelled: Rows,
        other: Rows,
        *,
        weights: Rows | None = None,
        ridge: float = 0.0,
    ) -> None:
        super().__init__(design, (labelled, other, class_log_odds_shift(other, labelled)), weights, ridge)

    def holding(self, other: Rows) -> Self:
        """The same risk with the other predictor held elsewhere; the majoriser does not depend on it and is shared."""
        moved, labelled = copy.copy(self), self._rows[0]
        moved._formula, moved._rows = JOINT, (labelled, other, self.design.hold(class_log_odds_shift(other, labelled)))
        return moved

    def knowing(self, negative: Rows, log_unknown: float) -> Self:
        """The risk of y with e held where the rows of `negative` are known negatives, 1 − exp(log_unknown) of all."""
        known, hold = copy.copy(self), self.design.hold
        labelled, other = self._rows[:2]
        shift, everywhere = known_shift(other, labelled, negative, log_unknown), as_float(labelled) * 0.0 + log_unknown
        known._formula = KNOWN_JOINT
        known._rows = labelled, other, hold(shift), hold(negative), hold(everywhere)
        return known

    def log_odds(self, coef: Vector) -> tuple[Rows, Rows]:
        """The log-odds of this predictor and of the other."""
        return self.design.matvec(coef), self._rows[1]
