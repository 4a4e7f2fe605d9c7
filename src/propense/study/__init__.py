"""The paper's experiments, and anybody's own: a plan, a ledger of what was measured, a run that resumes."""

from propense.study.ledger import Ledger
from propense.study.measure import Record, measure
from propense.study.plan import METHODS, Cell, Method, Study
from propense.study.run import Tally, run

__all__ = ["METHODS", "Cell", "Ledger", "Method", "Record", "Study", "Tally", "measure", "run"]
