"""Risks: maths ∘ design. What a solver minimises."""

from propense._risks.base import Objective, Risk, cost_of_knowing
from propense._risks.pair import PairRisk
from propense._risks.single import JointRisk, LogisticRisk

__all__ = ["JointRisk", "LogisticRisk", "Objective", "PairRisk", "Risk", "cost_of_knowing"]
