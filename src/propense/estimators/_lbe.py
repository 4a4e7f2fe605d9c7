"""LBE: labelling bias estimation (Gong et al. 2021)."""

from collections import defaultdict
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from propense._designs import Design, as_design
from propense._diagnostics.doubts import SYMMETRIC
from propense._inputs.options import PRIOR, Choice, Count, Number, Option, Seed
from propense._inputs.sample import Sample
from propense._maths.double_logistic import joint_loss
from propense._maths.linear import coef_positions
from propense._progress import begin_stage
from propense._risks import LogisticRisk, PairRisk
from propense._solvers import Adam
from propense._steps.em import (
    PUBLISHED_BOUND,
    Learners,
    Pair,
    balanced_start,
    expected_class,
    fit_em,
    not_converged,
    observed_risk,
    refit_em,
)
from propense._steps.known_negatives import fit_complete
from propense._steps.learners import Learner
from propense._steps.predictors import LogisticPredictor, Model, logistic_pair
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import EVERYTHING, Description

__all__ = ["LBE"]

# The numbers of steps behind the published results.
_PRETRAINING, _STEPS, _RATE = 1000, 100, 0.01


class LBE(BasePUClassifier):
    """Labelling bias estimation: the model of `SAREM`, with y and e logistic, fitted from another starting point.

    y(x) is the chance that a row is positive, e(x) the chance that a positive row is labelled, and s is 1 on labelled
    rows and 0 elsewhere. Each round has two steps. E-step: t = P(Y=1 | x, s), which is 1 on labelled rows and h(x) =
    y(1−e)/(1−ye) elsewhere. M-step: maximise Σ t·log y + (1−t)·log(1−y) + t·[s·log e + (1−s)·log(1−e)] with t fixed.
    The rounds start from the logistic regression of the labels as y, and e = ½; or, with ``propensity_features``, where
    that start can mislead, from that of `SAREM`.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, as in the paper; "balanced" is ``prior_``, which
        maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.
    variant : {"em", "published"}, default="em"
        "em" is the method as its authors describe it, with each M-step taken to its maximum. The model, and with equal
        ridges the fixed points, are those of `SAREM`. "published" repeats the computation behind the numbers in the
        JERM paper: the propensity term has weight 1 on all rows instead of t, so e tends to the chance of a label, and
        a fixed number of gradient steps (Adam) stops it on the way; y starts at random.
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
    ridge, propensity_ridge : float, default=None
        The penalties ½·ridge·‖coef‖² on the summed losses; the intercepts are not penalised. None means 1 in "em"
        and 0 in "published".
    max_iter : int, default=None
        The largest number of rounds. None means 500 in "em", and 100, all of which are run, in "published".
    tol : float, default=1e-7
        The rounds of "em" end when no entry of the gradient of the observed mean risk, each column in its own unit, is
        above this. "published" has no such rule.
    random_state : int, RandomState instance or None, default=None
        Draws the start of y in "published". "em" is not random.

    Attributes
    ----------
    converged_ : bool
        Whether the rounds of "em" met ``tol``; always true for "published", whose steps are part of the method.
    risk_path_ : ndarray of shape (n_rounds,)
        The observed risk per row after each round, in "em" with the ridges; there it never rises.
    others
        As in every estimator, see `BasePUClassifier`: ``classes_``, ``coef_``, ``intercept_``, ``propensity_coef_``,
        ``propensity_intercept_``, ``prior_``, ``label_frequency_``, ``n_iter_``, ``doubts_``, ``n_features_in_``,
        ``feature_names_in_``.

    Notes
    -----
    The rounds of "em" are extrapolated (Anderson), and an extrapolation is kept only if it does not raise the risk. The
    fixed points are those of plain EM, reached in tens of rounds instead of hundreds.

    References
    ----------
    C. Gong, Q. Wang, T. Liu, B. Han, J. You, J. Yang, D. Tao. Instance-dependent positive and unlabeled learning with
    labeling bias estimation. IEEE Transactions on Pattern Analysis and Machine Intelligence, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from propense import LBE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> positive = rng.random(2000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> labelled = positive & (rng.random(2000) < 1 / (1 + np.exp(-X[:, 1])))
    >>> LBE().fit(X, labelled).predict([[2.0, 0.0], [-2.0, 0.0]])
    array([ True, False])
    """

    description: ClassVar[Description] = Description(
        name="lbe",
        separates="both logistic; the start of the search",
        assumes=(
            "The chance that a row is positive depends on a weighted sum of the columns (a logistic model), and "
            "the chance of a label on another weighted sum. Both models are right.",
            "The two weighted sums differ. Otherwise the labels cannot distinguish them.",
        ),
        takes=EVERYTHING,
    )

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        **PRIOR,
        "variant": Choice(("em", "published")),
        "ridge": Number(0.0, optional=True),
        "propensity_ridge": Number(0.0, optional=True),
        "max_iter": Count(optional=True),
        "tol": Number(0.0),
        "random_state": Seed(),
    }

    _doubted: ClassVar[tuple[str, ...]] = SYMMETRIC

    def __init__(
        self,
        *,
        decision: str = "posterior",
        positive_label: Any = None,
        variant: str = "em",
        class_features: Any = None,
        propensity_features: Any = None,
        prior: Any = None,
        prior_groups: Any = None,
        ridge: float | None = None,
        propensity_ridge: float | None = None,
        max_iter: int | None = None,
        tol: float = 1e-7,
        random_state: Any = None,
    ) -> None:
        self.decision = decision
        self.positive_label = positive_label
        self.variant = variant
        self.class_features = class_features
        self.propensity_features = propensity_features
        self.prior = prior
        self.prior_groups = prior_groups
        self.ridge = ridge
        self.propensity_ridge = propensity_ridge
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, sample: Sample) -> Model:
        em = self.variant == "em"
        rounds = (500 if em else 100) if self.max_iter is None else self.max_iter
        if not em:
            return self._fit_published(_distinct(sample), *self._ridges(), rounds)
        learners = self._learners(sample)
        if sample.is_complete:
            return fit_complete(sample, learners.posterior)
        if (begin := logistic_pair(self._begin)) is not None and sample.negative is None:
            return refit_em(sample, begin, learners, tol=self.tol, max_iter=rounds)
        begin_stage("start")
        return fit_em(sample, self._start(sample, learners), learners, tol=self.tol, max_iter=rounds)

    def _ridges(self) -> tuple[float, float]:
        default = 1.0 if self.variant == "em" else 0.0
        return (
            default if self.ridge is None else self.ridge,
            default if self.propensity_ridge is None else self.propensity_ridge,
        )

    def _learners(self, sample: Sample) -> Learners:
        ridge, propensity_ridge = self._ridges()
        return Learners(
            Learner(ridge=ridge, columns=sample.class_columns),
            Learner(ridge=propensity_ridge, columns=sample.propensity_columns),
        )

    def _pair_risk(self, sample: Sample) -> PairRisk | None:
        logistic = self.variant == "em" and sample.negative is None
        return observed_risk(sample, self._learners(sample)) if logistic else None

    @staticmethod
    def _start(sample: Sample, learners: Learners) -> Pair:
        """The naive y and e = ½."""
        if sample.propensity_columns is not None:
            # A y that already explains the labels by all columns would leave nothing to e, which has only some of them,
            # and the rounds would stay there.
            return balanced_start(sample, learners)
        naive, _ = learners.posterior.fit(sample.design, sample.labelled, sample.weights)
        return Pair(naive, LogisticPredictor(np.zeros(sample.design.shape[1])))

    def _fit_published(self, sample: Sample, ridge: float, propensity_ridge: float, rounds: int) -> Model:
        design, labelled, weights = sample.design, sample.labelled, sample.weights
        own, over_all = sample.class_design, sample.over_all_columns
        begin_stage("pretraining")
        beta, gamma = self._pretrained(own, sample, ridge), np.zeros(design.shape[1])
        where = coef_positions(sample.propensity_columns, len(gamma))
        some = design if sample.propensity_columns is None else design.columns(sample.propensity_columns)
        labels = LogisticRisk(some, labelled, weights=weights, ridge=propensity_ridge)
        # Adam moves each coefficient by its own gradients only, so two states in step are the same as one.
        posterior_steps, propensity_steps = Adam(len(beta), rate=_RATE), Adam(len(where), rate=_RATE)
        path: list[float] = []
        for number in range(1, rounds + 1):
            begin_stage(f"round {number}")
            pair = Pair(LogisticPredictor(over_all(beta)), LogisticPredictor(gamma))
            expected = expected_class(sample, pair, PUBLISHED_BOUND)
            classes = LogisticRisk(own, expected, weights=weights, ridge=ridge)
            for _ in range(_STEPS):
                beta = posterior_steps.step(beta, classes.gradient(beta))
                gamma[where] = propensity_steps.step(gamma[where], labels.gradient(gamma[where]))
            path.append(sample.mean(joint_loss(own.matvec(beta), design.matvec(gamma), labelled)))
        return Model(LogisticPredictor(over_all(beta)), LogisticPredictor(gamma), rounds, True, path)

    def _pretrained(self, design: Design, sample: Sample, ridge: float) -> NDArray[np.float64]:
        """β, over the columns of `design`, after the steps towards the naive fit, from a random start."""
        p = design.shape[1]
        naive = LogisticRisk(design, sample.labelled, weights=sample.weights, ridge=ridge)
        beta = check_random_state(self.random_state).uniform(-1.0, 1.0, p) / np.sqrt(max(p - 1, 1))
        adam = Adam(p, rate=_RATE)
        for _ in range(_PRETRAINING):
            beta = adam.step(beta, naive.gradient(beta) / sample.total_weight)
        return np.asarray(beta)

    def _takes_negatives(self) -> bool:
        # The published variant repeats a published computation, which had none.
        return self.variant == "em"

    def _complaint(self) -> str:
        return not_converged(self)


