"""One score per row of how likely a label is: learners fitted to the labels fold by fold, their log-odds added up.

A row of fit is scored by models that have not seen it; a new row by the mean of all of them. The learners have the
weights that predict the labels best, held close to equal ones where rows are few.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.utils.parallel import Parallel, delayed

from propense._designs import Design, Predictor, as_design, column_scales
from propense._designs.threads import alone, fits_at_once, map_in_threads, one_thread
from propense._inputs.preparation import Preparation
from propense._inputs.sample import Sample
from propense._maths.arrays import Index, Rows, Vector, as_float, library_of
from propense._maths.double_logistic import label_log_odds
from propense._steps.folds import Folds, split_rows
from propense._steps.label_learners import PAIR, LabelLearner, is_moderate
from propense._steps.learner_weights import area, choose, combine, is_refuted
from propense._steps.learners import Learner
from propense._steps.pair_curve import PairCurve, PairSettings, fit_pair_curve, refit_pair
from propense._steps.predictors import ClassifierPredictor, LogisticPredictor, from_dense_rows
from propense._steps.small_trees import TreePredictor
from propense._steps.watch import Watch
from propense.errors import InvalidOption

__all__ = ["LabelScore", "Member", "ScoredRows", "fit_label_score"]

# Fewer rows than these are scored sooner than threads start.
_THREADED_ROWS = 1000


@dataclass(frozen=True)
class Member:
    """A learner fitted to the rows outside of each fold."""

    name: str
    plain: bool
    predictors: tuple[Predictor, ...]

    def log_odds(self, plain: Design, prepared: Design) -> Rows:
        """The mean log-odds of its models."""
        design = plain if self.plain else prepared
        return sum(each.log_odds(design) for each in self.predictors) / len(self.predictors)


@dataclass(frozen=True)
class LabelScore:
    """The score of any row: a weighted sum of the members' log-odds.

    Attributes
    ----------
    members : tuple of Member
    weights : ndarray of shape (n_members,)
        What the log-odds of each count.
    constant : float
        Makes the mean score of the rows of fit 0.
    preparation : Preparation or None
        What makes the columns finite and scaled; None if they are taken as they are.
    columns : int ndarray or None
        The columns in use; None means all.
    """

    members: tuple[Member, ...]
    weights: Vector
    constant: float
    preparation: Preparation | None
    columns: Index | None

    def of(self, design: Design) -> Rows:
        """The score of every row."""
        if self.preparation is not None and not isinstance(design.features, np.ndarray):
            # Fitted to rows in memory, and so are its classifiers.
            return from_dense_rows(design, self._of_dense)
        plain, prepared = _both(design, self.columns, self.preparation)
        parts = [weight * each for weight, each in zip(self.weights, self._members(plain, prepared), strict=True)]
        return sum(parts[1:], parts[0]) + self.constant

    def _members(self, plain: Design, prepared: Design) -> list[Rows]:
        """The log-odds of each member; trees of many rows run side by side, one thread for each model."""
        trees = [place for place, member in enumerate(self.members) if _is_trees(member)]
        models = [each for place in trees for each in self.members[place].predictors]
        workers = fits_at_once(None) if plain.shape[0] >= _THREADED_ROWS else 1
        each = iter(map_in_threads(partial(_predict_alone, plain), models, workers))
        found = {place: _mean_of(each, len(self.members[place].predictors)) for place in trees}
        return [
            found[place] if place in found else member.log_odds(plain, prepared)
            for place, member in enumerate(self.members)
        ]

    def _of_dense(self, features: NDArray[np.floating]) -> Vector:
        return np.asarray(self.of(as_design(features)))


@dataclass(frozen=True)
class ScoredRows:
    """A label score, and the rows of fit scored by models that have not seen them.

    Attributes
    ----------
    score : LabelScore
    t : Rows
        The score of every row of fit.
    learned : dict of str to float
        For each learner, the chance that it scores a labelled row above an unlabelled one.
    evidence, alignment : float
        Of a linear pair fitted to all rows, as in `Diagnosis`; 0 if none was fitted.
    """

    score: LabelScore
    t: Any
    learned: dict[str, float]
    evidence: float
    alignment: float


def _is_trees(member: Member) -> bool:
    """Whether its models are trees of scikit-learn, which many threads may use at a time."""
    kinds = (ExtraTreesClassifier, HistGradientBoostingClassifier)
    return member.plain and all(
        isinstance(each, ClassifierPredictor) and type(each.classifier) in kinds for each in member.predictors
    )


def _predict_alone(design: Design, predictor: Predictor) -> Rows:
    with one_thread():
        return predictor.log_odds(design)


def _mean_of(rows: Iterator[Rows], count: int) -> Rows:
    return sum(islice(rows, count)) / count


def fit_label_score(
    sample: Sample,
    learners: Sequence[LabelLearner],
    *,
    cv: Folds,
    n_jobs: int | None,
    seed: int,
    pair: PairSettings | None,
    progress: Callable[[int, int], None] | None = None,
    watch: Watch | None = None,
    part: str = "labels",
) -> ScoredRows:
    """Fit every learner fold by fold; `progress` is called after each fit with the number done, and of all.

    `watch` keeps each of them whose numbers are few, under names that begin with `part`.

    With `pair`, a linear pair of y and e is fitted too. If the labels clearly show an e of its own and the pair
    predicts them as well as the learners do, or e's columns were named, its y joins the learners: they cannot tell y
    from e, and it can.
    """
    design, columns, preparation = sample.design, sample.class_columns, None
    if isinstance(design.features, np.ndarray):
        chosen = design.features if columns is None else design.features[:, columns]
        levels = np.zeros(design.shape[1] - 1, dtype=np.int64) if sample.levels is None else sample.levels
        preparation = Preparation.fit(levels if columns is None else levels[columns], chosen, sample.weights)
    plain, prepared = _both(design, columns, preparation)
    held = _hold_out(sample, learners, cv, seed)
    watch = watch or Watch()
    members = _fit_members(sample, learners, plain, prepared, held, n_jobs, progress, watch, part)
    evidence, alignment, labels = 0.0, 0.0, None
    own = None if pair is None else _pair_sample(sample, prepared, preparation)
    if pair is not None and own is not None:
        watch.stage("linear pair")
        curve = fit_pair_curve(own, pair, watch, f"{part}, pair")
        evidence, alignment = curve.evidence, curve.alignment(own)
        if curve.is_strong or sample.propensity_columns is not None:
            pairs = [
                _fit_pair(own, pair, curve, mask, watch, f"{part}, pair, fold {fold}") for fold, mask in enumerate(held)
            ]
            both = [Member(PAIR, False, each) for each in zip(*pairs, strict=True)]
            members.append(both[0])
            labels = label_log_odds(*(_out_of_fold(each, plain, prepared, held) for each in both))
    raw = [_out_of_fold(member, plain, prepared, held) for member in members]
    names = [member.name for member in members]
    if labels is not None and sample.propensity_columns is None and is_refuted(sample, names, raw, labels):
        # The pair is the last of them.
        names, labels = names[:-1], None
    kept = choose(sample, names, raw[: len(names)], labels)
    members, raw = [members[place] for place in kept], [raw[place] for place in kept]
    weights, constant, t = combine(sample, [member.name for member in members], raw)
    # What adds nothing is left out, unless nothing was learned.
    used = np.flatnonzero(weights) if weights.any() else np.arange(len(members))
    learned = {members[place].name: area(sample, raw[place]) for place in used}
    score = LabelScore(tuple(members[place] for place in used), weights[used], constant, preparation, columns)
    return ScoredRows(score, t, learned, evidence, alignment)


def _hold_out(sample: Sample, learners: Sequence[LabelLearner], cv: Folds, seed: int) -> list[Any]:
    """The masks of the rows held out; [None] if none are."""
    if all(learner.booster is None for learner in learners):
        return list(split_rows(sample, cv, seed))
    from propense._steps.block_boosting import hold_out_blocks

    return list(hold_out_blocks(sample, cv, seed))


def _fit_members(
    sample: Sample,
    learners: Sequence[LabelLearner],
    plain: Design,
    prepared: Design,
    held: list[Any],
    n_jobs: int | None,
    progress: Callable[[int, int], None] | None,
    watch: Watch,
    part: str,
) -> list[Member]:
    """Every learner fitted to the rows outside of each fold."""
    # Of each learner, the folds that a stopped fit has finished.
    finished = {learner.name: _finished(watch, f"{part}, {learner.name}", len(held)) for learner in learners}
    jobs = [
        (learner, mask)
        for learner in learners
        if learner.booster is None
        for mask in held[len(finished[learner.name]) :]
    ]
    fitted = Parallel(n_jobs=fits_at_once(n_jobs), prefer="threads", return_as="generator")(
        delayed(alone)(partial(_fit_one, learner, sample, plain if learner.plain else prepared), mask)
        for learner, mask in jobs
    )
    members: list[Member] = []
    for learner in learners:
        found = finished[learner.name]
        watch.stage(f"learning the labels: {learner.name}")
        own: Iterator[Predictor] = islice(fitted, len(held) - len(found))
        if learner.booster is not None and len(found) < len(held):
            own = learner.booster.fit(plain, sample.labelled, sample.weights, held[len(found) :])
        for each in own:
            if (numbers := _numbers(each)) is not None:
                watch.keep(f"{part}, {learner.name}, fold {len(found)}", **numbers)
            found.append(each)
            if progress is not None:
                progress(len(members) * len(held) + len(found), len(learners) * len(held))
        members.append(Member(learner.name, learner.plain, tuple(found)))
    return members


def _finished(watch: Watch, part: str, folds: int) -> list[Predictor]:
    """The predictors of the first folds that were kept."""
    found: list[Predictor] = []
    while len(found) < folds and (kept := watch.get(f"{part}, fold {len(found)}")) is not None:
        if "coef" in kept:
            found.append(LogisticPredictor(kept["coef"]))
        else:
            found.append(TreePredictor(float(kept["start"]), kept["features"], kept["thresholds"], kept["values"]))
    return found


def _numbers(predictor: Predictor) -> dict[str, Any] | None:
    """The few numbers that make a predictor; None for a classifier."""
    return vars(predictor) if isinstance(predictor, LogisticPredictor | TreePredictor) else None


def _both(design: Design, columns: Index | None, preparation: Preparation | None) -> tuple[Design, Design]:
    """The columns in use, as they are and prepared."""
    plain = design if columns is None else design.columns(columns)
    return plain, plain if preparation is None else as_design(preparation.transform(plain.features))


def _fit_one(learner: LabelLearner, sample: Sample, design: Design, held: NDArray[np.bool_] | None) -> Predictor:
    """A learner fitted to the labels of the rows that are not held out."""
    labelled, weights = sample.labelled, sample.weights
    if learner.classifier is not None:
        if held is not None:
            design, labelled = design.take(~held), labelled[~held]
            weights = None if weights is None else weights[~held]
        design = _without_empty(design) if learner.plain else design
        # Without weights where there are none: boosting looks for its bins several times as long with them.
        if weights is not None and not is_moderate(mean := float(weights.mean())):
            # In float32, so that the same weights on another scale give the same trees.
            weights = (weights / mean).astype(np.float32).astype(np.float64)
        if weights is not None or design.shape[1] == 1:
            return Learner(learner.classifier).fit(design, labelled, weights)[0]
        return ClassifierPredictor(clone(learner.classifier).fit(design.features, labelled.astype(np.int64)))
    if held is not None:
        weights = as_float(~held) if weights is None else weights * ~held
    total = float(design.shape[0] if weights is None else weights.sum())
    _, squares = column_scales(design, weights)
    ridge = math.sqrt(total) if learner.ridge is None else learner.ridge
    return Learner(ridge=ridge * squares).fit(design, labelled, weights)[0]


def _without_empty(design: Design) -> Design:
    """The rows with 0 in columns that are missing in all of them: boosting fails where there is nothing to bin.

    No tree splits such a column, so it does not matter what it holds in other rows.
    """
    features = design.features
    if not isinstance(features, np.ndarray):
        return design
    empty = [j for j in np.flatnonzero(np.isnan(features[0])) if np.isnan(features[:, j]).all()]
    if not empty:
        return design
    features = features.copy()
    features[:, empty] = 0.0
    return as_design(features)


def _pair_sample(sample: Sample, prepared: Design, preparation: Preparation | None) -> Sample | None:
    """The prepared columns with e's among them; None where a pair has nothing to add to the learners."""
    columns = sample.propensity_columns
    if columns is not None:
        sources = np.arange(prepared.shape[1] - 1) if preparation is None else preparation.sources
        if sample.class_columns is not None:
            sources = sample.class_columns[sources]
        columns = np.flatnonzero(np.isin(sources, columns))
        if not len(columns):
            # e is constant, or its columns are not among those of y.
            return None
    elif 2 * prepared.shape[1] >= prepared.shape[0]:
        # So many slopes are never strong evidence.
        return None
    return replace(sample, design=prepared, propensity_columns=columns, class_columns=None, levels=None)


