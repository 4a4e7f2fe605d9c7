"""TM: two models in turn (Furmańczyk et al. 2023)."""

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from propense._diagnostics.doubts import all_likely, doubt_of
from propense._inputs.options import ClassifierOption, Count, Number, Option
from propense._inputs.sample import Sample
from propense._maths.arrays import namespace
from propense._maths.double_logistic import halfway_to_certain, joint_loss, label_log_odds
from propense._maths.logistic import sigmoid
from propense._maths.quantiles import repeated_quantile
from propense._steps.known_negatives import best_log_unknown, fit_complete, initial_log_unknown
from propense._steps.learners import Learner
from propense._steps.likely_positives import fit_propensity_on, rows_above
from propense._steps.model import Model
from propense._steps.predictors import Predictor
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import EVERYTHING, Description, is_array

__all__ = ["TM"]


class TM(BasePUClassifier):
    """Two models, one of the class and one of the label among likely positives, fitted in turn.

    The class model is a regression on every row as a positive with its current P(Y=1 | x, s) and as a negative with the
    rest. The rows it then puts above a quantile of its own values on the labelled, at the level of the share of
    labelled rows, are taken for positives together with the labelled; the label's regression on them is e(x).

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        Where ``predict`` cuts P(Y=1 | x): at ½, as in the paper, or at ``prior_``, which maximises balanced accuracy.
    estimator, propensity_estimator : classifier, default=None
        What fits y and e: any scikit-learn classifier with ``predict_proba`` whose ``fit`` takes ``sample_weight``, or
        a pipeline that ends in one. It sees an array, without column names. One flexible enough to learn the labels by
        heart finds no hidden positive (there is a warning): keep trees shallow. None is logistic regression, the
        authors' choice.
    propensity_features : list of str or of int, default=None
        The columns, by name or number, that e may depend on; None is all of them, and an empty list makes e constant.
    ridge, propensity_ridge : float, default=1.0
        The penalties ½·ridge·‖coef‖² of the two logistic regressions; the intercepts are free. 1 is scikit-learn's
        C = 1, which the paper used.
    max_iter : int, default=100
        At most this many rounds; 100 is the paper's.
    tol : float, default=1e-7
        The rounds end when the estimated chance of a label, y(x)·e(x), changes by no more than this on average.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Unlabelled, labelled.
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
        β of y(x) = P(Y=1 | x) = σ(βᵀx); not there with an ``estimator``.
    propensity_coef_ : ndarray of shape (1, n_features)
    propensity_intercept_ : ndarray of shape (1,)
        γ of e(x) = P(S=1 | Y=1, x) = σ(γᵀx); not there with a ``propensity_estimator``.
    estimator_, propensity_estimator_ : classifier
        The fitted ``estimator`` and ``propensity_estimator``, where there are any.
    prior_ : float
        The estimated P(Y=1), the mean of P(Y=1 | x, s) over the rows of fit.
    label_frequency_ : float
        The estimated c = P(S=1 | Y=1).
    n_iter_ : int
        Rounds.
    converged_ : bool
        Whether they ended by ``tol``, the last regressions at their minimum.
    risk_path_ : ndarray of shape (n_rounds,)
        The joint risk Qₙ of y and e after each round. It may rise: the rounds minimise no single function.
    positives_path_ : ndarray of shape (n_rounds,)
        The share of rows taken for positives in each round.
    doubts_ : tuple of Doubt
        Reasons not to trust the fit, each with a ``kind`` and a ``message``; fit warns of every one.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only where the columns have names.

    Notes
    -----
    Inside the rounds e(x) is not let fall below the last estimate of y(x)·e(x); what is returned as e(x) is the
    regression itself. If nobody but the labelled is taken for positive, e(x) is set to 1.

    ``sample_weight`` counts rows, here also in the quantile: let the weights be about 1 on average.

    References
    ----------
    K. Furmańczyk, J. Mielniczuk, W. Rejchel, P. Teisseyre. Double logistic regression approach to biased
    positive-unlabeled data. ECAI 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from propense import TM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> positive = rng.random(2000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> labelled = positive & (rng.random(2000) < 1 / (1 + np.exp(-X[:, 1])))
    >>> TM(max_iter=1000).fit(X, labelled).predict([[2.0, 0.0], [-2.0, 0.0]])
    array([ True, False])
    """

    description: ClassVar[Description] = Description(
        name="tm",
        separates="a quantile of y over the labelled rows",
        assumes=(
            "The chance of being positive and the chance of a label each follow their own model.",
            "Rows that score as high as the labelled rows do are positive.",
        ),
        keeps={"positives_path_": is_array("f", None)},
        takes=EVERYTHING,
    )

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        "estimator": ClassifierOption(),
        "propensity_estimator": ClassifierOption(),
        "ridge": Number(0.0),
        "propensity_ridge": Number(0.0),
        "max_iter": Count(),
        "tol": Number(0.0),
    }

    def __init__(
        self,
        *,
        decision: str = "posterior",
        estimator: Any = None,
        propensity_estimator: Any = None,
        propensity_features: Any = None,
        ridge: float = 1.0,
        propensity_ridge: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-7,
    ) -> None:
        self.decision = decision
        self.estimator = estimator
        self.propensity_estimator = propensity_estimator
        self.propensity_features = propensity_features
        self.ridge = ridge
        self.propensity_ridge = propensity_ridge
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, sample: Sample) -> Model:
        design, labelled = sample.design, sample.labelled
        classes = Learner(self.estimator, self.ridge)
        if sample.is_complete:
            kept = {"positives_path_": np.array([sample.mean(labelled)])}
            return replace(fit_complete(sample, classes), kept=kept)
        labels = Learner(self.propensity_estimator, self.propensity_ridge, columns=sample.propensity_columns)
        # ŝ, e = (1 + ŝ)/2 halfway between it and 1, and y = ŝ/e, whose odds are twice those of ŝ.
        propensity, _ = Learner(self.estimator, self.propensity_ridge).fit(design, labelled, sample.weights)
        chance = sample.log_odds(propensity)
        a, b, product = chance + math.log(2.0), halfway_to_certain(chance), sigmoid(chance)
        log_unknown = 0.0 if sample.negative is None else initial_log_unknown(sample)
        posterior: Predictor | None = None
        risks: list[float] = []
        shares: list[float] = []
        converged = False
        while not converged and len(risks) < self.max_iter:
            posterior, fitted = classes.fit(design, sample.expected(a, b, log_unknown), sample.weights, posterior)
            a = sample.log_odds(posterior)
            likely = design.hold(rows_above(sample, sigmoid(a), self._threshold(sample, sigmoid(a))))
            propensity, also = fit_propensity_on(sample, likely, labels, propensity)
            b = sample.log_odds(propensity)
            risks.append(sample.mean(joint_loss(a, b, labelled)))
            shares.append(sample.mean(labelled | likely))
            before, product = product, design.hold(sigmoid(label_log_odds(a, b)))
            converged = sample.mean(abs(product - before)) <= self.tol
            # e ≥ s always holds, but a regression on the likely positives alone may violate it.
            b = design.hold(namespace(b).where(b > chance, b, chance))
            chance = design.hold(label_log_odds(a, b))
            if sample.negative is not None:
                log_unknown = best_log_unknown(sample, a, b)
        posterior, _ = classes.fit(design, sample.expected(a, b, log_unknown), sample.weights, posterior)
        kept = {"positives_path_": np.asarray(shares)}
        doubts = doubt_of("all_likely", all_likely(shares[-1], "Compare with SAREM, or use fewer columns."))
        converged = converged and fitted and also
        return Model(posterior, propensity, len(risks), converged, risks, doubts, log_unknown, kept)

    @staticmethod
    def _threshold(sample: Sample, values: Any) -> float:
        """The quantile of y over the labelled rows, at the level of their share."""
        values, weights = sample.gather(_labelled_part, values, sample.labelled)
        return repeated_quantile(values, weights, sample.mean(sample.labelled))

    def _complaint(self) -> str:
        return (
            f"TM stopped after {self.n_iter_} rounds (max_iter={self.max_iter}) with y(x)·e(x) still changing by more "
            f"than tol={self.tol:g} on average, or a regression short of its tolerance. Raise max_iter, tol or a ridge."
        )


def _labelled_part(values: Any, labelled: Any, weights: Any) -> tuple[Any, Any]:
    """The values and weights of the labelled rows."""
    return values[labelled], weights[labelled]
