"""TM: two models in turn (Furmańczyk et al. 2023)."""

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from propense._designs import Predictor
from propense._diagnostics.doubts import all_likely, doubt_of
from propense._inputs.options import PRIOR, ClassifierOption, Count, Number, Option
from propense._inputs.sample import Sample
from propense._maths.arrays import namespace
from propense._maths.double_logistic import halfway_to_certain, joint_loss, label_log_odds
from propense._maths.logistic import sigmoid
from propense._maths.quantiles import repeated_quantile
from propense._progress import begin_stage
from propense._steps.known_negatives import best_log_unknown, fit_complete, initial_log_unknown
from propense._steps.learners import Learner
from propense._steps.likely_positives import fit_propensity_on, rows_above
from propense._steps.predictors import Model
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import EVERYTHING, Description, is_array

__all__ = ["TM"]


class TM(BasePUClassifier):
    """Two models in turn: y is fitted to estimated classes, and e to the labelled rows and those that look positive.

    y(x) is the chance that a row is positive, and e(x) the chance that a positive row is labelled. The model of y is
    fitted to every row twice: as a positive with weight P(Y=1 | x, s), its current estimate, and as a negative with the
    remaining weight. The labelled rows, and the rows above a quantile of y over the labelled rows, are then treated as
    positive. (The level of the quantile is the share of labelled rows.) The regression of the label on these rows is
    e(x).

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, as in the paper; "balanced" is ``prior_``, which
        maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.
    estimator, propensity_estimator : classifier, default=None
        What fits y and e: any scikit-learn classifier with ``predict_proba`` whose ``fit`` takes ``sample_weight``, or
        a pipeline that ends in one. It gets an array without column names. A classifier flexible enough to memorise the
        labels finds no hidden positives, and `fit` warns: keep trees shallow. None means logistic regression, the
        authors' choice.
    class_features : list of str or of int, default=None
        The columns, by name or number, that y may depend on. None means all; an empty list makes y constant.
    propensity_features : list of str or of int, default=None
        The columns that e may depend on. None means all; an empty list makes e constant.
    prior : float, (float, float) or dict of these, default=None
        The share of rows that are positive, or the range it lies in, if known from elsewhere; with ``prior_groups``, in
        each group. y is raised or lowered to meet it, and y·e stays as it is, as in `PUClassifier`. y and e are then
        not logistic any more, and there are no coefficients.
    prior_groups : str or int, default=None
        The column of X, by name or number, that shows the groups of ``prior``.
    ridge, propensity_ridge : float, default=1.0
        The penalties ½·ridge·‖coef‖² of the two logistic regressions; the intercepts are not penalised. 1 is
        scikit-learn's C = 1, which the paper used.
    max_iter : int, default=100
        The largest number of rounds; the paper used 100.
    tol : float, default=1e-7
        The rounds end when the estimated chance of a label, y(x)·e(x), changes by no more than this on average.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        β of y(x) = P(Y=1 | x) = σ(βᵀx); missing if ``estimator`` is given.
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_features) and (1,)
        γ of e(x) = P(S=1 | Y=1, x) = σ(γᵀx); missing if ``propensity_estimator`` is given.
    estimator_, propensity_estimator_ : classifier
        The fitted ``estimator`` and ``propensity_estimator``, if given.
    converged_ : bool
        Whether the rounds met ``tol`` and the last regressions converged.
    risk_path_ : ndarray of shape (n_rounds,)
        The joint risk of y and e after each round: the log loss per row of the labels if the chance of one is
        y(x)·e(x). It may rise: the rounds do not minimise a single function.
    positives_path_ : ndarray of shape (n_rounds,)
        The share of rows treated as positive in each round.
    classes_, prior_, label_frequency_, n_iter_, doubts_, n_features_in_, feature_names_in_
        As in every estimator; see `BasePUClassifier`.

    Notes
    -----
    Within the rounds e(x) is kept at or above the last estimate of y(x)·e(x); the e(x) returned is the regression
    itself. If only the labelled rows are treated as positive, e(x) = 1.

    ``sample_weight`` also counts in the quantile, so weights should be about 1 on average.

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
        **PRIOR,
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
        positive_label: Any = None,
        estimator: Any = None,
        propensity_estimator: Any = None,
        class_features: Any = None,
        propensity_features: Any = None,
        prior: Any = None,
        prior_groups: Any = None,
        ridge: float = 1.0,
        propensity_ridge: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-7,
    ) -> None:
        self.decision = decision
        self.positive_label = positive_label
        self.estimator = estimator
        self.propensity_estimator = propensity_estimator
        self.class_features = class_features
        self.propensity_features = propensity_features
        self.prior = prior
        self.prior_groups = prior_groups
        self.ridge = ridge
        self.propensity_ridge = propensity_ridge
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, sample: Sample) -> Model:
        design, labelled = sample.design, sample.labelled
        classes = Learner(self.estimator, self.ridge, columns=sample.class_columns)
        if sample.is_complete:
            kept = {"positives_path_": np.array([sample.mean(labelled)])}
            return replace(fit_complete(sample, classes), kept=kept)
        labels = Learner(self.propensity_estimator, self.propensity_ridge, columns=sample.propensity_columns)
        # ŝ, e = (1 + ŝ)/2 halfway between it and 1, and y = ŝ/e, whose odds are twice those of ŝ.
        start = Learner(self.estimator, self.propensity_ridge, columns=sample.label_columns)
        begin_stage("naive fit")
        propensity, _ = start.fit(design, labelled, sample.weights)
        chance = sample.log_odds(propensity)
        a, b, product = chance + math.log(2.0), halfway_to_certain(chance), sigmoid(chance)
        log_unknown = 0.0 if sample.negative is None else initial_log_unknown(sample)
        posterior: Predictor | None = None
        risks: list[float] = []
        shares: list[float] = []
        converged = False
        while not converged and len(risks) < self.max_iter:
            begin_stage(f"round {len(risks) + 1}")
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
        doubts = doubt_of(all_likely, shares[-1], "Compare with SAREM, or use fewer columns.")
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
