"""The curve of the labels as a product of two logistic curves, with e shrunk towards a constant."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from propense._designs import Predictor, column_scales
from propense._diagnostics.diagnosis import STRONG
from propense._inputs.sample import Sample
from propense._maths.arrays import Index, Vector
from propense._maths.logistic import sigmoid
from propense._risks import LogisticRisk, PairRisk
from propense._solvers import Solution, newton, newton_bfgs
from propense._steps.known_negatives import minimise
from propense._steps.predictors import LogisticPredictor, ProductPredictor
from propense._steps.watch import Watch

__all__ = ["PairCurve", "PairSettings", "climb_share", "fit_pair_curve", "pair_predictors", "refit_pair"]

# e's share of the steepness along βᵀx is 2k⁴/(1 + 2k⁴), with k the height: close to 0 if the label curve levels off at
# a half, two thirds if it rises to 1.
_CLIMB, _POWER = 2.0, 4
# The tolerance of the regression that the searches start from.
_ROUGH = 1e-3
# The ridge on e's log-odds at the mean row: without it the height of the curve could run off to 1.
_LEVEL_RIDGE = 1.0
_NONE = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class PairSettings:
    """Penalties, the search, and its largest number of steps.

    If it is `quick`, the search is `newton_bfgs`, and time per row is saved as well.
    """

    ridge: float
    shrinkage: float
    solve: Callable[..., Solution]
    max_iter: int
    quick: bool = False


@dataclass(frozen=True)
class PairCurve:
    """P(S=1 | x) = σ(βᵀx)·σ(γᵀx), found with e constant, and with e free from there; `slopes` of e were free."""

    constant: Solution
    free: Solution
    # β and γ with e constant.
    flat: tuple[Vector, Vector]
    beta: Vector
    gamma: Vector
    slopes: int
    log_unknown: float
    total_weight: float

    @property
    def height(self) -> float:
        """Where the curve levels off if e is constant."""
        return float(sigmoid(self.flat[1][0]))

    @property
    def evidence(self) -> float:
        """Evidence that e depends on the columns: twice the fall of the risk, less 2 per slope."""
        return 2.0 * (self.constant.value - self.free.value - self.slopes)

    @property
    def is_strong(self) -> bool:
        """Whether the labels clearly show a propensity of its own."""
        return self.evidence > STRONG

    @property
    def converged(self) -> bool:
        """Whether both searches met their tolerance."""
        return self.constant.converged and self.free.converged

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


def fit_pair_curve(sample: Sample, settings: PairSettings, watch: Watch | None = None, part: str = "pair") -> PairCurve:
    """The curve of the labels with e constant, then with e free from there; both are kept under the name `part`."""
    watch = watch or Watch()
    columns, p = sample.propensity_columns, sample.design.shape[1]
    scales = column_scales(sample.design, sample.weights)
    risk = _pair_risk(sample, settings, scales, _NONE)

    def flatten() -> tuple[Solution, float]:
        return minimise(sample, risk, _start(sample, settings, scales[1]), settings.solve)

    constant, log_unknown = watch.solution(f"{part}, e constant", flatten)
    flat = risk.split(constant.coef)
    if columns is not None and not len(columns):
        return PairCurve(constant, constant, flat, *flat, 0, log_unknown, sample.total_weight)
    whole = _pair_risk(sample, settings, scales, columns)
    search = partial(minimise, sample, whole, whole.join(*flat), settings.solve)
    free, log_unknown = watch.solution(f"{part}, e free", search)
    own = p if sample.class_columns is None else 1 + len(sample.class_columns)
    slopes = len(free.coef) - own - 1
    return PairCurve(constant, free, flat, *whole.split(free.coef), slopes, log_unknown, sample.total_weight)


def refit_pair(sample: Sample, settings: PairSettings, curve: PairCurve) -> tuple[Vector, Vector, float]:
    """β, γ and log(1 − d) of some of the rows, from the fit to all of them."""
    scales = column_scales(sample.design, sample.weights)
    risk = _pair_risk(sample, settings, scales, sample.propensity_columns)
    solve, inverse = settings.solve, curve.free.inverse
    if settings.quick and inverse is not None:
        # The Hessian of some rows is about their share of that of all.
        more = curve.total_weight / sample.total_weight
        solve = partial(solve, inverse=lambda b: more * inverse(b))
    found, log_unknown = minimise(sample, risk, curve.free.coef, solve)
    return *risk.split(found.coef), log_unknown


def _start(sample: Sample, settings: PairSettings, squares: Vector) -> Vector:
    """The regression of the labels, and a propensity of a half."""
    own = sample.class_columns
    design = sample.design if own is None else sample.design.columns(own)
    ridge = settings.ridge * (squares if own is None else squares[own])
    naive = LogisticRisk(design, sample.labelled, weights=sample.weights, ridge=ridge)
    search = newton_bfgs if settings.quick else newton
    return np.append(search(naive, np.zeros(design.shape[1]), tol=_ROUGH, max_iter=settings.max_iter).coef, 0.0)


def _pair_risk(
    sample: Sample, settings: PairSettings, scales: tuple[Vector, Vector], columns: Index | None
) -> PairRisk:
    """The risk of the labels, with e's slopes over `columns`; `scales` are the means and variances of all."""
    means, squares = scales
    own = sample.class_columns
    # Named columns are knowledge that labels cannot give: no shrinkage then.
    shrunk = settings.shrinkage * math.sqrt(sample.total_weight) * squares
    return PairRisk(
        sample.design,
        sample.labelled,
        columns=columns,
        class_columns=own,
        weights=sample.weights,
        ridge=settings.ridge * (squares if own is None else squares[own]),
        propensity_ridge=shrunk if columns is None else settings.ridge * squares[columns],
        level=math.sqrt(_LEVEL_RIDGE) * np.append(1.0, means),
        quick=settings.quick,
    )


def climb_share(height: float) -> float:
    """The part of the steepness that e gets if the label curve levels off at this height."""
    climb = _CLIMB * height**_POWER
    return climb / (1.0 + climb)


def pair_predictors(beta: Vector, gamma: Vector, share: float) -> tuple[Predictor, Predictor]:
    """y and e where e gets `share` of the steepness along βᵀx."""
    if share == 0.0:
        return LogisticPredictor(beta), LogisticPredictor(gamma)
    return ProductPredictor(beta, 1.0 - share, gamma, 0.0), ProductPredictor(gamma, 1.0, beta, share)
