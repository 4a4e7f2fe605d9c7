"""The path of sparse predictors: where it starts, the minimiser of each penalty, and its risk on held-out rows."""

from dataclasses import dataclass, replace

import numpy as np

from propense._designs import column_moments
from propense._inputs.sample import Sample
from propense._maths.arrays import Index, Matrix, Vector
from propense._maths.formulas import PAIR
from propense._solvers import Penalty, Solution, SparseLogistic, SparsePair, SparseSolution, orthant_newton

__all__ = ["Path", "PathOptions", "folds_of", "held_out"]

# The screening path: each alpha this share of the one before, to this share of the first.
_SCREEN, _SCREEN_END = 0.7, 0.01
# Labelled rows per column of the anchor, and the largest number of its columns.
_ROWS_EACH, _ANCHOR = 20.0, 100
# The slope, in standard deviations of its column, that halves its price.
_HALVING = 0.1
# A constant e above this is as good as 1.
_NEARLY_ONE = 4.0
# Projections closer than this, relative to the largest, are those of equal rows.
_EQUAL = 1e-9


@dataclass(frozen=True)
class PathOptions:
    """The parameters of `SparseJoint` that a path depends on."""

    l1_ratio: float
    kappa: float
    adaptive: bool
    tol: float
    max_iter: int


class Path:
    """Minimisers of the penalised joint risk on a sample."""

    def __init__(self, sample: Sample, options: PathOptions) -> None:
        self._sample, self._options = sample, options
        design, labelled, weights = sample.design, sample.labelled, sample.weights
        self._naive = SparseLogistic(design, labelled, columns=sample.label_columns, weights=weights)
        self._null = self._naive.null()
        self.pair = SparsePair(
            design,
            labelled,
            columns=sample.propensity_columns,
            class_columns=sample.class_columns,
            weights=weights,
            l1_ratio=options.l1_ratio,
            kappa=options.kappa,
        )
        screened, self._alpha = self._screen()
        # The naive y with e = ½.
        starts = [self.pair.join(screened, np.zeros(len(screened))), *self._separated_start(screened)]
        picked = self.pair.join(screened, screened)
        self.anchor = min((self._joint(picked, start) for start in starts), key=lambda solution: solution.value)
        if options.adaptive:
            # The logistic regression misses a column that raises y and lowers e; the joint risk does not.
            self.anchor = self._joint(self.solve(self._alpha, self.anchor).coef, self.anchor.coef)
            # The adaptive lasso (Zou 2006): slopes that are steep without a penalty pay little of it.
            steepness = self.pair.spreads * np.abs(self.anchor.coef)
            self.pair.discount(_HALVING / (_HALVING + steepness))

    def alphas(self, count: int, ratio: float) -> Vector:
        """From the least alpha at which all slopes are 0 down to a share of it."""
        # Slightly more, so that rounding moves no slope off 0.
        return (1.0 + 1e-6) * self.pair.alpha_max(self._null.gradient) * np.geomspace(1.0, ratio, count)

    def follow(self, alphas: Vector) -> list[SparseSolution]:
        """The minimiser of each alpha, in descending order: from the anchor both ways, each from its neighbour."""
        middle = int(np.argmin(np.abs(np.log(np.maximum(alphas, 1e-300) / self._alpha))))
        found: dict[int, SparseSolution] = {middle: self.solve(alphas[middle], self.anchor)}
        for k in range(middle - 1, -1, -1):
            found[k] = self.solve(alphas[k], found[k + 1])
        for k in range(middle + 1, len(alphas)):
            last = found[k - 1]
            if self._is_stuck(last):
                found[k] = self.solve(alphas[k], self.anchor)
            else:
                found[k] = self.solve(alphas[k], last, before=alphas[k - 1])
        return [found[k] for k in range(len(alphas))]

    def solve(self, alpha: float, start: SparseSolution, before: float | None = None) -> SparseSolution:
        options = self._options
        return self.pair.solve(float(alpha), start, tol=options.tol, max_iter=options.max_iter, before=before)

    def refit(self, alpha: float, solution: SparseSolution) -> Solution:
        """The slopes in use without their ℓ1 penalty; the ridge stays, and is at least that of the anchor."""
        few, where = self.pair.among(solution.coef)
        coef, squares = solution.coef[where], self.pair.spreads[where] ** 2
        idle = (coef == 0) & (squares > 0)
        # Coefficients that are not in use must stay at 0.
        held = np.where(idle, np.finfo(np.float64).max, 0.0)
        ridge = Penalty(held, np.maximum(self.pair.penalty(alpha).l2[where], squares))
        found = orthant_newton(few, coef, ridge, tol=self._options.tol, max_iter=self._options.max_iter)
        out = np.zeros(len(solution.coef))
        out[where] = found.coef
        return replace(found, coef=out)

    def _is_stuck(self, solution: SparseSolution) -> bool:
        """Whether e is 1: the risk then no longer depends on γ, and no search moves away."""
        gamma = self.pair.split(solution.coef)[1]
        return bool(gamma[0] > _NEARLY_ONE and not gamma[1:].any())

    def _screen(self) -> tuple[Vector, float]:
        """The slopes of the columns that an ℓ1 regression of the labels picks first, and the alpha at which it did."""
        count = self._sample.weight_of(self._sample.labelled)
        most = int(min(max(count / _ROWS_EACH, 2.0), _ANCHOR))
        solution = self._null
        alpha = first = max(self._naive.alpha_max(solution.gradient), 1e-300)
        # With no more columns than that there is nothing to screen.
        share = _SCREEN if len(solution.coef) - 1 > most else _SCREEN_END
        while np.count_nonzero(solution.coef[1:]) < most and alpha > 1.001 * _SCREEN_END * first:
            before, alpha = alpha, share * alpha
            solution = self._naive.solve(alpha, solution, tol=1e-6, max_iter=self._options.max_iter, before=before)
        coef = solution.coef.copy()
        steepness = self._naive.spreads * np.abs(coef)
        few = np.argsort(-steepness, kind="stable")[most:]
        coef[few[few > 0]] = 0.0
        return coef, alpha

    def _separated_start(self, screened: Vector) -> list[Vector]:
        """If columns were named: a start with the slopes of e's in γ, since a y of all columns leaves e nothing."""
        columns = self._sample.propensity_columns
        if columns is None and self._sample.class_columns is not None:
            columns = np.setdiff1d(np.arange(len(screened) - 1), self._sample.class_columns)
        if columns is None or len(columns) == 0:
            return []
        beta, gamma = screened.copy(), np.zeros(len(screened))
        gamma[columns + 1], beta[columns + 1] = screened[columns + 1], 0.0
        return [self.pair.join(beta, gamma)]

    def _joint(self, coef: Vector, start: Vector) -> SparseSolution:
        """The joint minimiser over the columns that `coef` uses, with a light ridge."""
        few, where = self.pair.among(coef)
        ridge = Penalty(np.zeros(len(where)), self.pair.spreads[where] ** 2)
        out = np.zeros(len(coef))
        out[where] = orthant_newton(few, start[where], ridge, tol=1e-6, max_iter=self._options.max_iter).coef
        return self.pair.evaluate(out)