def _fit_pair(
    sample: Sample,
    settings: PairSettings,
    curve: PairCurve,
    held: NDArray[np.bool_] | None,
    watch: Watch,
    part: str,
) -> tuple[Predictor, Predictor]:
    """y and e of the pair that is fitted to the rows that are not held out, from the fit to all rows."""
    beta, gamma = curve.beta, curve.gamma
    if held is not None:
        if (kept := watch.get(part)) is not None:
            beta, gamma = kept["beta"], kept["gamma"]
        else:
            beta, gamma, _ = refit_pair(sample.subset(~held), settings, curve)
            watch.keep(part, beta=beta, gamma=gamma)
    return LogisticPredictor(beta), LogisticPredictor(gamma)


def _out_of_fold(member: Member, plain: Design, prepared: Design, held: list[Any]) -> Any:
    """The log-odds of every row by the model that has not seen it."""
    design = plain if member.plain else prepared
    if held[0] is None:
        return design.hold(member.predictors[0].log_odds(design))
    if library_of(design.features) == "dask":
        from propense._steps.block_boosting import log_odds_out_of_fold

        return design.hold(log_odds_out_of_fold(member.predictors, design, held))
    out = np.empty(design.shape[0])
    for predictor, mask in zip(member.predictors, held, strict=True):
        out[mask] = _predict_alone(design.take(mask), predictor)
    if np.isnan(out).any():
        raise InvalidOption(f"PUClassifier(learners=…): predict_proba of {member.name} gives NaN. Leave it out.")
    return out
