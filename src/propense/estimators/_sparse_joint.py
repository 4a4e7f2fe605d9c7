"""Sparse y(x) and e(x): the joint risk with an ℓ1 penalty, future work of Rejchel, Teisseyre and Mielniczuk (2024)."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from propense._diagnostics.doubts import SYMMETRIC
from propense._inputs.options import PRIOR, Choice, Count, Number, Option, Seed, Truth
from propense._inputs.sample import Sample
from propense._maths.arrays import Vector
from propense._steps.predictors import LogisticPredictor, Model, logistic_pair
from propense._steps.sparse_path import Path, PathOptions, folds_of, held_out
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import Description, is_array

__all__ = ["SparseJoint"]


class SparseJoint(BasePUClassifier):
    """Joint maximum likelihood that selects few columns for y and few for e, by a lasso (ℓ1) penalty.

    y(x) = σ(βᵀx) is the chance that a row is positive, and e(x) = σ(γᵀx) the chance that a positive row is labelled.
    Minimises Qₙ(β, γ) + alpha·Σ dⱼ(fⱼ|βⱼ| + gⱼ|γⱼ|), where Qₙ is the log loss per row of the labels if the chance of
    one is y(x)·e(x), and dⱼ is the standard deviation of column j, so that units do not matter, and fⱼ, gⱼ ≤ 1 are
    lower for slopes that are steep in a first fit (the adaptive lasso). The intercepts are not penalised. Labels are
    observed, so alpha can be chosen by the risk on held-out rows, from a path of alphas, each search starting from its
    neighbour.

    The labels show only the product y(x)·e(x). With a large penalty y alone explains it best, with e = 1. The path
    therefore begins at an anchor: the joint minimiser, with a light ridge and from the regression of the labels as y
    and e = ½, over the columns that an ℓ1 logistic regression of the labels picks first. The minimum next to it is
    followed in both directions, even where a minimum with e = 1 is lower. In the end the factor with the steeper
    slopes, in standard deviations of the columns, is called y, as in `JointMLE`: labelling is assumed to be the flatter
    of the two.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, which maximises accuracy; "balanced" is ``prior_``,
        which maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.
    alpha : float, default=None
        The penalty on the mean risk. None chooses one from a path by the risk on held-out rows.
    variant : {"adaptive", "plain"}, default="adaptive"
        "plain" sets fⱼ = gⱼ = 1. It keeps many columns that do not matter, or shrinks those that do.
    l1_ratio : float, default=1.0
        The share of the penalty that is ℓ1. The rest is ½·alpha·Σ dⱼ²(βⱼ² + γⱼ²): the elastic net.
    propensity_penalty : float, default=1.0
        The penalty on the slopes of e relative to those of y. A value other than 1 distinguishes the two, so they are
        not exchanged.
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
    n_alphas : int, default=50
        The number of alphas on the path.
    eps : float, default=0.005
        The last alpha of the path as a share of the first, with which all slopes are 0.
    folds : int, default=5
        The number of parts that are held out in turn; fewer if there are fewer distinct labelled rows. With one such
        row there is a warning, and alpha is the largest. Equal rows are held out together.
    selection : {"one_se", "min"}, default="one_se"
        "min" has the lowest risk on held-out rows, "one_se" is the largest alpha within one standard error of it.
    refit : bool, default=True
        Whether the slopes that alpha leaves are fitted again without the ℓ1 penalty, which has shrunk them: with the
        ridge that ``l1_ratio`` gives, and at least ½·dⱼ²(βⱼ² + γⱼ²) on the summed risk. The path is not refitted.
    tol : float, default=1e-8
        A search stops when no entry of the smallest subgradient of the mean risk, each column in its own unit, is above
        this.
    max_iter : int, default=1000
        The largest number of steps for each alpha.
    random_state : int, RandomState instance or None, default=None
        Draws the rows that are held out together.

    Attributes
    ----------
    alpha_ : float
        The penalty that chose these columns.
    alphas_ : ndarray of shape (n_alphas,)
        The path, descending; ``[alpha]`` if that is given.
    path_features_ : ndarray of shape (n_used,)
        The columns, by number, that y or e uses anywhere on the path.
    coefs_path_, propensity_coefs_path_ : ndarray of shape (n_alphas, n_used)
        The slopes of those columns.
    intercepts_path_, propensity_intercepts_path_ : ndarray of shape (n_alphas,)
    held_out_risk_, held_out_se_ : ndarray of shape (n_alphas,)
        The mean of Qₙ over the held-out rows, and its standard error; NaN if alpha is given.
    risk_path_ : ndarray of shape (n_alphas,)
        The mean risk with its penalty, of each alpha.
    others
        As in every estimator, see `BasePUClassifier`: ``classes_``, ``coef_``, ``intercept_``, ``propensity_coef_``,
        ``propensity_intercept_``, ``prior_``, ``label_frequency_``, ``n_iter_``, ``converged_``, ``doubts_``,
        ``n_features_in_``, ``feature_names_in_``.

    References
    ----------
    W. Rejchel, P. Teisseyre, J. Mielniczuk. Joint empirical risk minimization for instance-dependent
    positive-unlabeled data. Knowledge-Based Systems 304, 2024. Sections 2.2 and 5.
    H. Zou. The adaptive lasso and its oracle properties. Journal of the American Statistical Association 101, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from propense import SparseJoint
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 30))
    >>> positive = rng.random(2000) < 1 / (1 + np.exp(-3 * X[:, 4]))
    >>> labelled = positive & (rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 7])))
    >>> model = SparseJoint(random_state=0).fit(X, labelled)
    >>> np.flatnonzero(model.coef_), np.flatnonzero(model.propensity_coef_)
    (array([4]), array([7]))
    """

    description: ClassVar[Description] = Description(
        name="sparse-joint",
        separates="both logistic in few columns; y is the steeper",
        assumes=(
            "The chance that a row is positive depends on a weighted sum of a few columns (a logistic model), "
            "and the chance of a label on another. Both models are right.",
            "The two weighted sums differ. Otherwise the labels cannot distinguish them.",
        ),
        keeps={
            **dict.fromkeys(("alphas_", "held_out_risk_", "held_out_se_"), is_array("f", None)),
            **dict.fromkeys(("intercepts_path_", "propensity_intercepts_path_"), is_array("f", None)),
            **dict.fromkeys(("coefs_path_", "propensity_coefs_path_"), is_array("f", None, None)),
            "alpha_": float,
            "path_features_": is_array("iu", None),
        },
        takes=("weights", "dask", "torch"),
    )

    _doubted: ClassVar[tuple[str, ...]] = SYMMETRIC
    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        **PRIOR,
        "alpha": Number(0.0, optional=True),
        "variant": Choice(("adaptive", "plain")),
        "l1_ratio": Number(0.0, 1.0),
        "propensity_penalty": Number(0.0),
        "n_alphas": Count(low=2, high=10**6),
        "eps": Number(1e-10, 1.0),
        "folds": Count(low=2),
        "selection": Choice(("one_se", "min")),
        "refit": Truth(),
        "tol": Number(0.0),
        "max_iter": Count(),
        "random_state": Seed(),
    }

    def __init__(
        self,
        *,
        decision: str = "posterior",
        positive_label: Any = None,
        alpha: float | None = None,
        variant: str = "adaptive",
        l1_ratio: float = 1.0,
        propensity_penalty: float = 1.0,
        class_features: Any = None,
        propensity_features: Any = None,
        prior: Any = None,
        prior_groups: Any = None,
        n_alphas: int = 50,
        eps: float = 0.005,
        folds: int = 5,
        selection: str = "one_se",
        refit: bool = True,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.decision = decision
        self.positive_label = positive_label
        self.alpha = alpha
        self.variant = variant
        self.l1_ratio = l1_ratio
        self.propensity_penalty = propensity_penalty
        self.class_features = class_features
        self.propensity_features = propensity_features
        self.prior = prior
        self.prior_groups = prior_groups
        self.n_alphas = n_alphas
        self.eps = eps
        self.folds = folds
        self.selection = selection
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, sample: Sample) -> Model:
        options = PathOptions(
            float(self.l1_ratio), float(self.propensity_penalty), self.variant == "adaptive", self.tol, self.max_iter
        )
        path = Path(sample, options)
        if self.alpha is None:
            alphas = path.alphas(self.n_alphas, self.eps)
        else:
            alphas = np.array([self.alpha], dtype=np.float64)
        risks, errors = self._hold_out(sample, alphas, options)
        found = path.follow(alphas)
        chosen = self._choose(risks, errors)
        alpha = float(alphas[chosen])
        final = path.refit(alpha, found[chosen]) if self.refit else found[chosen]
        pairs = [path.pair.split(solution.coef) for solution in (*found, final)]
        beta, gamma, kept = self._kept_path(sample, pairs, path.pair.column_spreads)
        return Model(
            LogisticPredictor(beta),
            LogisticPredictor(gamma),
            n_iter=max(found[chosen].n_iter, 1),
            converged=found[chosen].converged and final.converged,
            risk_path=[solution.value / sample.total_weight for solution in found],
            kept={**kept, "alphas_": alphas, "alpha_": alpha, "held_out_risk_": risks, "held_out_se_": errors},
        )

    def _hold_out(self, sample: Sample, alphas: Vector, options: PathOptions) -> tuple[Vector, Vector]:
        """The risk on held-out rows, and its standard error; NaN if there is no choice."""
        nothing = np.full(len(alphas), np.nan), np.full(len(alphas), np.nan)
        if self.alpha is not None:
            return nothing
        folds = folds_of(sample, self.folds, check_random_state(self.random_state))
        if folds.any():
            return held_out(sample, folds, alphas, options)
        warnings.warn(
            "All labelled rows, or all unlabelled ones, are equal, so none can be held out to choose alpha. "
            "SparseJoint uses the largest alpha, at which all slopes are 0. Pass an alpha.",
            stacklevel=6,
        )
        return nothing

    def _choose(self, risk: Vector, error: Vector) -> int:
        """The position of the chosen alpha on the path, which descends."""
        if np.isnan(risk).any():
            return 0
        best = int(np.argmin(risk))
        return best if self.selection == "min" else int(np.argmax(risk <= risk[best] + error[best]))

    def _kept_path(
        self, sample: Sample, found: list[tuple[Vector, Vector]], spreads: Vector
    ) -> tuple[Vector, Vector, dict[str, Vector]]:
        """β and γ of the last, which is the answer, and the path in the columns that it uses."""
        *pairs, final = found
        steepness = [float(spreads @ np.abs(each)) for each in final]
        # Intercepts show how many, not how steep. Own columns of either, or prices of e, distinguish the factors.
        named = sample.propensity_columns is not None or sample.class_columns is not None
        alike = not named and self.propensity_penalty == 1
        begin = logistic_pair(self._begin)
        if begin is not None:
            # What was y in an earlier fit stays y: use the order nearer to it.
            far = [
                sum(float(spreads @ np.abs(each - other)) for each, other in zip(order, begin, strict=True))
                for order in (final, final[::-1])
            ]
            swap = far[1] < far[0]
        else:
            swap = steepness[1] > steepness[0]
        if alike and swap:
            *pairs, final = [(gamma, beta) for beta, gamma in (*pairs, final)]
        used = np.unique(np.concatenate([np.flatnonzero(each[1:]) for pair in pairs for each in pair]))
        kept = {"path_features_": used}
        for factor, name in enumerate(("", "propensity_")):
            kept[f"{name}coefs_path_"] = np.array([pair[factor][used + 1] for pair in pairs])
            kept[f"{name}intercepts_path_"] = np.array([pair[factor][0] for pair in pairs])
        return *final, kept

    def _complaint(self) -> str:
        return (
            f"SparseJoint stopped after {self.n_iter_} steps at alpha={self.alpha_:.3g}, short of tol={self.tol:g}. "
            "Raise max_iter, tol or alpha."
        )
