"""PUClassifier: the estimator to reach for first."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from sklearn.utils import check_random_state, get_tags

from propense._designs import Design
from propense._diagnostics.diagnosis import Diagnosis
from propense._diagnostics.doubts import OF_RATIO, SYMMETRIC, doubt_of, few_rows
from propense._inputs.columns import Column
from propense._inputs.options import PRIOR, Choice, Count, FoldsOption, Jobs, LearnersOption, Number, Option, Seed
from propense._inputs.sample import Sample
from propense._maths.arrays import Rows
from propense._solvers import SOLVERS, newton_bfgs
from propense._steps.corrected import CorrectedPredictor
from propense._steps.known_prior import KnownPrior, Shift, ShiftedPredictor, read_known_prior
from propense._steps.label_learners import BOOSTED, auto_learners, given_learners, learnable, why_only_logistic
from propense._steps.label_scores import ScoredRows, fit_label_score
from propense._steps.linear_pair import fit_linear_class, fit_linear_pair
from propense._steps.named_pair import other_columns
from propense._steps.pair_curve import PairSettings
from propense._steps.predictors import Model, OutOfFold
from propense._steps.readings import ScorePredictor, outermost, share_range
from propense._steps.score_pair import ReadModel, fit_class_along, fit_named_along, fit_split_along
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import EVERYTHING, Description

__all__ = ["PUClassifier"]

# From this many rows on, the linear pair is fitted by a quicker search. It found the same minimum in all of 200 sets of
# 12 000 rows, and another one in 4 of 336 smaller ones, where there are several.
_MANY_ROWS = 10_000
# The tolerance of quick fits to halves of the rows: a smaller one changed the prediction of no row in twelve sets.
_HALVES_TOL = 1e-6


class PUClassifier(BasePUClassifier):
    """The first choice: estimates how likely a row is to be positive, and how likely a positive row is to be labelled.

    y(x) is the chance that a row with features x is positive, e(x) the chance that a positive row is labelled, and h(x)
    the chance that an unlabelled row is positive. The labels show only the chance s(x) = y(x)·e(x) that a row is both
    positive and labelled. Four ideas lead from there to y and e.

    *Scores from several learners.* Logistic regression, boosted trees and extra trees learn which rows are labelled,
    each from four fifths of the rows at a time, so that every row of fit is scored by models that have not seen it.
    Their log-odds, weighted by how well they predict labels and added up, are one score per row. It puts the rows in an
    order.

    *A linear pair.* A logistic y and a logistic e are fitted to the labels together. This y joins the learners if the
    labels clearly show that e depends on the columns in a way of its own, and if the pair predicts labels that it has
    not seen at least as well as the learners do. ``learners="linear"`` uses such a pair alone: it is fast and has
    coefficients.

    *Two readings of the scores.* A reading is an assumption by which y and e follow from the score. Along the score,
    the chance of a label rises and levels off at some height k. In the first reading, e gets a share 2k⁴/(1 + 2k⁴) of
    that rise: the closer k is to 1, the more labelling follows the class. In the second, the scores of the positives
    and those of the negatives are spread like a bell each. y is the mean of the two readings and e = s/y. The readings,
    and a third one with e constant, also give the range.

    *A balanced threshold.* ``predict`` calls a row positive if y(x) is above the estimated share of positives, which
    maximises balanced accuracy.

    Parameters
    ----------
    learners : {"auto", "linear"} or list of classifiers, default="auto"
        What learns the labels. "auto": logistic regression, boosted trees and extra trees; without the last if there
        are more than 10 000 rows, and on a Dask cluster with xgboost; logistic regression alone if X is sparse, a
        tensor or any other Dask array. A list of scikit-learn classifiers: those, each fitted fold by fold. "linear": y
        and e are logistic, with e shrunk towards a constant.
    class_features : list of str or of int, default=None
        The columns, by name or number, that y may depend on. None means all.
    propensity_features : list of str or of int, default=None
        The columns that e may depend on. None names none: e then follows the score, by the two readings (a linear e may
        depend on all columns). An empty list makes e constant. Naming columns adds what labels cannot show: y and e are
        then fitted together, y along the score and e over these columns, and no reading is needed. Where trees are
        among the learners, that takes up to twice as many fits.
    prior : float, (float, float) or dict of these, default=None
        The share of rows that are positive, or the range it lies in, if known from elsewhere. y is raised or lowered to
        meet it, and so is every reading, before ranges are taken. y·e, which the labels show, stays as it is. With
        ``prior_groups``, the share or range in each group: ``{"f": 0.12, "m": (0.15, 0.2)}``. Each group is adjusted by
        itself; rows of groups that are not named stay as estimated, in fit and in predictions.
    prior_groups : str or int, default=None
        The column of X, by name or number, that shows the groups of ``prior``. If y and e should not depend on it, name
        the other columns in ``class_features`` and ``propensity_features``.
    decision : {"posterior", "balanced"}, default="balanced"
        The threshold of ``predict`` on y(x): "posterior" is ½, which maximises accuracy; "balanced" is ``prior_``,
        which maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.
    cv : int or list of (ndarray, ndarray), default=5
        The number of folds. Tables of fewer than 200 rows or 30 labels get at most 3. Or the folds: pairs of row
        numbers, those to fit and those to score, with every row scored once. If some rows belong together, such as the
        visits of a patient, keep them in one fold, or they are scored by models that have seen their like:
        ``list(GroupKFold(5).split(X, y, groups))``.
    ridge : float, default=1.0
        Of the linear pair: the penalty ½·ridge·‖β‖² on the summed risk, with columns in units of their standard
        deviation; the intercept is not penalised.
    shrinkage : float, default=1.0
        Of the linear pair: the penalty ½·shrinkage·√n·‖γ‖² on the slopes of e, in the same units.
    share : float, default=None
        The share of the rise that e gets in the first reading, from 0 (e is constant) to 0.95. With a number, the
        second reading is left out. None computes the share from the height k, and uses both.
    solver : {"auto", "newton", "mm"}, default="auto"
        How y and e are searched for. "newton" is Newton's method, and "mm" takes more, but simpler steps
        (majorise–minimise). "auto" is "newton", which from 10 000 rows on computes its matrix of second derivatives
        less often. Beyond 2 000 columns, none of them stores a matrix of n_features² numbers.
    tol : float, default=1e-8
        A search stops when no entry of the gradient of the mean risk, each column in its own unit, is above this.
    max_iter : int, default=1000
        The largest number of steps in each search.
    n_jobs : int, default=None
        How many fits of learners run at the same time, in one thread each; −1 means as many as there are processors.
        None means as many as OpenMP may use threads, which is the number of processors unless ``OMP_NUM_THREADS`` or
        threadpoolctl limits it, or as many as joblib's ``parallel_config`` asks for.
    random_state : int, RandomState instance or None, default=None
        Splits the rows into folds and seeds the trees; with ``learners="linear"`` it splits the rows into halves for
        ``diagnosis_.stability``.

    Attributes
    ----------
    oof_posterior_, oof_propensity_, oof_hidden_ : ndarray of shape (n_rows,)
        y(x), e(x) and h(x) of the rows of fit, by models that have not seen them; rows of weight 0 are left out. Use
        these, not ``predict_proba``, to review the rows of fit. They are not there with ``learners="linear"``, and not
        in model files. In three cases the models have seen the rows: X is a tensor; X is a Dask array and only logistic
        regression learns from it; or only one row is labelled, or unlabelled.
    oof_hidden_range_ : ndarray of shape (n_rows, 2)
        The range of h(x) of the rows of fit, as ``predict_hidden_range`` gives it for new rows.
    diagnosis_ : Diagnosis
        What the answer rests on: how labelling seems to work, the range of the share of positives, and the learners.
        The range covers assumptions about the labelling and not chance: it is not a 95 % interval; see `Diagnosis`.
        Print it; ``diagnosis_.details()`` explains the numbers.
    coef_, intercept_, propensity_coef_, propensity_intercept_ : ndarray
        Only with ``learners="linear"``: β of y(x) = σ(βᵀx)^(1−share) and γ of e(x) = σ(γᵀx)·σ(βᵀx)^share, with σ the
        logistic function and the share as in ``diagnosis_.share``.
    coef_names_ : list of str
        What the coefficients belong to: ``column``, ``column missing`` or ``column=level``.
    converged_ : bool
        Whether the searches met ``tol``.
    risk_path_ : ndarray
        The mean risk of the labels, penalties included: with e constant, and with e free.
    classes_, prior_, label_frequency_, n_iter_, doubts_, n_features_in_, feature_names_in_
        As in every estimator; see `BasePUClassifier`.

    Notes
    -----
    With ``decision="balanced"`` a row can be called positive although P(Y=1 | x) is below ½. Use "posterior" if your
    code expects otherwise.

    X may be a data frame of pandas, polars or pyarrow with categories, text, dates, booleans and missing values, and an
    array with NaN. With ``learners="linear"``, if a column is not of numbers or a cell is missing, the columns are
    prepared first: numbers and dates in standard deviations from their mean, with the median where missing and a column
    that marks missing cells, and categories as a column for each level but the most frequent. The coefficients are then
    those of the prepared columns, which ``coef_names_`` lists.

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
    >>> model = PUClassifier(learners="linear", random_state=0).fit(data.X, data.labelled)
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
        separates="the height of the label curve; two groups of label scores",
        assumes=(
            "How likely a label is puts the rows in nearly the same order as how likely they are to be positive, "
            "unless the labels clearly show that labelling depends on the columns in a way of its own.",
            "Where the labels level off along that order, and how the rows are spread along it, decide how many rows "
            "are positive. Neither is certain, so the share of positives and the yield of a list are given as ranges.",
        ),
        keeps={"diagnosis_": Diagnosis},
        takes=(*EVERYTHING, "mixed columns"),
    )

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        "learners": LearnersOption(("auto", "linear")),
        **PRIOR,
        "cv": FoldsOption(),
        "ridge": Number(0.0),
        "shrinkage": Number(0.0),
        "share": Number(0.0, 0.95, optional=True),
        "solver": Choice(tuple(SOLVERS)),
        "tol": Number(0.0),
        "max_iter": Count(),
        "n_jobs": Jobs(),
        "random_state": Seed(),
    }

    def __init__(
        self,
        *,
        learners: Any = "auto",
        class_features: Any = None,
        propensity_features: Any = None,
        prior: Any = None,
        prior_groups: Any = None,
        decision: str = "balanced",
        positive_label: Any = None,
        cv: Any = 5,
        ridge: float = 1.0,
        shrinkage: float = 1.0,
        share: float | None = None,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.learners = learners
        self.class_features = class_features
        self.propensity_features = propensity_features
        self.prior = prior
        self.prior_groups = prior_groups
        self.decision = decision
        self.positive_label = positive_label
        self.cv = cv
        self.ridge = ridge
        self.shrinkage = shrinkage
        self.share = share
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _range_of(self, y: Any, e: Any, design: Design) -> tuple[Rows, Rows, tuple[Rows, Rows] | None]:
        """The range is that of all readings, at the prior if it is known, and beyond. Scores are computed once."""
        moved: ShiftedPredictor | None = None
        if isinstance(y, ShiftedPredictor):
            y, e, moved = y.posterior, y.propensity, y
        if isinstance(y, ScorePredictor) and isinstance(e, ScorePredictor):
            pairs = y.split.pairs(y.score.of(design), () if moved is None else moved.moves_of(design))
            return (*pairs[-1], outermost(pairs))
        pair = y.log_odds(design), e.log_odds(design)
        if moved is not None:
            pair = moved.move(design, pair)
        ranged = isinstance(y, ScorePredictor) and self.diagnosis_.labelling != "complete"
        return (*pair, outermost([pair]) if ranged else None)

    def _way_to_range(self) -> str:
        return "y and e are linear, or every class is known. Leave learners at 'auto' for a range."

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not isinstance(self.learners, str) and self._options["learners"].allows(self.learners):
            tags.input_tags.sparse = all(get_tags(each).input_tags.sparse for each in self.learners)
        return tags

    @property
    def coef_names_(self) -> list[str]:
        # An error where there are none.
        self._coef("_posterior")
        names = getattr(self, "feature_names_in_", [f"column {j}" for j in range(self.n_features_in_)])
        columns = self._columns or [Column(str(name), "number") for name in names]
        return [each.name for each in columns] if self._preparation is None else self._preparation.names(columns)

    def _takes_mixed_columns(self) -> bool:
        return not self._is_linear()

    def _prepares_columns(self) -> bool:
        return self._is_linear()

    def _fills_missing(self) -> bool:
        y = self._posterior
        while isinstance(y, CorrectedPredictor | ShiftedPredictor):
            y = y.posterior
        return isinstance(y, ScorePredictor) and y.score.preparation is not None

    def _is_linear(self) -> bool:
        return isinstance(self.learners, str) and self.learners == "linear"

    def _fit(self, sample: Sample) -> Model:
        return self._fit_linear(sample) if self._is_linear() else self._fit_scores(sample)

    def _settings(self, sample: Sample, least: float = 0.0) -> PairSettings:
        """What a linear pair is fitted with; `least` is the smallest tolerance where there are many rows."""
        quick = sample.design.shape[0] >= _MANY_ROWS and self.solver == "auto"
        search, tol = (newton_bfgs, max(self.tol, least)) if quick else (SOLVERS[self.solver], self.tol)
        solve = partial(search, tol=tol, max_iter=self.max_iter)
        return PairSettings(float(self.ridge), float(self.shrinkage), solve, self.max_iter, quick)

    def _fit_scores(self, sample: Sample) -> Model:
        """Label scores from every learner, then y and e along them."""
        watch, kept = self._watch, self._watch.get("seed")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1) if kept is None else kept["seed"])
        if kept is None:
            watch.keep("seed", seed=seed)
        sample = learnable(sample, self.cv)
        auto = isinstance(self.learners, str)
        learners = auto_learners(sample, seed) if auto else given_learners(self.learners)
        # If both kinds of columns were named, a pair has nothing to add.
        both = self.class_features is not None and self.propensity_features is not None
        pair = None if sample.is_complete or both else self._settings(sample)
        score = partial(
            fit_label_score, cv=self.cv, n_jobs=self.n_jobs, seed=seed, progress=self._progress, watch=watch
        )
        scored = score(sample, learners, pair=pair)
        watch.stage("y and e along the label scores")
        settings, columns = self._settings(sample), sample.propensity_columns
        if sample.is_complete:
            model = fit_class_along(sample, scored)
        elif columns is not None and len(columns):
            # Curved learners mix y and e: those of the columns that e does not depend on cannot.
            others = self._without_named(sample, seed, score) if auto and BOOSTED in scored.learned else []
            model = self._with_range(sample, fit_named_along(sample, [scored, *others], settings))
        else:
            share = 0.0 if columns is not None and self.share is None else self.share
            model = self._with_range(sample, fit_split_along(sample, scored, settings, share))
        if not auto:
            return model
        n, found = sample.design.shape[0], model.kept["diagnosis_"]
        missing = why_only_logistic(sample)
        kept = {**model.kept, "diagnosis_": replace(found, missing=missing)}
        return replace(model, doubts=(*doubt_of(few_rows, n), *model.doubts), kept=kept)

    def _without_named(self, sample: Sample, seed: int, score: Callable[..., ScoredRows]) -> list[ScoredRows]:
        """Label scores from the columns that were not named for e; empty if there are none, or y may use no others."""
        columns = other_columns(sample)
        if not len(columns) or (sample.class_columns is not None and len(columns) == len(sample.class_columns)):
            return []
        rest = replace(sample, class_columns=columns)
        return [score(rest, auto_learners(rest, seed), pair=None, part="labels from other columns")]

    def _with_range(self, sample: Sample, found: ReadModel) -> Model:
        """The model with the ranges of P(Y=1) and of h; each reading moved to the share of positives that is known."""
        model, pairs, unknowns = found.model, found.pairs, found.unknowns
        known, moved = read_known_prior(self.prior, sample, "PUClassifier"), {}
        if known is None:
            low, high = share_range(sample, pairs, unknowns)
        else:
            moves = tuple(known.shift(sample, *each) for each in zip(pairs, unknowns, strict=True))
            before, pairs = pairs, [known.move(sample, *each) for each in zip(pairs, moves, strict=True)]
            moved = known.moved(sample, before[-1], pairs[-1], model.log_unknown)
            model = _shifted(model, known, moves[-1], moves if len(moves) > 1 else ())
            low, high = known.share_range(sample, pairs, unknowns)
        facts, used = model.kept["diagnosis_"], sample.share_positive(*pairs[-1], model.log_unknown)
        facts = replace(facts, priors={**facts.priors, "shared": used}, low=low, high=high, moved=moved)
        return replace(model, rows=OutOfFold(*pairs[-1], outermost(pairs)), kept={"diagnosis_": facts})

    def _with_prior(self, sample: Sample, model: Model) -> Model:
        """A linear model moved to the share of positives that is known."""
        known = read_known_prior(self.prior, sample, "PUClassifier")
        if known is None:
            return model
        pair = sample.log_odds(model.posterior), sample.log_odds(model.propensity)
        shift = known.shift(sample, pair, model.log_unknown)
        after = known.move(sample, pair, shift)
        facts, used = model.kept["diagnosis_"], sample.share_positive(*after, model.log_unknown)
        low, high = known.share_range(sample, [after], [model.log_unknown])
        low, high = known.within(min(low, *facts.priors.values()), max(high, *facts.priors.values()))
        moved = known.moved(sample, pair, after, model.log_unknown)
        facts = replace(facts, priors={**facts.priors, "shared": used}, low=low, high=high, moved=moved)
        return replace(_shifted(model, known, shift), kept={"diagnosis_": facts})

    def _fit_linear(self, sample: Sample) -> Model:
        """y and e both linear."""
        if sample.is_complete:
            return fit_linear_class(sample, self.ridge)
        # Refits to resampled rows do not need the halves.
        halves = None
        if self._begin is None:
            halves = check_random_state(self.random_state).random_sample(sample.design.shape[0]) < 0.5
        settings, of_halves = self._settings(sample), self._settings(sample, _HALVES_TOL)
        return self._with_prior(sample, fit_linear_pair(sample, settings, self.share, halves, of_halves, self._watch))

    def _asked(self) -> tuple[str, ...]:
        # A share makes y and e alike by design.
        return (*OF_RATIO, "at_boundary") if self.diagnosis_.share else SYMMETRIC

    def _complaint(self) -> str:
        return (
            f"PUClassifier stopped after {self.n_iter_} steps short of tol={self.tol:g}. Raise max_iter, tol, ridge or "
            "shrinkage."
        )


def _shifted(model: Model, known: KnownPrior, shift: Shift, moves: tuple[Shift, ...] = ()) -> Model:
    """The model with y moved by `shift` and e such that y·e stays as it is."""
    posterior, propensity = known.predictors((model.posterior, model.propensity), shift, moves)
    return replace(model, posterior=posterior, propensity=propensity)
