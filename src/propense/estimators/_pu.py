"""PUClassifier: the estimator to reach for first."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from propense._designs import column_scales
from propense._maths.arrays import as_float
from propense._maths.logistic import logit, sigmoid
from propense._risks import LogisticRisk, PairRisk
from propense._solvers import SOLVERS, Solution
from propense.estimators._base import BasePUClassifier, Model, expected_share
from propense.estimators._diagnosis import STRONG, Diagnosis
from propense.estimators._inputs import Sample
from propense.estimators._logistic import solver_named
from propense.estimators._options import Choice, Count, Number, Option, Seed
from propense.estimators._predictors import LogisticPredictor, Predictor, ProductPredictor

__all__ = ["PUClassifier"]

Vector = NDArray[np.float64]

# How near to its end the regression that the searches start from is followed.
_ROUGH = 1e-3
_NONE = np.empty(0, dtype=np.intp)
# The ridge on e's log-odds at the mean row: keeps the height of the label curve off 1, where nothing would stop it.
_LEVEL_RIDGE = 1.0
# What e gets of the steepness along βᵀx is 2k⁴/(1 + 2k⁴), k being the height: next to nothing where the curve of the
# labels levels off at a half, two thirds where it climbs to 1.
_CLIMB, _POWER = 2.0, 4


@dataclass(frozen=True)
class _Curve:
    """σ(βᵀx)·σ(γᵀx), the chance of a label, as far as the labels tell; `height` is e where it is held constant."""

    beta: Vector
    gamma: Vector
    height: float
    constant: Solution
    free: Solution


class PUClassifier(BasePUClassifier):
    """The estimator to reach for first: right about the cut, and sceptical of what labels cannot tell.

    The labels show a curve, the chance s(x) = y(x)·e(x) of being positive and labelled. Three ideas make y and e of it.

    *A shrunken propensity.* Two logistic curves σ(βᵀx)·σ(γᵀx) are fitted to the labels together, starting from a
    constant e. The slopes of e are shrunk by √n: e leaves the constant where many rows ask for it, and does not take
    over what a simple y cannot bend to.

    *A shared climb.* Where the labels speak strongly for an e of its own, the two curves are y and e. Elsewhere no
    label tells how the steepness along βᵀx divides between them. If the curve levels off at a height k well below 1,
    labels are withheld from the surest positives too, and the climb is that of y. If it climbs to 1, positives hide
    only lower down, so e climbs as well. So y(x) = σ(βᵀx)^(1−share) and e takes the rest, with a share of
    2k⁴/(1 + 2k⁴).

    *A balanced cut.* ``predict`` calls a row positive where y(x) is above the estimated share of positives, which
    maximises balanced accuracy.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="balanced"
        Where ``predict`` cuts P(Y=1 | x): at ½, which maximises accuracy, or at ``prior_``, which maximises balanced
        accuracy.
    ridge : float, default=1.0
        The penalty ½·ridge·‖β‖² on the summed risk, each column counted in its standard deviation; the intercept is
        free.
    shrinkage : float, default=1.0
        The penalty ½·shrinkage·√n·‖γ‖² on the slopes of e, counted likewise.
    share : float, default=None
        What part of the steepness along βᵀx belongs to e, from 0, which is the likelihood alone, to 0.95; None
        decides by the evidence and the height in ``diagnosis_``.
    propensity_features : list of str or of int, default=None
        The columns, by name or number, that e may depend on; an empty list makes e constant. Whoever can name them
        knows more than the labels tell: then e's slopes have the same ridge as y's, and nothing is shared unless
        ``share`` says so.
    solver : {"auto", "newton", "lbfgs", "mm"}, default="auto"
        "auto" is "newton". Beyond 2 000 columns none of them makes a matrix of n_features².
    tol : float, default=1e-8
        A search stops when the gradient of the mean risk, each column in its own unit, is nowhere above this.
    max_iter : int, default=1000
        At most this many steps of each search.
    random_state : int, RandomState instance or None, default=None
        How the rows are halved for ``diagnosis_.stability``; nothing else is random.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Unlabelled, labelled.
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
        β of y(x) = P(Y=1 | x) = σ(βᵀx)^(1−share).
    propensity_coef_ : ndarray of shape (1, n_features)
    propensity_intercept_ : ndarray of shape (1,)
        γ of e(x) = P(S=1 | Y=1, x) = σ(γᵀx)·σ(βᵀx)^share.
    diagnosis_ : Diagnosis
        What the answer rests on: evidence for one way of labelling or another, the number of positives under each
        reading, how far two halves of the rows agree. Print it.
    prior_ : float
        The estimated P(Y=1), the mean of P(Y=1 | x, s) over the rows of fit.
    label_frequency_ : float
        The estimated c = P(S=1 | Y=1).
    n_iter_ : int
        Steps of the last search.
    converged_ : bool
        Whether both searches met ``tol``.
    risk_path_ : ndarray of shape (2,)
        The mean risk of the labels, penalties included: with e constant, and with e free.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only where the columns have names.

    Notes
    -----
    With ``decision="balanced"`` a row can be called positive though P(Y=1 | x) is below ½; set "posterior" where code
    relies on the contrary.

    References
    ----------
    The risk of the labels: W. Rejchel, P. Teisseyre, J. Mielniczuk. Joint empirical risk minimization for
    instance-dependent positive-unlabeled data. Knowledge-Based Systems 304, 2024. A propensity that rises with the
    posterior: W. Gerych, T. Hartvigsen, L. Buquicchio, E. Agu, E. Rundensteiner. Recovering the propensity score from
    biased positive unlabeled data. AAAI 2022.

    Examples
    --------
    >>> from propense import PUClassifier
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(2000, random_state=0)
    >>> model = PUClassifier(random_state=0).fit(data.X, data.labelled)
    >>> print(f"{data.positive.mean():.2f} positive, {data.labelled.mean():.2f} labelled, {model.prior_:.2f} estimated")
    0.50 positive, 0.26 labelled, 0.49 estimated
    >>> print(model.diagnosis_)
    Labelling depends on features in a way of its own (evidence 20.1, height 0.76).
    Positives: 49.4%; other readings of the same labels give 33.5% to 62.4%.
    Fits to two halves of the rows agree on 90.9% of the rows.
    """

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        "ridge": Number(0.0),
        "shrinkage": Number(0.0),
        "share": Number(0.0, 0.95, optional=True),
        "solver": Choice(("auto", *SOLVERS)),
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
        curve = self._curve(sample)
        share = self._share(sample, curve)
        posterior, propensity = _readings(curve.beta, curve.gamma, share)
        self.diagnosis_ = self._diagnose(sample, curve, share)
        return Model(
            posterior,
            propensity,
            n_iter=max(curve.free.n_iter, 1),
            converged=curve.constant.converged and curve.free.converged,
            risk_path=[found.value / sample.total_weight for found in (curve.constant, curve.free)],
        )

    def _curve(self, sample: Sample) -> _Curve:
        """The two logistic curves: e constant, then e free from there."""
        flat = self._risk(sample, _NONE)
        naive = LogisticRisk(
            sample.design,
            sample.labelled,
            weights=sample.weights,
            ridge=self.ridge * column_scales(sample.design, sample.weights)[1],
        )
        p = sample.design.shape[1]
        begun = SOLVERS["newton"](naive, np.zeros(p), tol=_ROUGH, max_iter=self.max_iter).coef
        constant = self._search(flat, flat.join(begun, np.zeros(p)))
        beta, gamma = flat.split(constant.coef)
        height = float(sigmoid(gamma[0]))
        if sample.propensity_columns is not None and not len(sample.propensity_columns):
            return _Curve(beta, gamma, height, constant, constant)
        risk = self._risk(sample, sample.propensity_columns)
        free = self._search(risk, risk.join(beta, gamma))
        return _Curve(*risk.split(free.coef), height, constant, free)

    def _risk(self, sample: Sample, columns: NDArray[np.intp] | None) -> PairRisk:
        """The risk of the labels, e's slopes over `columns`."""
        means, squares = column_scales(sample.design, sample.weights)
        if columns is None:
            ridge = self.shrinkage * math.sqrt(sample.total_weight) * squares
        else:
            ridge = self.ridge * squares[columns]
        return PairRisk(
            sample.design,
            sample.labelled,
            columns=columns,
            weights=sample.weights,
            ridge=self.ridge * squares,
            propensity_ridge=ridge,
            level=math.sqrt(_LEVEL_RIDGE) * np.append(1.0, means),
        )

    def _search(self, risk: PairRisk, start: Vector) -> Solution:
        return SOLVERS[solver_named(self.solver)](risk, start, tol=self.tol, max_iter=self.max_iter)

    def _share(self, sample: Sample, curve: _Curve) -> float:
        """What e gets of the steepness along βᵀx."""
        if self.share is not None:
            return float(self.share)
        if sample.propensity_columns is not None or self._evidence(sample, curve) > STRONG:
            return 0.0
        climb = _CLIMB * curve.height**_POWER
        return climb / (1.0 + climb)

    def _evidence(self, sample: Sample, curve: _Curve) -> float:
        """For an e of its own: twice the fall of the risk, less 2 for each slope."""
        slopes = len(curve.beta) - 1 if sample.propensity_columns is None else len(sample.propensity_columns)
        return 2.0 * (curve.constant.value - curve.free.value - slopes)

    def _diagnose(self, sample: Sample, curve: _Curve, share: float) -> Diagnosis:
        """What the answer rests on."""
        p = len(curve.beta)
        flat, height = curve.constant.coef[:p], np.append(curve.constant.coef[p], np.zeros(p - 1))
        readings = {
            "constant": _readings(flat, height, 0.0),
            "free": _readings(curve.beta, curve.gamma, 0.0),
            "proportional": _readings(curve.beta, curve.gamma, 0.5),
            "shared": _readings(curve.beta, curve.gamma, share),
        }
        return Diagnosis(
            height=curve.height,
            share=share,
            evidence=self._evidence(sample, curve),
            alignment=_alignment(sample, curve),
            priors={name: expected_share(sample, *map(sample.log_odds, pair)) for name, pair in readings.items()},
            stability=self._stability(sample, curve, share),
        )

    def _stability(self, sample: Sample, curve: _Curve, share: float) -> float:
        """The part of the rows on which fits to two random halves of them agree; NaN where a half has no label."""
        halves = check_random_state(self.random_state).random_sample(sample.design.shape[0]) < 0.5
        calls = []
        for mask in (halves, ~halves):
            design, labelled, weights = sample.among(sample.design.send(mask))
            half = Sample(design, labelled, weights, None, None, sample.propensity_columns)
            marked = half.weight_of(as_float(labelled))
            if not 0.0 < marked < half.total_weight:
                return math.nan
            risk = self._risk(half, sample.propensity_columns)
            found = risk.split(self._search(risk, curve.free.coef).coef)
            pair = _readings(*found, share)
            cut = logit(expected_share(half, *map(half.log_odds, pair)))
            calls.append(sample.log_odds(pair[0]) > cut)
        return sample.mean(as_float(calls[0] == calls[1]))

    def _complaint(self) -> str:
        return (
            f"PUClassifier stopped after {self.n_iter_} steps short of tol={self.tol:g}. Raise max_iter, tol, ridge or "
            "shrinkage."
        )


def _readings(beta: Vector, gamma: Vector, share: float) -> tuple[Predictor, Predictor]:
    """y and e where e gets `share` of the steepness along βᵀx."""
    if share == 0.0:
        return LogisticPredictor(beta), LogisticPredictor(gamma)
    return ProductPredictor(beta, 1.0 - share, gamma, 0.0), ProductPredictor(gamma, 1.0, beta, share)


def _alignment(sample: Sample, curve: _Curve) -> float:
    """The correlation of γᵀx with βᵀx over the rows; 0 where either is constant."""
    a, b = (sample.log_odds(LogisticPredictor(each)) for each in (curve.beta, curve.gamma))
    a, b = a - sample.mean(a), b - sample.mean(b)
    spread = math.sqrt(sample.mean(a * a) * sample.mean(b * b))
    return sample.mean(a * b) / spread if spread else 0.0
