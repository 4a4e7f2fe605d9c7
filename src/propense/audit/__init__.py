"""Have some unlabelled rows checked, and learn from the verdicts what the labels cannot show."""

from propense.audit._correct import fit_curve
from propense.audit._draw import Draw, draw
from propense.audit._findings import Audit, Findings, read
from propense.audit._lists import ListFinding
from propense.audit._model import correct

__all__ = ["Audit", "Draw", "Findings", "ListFinding", "correct", "draw", "fit_curve", "read"]
