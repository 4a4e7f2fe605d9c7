"""Risks of one predictor."""

import copy
from typing import Self

from propense._designs import Design
from propense._maths.arrays import Rows
from propense._maths.double_logistic import class_log_odds_shift, joint_curvature, joint_loss, joint_slope
from propense._maths.logistic import logistic_loss, sigmoid, sigmoid_slope
from propense._risks.base import Risk

__all__ = ["JointRisk", "LogisticRisk"]


class LogisticRisk(Risk):
    """Σ wᵢ·(softplus(aᵢ) − tᵢaᵢ) with targets t in [0, 1]: H_P of the paper, and with soft targets the M-step of EM."""

    def __init__(
        self,
        design: Design,
        targets: Rows,
        *,
        weights: Rows | None = None,
        ridge: float = 0.0,
        intercept_ridge: float = 0.0,
    ) -> None:
        super().__init__(design, (targets,), weights, ridge, intercept_ridge)

    _loss = staticmethod(logistic_loss)

    @staticmethod
    def _slope(a: Rows, targets: Rows) -> Rows:
        return sigmoid(a) - targets

    @staticmethod
    def _curvature(a: Rows, targets: Rows) -> Rows:
        return sigmoid_slope(a)


class JointRisk(Risk):
    """n·Qₙ as a function of one predictor, the other held at `other` = X @ (its coefficients)."""

    def __init__(
        self, design: Design, labelled: Rows, other: Rows, *, weights: Rows | None = None, ridge: float = 0.0
    ) -> None:
        super().__init__(design, (labelled, other, class_log_odds_shift(other, labelled)), weights, ridge)

    def holding(self, other: Rows) -> Self:
        """The same risk with the other predictor held elsewhere; the majoriser does not depend on it and is shared."""
        moved = copy.copy(self)
        labelled = self._rows[0]
        moved._rows = (labelled, other, class_log_odds_shift(other, labelled))
        return moved

    @staticmethod
    def _loss(a: Rows, labelled: Rows, other: Rows, shift: Rows) -> Rows:
        return joint_loss(a, other, labelled)

    @staticmethod
    def _slope(a: Rows, labelled: Rows, other: Rows, shift: Rows) -> Rows:
        return joint_slope(a, shift)

    @staticmethod
    def _curvature(a: Rows, labelled: Rows, other: Rows, shift: Rows) -> Rows:
        return joint_curvature(a, shift)