def folds_of(sample: Sample, count: int, random: np.random.RandomState) -> Index:
    """The fold of each row, on the host: equal rows share a fold, and each fold has its part of the labelled rows.

    Folds follow the rank along a random direction, so the order of the rows and their weights do not matter. There is
    only one fold if all labelled rows, or all others, are equal.
    """
    design = sample.design
    spreads = column_moments(design, sample.weights)[1]
    direction = random.standard_normal(len(spreads)) / np.where(spreads > 0, spreads, 1.0)
    along = design.bring(design.matvec(np.concatenate([[0.0], direction])))
    labelled = design.bring(sample.labelled).astype(bool)
    ranks = np.zeros(len(along), dtype=np.intp)
    fewest = count
    for mask in (labelled, ~labelled):
        ranks[mask] = _ranks(along[mask])
        fewest = min(fewest, int(ranks[mask].max()) + 1)
    return ranks % fewest


def _ranks(values: Vector) -> Index:
    """The rank of each value among the distinct ones."""
    order = np.argsort(values, kind="stable")
    gaps = np.diff(values[order]) > _EQUAL * (np.abs(values).max() + 1e-300)
    ranks = np.zeros(len(values), dtype=np.intp)
    ranks[order] = np.concatenate([[0], np.cumsum(gaps)])
    return ranks


def held_out(sample: Sample, folds: Index, alphas: Vector, options: PathOptions) -> tuple[Vector, Vector]:
    """For each alpha, the mean joint risk on the held-out rows, over the folds, and its standard error."""
    risks, sizes = [], []
    for fold in range(int(folds.max()) + 1):
        out = sample.design.send(folds == fold)
        train, test = sample.subset(~out), sample.subset(out)
        path, size = Path(train, options), test.total_weight
        pairs = [path.pair.split(solution.coef) for solution in path.follow(alphas)]
        risks.append([_risk(test, np.column_stack(pair)) / size for pair in pairs])
        sizes.append(size)
    shares = np.asarray(sizes) / np.sum(sizes)
    table = np.asarray(risks)
    mean = shares @ table
    return mean, np.sqrt(shares @ (table - mean) ** 2 / (len(shares) - 1))


def _risk(test: Sample, both: Matrix) -> float:
    """The summed joint loss of β and γ, the columns of `both`."""
    used = np.flatnonzero(both[1:].any(axis=1))
    few = both[np.concatenate([[0], used + 1])]
    return test.design.columns(used).sweep(PAIR, few, (test.labelled,), test.weights)[0]
