"""How certain a fit is, and whether its assumptions hold."""

from propense.inference._intervals import Interval, Intervals, intervals
from propense.inference._scar import ScarTest, scar_test

__all__ = ["Interval", "Intervals", "ScarTest", "intervals", "scar_test"]
