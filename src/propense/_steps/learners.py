"""How one of the two predictors is fitted inside a method: by our logistic regression, or by any classifier."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from propense._designs import Design, Predictor
from propense._maths.arrays import Index, Vector
from propense._maths.linear import coef_positions
from propense._risks import LogisticRisk
from propense._solvers import Solution, newton
from propense._steps.predictors import ClassifierPredictor, LogisticPredictor

__all__ = ["Learner", "fit_logistic"]

# For the fits inside methods: more digits than anything shows.
_TOL, _STEPS = 1e-10, 1000


@dataclass(frozen=True)
class Learner:
    """A way to fit a predictor to targets.

    Attributes
    ----------
    estimator : classifier or None
        None means our logistic regression.
    ridge, intercept_ridge : float, the first also one per slope
        Its penalties; a classifier ignores them.
    columns : int ndarray or None
        The features that the predictor may depend on; None means all.
    """

    estimator: Any = None
    ridge: float | Vector = 1.0
    intercept_ridge: float = 0.0
    columns: Index | None = None

    def fit(
        self, design: Design, targets: Any, weights: Any = None, start: Predictor | None = None
    ) -> tuple[Predictor, bool]:
        """The predictor of `targets` in [0, 1], fitted from `start`, and whether the fit converged."""
        part = design if self.columns is None else design.columns(self.columns)
        # Without columns every classifier is constant, and few accept such an X.
        if self.estimator is not None and part.shape[1] > 1:
            classifier = _fit_classifier(clone(self.estimator), part, targets, weights)
            return ClassifierPredictor(classifier, self.columns), True
        where = coef_positions(self.columns, design.shape[1])
        begin = None
        if isinstance(start, LogisticPredictor) and np.isfinite(start.coef).all():
            begin = start.coef[where]
        solution = fit_logistic(
            part, targets, weights, ridge=self.ridge, intercept_ridge=self.intercept_ridge, start=begin
        )
        coef = np.zeros(design.shape[1])
        coef[where] = solution.coef
        return LogisticPredictor(coef), solution.converged


def fit_logistic(
    design: Design,
    targets: Any,
    weights: Any,
    *,
    ridge: float | Vector,
    intercept_ridge: float = 0.0,
    start: Vector | None = None,
) -> Solution:
    """Minimise the logistic loss of `targets` in [0, 1] plus ½·ridge·‖coef‖²; ridge = 1 is scikit-learn's C = 1."""
    p = design.shape[1]
    risk = LogisticRisk(design, targets, weights=weights, ridge=ridge, intercept_ridge=intercept_ridge)
    return newton(risk, np.zeros(p) if start is None else start, tol=_TOL, max_iter=_STEPS)


def _fit_classifier(classifier: Any, design: Design, targets: Any, weights: Any) -> Any:
    """Fit to soft targets t: every row as a positive with weight w·t and as a negative with w·(1−t), if above 0."""
    targets = design.bring(targets * 1.0)
    weights = np.ones(len(targets)) if weights is None else design.bring(weights)
    parts = [(1, weights * targets), (0, weights * (1.0 - targets))]
    kept = [np.flatnonzero(part > 0) for _, part in parts]
    stack = sp.vstack if sp.issparse(design.features) else np.concatenate
    features = stack([design.features[rows] for rows in kept])
    classes = np.repeat([value for value, _ in parts], [len(rows) for rows in kept])
    weighed = np.concatenate([part[rows] for (_, part), rows in zip(parts, kept, strict=True)])
    name = "sample_weight"
    if isinstance(classifier, Pipeline) and not get_config()["enable_metadata_routing"]:
        # Without metadata routing, a pipeline needs the name of the step that takes the weights.
        name = f"{classifier.steps[-1][0]}__sample_weight"
    return classifier.fit(features, classes, **{name: weighed})
