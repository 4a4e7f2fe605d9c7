"""PUClassifier: the estimator to reach for first."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from propense._designs import Predictor, column_scales
from propense._diagnostics.diagnosis import READINGS, STRONG, Diagnosis
from propense._diagnostics.doubts import OF_RATIO, SYMMETRIC, doubt_of, halves_disagree, readings_differ
from propense._inputs.options import Choice, Count, Number, Option, Seed
from propense._inputs.sample import Sample
from propense._maths.arrays import Index, Vector, as_float
from propense._maths.logistic import logit, sigmoid
from propense._risks import LogisticRisk, PairRisk
from propense._solvers import SOLVERS, Solution, newton
from propense._steps.known_negatives import fit_complete, minimise
from propense._steps.learners import Learner
from propense._steps.predictors import LogisticPredictor, Model, ProductPredictor
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import EVERYTHING, Description

__all__ = ["PUClassifier"]

# e's share of the steepness along βᵀx is 2k⁴/(1 + 2k⁴), with k the height: close to 0 if the label curve levels off at
# a half, two thirds if it rises to 1.
_CLIMB, _POWER = 2.0, 4
# The tolerance of the regression that the searches start from.
_ROUGH = 1e-3
# The ridge on e's log-odds at the mean row: without it the height of the curve could run off to 1.
_LEVEL_RIDGE = 1.0
_NONE = np.empty(0, dtype=np.intp)


class PUClassifier(BasePUClassifier):
    """The first choice: y and e are logistic, and e stays nearly constant unless the labels clearly contradict that.

    The labels show only one curve: the chance s(x) = y(x)·e(x) that a row is both positive and labelled. Three ideas
    split it into y and e.

    *A shrunken propensity.* Two logistic curves σ(βᵀx)·σ(γᵀx) are fitted to the labels together, starting from a
    constant e. A penalty that grows with √n keeps e constant unless many rows contradict that, so that e does not
    absorb what a logistic y cannot fit.

    *A shared steepness.* If there is strong evidence that e varies in its own way, the two curves are y and e. If not,
    the labels do not show how much of the steepness along βᵀx belongs to y and how much to e. Let k be the height at
    which the curve levels off. If k is well below 1, even the clearest positives often lack a label, and all of the
    steepness is given to y. If k is near 1, the clearest positives are all labelled, so labelling probably follows the
    class, and e gets a share of 2k⁴/(1 + 2k⁴): y(x) = σ(βᵀx)^(1−share), and e takes the rest.

    *A balanced threshold.* ``predict`` calls a row positive if y(x) is above the estimated share of positives, which
    maximises balanced accuracy.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="balanced"
        The threshold of ``predict`` on y(x): ½ maximises accuracy, ``prior_`` balanced accuracy.
    ridge : float, default=1.0
        The penalty ½·ridge·‖β‖² on the summed risk, with columns in units of their standard deviation; the intercept is
        not penalised.
    shrinkage : float, default=1.0
        The penalty ½·shrinkage·√n·‖γ‖² on the slopes of e, in the same units.
    share : float, default=None
        The part of the steepness along βᵀx that e gets, from 0 (maximum likelihood) to 0.95. None chooses it from the
        evidence and the height in ``diagnosis_``.
    propensity_features : list of str or of int, default=None
        The columns, by name or number, that e may depend on; an empty list makes e constant. Naming them adds what
        labels cannot show: the slopes of e then have the same ridge as those of y, and no steepness is shared unless
        ``share`` is given.
    solver : {"auto", "newton", "mm"}, default="auto"
        "auto" is "newton". Beyond 2 000 columns neither makes a matrix of n_features².
    tol : float, default=1e-8
        A search stops when no entry of the gradient of the mean risk, each column in its own unit, is above this.
    max_iter : int, default=1000
        The largest number of steps in each search.
    random_state : int, RandomState instance or None, default=None
        Splits the rows into halves for ``diagnosis_.stability``; nothing else is random.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        β of y(x) = P(Y=1 | x) = σ(βᵀx)^(1−share).
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_features) and (1,)
        γ of e(x) = P(S=1 | Y=1, x) = σ(γᵀx)·σ(βᵀx)^share.
    diagnosis_ : Diagnosis
        What the answer rests on: how labelling seems to work, the share of positives under other assumptions, and how
        well two halves of the rows agree. Print it; ``diagnosis_.details()`` explains the numbers.
    converged_ : bool
        Whether both searches met ``tol``.
    risk_path_ : ndarray of shape (2,)
        The mean risk of the labels, penalties included: with e constant, and with e free.
    classes_, prior_, label_frequency_, n_iter_, doubts_, n_features_in_, feature_names_in_
        As in every estimator; see `BasePUClassifier`.

    Notes
    -----
    With ``decision="balanced"`` a row can be called positive although P(Y=1 | x) is below ½. Use "posterior" if your
    code expects otherwise.

    References
    ----------
    W. Rejchel, P. Teisseyre, J. Mielniczuk. Joint empirical risk minimization for instance-dependent
    positive-unlabeled data. Knowledge-Based Systems 304, 2024. The risk of the labels.
    W. Gerych, T. Hartvigsen, L. Buquicchio, E. Agu, E. Rundensteiner. Recovering the propensity score from biased
    positive unlabeled data. AAAI 2022. A propensity that rises with the posterior.

    Examples
    --------
    >>> from propense import PUClassifier
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(2000, random_state=0)
    >>> model = PUClassifier(random_state=0).fit(data.X, data.labelled)
    >>> print(f"{data.positive.mean():.2f} positive, {data.labelled.mean():.2f} labelled, {model.prior_:.2f} estimated")
    0.50 positive, 0.26 labelled, 0.49 estimated
    >>> print(model.diagnosis_)
    Labelling seems to depend on the features, in a different way from the class.
    Estimated share of positive rows: 49.4%.
    Other assumptions about the labelling would give 33.5% to 62.4%.
    Models fitted to two halves of the rows give the same prediction for 90.9% of the rows.
    """

    description: ClassVar[Description] = Description(
        name="pu",
        separates="e shrunk towards a constant; the height of the label curve",
        assumes=(
            "The chance that a row is positive depends on a weighted sum of the columns (a logistic model). The "
            "chance of a label depends on the same sum, on a flatter sum of its own, or on nothing.",
            "The shape of the label curve decides which of these holds and how many rows are positive: where "
            "the curve rises until nearly every such row is labelled, labelling is assumed to follow the class.",
        ),
        keeps={"diagnosis_": Diagnosis},
        takes=EVERYTHING,
    )

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        "ridge": Number(0.0),
        "shrinkage": Number(0.0),
        "share": Number(0.0, 0.95, optional=True),
        "solver": Choice(tuple(SOLVERS)),
        "tol": Number(0.0),
        "max_iter": Count(),
        "random_state": Seed(),
    }

    def __init__(
        self,
        *,
        decision: str = "balanced",
        ridge: float = 1.0,
        shrinkage: float = 1.0,
        share: float | None = None,
        propensity_features: Any = None,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.decision = decision
        self.ridge = ridge
        self.shrinkage = shrinkage
        self.share = share
        self.propensity_features = propensity_features
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, sample: Sample) -> Model:
        if sample.is_complete:
            return self._fit_complete(sample)
        curve = self._fit_curve(sample)
        share = self._share(sample, curve)
        # Refits to resampled rows do not need it.
        stability = math.nan if self._begin is not None else self._stability(sample, curve, share)
        found = curve.diagnose(sample, share, stability)
        return Model(
            *_predictors(curve.beta, curve.gamma, share),
            n_iter=max(curve.free.n_iter, 1),
            converged=curve.constant.converged and curve.free.converged,
            risk_path=[each.value / sample.total_weight for each in (curve.constant, curve.free)],
            doubts=(
                *(doubt_of(readings_differ, found.priors) if share else ()),
                *doubt_of(halves_disagree, found.stability),
            ),
            log_unknown=curve.log_unknown,
            kept={"diagnosis_": found},
        )

    def _fit_complete(self, sample: Sample) -> Model:
        """The regression of the class, which is known for every row."""
        priors = dict.fromkeys(READINGS, sample.mean(sample.labelled))
        found = Diagnosis(1.0, 0.0, 0.0, 0.0, priors, math.nan)
        _, squares = column_scales(sample.design, sample.weights)
        model = fit_complete(sample, Learner(ridge=self.ridge * squares))
        return replace(model, risk_path=2 * model.risk_path, kept={"diagnosis_": found})

    def _fit_curve(self, sample: Sample) -> "_Curve":
        """The curve of the labels with e constant, then with e free from there."""
        design, columns = sample.design, sample.propensity_columns
        p, scales = design.shape[1], column_scales(design, sample.weights)
        naive = LogisticRisk(design, sample.labelled, weights=sample.weights, ridge=self.ridge * scales[1])
        start = newton(naive, np.zeros(p), tol=_ROUGH, max_iter=self.max_iter).coef
        risk = self._risk(sample, scales, _NONE)
        constant, log_unknown = minimise(sample, risk, risk.join(start, np.zeros(p)), self._solver())
        beta, gamma = risk.split(constant.coef)
        if columns is not None and not len(columns):
            return _Curve(constant, constant, beta, gamma, 0, log_unknown)
        risk = self._risk(sample, scales, columns)
        free, log_unknown = minimise(sample, risk, risk.join(beta, gamma), self._solver())
        return _Curve(constant, free, *risk.split(free.coef), len(free.coef) - p - 1, log_unknown)

    def _risk(self, sample: Sample, scales: tuple[Vector, Vector], columns: Index | None) -> PairRisk:
        """The risk of the labels, with e's slopes over `columns`; `scales` are the means and variances of all."""
        means, squares = scales
        # Named columns are knowledge that labels cannot give: no shrinkage then.
        shrunk = self.shrinkage * math.sqrt(sample.total_weight) * squares
        return PairRisk(
            sample.design,
            sample.labelled,
            columns=columns,
            weights=sample.weights,
            ridge=self.ridge * squares,
            propensity_ridge=shrunk if columns is None else self.ridge * squares[columns],
            level=math.sqrt(_LEVEL_RIDGE) * np.append(1.0, means),
        )

    def _solver(self) -> Callable[..., Solution]:
        return partial(SOLVERS[self.solver], tol=self.tol, max_iter=self.max_iter)

    def _share(self, sample: Sample, curve: "_Curve") -> float:
        """The part of the steepness along βᵀx that belongs to e."""
        if self.share is not None:
            return float(self.share)
        # Named columns, or evidence, distinguish y from e.
        if sample.propensity_columns is not None or curve.evidence > STRONG:
            return 0.0
        climb = _CLIMB * curve.height**_POWER
        return climb / (1.0 + climb)

    def _stability(self, sample: Sample, curve: "_Curve", share: float) -> float:
        """The share of rows on which fits to two random halves agree; NaN if a half has no label."""
        halves = check_random_state(self.random_state).random_sample(sample.design.shape[0]) < 0.5
        calls = []
        for mask in (halves, ~halves):
            half = sample.subset(sample.design.send(mask))
            if half.is_complete or not 0.0 < half.weight_of(half.labelled) < half.total_weight:
                return math.nan
            risk = self._risk(half, column_scales(half.design, half.weights), half.propensity_columns)
            found, log_unknown = minimise(half, risk, curve.free.coef, self._solver())
            posterior, propensity = _predictors(*risk.split(found.coef), share)
            calls.append(sample.log_odds(posterior) > logit(_prior(half, posterior, propensity, log_unknown)))
        return sample.mean(as_float(calls[0] == calls[1]))

    def _asked(self) -> tuple[str, ...]:
        # A share makes y and e alike by design.
        return (*OF_RATIO, "at_boundary") if self.diagnosis_.share else SYMMETRIC

    def _complaint(self) -> str:
        return (
            f"PUClassifier stopped after {self.n_iter_} steps short of tol={self.tol:g}. Raise max_iter, tol, ridge or "
            "shrinkage."
        )


