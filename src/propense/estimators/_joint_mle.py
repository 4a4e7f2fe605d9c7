"""The minimiser of the joint risk over both predictors at once: eq. (8) of Rejchel, Teisseyre and Mielniczuk (2024)."""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from propense._designs import column_moments
from propense._diagnostics.doubts import SYMMETRIC, doubt_of, starts_disagree
from propense._diagnostics.fit_statistics import effective_rows
from propense._inputs.options import PRIOR, Choice, Count, Number, Option, Seed
from propense._inputs.sample import Sample
from propense._maths.arrays import Index, Vector
from propense._maths.logistic import sigmoid
from propense._progress import begin_stage
from propense._risks import PairRisk
from propense._solvers import SOLVERS, Solution, projected
from propense._steps.known_negatives import fit_complete, minimise
from propense._steps.learners import Learner
from propense._steps.predictors import LogisticPredictor, Model, logistic_pair
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import EVERYTHING, Description, is_array

__all__ = ["JointMLE"]

# The columns of `starts_`, with the kinds of their dtypes.
_STARTS = {"risk": "f", "factor": "iu", "norm": "f", "propensity_norm": "f", "distance": "f", "converged": "b"}


def _are_starts(value: Any, p: int) -> bool:
    """The table of starts: columns of one length."""
    if not isinstance(value, dict) or value.keys() != _STARTS.keys():
        return False
    return all(is_array(kind, len(value["risk"]))(value[name], p) for name, kind in _STARTS.items())


