"""Logistic regression on our risks: the step inside the methods, and the estimators that are one such fit."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design
from propense._risks import LogisticRisk, Risk
from propense._solvers import SOLVERS, WIDE, Solution
from propense.errors import InvalidOption
from propense.estimators._base import BasePUClassifier, Model
from propense.estimators._inputs import Sample
from propense.estimators._options import Choice, Count, Number, Option
from propense.estimators._predictors import LogisticPredictor, Predictor, certain

__all__ = ["LogisticClassifier", "check_width", "choose_solver", "fit_logistic"]

# For the fits inside methods: beyond any digit that is looked at, and as far as each solver surely goes. L-BFGS is
# held up by the rounding of the value, of which the gradient is a square root.
_TOL = {"newton": 1e-10, "lbfgs": 1e-8}
_STEPS = 1000
# The p × p matrix of Newton and of majorise–minimise takes 3 GB at this many columns.
_WIDEST = 20_000


def fit_logistic(
    design: Design,
    targets: Any,
    weights: Any,
    *,
    ridge: float,
    intercept_ridge: float = 0.0,
    start: NDArray[np.float64] | None = None,
) -> Solution:
    """Minimise the logistic loss of `targets` in [0, 1] plus ½·ridge·‖coef‖²; ridge = 1 is scikit-learn's C = 1."""
    p = design.shape[1]
    solver = choose_solver(p)
    risk = LogisticRisk(design, targets, weights=weights, ridge=ridge, intercept_ridge=intercept_ridge)
    return SOLVERS[solver](risk, np.zeros(p) if start is None else start, tol=_TOL[solver], max_iter=_STEPS)


def choose_solver(p: int) -> str:
    """Newton's method where a p × p matrix is cheap, else one that makes none."""
    return "newton" if p <= WIDE else "lbfgs"


def check_width(estimator: Any, solver: str, p: int) -> None:
    """Refuse a solver that would need a p × p matrix beyond reason."""
    if solver in ("mm", "newton") and p > _WIDEST:
        raise InvalidOption(
            f"{type(estimator).__name__}: the solver {solver!r} holds a matrix of {p} × {p} for {p} coefficients, "
            "which is too large. Use solver='lbfgs'."
        )


class LogisticClassifier(BasePUClassifier):
    """One logistic fit, from which y(x) and e(x) follow: here the regression of y, with e(x) = 1."""

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        "ridge": Number(0.0),
        "solver": Choice(("auto", *SOLVERS)),
        "tol": Number(0.0),
        "max_iter": Count(),
    }

    def __init__(
        self,
        *,
        decision: str = "posterior",
        ridge: float = 1.0,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.decision = decision
        self.ridge = ridge
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, sample: Sample) -> Model:
        p = sample.design.shape[1]
        solver = choose_solver(p) if self.solver == "auto" else self.solver
        check_width(self, solver, p)
        solution = SOLVERS[solver](self._risk(sample), np.zeros(p), tol=self.tol, max_iter=self.max_iter)
        posterior, propensity = self._predictors(sample, solution.coef)
        return Model(
            posterior,
            propensity,
            n_iter=max(solution.n_iter, 1),
            converged=solution.converged,
            risk_path=[solution.value / sample.total_weight],
        )

    def _risk(self, sample: Sample) -> Risk:
        """What the regression minimises."""
        return LogisticRisk(sample.design, sample.labelled, weights=sample.weights, ridge=self.ridge)

    def _predictors(self, sample: Sample, coef: NDArray[np.float64]) -> tuple[Predictor, Predictor]:
        """y and e from the regression of the label."""
        return LogisticPredictor(coef), certain(sample.design.shape[1])

    def _complaint(self) -> str:
        return (
            f"{type(self).__name__} stopped after {self.n_iter_} steps short of tol={self.tol:g}. Scale the features, "
            "raise max_iter or tol, or, if the classes are separable, raise ridge."
        )
