"""Logistic regression on our risks: the step inside the methods, and the estimators that are one such fit."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design
from propense._risks import LogisticRisk, Risk
from propense._solvers import SOLVERS, Solution
from propense.estimators._base import BasePUClassifier, Model
from propense.estimators._inputs import Sample
from propense.estimators._options import Choice, Count, Number, Option
from propense.estimators._predictors import LogisticPredictor, Predictor, certain

__all__ = ["LogisticClassifier", "fit_logistic", "solver_named"]

# For the fits inside methods: beyond any digit that is looked at.
_TOL, _STEPS = 1e-10, 1000


def fit_logistic(
    design: Design,
    targets: Any,
    weights: Any,
    *,
    ridge: float | NDArray[np.float64],
    intercept_ridge: float = 0.0,
    start: NDArray[np.float64] | None = None,
) -> Solution:
    """Minimise the logistic loss of `targets` in [0, 1] plus ½·ridge·‖coef‖²; ridge = 1 is scikit-learn's C = 1."""
    p = design.shape[1]
    risk = LogisticRisk(design, targets, weights=weights, ridge=ridge, intercept_ridge=intercept_ridge)
    return SOLVERS["newton"](risk, np.zeros(p) if start is None else start, tol=_TOL, max_iter=_STEPS)


def solver_named(name: str) -> str:
    """The solver, where "auto" is Newton's method: it makes no p × p matrix where that would be large."""
    return "newton" if name == "auto" else name


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
        start = np.zeros(sample.design.shape[1])
        solve = SOLVERS[solver_named(self.solver)]
        solution = solve(self._risk(sample), start, tol=self.tol, max_iter=self.max_iter)
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
