"""What learns the labels: which learners there are for a sample, by its size and where it lives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags

from propense._inputs.sample import Sample
from propense._maths.arrays import as_float, library_of
from propense._steps.folds import FOLDS, MANY_ROWS, Folds, is_small

__all__ = [
    "BOOSTED",
    "LOGISTIC",
    "LabelLearner",
    "auto_learners",
    "given_learners",
    "is_moderate",
    "learnable",
    "why_only_logistic",
]

LOGISTIC, BOOSTED = "logistic regression", "boosted trees"
# Of more rows than these, larger boosted trees learn more.
_MORE_ROWS = 10_000
# Of more rows than these, boosting draws so many to find its bins.
_BINNED_ROWS = 200_000


@dataclass(frozen=True)
class LabelLearner:
    """A way to learn the labels: our logistic regression (None) or a classifier, under a name.

    `plain` classifiers take columns as they are, NaN and level numbers included; others get prepared columns.
    """

    name: str
    classifier: Any = None
    plain: bool = False


def learnable(sample: Sample, cv: Folds) -> Sample:
    """The sample with the columns that y may depend on, less those with hardly a cell in them."""
    features, columns = sample.design.features, sample.class_columns
    if not isinstance(features, np.ndarray):
        return sample
    count = len(cv) if isinstance(cv, Sequence) else cv or FOLDS
    # Boosting fails where a column is empty in all of the rows, at most so many, that it draws to find its bins.
    drawn = min(1.0, _BINNED_ROWS / len(features))
    full = (~np.isnan(features)).sum(axis=0) >= min(2 * count / drawn, len(features) / 2)
    if full.all():
        return sample
    kept = np.flatnonzero(full) if columns is None else columns[full[columns]]
    return replace(sample, class_columns=kept)


def auto_learners(sample: Sample, seed: int) -> list[LabelLearner]:
    """The learners for a sample: logistic regression, and boosted trees where its size and storage allow."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    levels, columns = sample.levels, sample.class_columns
    if levels is not None and columns is not None:
        levels = levels[columns]
    if why_only_logistic(sample):
        return [LabelLearner(LOGISTIC)]
    n = sample.design.shape[0]
    # Chosen by `benchmarks/label_learners.py`, on the 16 tables, and by `benchmarks/boosting_sizes.py` where there are
    # more rows. Of the most, fewer and longer steps rank nearly as well in two thirds of the time.
    rounds, leaves, rate, part = 100, 8, 0.05, 0.15
    if n > _MORE_ROWS:
        rounds, leaves, rate, part = (150, 31, 0.1, 0.3) if n < MANY_ROWS else (100, 31, 0.15, 0.3)
    boosted = HistGradientBoostingClassifier(
        max_iter=rounds,
        max_leaf_nodes=leaves,
        learning_rate=rate,
        max_features=part,
        min_samples_leaf=10 if _is_small(sample) else 20,
        l2_regularization=5.0,
        early_stopping=False,
        categorical_features=None if levels is None else np.flatnonzero(levels),
        random_state=seed,
    )
    return [LabelLearner(LOGISTIC), LabelLearner(BOOSTED, boosted, plain=True)]


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
        if sp.issparse(features._meta):
            return "the blocks of X are sparse. Make them dense to add boosted trees"
        if _is_small(sample):
            return "X is a small Dask array. Pass a NumPy array to add trees"
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
