"""How certain a fit is, and whether its assumptions hold."""

from propense.inference._bounds import Bounds, bounds
from propense.inference._columns import ColumnChange, ColumnCheck, column_check
from propense.inference._intervals import Interval, Intervals, intervals
from propense.inference._reasons import Reasons, reasons
from propense.inference._scar import ScarTest, scar_test
from propense.inference._sources import PairOfSources, SourcesTest, sources_test

__all__ = [
    "Bounds",
    "ColumnChange",
    "ColumnCheck",
    "Interval",
    "Intervals",
    "PairOfSources",
    "Reasons",
    "ScarTest",
    "SourcesTest",
    "bounds",
    "column_check",
    "intervals",
    "reasons",
    "scar_test",
    "sources_test",
]