def _distinct(sample: Sample) -> Sample:
    """Copies of a row merged into one row with their total weight, in an order that depends only on the values.

    Ten thousand steps at a constant rate amplify the rounding of their sums to the fourth digit. So the sums must round
    alike whatever the order of the rows, and whether a row is repeated or weighs as much. (Sparse sums round otherwise
    than dense ones.)
    """
    features, labelled = sample.design.features, sample.labelled
    if not (sp.issparse(features) or (isinstance(features, np.ndarray) and sample.design.movable)):
        return sample  # A copy would be too large: the fourth digit depends on the order of the rows.
    # As float64 without −0, and sparse without stored zeros, so that equal rows have equal bytes.
    features = features.astype(np.float64) + 0.0
    if sp.issparse(features):
        features.sum_duplicates()
        features.eliminate_zeros()
        spans = zip(features.indptr[:-1], features.indptr[1:], strict=True)
        values = [features.indices[i:j].tobytes() + features.data[i:j].tobytes() for i, j in spans]
    else:
        values = [row.tobytes() for row in features]
    rows: dict[tuple[bytes, bool], list[int]] = defaultdict(list)
    for row, key in enumerate(zip(values, labelled.tolist(), strict=True)):
        rows[key].append(row)
    copies = [rows[key] for key in sorted(rows)]
    first = np.array([same[0] for same in copies])
    weights = np.ones(len(labelled)) if sample.weights is None else sample.weights
    design = as_design(features[first])
    return replace(
        sample,
        design=design,
        labelled=labelled[first],
        weights=np.array([weights[same].sum() for same in copies]),
    )