@dataclass(frozen=True)
class _Curve:
    """P(S=1 | x) = σ(βᵀx)·σ(γᵀx), found with e constant, and with e free from there; `slopes` of e were free."""

    constant: Solution
    free: Solution
    beta: Vector
    gamma: Vector
    slopes: int
    log_unknown: float

    @property
    def flat(self) -> tuple[Vector, Vector]:
        """β and γ with e constant."""
        p = len(self.beta)
        return self.constant.coef[:p], np.append(self.constant.coef[p], np.zeros(p - 1))

    @property
    def height(self) -> float:
        """Where the curve levels off if e is constant."""
        return float(sigmoid(self.flat[1][0]))

    @property
    def evidence(self) -> float:
        """Evidence that e depends on the columns: twice the fall of the risk, less 2 per slope."""
        return 2.0 * (self.constant.value - self.free.value - self.slopes)

    def alignment(self, sample: Sample) -> float:
        """The correlation of γᵀx with βᵀx over the rows; 0 where either is constant."""
        a, b = (sample.log_odds(LogisticPredictor(each)) for each in (self.beta, self.gamma))
        raw = sample.mean(a * a), sample.mean(b * b)
        a, b = a - sample.mean(a), b - sample.mean(b)
        variances = sample.mean(a * a), sample.mean(b * b)
        # What is left of a constant is rounding.
        if any(variance <= 1e-12 * square for variance, square in zip(variances, raw, strict=True)):
            return 0.0
        return sample.mean(a * b) / math.sqrt(variances[0] * variances[1])

    def diagnose(self, sample: Sample, share: float, stability: float) -> Diagnosis:
        """The diagnosis of an answer with this share."""
        free = self.beta, self.gamma
        pairs = (*self.flat, 0.0), (*free, 0.0), (*free, 0.5), (*free, share)
        priors = [_prior(sample, *_predictors(*pair), self.log_unknown) for pair in pairs]
        return Diagnosis(
            height=self.height,
            share=share,
            evidence=self.evidence,
            alignment=self.alignment(sample),
            priors=dict(zip(READINGS, priors, strict=True)),
            stability=stability,
        )


def _predictors(beta: Vector, gamma: Vector, share: float) -> tuple[Predictor, Predictor]:
    """y and e where e gets `share` of the steepness along βᵀx."""
    if share == 0.0:
        return LogisticPredictor(beta), LogisticPredictor(gamma)
    return ProductPredictor(beta, 1.0 - share, gamma, 0.0), ProductPredictor(gamma, 1.0, beta, share)


def _prior(sample: Sample, posterior: Predictor, propensity: Predictor, log_unknown: float) -> float:
    """The estimated P(Y=1)."""
    return sample.share_positive(sample.log_odds(posterior), sample.log_odds(propensity), log_unknown)
