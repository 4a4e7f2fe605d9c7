"""Have some unlabelled rows checked, and learn from the verdicts what the labels cannot tell."""

from propense.audit._correct import fit_curve
from propense.audit._draw import Draw, draw
from propense.audit._findings import Audit, Findings, ListFinding, read

__all__ = ["Audit", "Draw", "Findings", "ListFinding", "draw", "fit_curve", "read"]
