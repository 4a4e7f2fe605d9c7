"""JERM: joint empirical risk minimisation (Rejchel, Teisseyre, Mielniczuk 2024, Algorithm 1)."""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from propense._diagnostics.doubts import all_likely, doubt_of
from propense._inputs.options import PRIOR, Choice, ClassifierOption, Count, Number, Option, Seed
from propense._inputs.sample import Sample
from propense._maths.double_logistic import halfway_to_certain, hidden_log_odds
from propense._progress import begin_stage
from propense._risks import JointRisk
from propense._solvers import SOLVERS, Solution, mm_early
from propense._steps.known_negatives import best_log_unknown, fit_complete, initial_log_unknown
from propense._steps.learners import Learner
from propense._steps.likely_positives import fit_propensity_on, rows_above, rows_at_least, top_rows
from propense._steps.predictors import LogisticPredictor, Model
from propense._steps.spies import Spies, find_spies, spy_threshold
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import EVERYTHING, Description, is_array

__all__ = ["JERM"]

# The authors' code falls back on the nine best unlabelled rows when fewer than ten pass the spies' threshold.
_FEWEST, _FALLBACK = 10, 9


class JERM(BasePUClassifier):
    """Joint empirical risk minimisation: fits y and e in turn, guided by the unlabelled neighbours of labelled rows.

    y(x) is the chance that a row is positive, e(x) the chance that a positive row is labelled, and h(x) the chance that
    an unlabelled row is positive. Both y(x) = σ(βᵀx) and e(x) = σ(γᵀx) are logistic curves of a weighted sum of the
    columns. A round has three steps. With e fixed, β is fitted: it minimises the joint risk, the log loss of the labels
    if the chance of one is y(x)·e(x). Spies then select P̂, the rows that are probably positive. On these rows, γ is
    the logistic regression of the label. The rounds end when one finds the same β and the same P̂ as the one before.

    A **spy** is the nearest unlabelled neighbour of a labelled row. Being so close to a positive, it is probably
    positive too. P̂ holds the labelled rows and the unlabelled rows whose h(x) exceeds that of the least likely spy.
    Distances use the features as given, so scale them as for nearest neighbours. Only the columns of ``class_features``
    count, if they are named.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, as in the paper; "balanced" is ``prior_``, which
        maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.
    variant : {"published", "paper"}, default="published"
        "published" repeats the computation behind the published numbers: majorise–minimise steps for β are stopped
        early, which regularises β, and spies only set the threshold (the least likely spy is not in P̂). "paper" is
        Algorithm 1 to the letter: β is the minimiser, and rows at the threshold belong to P̂ as well. All spies then do
        if ``spy_quantile`` is 0; if not, those below the threshold do not.
    solver : {"auto", "mm", "newton"}, default="auto"
        What minimises the joint risk over β. "auto" is "mm" (majorise–minimise) for "published" and "newton" for
        "paper". Only "mm" can be stopped early: with "newton" β is the minimiser in either variant. Beyond 4 000
        columns, neither stores a matrix of n_features² numbers: each step is found by conjugate gradients, which need
        only products with X.
    ridge : float, default=0.0
        The penalty ½·ridge·‖β‖² on the summed joint risk; the intercept is not penalised. 0 is the paper's.
    propensity_ridge : float, default=1.0
        The same for γ, and for the regression of the label on all rows, from which e starts; 1 is scikit-learn's C = 1,
        which the paper used.
    propensity_estimator : classifier, default=None
        What fits e on P̂: any scikit-learn classifier with ``predict_proba`` whose ``fit`` takes ``sample_weight``, or
        a pipeline that ends in one. It gets an array without column names. None means logistic regression.
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
    spy_quantile : float, default=0.0
        The threshold is this quantile, over the labelled rows, of h at their spies. 0 is the minimum, as in the paper.
        If the classes overlap, the minimum lets nearly every row into P̂ (see ``positives_path_``); try 0.05 or 0.1.
    spy_sample : int, default=None
        Find spies for this many labelled rows only, drawn at random. None means all, as in the paper. The search takes
        time in proportion to labelled × unlabelled rows and dominates at a million rows; a few thousand labelled rows
        set nearly the same threshold. A minimum over fewer rows is higher, so small samples make P̂ smaller.
    max_iter : int, default=100
        The largest number of rounds.
    tol : float, default=None
        When the search for β stops. "mm" stopped early: before the first step that would move no coefficient by `tol`
        or more; None means the published 0.01. Beyond 4 000 columns it takes longer steps, a tenth as many: β then has
        about the published direction and is up to a quarter longer. Otherwise: when no entry of the gradient of the
        mean risk, each column in its own unit, is above `tol`; None means 1e-8.
    max_steps : int, default=None
        The largest number of steps for β in one round. None means the published 200 for "mm" stopped early, else 1 000.
    random_state : int, RandomState instance or None, default=None
        Draws the ``spy_sample``; no effect without one.

    Attributes
    ----------
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_features) and (1,)
        γ of e(x) = P(S=1 | Y=1, x) = σ(γᵀx), 0 outside ``propensity_features``; not there with a
        ``propensity_estimator``.
    propensity_estimator_ : classifier
        The fitted ``propensity_estimator``, if given.
    converged_ : bool
        Whether β and e repeated within ``max_iter`` rounds, each fitted to its tolerance.
    risk_path_ : ndarray of shape (n_rounds,)
        The joint risk per row that β reached in each round, ridge included. It may rise: P̂ changes between rounds.
    positives_path_ : ndarray of shape (n_rounds,)
        The share of rows in P̂ after each round. Near 1, almost every row was treated as positive, and neither y nor e
        can be trusted.
    spies_ : int ndarray
        The rows of fit that are spies, in ascending order.
    classes_, coef_, intercept_, prior_, label_frequency_, n_iter_, doubts_, n_features_in_, feature_names_in_
        As in every estimator; see `BasePUClassifier`.

    Notes
    -----
    A row of ``sample_weight`` w counts as w copies of it: in the fits of y and e, in ``prior_``, in the size of P̂, and
    in the quantile over the spies, where the spy of a labelled row of weight w counts w times. Copies change no
    distance, so weights do not change which rows are spies; of unlabelled rows equally near, the first is the spy. Rows
    of weight 0 are left out.

    If fewer than ten unlabelled rows pass the threshold, "published" takes the nine with the highest y(x) instead, if
    there are more than ten unlabelled rows, as the authors' code does. If no unlabelled row is in P̂, there is nothing
    to compare the labelled rows with, and e(x) = 1.

    References
    ----------
    W. Rejchel, P. Teisseyre, J. Mielniczuk. Joint empirical risk minimization for instance-dependent
    positive-unlabeled data. Knowledge-Based Systems 304, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from propense import JERM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> positive = rng.random(2000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> labelled = positive & (rng.random(2000) < 1 / (1 + np.exp(-X[:, 1])))
    >>> model = JERM().fit(X, labelled)
    >>> model.predict([[2.0, 0.0], [-2.0, 0.0]])
    array([ True, False])
    """

    description: ClassVar[Description] = Description(
        name="jerm",
        separates="spies: unlabelled rows next to labelled ones",
        assumes=(
            "The chance that a row is positive depends on a weighted sum of the columns (a logistic model), and "
            "so does the chance of a label.",
            "Labelled rows have unlabelled positive rows near them. Those set the threshold above which a row "
            "counts as positive.",
        ),
        keeps={"spies_": is_array("iu", None), "positives_path_": is_array("f", None)},
        takes=EVERYTHING,
    )

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        **PRIOR,
        "variant": Choice(("published", "paper")),
        "solver": Choice(tuple(SOLVERS)),
        "ridge": Number(0.0),
        "propensity_ridge": Number(0.0),
        "propensity_estimator": ClassifierOption(),
        "spy_quantile": Number(0.0, 1.0),
        "spy_sample": Count(optional=True),
        "max_iter": Count(),
        "tol": Number(0.0, optional=True),
        "max_steps": Count(optional=True),
        "random_state": Seed(),
    }

    def __init__(
        self,
        *,
        decision: str = "posterior",
        positive_label: Any = None,
        variant: str = "published",
        solver: str = "auto",
        ridge: float = 0.0,
        propensity_ridge: float = 1.0,
        propensity_estimator: Any = None,
        class_features: Any = None,
        propensity_features: Any = None,
        prior: Any = None,
        prior_groups: Any = None,
        spy_quantile: float = 0.0,
        spy_sample: int | None = None,
        max_iter: int = 100,
        tol: float | None = None,
        max_steps: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.decision = decision
        self.positive_label = positive_label
        self.variant = variant
        self.solver = solver
        self.ridge = ridge
        self.propensity_ridge = propensity_ridge
        self.propensity_estimator = propensity_estimator
        self.class_features = class_features
        self.propensity_features = propensity_features
        self.prior = prior
        self.prior_groups = prior_groups
        self.spy_quantile = spy_quantile
        self.spy_sample = spy_sample
        self.max_iter = max_iter
        self.tol = tol
        self.max_steps = max_steps
        self.random_state = random_state

    def _fit(self, sample: Sample) -> Model:
        design = sample.design
        if sample.is_complete:
            kept = {"spies_": np.array([], dtype=np.intp), "positives_path_": np.array([sample.mean(sample.labelled)])}
            learner = Learner(ridge=self.ridge, columns=sample.class_columns)
            return replace(fit_complete(sample, learner), kept=kept)
        begin_stage("search for spies")
        spies = find_spies(sample, self.spy_sample, self.random_state)
        begin_stage("naive fit")
        start = Learner(ridge=self.propensity_ridge, columns=sample.label_columns)
        model, _ = start.fit(design, sample.labelled, sample.weights)
        propensity = design.hold(halfway_to_certain(model.log_odds(design)))
        risk = JointRisk(sample.class_design, sample.labelled, propensity, weights=sample.weights, ridge=self.ridge)
        log_unknown = 0.0
        if sample.negative is not None:
            log_unknown = initial_log_unknown(sample)
            risk = risk.with_negatives(sample.negative, log_unknown)
        learner = Learner(self.propensity_estimator, self.propensity_ridge, columns=sample.propensity_columns)
        solve = self._solver()
        # Over the columns that y may depend on.
        beta = np.zeros(risk.design.shape[1])
        likely: Any = None
        risks: list[float] = []
        shares: list[float] = []
        repeats = False
        while not repeats and len(risks) < self.max_iter:
            begin_stage(f"round {len(risks) + 1}")
            solution = solve(risk, beta)
            posterior = LogisticPredictor(sample.over_all_columns(solution.coef))
            class_log_odds = sample.log_odds(posterior)
            before, likely = likely, design.hold(self._likely_positives(sample, spies, class_log_odds, propensity))
            risks.append(solution.value / sample.total_weight)
            shares.append(sample.mean(sample.labelled | likely))
            # γ is a function of P̂, so e repeats if P̂ does; the rounds have converged only if β repeats too.
            same = before is not None and bool((before == likely).all())
            repeats = same and np.array_equal(solution.coef, beta)
            beta = solution.coef
            if not same:
                model, fitted = fit_propensity_on(sample, likely, learner, model)
                propensity = sample.log_odds(model)
                risk = risk.with_other(propensity)
            if sample.negative is not None:
                log_unknown = best_log_unknown(sample, class_log_odds, propensity)
                risk = risk.with_negatives(sample.negative, log_unknown)
        kept = {"spies_": sample.row_numbers(np.unique(spies.rows)), "positives_path_": np.asarray(shares)}
        converged = repeats and fitted and solution.converged
        doubts = doubt_of(all_likely, shares[-1], "Try spy_quantile=0.1, or compare with SAREM.")
        return Model(posterior, model, len(risks), converged, risks, doubts, log_unknown, kept)

    def _solver(self) -> "partial[Solution]":
        """The solver that finds β given e (line 5)."""
        early = self.variant == "published" and self.solver in ("auto", "mm")
        tol = (0.01 if early else 1e-8) if self.tol is None else self.tol
        max_iter = (200 if early else 1000) if self.max_steps is None else self.max_steps
        return partial(mm_early if early else SOLVERS[self.solver], tol=tol, max_iter=max_iter)

    def _likely_positives(self, sample: Sample, spies: Spies, class_log_odds: Any, propensity: Any) -> Any:
        """The unlabelled part of P̂ (lines 7 and 8)."""
        hidden = sample.design.hold(hidden_log_odds(class_log_odds, propensity))
        threshold = spy_threshold(sample, spies, hidden, self.spy_quantile)
        if self.variant == "paper":
            # SP ∪ {h > threshold}; a quantile leaves out the spies below it as outliers.
            return rows_at_least(sample, hidden, threshold)
        # Strictly above, as in the authors' code: the lowest spy stays out.
        likely = rows_above(sample, hidden, threshold)
        if sample.weight_of(likely) < _FEWEST < sample.weight_of(sample.unlabelled):
            return top_rows(sample, class_log_odds, _FALLBACK)
        return likely

    def _complaint(self) -> str:
        if self.n_iter_ < self.max_iter:
            return (
                f"JERM reached a fixed point after {self.n_iter_} rounds, but the fit of β or of the propensity "
                "stopped short of its tolerance. Scale X, or raise ridge, propensity_ridge or tol."
            )
        return (
            f"JERM stopped after {self.n_iter_} rounds before β and e repeated (max_iter={self.max_iter}). Raise "
            "max_iter, or steady the fit with ridge or spy_quantile; positives_path_ shows whether it cycles."
        )
