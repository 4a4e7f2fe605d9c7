"""How certain a fit is, and whether its assumptions hold."""

from propense.inference._columns import ColumnChange, ColumnCheck, column_check
from propense.inference._intervals import Interval, Intervals, intervals
from propense.inference._scar import ScarTest, scar_test

__all__ = [
    "ColumnChange",
    "ColumnCheck",
    "Interval",
    "Intervals",
    "ScarTest",
    "column_check",
    "intervals",
    "scar_test",
]
