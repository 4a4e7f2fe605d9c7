"""PGLIN: propensity proportional to the posterior (Gerych et al. 2022)."""

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propense._designs import Predictor
from propense._diagnostics.doubts import OF_RATIO
from propense._inputs.sample import Sample
from propense._steps.predictors import Model, RootPredictor, log_chance
from propense.estimators._description import Description, is_array
from propense.estimators._logistic import LogisticClassifier

__all__ = ["PGLin"]


class PGLin(LogisticClassifier):
    """Assumes that the propensity is proportional to y, e(x) = k·y(x), and that some row is certainly positive.

    y(x) is the chance that a row is positive, and e(x), the propensity, the chance that a positive row is labelled. By
    these assumptions the chance of a label is s(x) = k·y(x)², and k is its largest value. One logistic regression of
    the label estimates s; y = min(1, √(s/k)) and e = √(k·s) follow, with k the largest s among the rows of fit.

    It ranks rows as `Naive` does and moves the threshold. Clearer positives must be likelier to be labelled. A single
    outlying row can set k. As e is a function of y, the two cannot have columns of their own: there are no
    ``class_features`` and no ``propensity_features``.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, which maximises accuracy; "balanced" is ``prior_``,
        which maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.
    ridge : float, default=1.0
        The penalty ½·ridge·‖coef‖² on the summed loss; the intercept is not penalised.
    solver : {"auto", "newton", "mm"}, default="auto"
        "newton" is Newton's method, and "mm" takes more, but simpler steps (majorise–minimise); "auto" is "newton".
        Beyond 4 000 columns, neither stores a matrix of n_features² numbers.
    tol : float, default=1e-8
        The solver stops when no entry of the gradient of the mean loss, each column in its own unit, is above this.
    max_iter : int, default=1000
        The largest number of steps.

    Attributes
    ----------
    largest_ : float
        k, the largest estimated chance of a label among the rows of fit: the propensity of a certain positive.
    label_coef_, label_intercept_ : ndarray of shape (1, n_features) and (1,)
        The logistic regression of the label; y and e themselves are not linear and have no ``coef_``.
    classes_, prior_, label_frequency_, n_iter_, converged_, risk_path_, doubts_, n_features_in_, feature_names_in_
        As in every estimator; see `BasePUClassifier`.

    References
    ----------
    W. Gerych, T. Hartvigsen, L. Buquicchio, E. Agu, E. Rundensteiner. Recovering the propensity score from biased
    positive unlabeled data. AAAI 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from propense import PGLin
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> posterior = 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> positive = rng.random(2000) < posterior
    >>> labelled = positive & (rng.random(2000) < 0.6 * posterior)
    >>> model = PGLin().fit(X, labelled)
    >>> print(f"{positive.mean():.2f} positive, {labelled.mean():.2f} labelled, {model.prior_:.2f} estimated")
    0.49 positive, 0.23 labelled, 0.43 estimated
    """

    description: ClassVar[Description] = Description(
        name="pglin",
        separates="e = k·y, and some y = 1",
        assumes=(
            "The chance that a row is positive depends on a weighted sum of the columns (a logistic model).",
            "The chance of a label is proportional to the chance of being positive, and the row most likely to "
            "be positive certainly is.",
        ),
        keeps={"largest_": float, "label_coef_": is_array("f", 1, -1), "label_intercept_": is_array("f", 1)},
        takes=("weights", "dask", "torch"),
    )

    _doubted: ClassVar[tuple[str, ...]] = OF_RATIO

    def _fit(self, sample: Sample) -> Model:
        model = super()._fit(sample)
        propensity: Any = model.propensity
        coef = propensity.coef
        kept = {
            "largest_": math.exp(propensity.log_factor),
            "label_coef_": coef[np.newaxis, 1:].copy(),
            "label_intercept_": coef[:1].copy(),
        }
        return replace(model, kept=kept)

    def _predictors(self, sample: Sample, coef: NDArray[np.float64]) -> tuple[Predictor, Predictor]:
        log_largest = float(log_chance(sample.design, coef).max())
        return RootPredictor(coef, -log_largest), RootPredictor(coef, log_largest)
