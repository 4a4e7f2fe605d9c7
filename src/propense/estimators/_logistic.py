"""The estimators that are one logistic regression."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propense._designs import Predictor
from propense._inputs.options import Choice, Count, Number, Option
from propense._inputs.sample import Sample
from propense._risks import LogisticRisk, Risk
from propense._solvers import SOLVERS
from propense._steps.predictors import LogisticPredictor, Model, certain
from propense.estimators._base import BasePUClassifier

__all__ = ["LogisticClassifier"]


class LogisticClassifier(BasePUClassifier):
    """One logistic fit, from which y(x) and e(x) follow: here the regression of y, with e(x) = 1."""

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        "ridge": Number(0.0),
        "solver": Choice(tuple(SOLVERS)),
        "tol": Number(0.0),
        "max_iter": Count(),
    }

    def __init__(
        self,
        *,
        decision: str = "posterior",
        positive_label: Any = None,
        ridge: float = 1.0,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.decision = decision
        self.positive_label = positive_label
        self.ridge = ridge
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, sample: Sample) -> Model:
        start = np.zeros(sample.design.shape[1])
        solution = SOLVERS[self.solver](self._risk(sample), start, tol=self.tol, max_iter=self.max_iter)
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
