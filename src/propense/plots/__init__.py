"""Displays in the style of scikit-learn. matplotlib is imported when one is drawn."""

from propense.plots._bounds import BoundsDisplay
from propense.plots._capacity import CapacityDisplay
from propense.plots._comparisons import ComparisonDisplay
from propense.plots._fits import PropensityDisplay, RiskPathDisplay
from propense.plots._studies import FrequencyDisplay, RankDisplay
from propense.plots._tables import GroupDisplay, PrevalenceDisplay, PropensityCurveDisplay, ReviewDisplay, ScarDisplay

__all__ = [
    "BoundsDisplay",
    "CapacityDisplay",
    "ComparisonDisplay",
    "FrequencyDisplay",
    "GroupDisplay",
    "PrevalenceDisplay",
    "PropensityCurveDisplay",
    "PropensityDisplay",
    "RankDisplay",
    "ReviewDisplay",
    "RiskPathDisplay",
    "ScarDisplay",
]
