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
    """n·Qₙ as a function of one predictor, the other held at `other` = X @ (its coefficients).

    With `negative`, rows that are known to be so: those that are, 1 − eᵘ of all negatives, cost −log(1−y), and u, the
    `log_unknown`, shifts what is thought of the rest. Such a risk is one of y only, with e held.
    """

    _formula = JOINT

    def __init__(
        self,
        design: Design,
        labelled: Rows,
        other: Rows,
        *,
        negative: Rows | None = None,
        log_unknown: float = 0.0,
        weights: Rows | None = None,
        ridge: float = 0.0,
    ) -> None:
        if negative is not None:
            self._formula = KNOWN_JOINT
        super().__init__(design, _joint_rows(labelled, other, negative, log_unknown), weights, ridge)

    def holding(self, other: Rows, log_unknown: float = 0.0) -> Self:
        """The same risk with the other predictor held elsewhere; the majoriser does not depend on it and is shared."""
        moved = copy.copy(self)
        labelled, negative = self._rows[0], self._rows[3] if len(self._rows) > 3 else None
        rows = _joint_rows(labelled, other, negative, log_unknown)
        moved._rows = (*rows[:2], *(self.design.hold(each) for each in rows[2:]))
        return moved


def _joint_rows(labelled: Rows, other: Rows, negative: Rows | None, log_unknown: float) -> tuple[Rows, ...]:
    """What the formula takes."""
    if negative is None:
        return labelled, other, class_log_odds_shift(other, labelled)
    everywhere = as_float(labelled) * 0.0 + log_unknown
    return labelled, other, known_shift(other, labelled, negative, log_unknown), negative, everywhere