class JointMLE(BasePUClassifier):
    """Joint maximum likelihood: fits y and e at once, from several starting points, and shows whether they agree.

    y(x) = σ(βᵀx) is the chance that a row is positive, and e(x) = σ(γᵀx) the chance that a positive row is labelled:
    both are logistic curves of a weighted sum of the columns. The labels show only their product, in which the two can
    be exchanged. The search for the β and γ that minimise the joint risk Qₙ(β, γ), the log loss of the labels if the
    chance of one is y(x)·e(x), begins at several starts. The factor whose slopes have the larger ℓ1 norm is called y:
    labelling is assumed to be the flatter of the two. With ``class_features`` or ``propensity_features`` the two cannot
    be exchanged, because the columns distinguish them.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, which maximises accuracy; "balanced" is ``prior_``,
        which maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.
    ridge : float, default=1.0
        The penalty ½·ridge·(‖β‖² + ‖γ‖²) on the summed risk; the intercepts are not penalised. The choice for practice.
    radius : float, default=None
        The choice in theory: minimise over ‖β‖₁ + ‖γ‖₁ ≤ radius, intercepts included. Equation (8) of the paper is
        ``JointMLE(radius=w, ridge=0)``. None means no bound.
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
    n_starts : int, default=10
        The number of starts. The first has the logistic regression of the labels as y, and e = ½; the others split the
        log-odds of that regression between the two factors at random.
    solver : {"auto", "newton", "mm"}, default="auto"
        "newton" is Newton's method, and "mm" takes more, but simpler steps (majorise–minimise); "auto" is "newton".
        Beyond 2 000 columns, neither stores a matrix of n_features² numbers. With a ``radius``, projected gradients
        take the place of all three.
    tol : float, default=1e-8
        A search stops when no entry of the gradient of the mean risk, each column in its own unit, is above this.
    max_iter : int, default=1000
        The largest number of steps from each start.
    random_state : int, RandomState instance or None, default=None
        Draws the random starts.

    Attributes
    ----------
    starts_ : dict of ndarrays of shape (n_starts,)
        The result of each start, best first. "risk": Qₙ with its ridge; "factor": 0 if the factor that began as y is
        called y, 1 if the two were exchanged; "norm" and "propensity_norm": the ℓ1 norms of the slopes of y and e;
        "distance": how far y(x) is from the best y(x), on average over the rows of fit; "converged". If starts with
        nearly the best risk are far apart, or the norms are nearly equal, the data do not determine the answer.
    risk_path_ : ndarray of shape (n_starts,)
        ``starts_["risk"]``, worst first.
    others
        As in every estimator, see `BasePUClassifier`: ``classes_``, ``coef_``, ``intercept_``, ``propensity_coef_``,
        ``propensity_intercept_``, ``prior_``, ``label_frequency_``, ``n_iter_``, ``converged_``, ``doubts_``,
        ``n_features_in_``, ``feature_names_in_``.

    References
    ----------
    W. Rejchel, P. Teisseyre, J. Mielniczuk. Joint empirical risk minimization for instance-dependent
    positive-unlabeled data. Knowledge-Based Systems 304, 2024. Section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from propense import JointMLE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2))
    >>> positive = rng.random(20_000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> labelled = positive & (rng.random(20_000) < 1 / (1 + np.exp(-X[:, 1])))
    >>> model = JointMLE().fit(X, labelled)
    >>> model.coef_.round(1), model.propensity_coef_.round(1)
    (array([[2.9, 0. ]]), array([[-0.1,  1. ]]))
    """

    description: ClassVar[Description] = Description(
        name="joint-mle",
        separates="both logistic; y is the steeper",
        assumes=(
            "The chance that a row is positive depends on a weighted sum of the columns (a logistic model), and "
            "the chance of a label on another weighted sum. Both models are right.",
            "The two weighted sums differ. Otherwise the labels cannot distinguish them.",
        ),
        keeps={"starts_": _are_starts},
        takes=EVERYTHING,
    )

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        **PRIOR,
        "ridge": Number(0.0),
        "radius": Number(0.0, optional=True),
        "n_starts": Count(high=10**6),
        "solver": Choice(tuple(SOLVERS)),
        "tol": Number(0.0),
        "max_iter": Count(),
        "random_state": Seed(),
    }

    _doubted: ClassVar[tuple[str, ...]] = SYMMETRIC

    def __init__(
        self,
        *,
        decision: str = "posterior",
        positive_label: Any = None,
        ridge: float = 1.0,
        radius: float | None = None,
        class_features: Any = None,
        propensity_features: Any = None,
        prior: Any = None,
        prior_groups: Any = None,
        n_starts: int = 10,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.decision = decision
        self.positive_label = positive_label
        self.ridge = ridge
        self.radius = radius
        self.class_features = class_features
        self.propensity_features = propensity_features
        self.prior = prior
        self.prior_groups = prior_groups
        self.n_starts = n_starts
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, sample: Sample) -> Model:
        if self.radius is None and sample.is_complete:
            return self._fit_complete(sample)
        risk = self._risk(sample)
        search = SOLVERS[self.solver] if self.radius is None else partial(projected, radius=self.radius)
        solve = partial(search, tol=self.tol, max_iter=self.max_iter)
        begin_stage("starts")
        starts = [risk.join(*start) for start in self._starts(sample)]
        found = []
        for number, start in enumerate(starts, 1):
            begin_stage(f"start {number} of {len(starts)}")
            found.append(minimise(sample, risk, start, solve))
        found.sort(key=lambda each: each[0].value)
        solutions = [solution for solution, _ in found]
        pairs = [self._name(sample, *risk.split(solution.coef)) for solution in solutions]
        summary = _summary(sample, solutions, pairs)
        beta, gamma, _ = pairs[0]
        return Model(
            LogisticPredictor(beta),
            LogisticPredictor(gamma),
            n_iter=max(solutions[0].n_iter, 1),
            converged=solutions[0].converged,
            risk_path=summary["risk"][::-1].tolist(),
            doubts=doubt_of(starts_disagree, summary["risk"], summary["distance"], effective_rows(sample)),
            log_unknown=found[0][1],
            kept={"starts_": summary},
        )

    def _fit_complete(self, sample: Sample) -> Model:
        """The only minimiser if every class is known."""
        model = fit_complete(sample, Learner(ridge=self.ridge, columns=sample.class_columns))
        beta, gamma = (each.coef for each in (model.posterior, model.propensity))  # type: ignore[attr-defined]
        solution = Solution(beta, model.risk_path[0] * sample.total_weight, 0.0, 1, model.converged)
        return replace(model, kept={"starts_": _summary(sample, [solution], [(beta, gamma, 0)])})

    def _risk(self, sample: Sample) -> PairRisk:
        return PairRisk(
            sample.design,
            sample.labelled,
            columns=sample.propensity_columns,
            class_columns=sample.class_columns,
            weights=sample.weights,
            ridge=self.ridge,
            propensity_ridge=self.ridge,
        )

    def _pair_risk(self, sample: Sample) -> PairRisk | None:
        return self._risk(sample) if self.radius is None and sample.negative is None else None

    def _starts(self, sample: Sample) -> list[tuple[Vector, Vector]]:
        """The naive y with e = ½, then halves of the naive log-odds pulled apart in random directions."""
        if (begin := logistic_pair(self._begin)) is not None:
            return [begin]
        design = sample.design
        p = design.shape[1]
        naive = _naive(sample, sample.label_columns)
        # With each column centred and in standard deviations, no start depends on offsets or units. The factors are as
        # far apart as the naive slopes are long.
        means, spreads = column_moments(design, sample.weights)
        spreads[spreads == 0.0] = 1.0
        length = np.linalg.norm(naive[1:] * spreads)
        random = check_random_state(self.random_state)
        # A y of some columns begins at its own regression: that of all columns has another intercept.
        starts = [(naive if sample.class_columns is None else _naive(sample, sample.class_columns), np.zeros(p))]
        for _ in range(self.n_starts - 1):
            direction = random.standard_normal(p - 1)
            slopes = length * direction / np.linalg.norm(direction) / spreads
            apart = np.concatenate([[-means @ slopes], slopes])
            starts.append((0.5 * naive + apart, 0.5 * naive - apart))
        return starts

    def _name(self, sample: Sample, beta: Vector, gamma: Vector) -> tuple[Vector, Vector, int]:
        """The factor of larger ℓ1 norm first, and which it was."""
        # Intercepts show how many, not how steep, and do not count. Own columns of either, or known negatives,
        # distinguish the factors. So does an earlier fit: what started as its y is y.
        named = sample.propensity_columns is not None or sample.class_columns is not None
        distinguished = named or sample.negative is not None or self._begin is not None
        if distinguished or np.abs(beta[1:]).sum() >= np.abs(gamma[1:]).sum():
            return beta, gamma, 0
        return gamma, beta, 1

    def _complaint(self) -> str:
        return (
            f"JointMLE stopped after {self.n_iter_} steps from its best start, short of tol={self.tol:g}. Scale the "
            "features, or raise max_iter, tol or ridge."
        )


def _naive(sample: Sample, columns: Index | None) -> Vector:
    """The regression of the labels on some columns; 0 for the others."""
    predictor, _ = Learner(columns=columns).fit(sample.design, sample.labelled, sample.weights)
    return np.asarray(predictor.coef)  # type: ignore[attr-defined]


def _summary(
    sample: Sample, solutions: list[Solution], pairs: list[tuple[Vector, Vector, int]]
) -> dict[str, NDArray[Any]]:
    """`starts_`."""
    posteriors = [sigmoid(sample.log_odds(LogisticPredictor(beta))) for beta, _, _ in pairs]
    return {
        "risk": np.array([solution.value for solution in solutions]) / sample.total_weight,
        "factor": np.array([factor for _, _, factor in pairs]),
        "norm": np.array([np.abs(beta[1:]).sum() for beta, _, _ in pairs]),
        "propensity_norm": np.array([np.abs(gamma[1:]).sum() for _, gamma, _ in pairs]),
        "distance": np.array([sample.mean(abs(each - posteriors[0])) for each in posteriors]),
        "converged": np.array([solution.converged for solution in solutions]),
    }
