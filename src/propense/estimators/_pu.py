"""PUClassifier: the estimator to reach for first."""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from sklearn.utils import check_random_state, get_tags

from propense._designs import Design
from propense._diagnostics.diagnosis import Diagnosis
from propense._diagnostics.doubts import OF_KNOWN, Doubt, doubt_of, few_rows, unlike_worlds
from propense._inputs.options import PRIOR, FoldsOption, Jobs, LearnersOption, Option, Seed
from propense._inputs.sample import Sample
from propense._maths.arrays import Rows
from propense._progress import begin_stage
from propense._steps.corrected import CorrectedPredictor
from propense._steps.known_prior import ShiftedPredictor, read_known_prior
from propense._steps.label_learners import auto_learners, given_learners, learnable, why_only_logistic
from propense._steps.label_scores import ScoredRows, fit_label_score
from propense._steps.named_pair import other_columns
from propense._steps.predictors import Model
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import EVERYTHING, Description
from propense.worlds.predictors import CurvePredictor, LinePredictor, pairs_of, range_of_hidden

__all__ = ["PUClassifier"]


class PUClassifier(BasePUClassifier):
    """The first choice: estimates how likely a row is to be positive, and how likely a positive row is to be labelled.

    y(x) is the chance that a row with features x is positive, e(x) the chance that a positive row is labelled, and h(x)
    the chance that an unlabelled row is positive. The labels show only the chance s(x) = y(x)·e(x) that a row is both
    positive and labelled. Three ideas lead from there to y and e.

    *A label score.* Logistic regression and boosted trees learn which rows are labelled, from a part of the rows at a
    time, so that every row of fit is scored by models that have not seen it; new rows are scored by models of all rows.
    The mean of their log-odds puts the rows in an order.

    *Worlds whose truth is known.* Labels alone do not show how many rows are positive. So the package holds thousands
    of simulated worlds: tables, shares of positives and ways of labelling of many kinds, with what the labels looked
    like and what was true. The worlds whose labels look like the user's give the share of positives, as a range, and
    how steeply the chance of being positive rises along the score. What is known besides, such as a range of the share,
    is a condition on these worlds.

    *A balanced threshold.* ``predict`` calls a row positive if y(x) is above the estimated share of positives, which
    maximises balanced accuracy.

    Parameters
    ----------
    learners : {"auto", "linear"} or list of classifiers, default="auto"
        What learns the labels. "auto": logistic regression and boosted trees, these not if X is sparse or a tensor.
        "linear": logistic regression alone, which is fast. A list of scikit-learn classifiers: those, each fitted fold
        by fold and to all rows; X must then be in memory. Of more than 50 million cells, trees and classifiers of yours
        learn from as many rows as make 50 million cells: all labelled rows, as far as they fit in half of that, and
        others drawn at random, which count for those left out.
    class_features : list of str or of int, default=None
        The columns, by name or number, that y may depend on. None means all.
    propensity_features : list of str or of int, default=None
        The columns that you believe decide which positives are labelled. None names none: e then follows from the
        score. If columns are named, y is fitted along the score of the other columns and e over the named ones. Names
        are right only more or less, so the share of positives is of worlds in which they are right, half right or
        wrong; y moves to it, and e with it so that y·e stays. So e follows other columns, too, where y moves far. An
        empty list says that labels are given at random among the positives: e is the same for all of them.
    prior : float, (float, float) or dict of these, default=None
        The share of rows that are positive, or the range it lies in, if known from elsewhere. With ``prior_groups``,
        the share or range in each group: ``{"f": 0.12, "m": (0.15, 0.2)}``. Each group is adjusted by itself; rows of
        groups that are not named stay as estimated, in fit and in predictions.
    prior_groups : str or int, default=None
        The column of X, by name or number, that shows the groups of ``prior``. If y and e should not depend on it, name
        the other columns in ``class_features`` and ``propensity_features``.
    decision : {"posterior", "balanced"}, default="balanced"
        The threshold of ``predict`` on y(x): "posterior" is ½, which maximises accuracy; "balanced" is ``prior_``,
        which maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.
    cv : int or list of (ndarray, ndarray), default=None
        The number of folds. None means 5, and 3 from 50 000 rows on. Tables of fewer than 200 rows or 30 labels get at
        most 3. Or the folds: pairs of row numbers, those to fit and those to score, with every row scored once. If some
        rows belong together, such as the visits of a patient, keep them in one fold, or they are scored by models that
        have seen their like: ``list(GroupKFold(5).split(X, y, groups))``.
    n_jobs : int, default=None
        How many fits of learners run at the same time, in one thread each; −1 means as many as there are processors.
        None means as many as OpenMP may use threads, which is the number of processors unless ``OMP_NUM_THREADS`` or
        threadpoolctl limits it, or as many as joblib's ``parallel_config`` asks for.
    random_state : int, RandomState instance or None, default=None
        Splits the rows into folds and seeds the trees.

    Attributes
    ----------
    oof_posterior_, oof_propensity_, oof_hidden_ : ndarray of shape (n_rows,)
        y(x), e(x) and h(x) of the rows of fit, by models that have not seen them; rows of weight 0 are left out. Use
        these, not ``predict_proba``, to review the rows of fit. They are not in model files. In three cases the models
        have seen the rows: X is a tensor; X is a Dask array and only logistic regression learns from it; or only one
        row is labelled, or unlabelled.
    oof_hidden_range_ : ndarray of shape (n_rows, 2)
        The range of h(x) of the rows of fit, as ``predict_hidden_range`` gives it for new rows.
    diagnosis_ : Diagnosis
        The share of positives with its range, and what it rests on. Print it; ``diagnosis_.range(0.5)`` gives the range
        that holds in half of the worlds.
    converged_ : bool
        Whether the searches met their tolerance.
    risk_path_ : ndarray
        The mean loss of the labels.
    classes_, prior_, label_frequency_, n_iter_, doubts_, n_features_in_, feature_names_in_
        As in every estimator; see `BasePUClassifier`.

    Notes
    -----
    With ``decision="balanced"`` a row can be called positive although P(Y=1 | x) is below ½. Use "posterior" if your
    code expects otherwise.

    X may be a data frame of pandas, polars or pyarrow with categories, text, dates, booleans and missing values, and an
    array with NaN.

    References
    ----------
    W. Rejchel, P. Teisseyre, J. Mielniczuk. Joint empirical risk minimization for instance-dependent
    positive-unlabeled data. Knowledge-Based Systems 304, 2024. The tables that most worlds are drawn from.
    N. Meinshausen. Quantile regression forests. Journal of Machine Learning Research 7, 2006. How a forest weighs
    worlds by how alike they are.

    Examples
    --------
    >>> from propense import PUClassifier
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(2000, random_state=0)
    >>> model = PUClassifier(learners="linear", random_state=0).fit(data.X, data.labelled)
    >>> low, high = model.diagnosis_.range()
    >>> bool(low <= data.positive.mean() <= high)
    True
    """

    description: ClassVar[Description] = Description(
        name="pu",
        separates="worlds whose labels look alike",
        assumes=(
            "How likely a label is puts the rows in nearly the same order as how likely they are to be positive.",
            "The table is like some of the simulated worlds. How many rows are positive, and the yield of a list, "
            "are what was true in those; so they are given as ranges.",
        ),
        keeps={"diagnosis_": Diagnosis},
        takes=(*EVERYTHING, "mixed columns"),
    )

    _options: ClassVar[dict[str, Option]] = {
        **BasePUClassifier._options,
        "learners": LearnersOption(("auto", "linear")),
        **PRIOR,
        "cv": FoldsOption(),
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
        cv: Any = None,
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _range_of(self, y: Any, e: Any, design: Design) -> tuple[Rows, Rows, tuple[Rows, Rows] | None]:
        """The range is that of worlds whose labels look like these. Scores are computed once."""
        if self.diagnosis_.labelling == "complete":
            return y.log_odds(design), e.log_odds(design), None
        pairs = pairs_of(y, e, design)
        return (*pairs[-1], range_of_hidden(pairs))

    def _way_to_range(self) -> str:
        return "Every class is known."

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not isinstance(self.learners, str) and self._options["learners"].allows(self.learners):
            tags.input_tags.sparse = all(get_tags(each).input_tags.sparse for each in self.learners)
        return tags

    def _fills_missing(self) -> bool:
        y = self._posterior
        while isinstance(y, CorrectedPredictor | ShiftedPredictor):
            y = y.posterior
        return isinstance(y, CurvePredictor | LinePredictor) and y.score.preparation is not None

    def _fit(self, sample: Sample) -> Model:
        """Label scores from every learner, then y and e along them."""
        # Who only scores needs no worlds.
        from propense.worlds.fit import fit_class_along, fit_curves_along, fit_named_along

        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        sample = learnable(sample, self.cv)
        known = read_known_prior(self.prior, sample, "PUClassifier")
        columns = sample.propensity_columns
        others = None if columns is None or not len(columns) else other_columns(sample)
        # Without other columns, names tell nothing apart.
        named = others is not None and len(others) > 0 and not sample.is_complete
        scored = self._score(replace(sample, class_columns=others) if named else sample, seed)
        begin_stage("y and e along the label scores")
        if sample.is_complete:
            model = fit_class_along(sample, scored)
        elif named:
            model = fit_named_along(sample, scored, known)
        else:
            model = fit_curves_along(sample, scored, known, at_random=columns is not None and not len(columns))
        found = model.kept["diagnosis_"]
        doubts: tuple[Doubt, ...] = doubt_of(unlike_worlds, found.strange)
        if not isinstance(self.learners, str):
            return replace(model, doubts=(*model.doubts, *doubts))
        missing = why_only_logistic(sample) if self.learners == "auto" else ""
        kept = {**model.kept, "diagnosis_": replace(found, missing=missing)}
        return replace(model, doubts=(*doubt_of(few_rows, sample.design.shape[0]), *model.doubts, *doubts), kept=kept)

    def _score(self, sample: Sample, seed: int) -> ScoredRows:
        learners = given_learners(self.learners) if not isinstance(self.learners, str) else auto_learners(sample, seed)
        fit = partial(fit_label_score, cv=self.cv, n_jobs=self.n_jobs, seed=seed)
        return fit(sample, learners[:1] if self.learners == "linear" else learners, progress=self._progress)

    def _asked(self) -> tuple[str, ...]:
        return OF_KNOWN

    def _complaint(self) -> str:
        return f"PUClassifier stopped after {self.n_iter_} steps, before its search for y and e had converged."
