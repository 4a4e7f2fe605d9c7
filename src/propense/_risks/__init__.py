"""Risks: maths ∘ design. What a solver minimises."""

from propense._risks.pair import PairRisk
from propense._risks.single import JointRisk, LogisticRisk, Risk, cost_of_knowing

__all__ = ["JointRisk", "LogisticRisk", "PairRisk", "Risk", "cost_of_knowing"]
