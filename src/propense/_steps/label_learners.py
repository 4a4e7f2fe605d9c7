"""What learns the labels: which learners there are for a sample, by its size and where it lives."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.utils import get_tags

from propense._inputs.sample import Sample
from propense._maths.arrays import as_float, library_of
from propense._steps.folds import Folds, is_small

__all__ = [
    "BOOSTED",
    "LEAF_ROWS",
    "LINEAR",
    "LOGISTIC",
    "PAIR",
    "RATE",
    "TREES",
    "LabelLearner",
    "auto_learners",
    "given_learners",
    "is_moderate",
    "learnable",
    "why_only_logistic",
]

LOGISTIC, LINEAR, BOOSTED, TREES, PAIR = (
    "logistic regression",
    "logistic regression, hardly penalised",
    "boosted trees",
    "extra trees",
    "linear pair",
)
# A leaf of an extra tree has at least √n/3 rows.
_LEAF = 3.0
# Of more rows than these, larger boosted trees learn more, and extra trees add nothing.
_MANY_ROWS = 10_000
# What each boosted tree adds, and the fewest rows of its leaves; half as many in a small table.
RATE, LEAF_ROWS = 0.1, 20
# Of more rows than these, boosting draws so many to find its bins.
_BINNED_ROWS = 200_000


@dataclass(frozen=True)
class LabelLearner:
    """A way to learn the labels: our logistic regression (None) or a classifier, under a name.

    `plain` classifiers take columns as they are, NaN and level numbers included; others get prepared columns. The ridge
    is that of the logistic regression; None means √n. A booster fits the folds of a Dask array itself.
    """

    name: str
    classifier: Any = None
    plain: bool = False
    ridge: float | None = None
    booster: Any = None


def learnable(sample: Sample, cv: Folds) -> Sample:
    """The sample with the columns that y may depend on, less those with hardly a cell in them."""
    features, columns = sample.design.features, sample.class_columns
    if not isinstance(features, np.ndarray):
        return sample
    count = len(cv) if isinstance(cv, Sequence) else cv
    # Boosting fails where a column is empty in all of the rows, at most so many, that it draws to find its bins.
    drawn = min(1.0, _BINNED_ROWS / len(features))
    full = (~np.isnan(features)).sum(axis=0) >= min(2 * count / drawn, len(features) / 2)
    if full.all():
        return sample
    kept = np.flatnonzero(full) if columns is None else columns[full[columns]]
    return replace(sample, class_columns=kept)


def auto_learners(sample: Sample, seed: int) -> list[LabelLearner]:
    """The learners for a sample: linear and curved, as far as its size and storage allow."""
    features, levels, columns = sample.design.features, sample.levels, sample.class_columns
    if levels is not None and columns is not None:
        levels = levels[columns]
    if why_only_logistic(sample):
        return [LabelLearner(LOGISTIC)]
    n = sample.design.shape[0]
    if library_of(features) == "dask":
        if columns is not None and not len(columns):
            return [LabelLearner(LOGISTIC)]
        from propense._steps.block_boosting import BlockBooster

        booster = LabelLearner(BOOSTED, plain=True, booster=BlockBooster(seed))
        return [LabelLearner(LOGISTIC), booster, LabelLearner(LINEAR, ridge=1.0)]
    many = n > _MANY_ROWS
    boosted = HistGradientBoostingClassifier(
        max_iter=150 if many else 100,
        max_leaf_nodes=31 if many else 15,
        learning_rate=RATE,
        min_samples_leaf=LEAF_ROWS // 2 if _is_small(sample) else LEAF_ROWS,
        l2_regularization=5.0,
        max_features=0.3,
        early_stopping=False,
        categorical_features=None if levels is None else np.flatnonzero(levels),
        random_state=seed,
    )
    trees = ExtraTreesClassifier(100, min_samples_leaf=math.ceil(math.sqrt(n) / _LEAF), random_state=seed)
    return [
        LabelLearner(LOGISTIC),
        LabelLearner(BOOSTED, boosted, plain=True),
        *([] if many else [LabelLearner(TREES, trees, plain=True)]),
        LabelLearner(LINEAR, ridge=1.0),
    ]


def is_moderate(weight: float) -> bool:
    """Whether boosting can add up such weights: it has them in float32."""
    return 1e-6 <= weight <= 1e6


def why_only_logistic(sample: Sample) -> str:
    """What keeps trees from learning, and the way out; empty if nothing does."""
    features = sample.design.features
    if sp.issparse(features):
        return "X is sparse. Pass a dense array, or learners of your own that take sparse matrices"
    if library_of(features) == "torch":
        return "X is a tensor. Pass a NumPy array to add trees"
    if library_of(features) == "dask":
        from propense._steps.block_boosting import obstacle

        if _is_small(sample):
            return "X is a small Dask array. Pass a NumPy array to add trees"
        return obstacle(features)
    # Trees are judged by rows that they have not seen.
    if min(_labels(sample), sample.design.shape[0] - _labels(sample)) < 2:
        return "trees need at least two labelled rows and two others. Label more rows"
    return ""


def _is_small(sample: Sample) -> bool:
    return is_small(sample.design.shape[0], _labels(sample))


def _labels(sample: Sample) -> int:
    return int(as_float(sample.labelled).sum())


def given_learners(classifiers: Sequence[Any]) -> list[LabelLearner]:
    """A learner for each classifier; those that take missing values get the columns as they are."""
    names = [type(each).__name__ for each in classifiers]
    return [
        LabelLearner(
            name if names.count(name) == 1 else f"{name} {place + 1}", each, plain=get_tags(each).input_tags.allow_nan
        )
        for place, (name, each) in enumerate(zip(names, classifiers, strict=True))
    ]
