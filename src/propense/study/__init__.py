"""Experiments, the paper's or your own: a plan, a ledger of what was measured, and a run that can be resumed."""

from propense.study.ledger import Ledger
from propense.study.measure import Record, measure
from propense.study.plan import PAPER_METHODS, Cell, Method, Study, method_named
from propense.study.run import RunProgress, run

__all__ = [
    "PAPER_METHODS",
    "Cell",
    "Ledger",
    "Method",
    "Record",
    "RunProgress",
    "Study",
    "measure",
    "method_named",
    "run",
]
