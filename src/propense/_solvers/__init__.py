"""Minimisers of a risk: plain functions (risk, start, *, tol, max_iter) -> Solution."""

from propense._solvers.lbfgs import WIDE, lbfgs
from propense._solvers.mm import mm, mm_early
from propense._solvers.newton import newton
from propense._solvers.solution import Solution

__all__ = ["SOLVERS", "WIDE", "Solution", "mm_early"]

SOLVERS = {"mm": mm, "newton": newton, "lbfgs": lbfgs}
