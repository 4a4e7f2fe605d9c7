"""Risks: maths ∘ design. What a solver minimises."""

from propense._risks.pair import PairRisk
from propense._risks.single import JointRisk, LogisticRisk, Risk, known_negative_loss

__all__ = ["JointRisk", "LogisticRisk", "PairRisk", "Risk", "known_negative_loss"]
