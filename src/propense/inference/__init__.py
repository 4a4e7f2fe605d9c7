"""How sure one can be of a fit, and of what it rests on."""

from propense.inference._intervals import Interval, Intervals, intervals
from propense.inference._scar import ScarTest, scar_test

__all__ = ["Interval", "Intervals", "ScarTest", "intervals", "scar_test"]
