"""How sure one can be of what was fitted."""

from propense.inference._intervals import Interval, Intervals, intervals

__all__ = ["Interval", "Intervals", "intervals"]
