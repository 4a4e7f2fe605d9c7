"""Minimisers of a risk: plain functions (risk, start, *, tol, max_iter) -> Solution."""

from collections.abc import Callable

from propense._solvers.adam import Adam
from propense._solvers.mm import mm, mm_early
from propense._solvers.newton import newton, newton_bfgs
from propense._solvers.objective import Solution, gradient_norm
from propense._solvers.orthant import Penalty, orthant_newton
from propense._solvers.projected import projected
from propense._solvers.working_set import SparseLogistic, SparsePair, SparseSolution

__all__ = [
    "SOLVERS",
    "Adam",
    "Penalty",
    "Solution",
    "SparseLogistic",
    "SparsePair",
    "SparseSolution",
    "gradient_norm",
    "mm_early",
    "newton",
    "newton_bfgs",
    "orthant_newton",
    "projected",
]

# "auto" is Newton's method: it makes no p × p matrix where that would be large.
SOLVERS: dict[str, Callable[..., Solution]] = {"auto": newton, "mm": mm, "newton": newton}
