"""The class alone, where the propensity is known."""

import warnings
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from propense._designs import Predictor
from propense._diagnostics.doubts import OF_KNOWN
from propense._inputs.sample import Sample
from propense._maths.arrays import Rows
from propense._maths.logistic import logit
from propense._risks import JointRisk
from propense._solvers import SOLVERS
from propense._steps.known_negatives import minimise
from propense._steps.learners import Learner
from propense._steps.predictors import LogisticPredictor, Model, certain
from propense.estimators._description import EVERYTHING, Description
from propense.estimators._logistic import LogisticClassifier

__all__ = ["KnownPropensity"]


class KnownPropensity(LogisticClassifier):
    """Fits only y: the propensity of every row is known and passed to ``fit`` as ``propensity=``.

    y(x) = σ(βᵀx) is the chance that a row is positive, a logistic curve of a weighted sum of the columns; e(x), the
    propensity, is the chance that a positive row is labelled. β minimises the joint risk, the log loss of the labels if
    the chance of one is y(x)·e(x), with e fixed. No negatives are needed, and there is nothing to separate. The
    propensities may come from the design of an audit or a survey, or from another method's ``predict_propensity``.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, which maximises accuracy; "balanced" is ``prior_``,
        which maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.
    ridge : float, default=1.0
        The penalty ½·ridge·‖coef‖² on the summed joint risk; the intercept is not penalised. The same
        for the logistic curve through the known propensities, which is used for new rows.
    class_features : list of str or of int, default=None
        The columns, by name or number, that y may depend on. None means all; an empty list makes y constant.
    propensity_features : list of str or of int, default=None
        The columns that the curve through the known propensities may depend on. None means all.
    solver : {"auto", "newton", "mm"}, default="auto"
        "newton" is Newton's method, and "mm" takes more, but simpler steps (majorise–minimise); "auto" is "newton".
        Beyond 4 000 columns, neither stores a matrix of n_features² numbers.
    tol : float, default=1e-8
        The solver stops when no entry of the gradient of the mean risk, each column in its own unit, is above this.
    max_iter : int, default=1000
        The largest number of steps.

    Attributes
    ----------
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_features) and (1,)
        γ of the logistic regression of the known propensities on the features, which ``predict_propensity`` and
        ``predict_hidden`` use for any row. It is as accurate as e(x) is logistic in x.
    prior_ : float
        The estimated P(Y=1): the mean of P(Y=1 | x, s) over the rows of fit, as in every estimator, with the known
        propensities in h(x).
    risk_path_ : ndarray of shape (1,)
        The joint risk per row that was reached, ridge included.
    classes_, coef_, intercept_, label_frequency_, n_iter_, converged_, doubts_, n_features_in_, feature_names_in_
        As in every estimator; see `BasePUClassifier`.

    Examples
    --------
    Fraud is found only in audited cases, and the chance of an audit is on record:

    >>> import numpy as np
    >>> from propense import KnownPropensity
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2))
    >>> fraud = rng.random(20_000) < 1 / (1 + np.exp(2 - 2 * X[:, 0]))
    >>> audited = np.where(X[:, 0] > 0, 0.2, 0.8)
    >>> found = fraud & (rng.random(20_000) < audited)
    >>> model = KnownPropensity().fit(X, found, propensity=audited)
    >>> print(f"{fraud.mean():.2f} fraud, {found.mean():.2f} found, {model.prior_:.2f} estimated")
    0.23 fraud, 0.06 found, 0.23 estimated
    """

    description: ClassVar[Description] = Description(
        name="known-propensity",
        separates="e is given",
        assumes=(
            "The chance that a row is positive depends on a weighted sum of the columns (a logistic model).",
            "The propensities that were passed are right.",
        ),
        takes=EVERYTHING,
        needs="the propensity of every row",
    )

    _doubted: ClassVar[tuple[str, ...]] = OF_KNOWN

    def __init__(
        self,
        *,
        decision: str = "posterior",
        positive_label: Any = None,
        ridge: float = 1.0,
        class_features: Any = None,
        propensity_features: Any = None,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(
            decision=decision, positive_label=positive_label, ridge=ridge, solver=solver, tol=tol, max_iter=max_iter
        )
        self.class_features = class_features
        self.propensity_features = propensity_features

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, propensity: Any = None, *, known_negative: Any = None
    ) -> Self:
        """Fit y(x) with e(x) known.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)
            The features, finite. float32 is kept as it is.
        y : array-like of shape (n_samples,)
            Which rows are labelled, as in every estimator.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row.
        propensity : array-like of shape (n_samples,) or float
            e(x) of every row, from 0 to 1, and above 0 for labelled rows; one number applies to all rows. Without it,
            e(x) = 1 as in `Naive`, with a warning. Inside meta-estimators, request it with
            ``set_fit_request(propensity=True)``.
        known_negative : bool array-like of shape (n_samples,), default=None
            Which rows are known to be negative, as in every estimator.

        Returns
        -------
        self
        """
        if propensity is None:
            warnings.warn(
                "KnownPropensity was fitted without propensity=; it assumes that all positives are labelled, e(x) = 1.",
                stacklevel=2,
            )
            propensity = 1.0
        return self._fit_read(X, y, sample_weight, propensity, known_negative)

    def _fit(self, sample: Sample) -> Model:
        solve = partial(SOLVERS[self.solver], tol=self.tol, max_iter=self.max_iter)
        risk = self._risk(sample)
        solution, log_unknown = minimise(sample, risk, np.zeros(risk.design.shape[1]), solve)
        posterior, propensity = self._predictors(sample, sample.over_all_columns(solution.coef))
        path = [solution.value / sample.total_weight]
        return Model(posterior, propensity, max(solution.n_iter, 1), solution.converged, path, log_unknown=log_unknown)

    def _risk(self, sample: Sample) -> JointRisk:
        held = logit(sample.propensity)
        return JointRisk(sample.class_design, sample.labelled, held, weights=sample.weights, ridge=self.ridge)

    def _predictors(self, sample: Sample, coef: NDArray[np.float64]) -> tuple[Predictor, Predictor]:
        if bool((sample.propensity == 1.0).all()):
            return LogisticPredictor(coef), certain(len(coef))
        learner = Learner(ridge=self.ridge, columns=sample.propensity_columns)
        return LogisticPredictor(coef), learner.fit(sample.design, sample.propensity, sample.weights)[0]

    def _rows_log_odds(self, sample: Sample) -> tuple[Rows, Rows]:
        return sample.log_odds(self._posterior), logit(sample.propensity)
