"""Which learners of the labels to use, and how much each counts: by how well they predict labels they have not seen.

Every learner has a name, and the log-odds that it gives each row by models that have not seen the row.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._maths.arrays import Rows, Vector, as_float, library_of, namespace
from propense._maths.logistic import logistic_loss
from propense._steps.label_learners import BOOSTED, LINEAR, PAIR, TREES
from propense._steps.learners import fit_logistic

__all__ = ["area", "choose", "combine", "is_refuted", "label_loss"]

# How many standard errors better is clearly better.
_CLEARLY = 2.0
# The penalty that holds the weights of learners together. `benchmarks/constants.py` halves and doubles it.
_EVEN = 100.0
# The most rows of blocks, roughly, that an area is computed from.
_AREA_ROWS = 200_000


def is_refuted(sample: Sample, names: Sequence[str], raw: Sequence[Any], labels: Any) -> bool:
    """Whether the mean of the learners predicts labels it has not seen better than the pair, the last one, does.

    `labels` are the pair's log-odds of a label. A pair also looks strong where its linear y is wrong and e makes up for
    it; what it says of the labels is then worse than what the learners say.
    """
    others = [score for name, score in zip(names, raw, strict=True) if name not in (LINEAR, PAIR)]
    scaled, _, _ = _scale(sample, others)
    return sample.mean(label_loss(sample, labels)) > sample.mean(label_loss(sample, sum(scaled[1:], scaled[0])))


def choose(sample: Sample, names: Sequence[str], raw: Sequence[Any], labels: Any | None) -> list[int]:
    """The places of the learners to average: linear or curved.

    If a logistic regression with hardly a penalty, or the linear pair (`labels` are its log-odds of a label), predicts
    labels it has not seen clearly better than all kinds of trees do, relations are linear. The pair then stands alone
    or, without one, that regression, which is left out otherwise.
    """
    if LINEAR not in names:
        return list(range(len(names)))
    scores = dict(zip(names, raw, strict=True))
    linear = [label_loss(sample, each) for each in (scores[LINEAR], labels) if each is not None]
    curved = [label_loss(sample, scores[name]) for name in (BOOSTED, TREES) if name in scores]
    gain = min(curved, key=sample.mean) - min(linear, key=sample.mean)
    mean = sample.mean(gain)
    error = math.sqrt(sample.mean((gain - mean) ** 2) / sample.total_weight)
    alone = PAIR if PAIR in names else LINEAR
    clear = mean > _CLEARLY * error
    return [place for place, name in enumerate(names) if (name == alone if clear else name != LINEAR)]


def label_loss(sample: Sample, score: Any) -> Any:
    """The loss of every row's label, predicted from a score alone."""
    along = as_design(score[:, np.newaxis])
    coef = fit_logistic(along, sample.labelled, sample.weights, ridge=1e-3).coef
    return logistic_loss(along.matvec(coef), as_float(sample.labelled))


def combine(sample: Sample, names: Sequence[str], raw: Sequence[Any]) -> tuple[Vector, float, Any]:
    """The learners' weights, the constant, and the score of the rows: mean 0, spread 1.

    A linear pair counts as much as all others together.
    """
    scaled, means, weights = _scale(sample, raw)
    of_pair = np.array([name == PAIR for name in names])
    others = np.flatnonzero(~of_pair & (weights > 0.0))
    if len(others) > 1:
        shares = _stack(sample, [scaled[place] for place in others])
        together = sum(share * scaled[place] for share, place in zip(shares, others, strict=True))
        # With a spread of 1, as the pair has.
        weights[others] *= shares / max(math.sqrt(sample.mean(together**2)), 1e-9)
    total = sum(weight * (each - mean) for weight, each, mean in zip(weights, raw, means, strict=True))
    spread = math.sqrt(sample.mean(total**2))
    scale = 1.0 / spread if spread > 1e-9 else 0.0
    weights = weights * scale
    return weights, -float(weights @ means), sample.design.hold(total * scale)


def _scale(sample: Sample, raw: Sequence[Any]) -> tuple[list[Any], Vector, Vector]:
    """Log-odds with mean 0 and spread 1, their means, and what they were multiplied by."""
    means = np.array([sample.mean(each) for each in raw])
    spreads = [math.sqrt(sample.mean((each - mean) ** 2)) for each, mean in zip(raw, means, strict=True)]
    # A learner that gives every row the same log-odds says nothing.
    weights = np.array([1.0 / spread if spread > 1e-9 else 0.0 for spread in spreads])
    return [weight * (each - mean) for weight, each, mean in zip(weights, raw, means, strict=True)], means, weights


def _stack(sample: Sample, scores: list[Any]) -> Vector:
    """The weights of scores, none below 0, that predict the labels best; a penalty holds them together."""
    kept, weights = np.arange(len(scores)), np.ones(len(scores))
    while len(kept) > 1:
        # The first direction is the sum of the scores, the others are differences.
        directions = np.linalg.qr(np.column_stack([np.ones(len(kept)), np.eye(len(kept))[:, 1:]]))[0]
        columns = [sum(w * scores[k] for w, k in zip(way, kept, strict=True)) for way in directions.T]
        along, ridge = as_design(_beside(columns)), np.append(1e-3, np.full(len(kept) - 1, _EVEN))
        weights[kept] = directions @ fit_logistic(along, sample.labelled, sample.weights, ridge=ridge).coef[1:]
        if (weights[kept] > 0.0).all():
            return weights
        worst = int(weights[kept].argmin())
        weights[kept[worst]], kept = 0.0, np.delete(kept, worst)
    # What is left has the score to itself.
    weights[kept] = 1.0
    return weights


def _beside(columns: list[Any]) -> Any:
    """A matrix of columns, wherever they are; of blocks, with all columns in each."""
    matrix = namespace(columns[0]).stack(columns, 1)
    return matrix.rechunk({1: len(columns)}) if library_of(matrix) == "dask" else matrix


def area(sample: Sample, score: Any) -> float:
    """The chance that a labelled row has a higher score than an unlabelled one, ties counted half.

    Of blocks, from every k-th row, where there are many.
    """
    step = math.ceil(sample.design.shape[0] / _AREA_ROWS) if library_of(score) == "dask" else 1
    score, labelled, weights = sample.gather(partial(_every, step), score, sample.labelled)
    order = np.argsort(score, kind="stable")
    score, labelled, weights = score[order], labelled[order].astype(bool), weights[order]
    starts = np.flatnonzero(np.diff(score, prepend=np.nan) != 0)
    own, rest = (np.add.reduceat(weights * each, starts) for each in (labelled, ~labelled))
    below = np.cumsum(rest) - 0.5 * rest
    total = float(own.sum() * rest.sum())
    return float(own @ below) / total if total > 0.0 else 0.5


def _every(step: int, *rows: Rows) -> list[Rows]:
    return [each[::step] for each in rows]
