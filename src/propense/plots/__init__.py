"""Displays, in scikit-learn's manner; matplotlib is imported when one is drawn."""

from propense.plots._fits import PropensityDisplay, RiskPathDisplay
from propense.plots._studies import FrequencyDisplay, RankDisplay

__all__ = ["FrequencyDisplay", "PropensityDisplay", "RankDisplay", "RiskPathDisplay"]
