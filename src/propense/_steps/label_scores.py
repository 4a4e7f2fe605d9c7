"""One score per row of how likely a label is: learners fitted to the labels fold by fold, their log-odds averaged.

A row of fit is scored by models that have not seen it; a new row by the mean of all of them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.parallel import Parallel, delayed

from propense._designs import Design, Predictor, as_design, column_scales
from propense._designs.threads import alone, fits_at_once, map_in_threads, one_thread
from propense._inputs.preparation import Preparation
from propense._inputs.sample import Sample
from propense._maths.arrays import Index, Rows, Vector, as_float, library_of
from propense._steps.folds import Folds, split_rows
from propense._steps.label_learners import LabelLearner, is_moderate
from propense._steps.learners import Learner
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
    """The score of any row: the mean log-odds of the members, shifted and scaled.

    Attributes
    ----------
    members : tuple of Member
    mean, spread : float
        What the rows of fit have before: their scores have mean 0 and spread 1.
    preparation : Preparation or None
        What makes the columns finite and scaled; None if they are taken as they are.
    columns : int ndarray or None
        The columns in use; None means all.
    """

    members: tuple[Member, ...]
    mean: float
    spread: float
    preparation: Preparation | None
    columns: Index | None

    def of(self, design: Design) -> Rows:
        """The score of every row."""
        if self.preparation is not None and not isinstance(design.features, np.ndarray):
            # Fitted to rows in memory, and so are its classifiers.
            return from_dense_rows(design, self._of_dense)
        plain, prepared = _both(design, self.columns, self.preparation)
        return (_mean(self._members(plain, prepared)) - self.mean) / self.spread

    def _members(self, plain: Design, prepared: Design) -> list[Rows]:
        """The log-odds of each member; trees of many rows run side by side, one thread for each model."""
        trees = [place for place, member in enumerate(self.members) if _is_trees(member)]
        models = [each for place in trees for each in self.members[place].predictors]
        workers = fits_at_once(None) if plain.shape[0] >= _THREADED_ROWS else 1
        each = iter(map_in_threads(partial(_predict_alone, plain), models, workers))
        found = {place: _mean(list(islice(each, len(self.members[place].predictors)))) for place in trees}
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
        The score of every row of fit: mean 0 and spread 1, or 0 if nothing was learned.
    parts : list of Rows
        The log-odds of each member.
    """

    score: LabelScore
    t: Any
    parts: list[Any]


def _is_trees(member: Member) -> bool:
    """Whether its models are trees of scikit-learn, which many threads may use at a time."""
    return member.plain and all(
        isinstance(each, ClassifierPredictor) and type(each.classifier) is HistGradientBoostingClassifier
        for each in member.predictors
    )


def _predict_alone(design: Design, predictor: Predictor) -> Rows:
    with one_thread():
        return predictor.log_odds(design)


def _mean(rows: Sequence[Rows]) -> Rows:
    return sum(rows[1:], rows[0]) / len(rows)


def fit_label_score(
    sample: Sample,
    learners: Sequence[LabelLearner],
    *,
    cv: Folds,
    n_jobs: int | None,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
    watch: Watch | None = None,
    part: str = "labels",
) -> ScoredRows:
    """Fit every learner fold by fold; `progress` is called after each fit with the number done, and of all.

    `watch` keeps each of them whose numbers are few, under names that begin with `part`.
    """
    design, columns, preparation = sample.design, sample.class_columns, None
    if isinstance(design.features, np.ndarray):
        chosen = design.features if columns is None else design.features[:, columns]
        levels = np.zeros(design.shape[1] - 1, dtype=np.int64) if sample.levels is None else sample.levels
        preparation = Preparation.fit(levels if columns is None else levels[columns], chosen, sample.weights)
    plain, prepared = _both(design, columns, preparation)
    held = _hold_out(sample, learners, cv, seed)
    members = _fit_members(sample, learners, plain, prepared, held, n_jobs, progress, watch or Watch(), part)
    parts = [_out_of_fold(member, plain, prepared, held) for member in members]
    t = _mean(parts)
    mean = sample.mean(t)
    spread = math.sqrt(sample.mean((t - mean) ** 2))
    # What is left of a constant is rounding.
    flat = spread <= 1e-9 * max(1.0, abs(mean))
    score = LabelScore(tuple(members), mean, math.inf if flat else spread, preparation, columns)
    return ScoredRows(score, sample.design.hold((t - mean) / score.spread), parts)


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
    fitted: Iterator[Predictor] = iter(())
    if jobs:
        # Of no jobs, joblib says that none is finished.
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
    return Learner(ridge=math.sqrt(total) * squares).fit(design, labelled, weights)[0]


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
