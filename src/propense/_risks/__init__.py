"""Risks: maths ∘ design. What a solver minimises."""

from propense._risks.pair import PairRisk
from propense._risks.single import JointRisk, LogisticRisk, Risk, known_negative_loss
from propense._risks.sources import SourcesRisk

__all__ = ["JointRisk", "LogisticRisk", "PairRisk", "Risk", "SourcesRisk", "known_negative_loss"]
