"""SAR-EM: expectation–maximisation with two classifiers (Bekker, Robberechts and Davis 2019)."""

from collections import deque
from typing import Any, ClassVar

import numpy as np

from propense._diagnostics.doubts import SYMMETRIC
from propense._inputs.options import PRIOR, Choice, ClassifierOption, Count, Number, Option
from propense._inputs.sample import Sample
from propense._maths.arrays import namespace
from propense._maths.double_logistic import hidden_positive
from propense._maths.logistic import sigmoid, softplus
from propense._progress import begin_stage
from propense._risks import PairRisk
from propense._steps.em import (
    PUBLISHED_BOUND,
    Learners,
    balanced_start,
    em_round,
    fit_em,
    log_odds,
    not_converged,
    observed_risk,
    refit_em,
)
from propense._steps.known_negatives import fit_complete
from propense._steps.learners import Learner
from propense._steps.predictors import Model, logistic_pair
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import EVERYTHING, Description

__all__ = ["SAREM"]

# The number of rounds in the published stopping rule.
_WINDOW = 10


class SAREM(BasePUClassifier):
    """Expectation–maximisation: estimates which rows are positive, fits y and e to these estimates, and repeats.

    y(x) is the chance that a row is positive, e(x) the chance that a positive row is labelled, and s whether a row is
    labelled. Each round has two steps. E-step: P(Y=1 | x, s), which is 1 on labelled rows and h(x) = y(1−e)/(1−ye)
    elsewhere. M-step: y is fitted to these soft classes, and e to the labels with these as weights. With logistic
    models each round raises the likelihood of the labels under s(x) = y(x)·e(x). `LBE` does the same from another
    start.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, as in the paper; "balanced" is ``prior_``, which
        maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.
    variant : {"em", "published"}, default="em"
        "em" returns the y and e to which the rounds converge. "published" repeats the computation behind the numbers in
        the literature: intercepts are penalised too, y and e are kept within [1e-4, 1 − 1e-4], the authors' stopping
        rule applies, and y comes from a last regression of the labelled rows, weighted by 1/e, against the unlabelled
        rows, weighted by 1. (The labelled rows were also meant to count as negatives with weight 1 − 1/e, but the
        authors' solver dropped rows of negative weight.)
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
        The penalties ½·ridge·‖coef‖² of the two logistic regressions; the intercepts are not penalised in "em".
        1 is scikit-learn's C = 1, which the authors used.
    max_iter : int, default=500
        The largest number of rounds.
    tol : float, default=None
        When the rounds end. "em": when no entry of the gradient of the observed mean risk, each column in its own unit,
        is above this; with an ``estimator`` or ``propensity_estimator``, when the expected classes change by no more
        than this on average. None means 1e-7. "published": when, over ten rounds, e drifts by less than this on average
        and the expected log-likelihood gains less. None means 1e-4.

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
        After each round: in "em" the observed risk per row, ridges included, which never rises with logistic models; in
        "published" minus the expected log-likelihood per row, by which it stops.
    classes_, prior_, label_frequency_, n_iter_, doubts_, n_features_in_, feature_names_in_
        As in every estimator; see `BasePUClassifier`.

    Notes
    -----
    With logistic models the rounds of "em" are extrapolated (Anderson), and an extrapolation is kept only if it does
    not raise the risk. The fixed points are those of plain EM, reached in tens of rounds instead of hundreds.

    References
    ----------
    J. Bekker, P. Robberechts, J. Davis. Beyond the selected completely at random assumption for learning from positive
    and unlabeled data. ECML PKDD 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from propense import SAREM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> positive = rng.random(2000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> labelled = positive & (rng.random(2000) < 1 / (1 + np.exp(-X[:, 1])))
    >>> SAREM().fit(X, labelled).predict([[2.0, 0.0], [-2.0, 0.0]])
    array([ True, False])
    """

    description: ClassVar[Description] = Description(
        name="sar-em",
        separates="both logistic; the start of the search",
        assumes=(
            "The chance of being positive and the chance of a label each follow their own model, and both "
            "models are right.",
            "The two models differ. Otherwise the labels cannot distinguish them.",
        ),
        takes=EVERYTHING,
    )

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        **PRIOR,
        "variant": Choice(("em", "published")),
        "estimator": ClassifierOption(),
        "propensity_estimator": ClassifierOption(),
        "ridge": Number(0.0),
        "propensity_ridge": Number(0.0),
        "max_iter": Count(),
        "tol": Number(0.0, optional=True),
    }

    _doubted: ClassVar[tuple[str, ...]] = SYMMETRIC

    def __init__(
        self,
        *,
        decision: str = "posterior",
        positive_label: Any = None,
        variant: str = "em",
        estimator: Any = None,
        propensity_estimator: Any = None,
        class_features: Any = None,
        propensity_features: Any = None,
        prior: Any = None,
        prior_groups: Any = None,
        ridge: float = 1.0,
        propensity_ridge: float = 1.0,
        max_iter: int = 500,
        tol: float | None = None,
    ) -> None:
        self.decision = decision
        self.positive_label = positive_label
        self.variant = variant
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
        if self.variant == "published":
            return self._fit_published(sample)
        learners = self._learners(sample, published=False)
        if sample.is_complete:
            return fit_complete(sample, learners.posterior)
        tol = 1e-7 if self.tol is None else self.tol
        if (begin := logistic_pair(self._begin)) is not None and sample.negative is None:
            return refit_em(sample, begin, learners, tol=tol, max_iter=self.max_iter)
        begin_stage("start")
        return fit_em(sample, balanced_start(sample, learners), learners, tol=tol, max_iter=self.max_iter)

    def _pair_risk(self, sample: Sample) -> PairRisk | None:
        if self.variant == "published" or self.estimator is not None or self.propensity_estimator is not None:
            return None
        if sample.negative is not None:
            return None
        return observed_risk(sample, self._learners(sample, published=False))

    def _fit_published(self, sample: Sample) -> Model:
        learners, tol = self._learners(sample, published=True), 1e-4 if self.tol is None else self.tol
        path: list[float] = []
        recent: deque[Any] = deque(maxlen=_WINDOW)
        converged = False
        begin_stage("start")
        pair = balanced_start(sample, learners)
        while not converged and len(path) < self.max_iter:
            begin_stage(f"round {len(path) + 1}")
            pair = em_round(sample, pair, learners, PUBLISHED_BOUND)
            a, b = log_odds(sample, pair, PUBLISHED_BOUND)
            path.append(_expected_loss(sample, a, b))
            recent.append(sigmoid(b))
            gained = path[-len(recent)] - path[-1]
            converged = len(path) > _WINDOW and _mean_drift(sample, recent) < tol and gained < tol
        weights = namespace(b).where(sample.labelled, 1.0 / sigmoid(b), 1.0)
        if sample.weights is not None:
            weights = sample.weights * weights
        posterior, fitted = learners.posterior.fit(sample.design, sample.labelled, weights, pair.posterior)
        return Model(posterior, pair.propensity, len(path), converged and fitted and pair.converged, path)

    def _learners(self, sample: Sample, *, published: bool) -> Learners:
        ridge, propensity_ridge = self.ridge, self.propensity_ridge
        return Learners(
            Learner(self.estimator, ridge, ridge if published else 0.0, sample.class_columns),
            Learner(
                self.propensity_estimator,
                propensity_ridge,
                propensity_ridge if published else 0.0,
                sample.propensity_columns,
            ),
        )

    def _takes_negatives(self) -> bool:
        # The published variant repeats a published computation, which had none.
        return self.variant == "em"

    def _complaint(self) -> str:
        return not_converged(self)


def _expected_loss(sample: Sample, a: Any, b: Any) -> float:
    """Minus the expected log-likelihood per row of label and class; the class of unlabelled rows is hidden."""
    hidden = hidden_positive(a, b)
    unlabelled = hidden * (softplus(-a) + softplus(b)) + (1.0 - hidden) * softplus(a)
    return sample.mean(namespace(a).where(sample.labelled, softplus(-a) + softplus(-b), unlabelled))


def _mean_drift(sample: Sample, recent: deque[Any]) -> float:
    """The mean over unlabelled rows of the |slope| of a straight line through their last propensities."""
    times = np.arange(len(recent)) - (len(recent) - 1) / 2.0
    slopes = sum(float(time) * values for time, values in zip(times, recent, strict=True)) / float(times @ times)
    unlabelled = ~sample.labelled
    return sample.weight_of(abs(slopes) * unlabelled) / sample.weight_of(unlabelled)
