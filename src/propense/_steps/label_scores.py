"""One score per row of how likely a label is: learners fitted to the labels, their log-odds averaged.

A row of fit is scored by models that have not seen it, fitted fold by fold; a new row by models fitted to all rows.
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
from sklearn.utils.parallel import Parallel, delayed

from propense._designs import Design, Predictor, as_design, column_scales
from propense._designs.threads import alone, fits_at_once
from propense._inputs.preparation import Preparation
from propense._inputs.sample import Sample
from propense._maths.arrays import Index, Rows, Vector, as_float, library_of
from propense._progress import begin_stage, reported_here
from propense._steps.boosting import as_forest
from propense._steps.folds import Folds, split_rows
from propense._steps.label_learners import LabelLearner, is_moderate
from propense._steps.learners import Learner
from propense._steps.predictors import ClassifierPredictor, from_dense_rows
from propense.errors import InvalidOption

__all__ = ["LabelScore", "Member", "ScoredRows", "fit_label_score"]

# The most cells that a classifier learns from: 400 MB in float64. Of more rows, all labelled ones if they fit in half
# of that, and a part of the others.
_MOST_CELLS = 50_000_000


@dataclass(frozen=True)
class Member:
    """A learner fitted to all rows."""

    name: str
    plain: bool
    predictor: Predictor

    def log_odds(self, plain: Design, prepared: Design) -> Rows:
        return self.predictor.log_odds(plain if self.plain else prepared)


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
        return (_mean([each.log_odds(plain, prepared) for each in self.members]) - self.mean) / self.spread

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
) -> ScoredRows:
    """Fit every learner, fold by fold and to all rows; `progress` gets the number done after each, and of all."""
    design, columns, preparation = sample.design, sample.class_columns, None
    if isinstance(design.features, np.ndarray):
        chosen = design.features if columns is None else design.features[:, columns]
        levels = np.zeros(design.shape[1] - 1, dtype=np.int64) if sample.levels is None else sample.levels
        preparation = Preparation.fit(levels if columns is None else levels[columns], chosen, sample.weights)
    plain, prepared = _both(design, columns, preparation)
    held = _hold_out(sample, learners, cv, seed)
    lessons = [_lesson(sample, plain if each.plain else prepared, held, seed, each) for each in learners]
    fitted = _fit_all(learners, lessons, n_jobs)
    members, parts, done = [], [], 0
    for learner in learners:
        begin_stage(f"learning the labels: {learner.name}")
        models = []
        for each in islice(fitted, len(held) + (held[0] is not None)):
            models.append(each)
            done += 1
            if progress is not None:
                progress(done, len(learners) * (len(held) + (held[0] is not None)))
        members.append(Member(learner.name, learner.plain, models[-1]))
        parts.append(_out_of_fold(learner, models, plain if learner.plain else prepared, held))
    t = _mean(parts)
    mean = sample.mean(t)
    spread = math.sqrt(sample.mean((t - mean) ** 2))
    # What is left of a constant is rounding.
    flat = spread <= 1e-9 * max(1.0, abs(mean))
    score = LabelScore(tuple(members), mean, math.inf if flat else spread, preparation, columns)
    return ScoredRows(score, sample.design.hold((t - mean) / score.spread), parts)


def _hold_out(sample: Sample, learners: Sequence[LabelLearner], cv: Folds, seed: int) -> list[Any]:
    """The masks of the rows held out; [None] if none are."""
    if library_of(sample.design.features) != "dask" or all(learner.classifier is None for learner in learners):
        return list(split_rows(sample, cv, seed))
    from propense._steps.block_rows import hold_out_blocks

    return hold_out_blocks(sample, cv, seed)


@dataclass(frozen=True)
class _Lesson:
    """The rows that a learner learns from, and the masks of those held out in turn; `None` stands for none."""

    design: Design
    labelled: Any
    weights: Any
    held: list[Any]


def _lesson(sample: Sample, design: Design, held: list[Any], seed: int, learner: LabelLearner) -> _Lesson:
    """The rows for a learner: all, or as many as a classifier can have in memory."""
    labelled, weights = sample.labelled, sample.weights
    whole = _Lesson(design, labelled, weights, held)
    if learner.classifier is None:
        return whole
    blocks = library_of(design.features) == "dask"
    # Of a sparse matrix, the size is that of what it holds.
    count, most = design.shape[0], _MOST_CELLS * design.shape[0] // max(design.features.size, 1)
    if count <= most and not blocks:
        return whole
    of_labelled = float(as_float(labelled).sum())
    part = min(1.0, max(most / 2, most - (count - of_labelled)) / of_labelled)
    parts = part, min(1.0, (most - part * of_labelled) / (count - of_labelled))
    if blocks:
        from propense._steps.block_rows import draw_blocks

        features, (labelled, weights, *held) = draw_blocks(design, labelled, weights, held, parts, seed)
    else:
        kept = np.random.default_rng(seed).random(count) < np.where(labelled, *parts)
        features, labelled = design.take(kept).features, labelled[kept]
        weights = None if weights is None else weights[kept]
        held = [None if each is None else each[kept] for each in held]
    if min(parts) < 1.0:
        # Each stands for as many as were not drawn.
        weights = np.where(labelled, *(1.0 / each for each in parts)) * (1.0 if weights is None else weights)
    return _Lesson(as_design(features), labelled, weights, held)


def _fit_all(learners: Sequence[LabelLearner], lessons: list[_Lesson], n_jobs: int | None) -> Iterator[Predictor]:
    """Every learner fitted to the rows outside of each fold, and then to all rows, one thread for each fit."""
    jobs = [
        delayed(reported_here(alone))(partial(_fit_one, learner, lesson), mask)
        for learner, lesson in zip(learners, lessons, strict=True)
        for mask in (*lesson.held, *([] if lesson.held[0] is None else [None]))
    ]
    return iter(Parallel(n_jobs=fits_at_once(n_jobs), prefer="threads", return_as="generator")(jobs))


def _both(design: Design, columns: Index | None, preparation: Preparation | None) -> tuple[Design, Design]:
    """The columns in use, as they are and prepared."""
    plain = design if columns is None else design.columns(columns)
    return plain, plain if preparation is None else as_design(preparation.transform(plain.features))


def _fit_one(learner: LabelLearner, lesson: _Lesson, held: Any) -> Predictor:
    """A learner fitted to the labels of the rows that are not held out."""
    design, labelled, weights = lesson.design, lesson.labelled, lesson.weights
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
            found = Learner(learner.classifier).fit(design, labelled, weights)[0]
        else:
            found = ClassifierPredictor(clone(learner.classifier).fit(design.features, labelled.astype(np.int64)))
        return as_forest(found, design.features)
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


def _out_of_fold(learner: LabelLearner, models: list[Predictor], design: Design, held: list[Any]) -> Any:
    """The log-odds of every row by the model that has not seen it."""
    if held[0] is None:
        return design.hold(models[0].log_odds(design))
    if library_of(design.features) == "dask":
        from propense._steps.block_rows import log_odds_out_of_fold

        return design.hold(log_odds_out_of_fold(models[:-1], design, held))
    out = np.empty(design.shape[0])
    for predictor, mask in zip(models[:-1], held, strict=True):
        out[mask] = predictor.log_odds(design.take(mask))
    if np.isnan(out).any():
        raise InvalidOption(f"PUClassifier(learners=…): predict_proba of {learner.name} gives NaN. Leave it out.")
    return out
