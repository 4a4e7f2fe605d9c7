"""Minimisers of a risk: plain functions (risk, start, *, tol, max_iter) -> Solution."""

from propense._solvers.adam import Adam
from propense._solvers.lbfgs import lbfgs
from propense._solvers.mm import mm, mm_early
from propense._solvers.newton import newton
from propense._solvers.projected import projected
from propense._solvers.solution import Solution, gradient_norm

__all__ = ["SOLVERS", "Adam", "Solution", "gradient_norm", "mm_early", "projected"]

SOLVERS = {"mm": mm, "newton": newton, "lbfgs": lbfgs}
