"""What each feature adds to the log-odds of y and e, for every kind of predictor."""

from dataclasses import dataclass, field
from functools import partial, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design, Predictor, as_design
from propense._inputs.preparation import Preparation
from propense._inputs.typical import mean_features, typical_row
from propense._maths.arrays import Index, Matrix, Vector
from propense._maths.double_logistic import shift_class
from propense._maths.logistic import LARGEST_LOG_ODDS, log_odds_of_log, softplus
from propense._maths.looks import any_label_log_odds
from propense._maths.shapley import Part, add_parts, carry, subset_weights
from propense._maths.tree_shapley import forest_shapley
from propense._steps.boosting import as_forest
from propense._steps.corrected import Audited, CorrectedPredictor, correct_rows
from propense._steps.known_prior import ShiftedPredictor, by_row
from propense._steps.label_scores import LabelScore
from propense._steps.named_pair import NamedPredictor
from propense._steps.predictors import ClassifierPredictor, ForestPredictor, LogisticPredictor, RootPredictor
from propense._steps.source_looks import AnyLabelPredictor
from propense.errors import InvalidOption
from propense.worlds.predictors import CurvePredictor, LinePredictor

__all__ = ["Explained", "by_column", "part_of"]

# Orders in which the features of a classifier of unknown kind are filled in; half of them are the others reversed.
_ORDERS = 16
# Up to so many features all of their sets are tried.
_ALL_SETS = 6
# Rows given to a classifier at a time.
_ROWS = 50_000


@dataclass(frozen=True)
class Explained:
    """The rows to explain, and what they are compared with.

    Attributes
    ----------
    design : Design
        The rows, in memory.
    mean : ndarray
        The mean of every feature in fit, and the share of every level of a category, as `mean_row` gives them.
    levels : int ndarray of shape (n_features,), or None
        The number of levels of each feature that is a category, 0 for a number; None means that all are numbers.
    """

    design: Design
    mean: Vector
    levels: NDArray[np.int64] | None
    # Scores that have been split already: y and e may follow the same one.
    scores: dict[int, Part] = field(default_factory=dict)

    @property
    def features(self) -> Any:
        return self.design.features

    @property
    def width(self) -> int:
        return self.design.shape[1] - 1

    def constant(self, value: float) -> Part:
        """The same number for all rows."""
        rows = self.design.shape[0]
        return Part(value, np.full(rows, value), np.zeros((rows, self.width)))

    def over(self, columns: Index | None) -> "Explained":
        """The same rows with some of the features."""
        if columns is None:
            return self
        levels = self.levels
        widths = np.ones(self.width, dtype=np.int64) if levels is None else np.maximum(levels, 1)
        starts = np.cumsum(widths) - widths
        mean = np.concatenate([np.empty(0), *(self.mean[starts[j] : starts[j] + widths[j]] for j in columns)])
        return Explained(self.design.columns(columns), mean, None if levels is None else levels[columns])

    def prepared(self, preparation: Preparation) -> "Explained":
        """The same rows as features for a linear predictor."""
        mean = mean_features(self.mean, self.levels, preparation, np.arange(self.width))
        return Explained(as_design(preparation.transform(self.features)), mean, None)


def by_column(shares: Matrix, sources: Index, count: int) -> Matrix:
    """What each of `count` columns adds, from what features add that come from them."""
    out = np.zeros((len(shares), count))
    for feature, column in enumerate(sources):
        out[:, column] += shares[:, feature]
    return out


def _back(part: Part, sources: Index, width: int) -> Part:
    """A part of some features as one of all columns."""
    return Part(part.base, part.value, by_column(part.shares, sources, width))


@singledispatch
def part_of(predictor: Any, rows: Explained) -> Part:
    """The log-odds that a predictor gives some rows, as a baseline and what every feature adds."""
    return _sampled(predictor, rows)


def _linear(coef: Vector, rows: Explained) -> Part:
    """The product of the features and their coefficients, the intercept first."""
    used = coef[1:] != 0.0
    far = rows.features[:, used].astype(np.float64) - rows.mean[used]
    shares = np.zeros((len(far), len(used)))
    shares[:, used] = coef[1:][used] * far
    base = float(coef[0] + coef[1:][used] @ rows.mean[used])
    return Part(base, np.asarray(rows.design.matvec(coef), dtype=np.float64), shares)


@part_of.register
def _of_logistic(predictor: LogisticPredictor, rows: Explained) -> Part:
    return _linear(predictor.coef, rows)


@part_of.register
def _of_root(predictor: RootPredictor, rows: Explained) -> Part:
    def log_odds(one: Vector) -> Vector:
        return np.asarray(log_odds_of_log(0.5 * (predictor.log_factor - softplus(-one))))

    return carry(log_odds, _linear(predictor.coef, rows))


@part_of.register
def _of_sources(predictor: AnyLabelPredictor, rows: Explained) -> Part:
    # The log of the chance of no label is a sum over the sources.
    unseen = [carry(softplus, _linear(coef, rows)) for coef in predictor.sources]
    return carry(any_label_log_odds, add_parts(unseen, np.ones(len(unseen))))


@part_of.register
def _of_named(predictor: NamedPredictor, rows: Explained) -> Part:
    own = rows.over(predictor.columns)
    if predictor.preparation is None:
        return _back(_linear(predictor.coef, own), predictor.columns, rows.width)
    part = _linear(predictor.coef, own.prepared(predictor.preparation))
    return _back(part, predictor.columns[predictor.preparation.sources], rows.width)


@part_of.register
def _of_curve(predictor: CurvePredictor, rows: Explained) -> Part:
    curves = predictor.curves
    return carry(curves.posterior if predictor.of_class else curves.propensity, _score_part(predictor.score, rows))


@part_of.register
def _of_line(predictor: LinePredictor, rows: Explained) -> Part:
    along = add_parts([_score_part(predictor.score, rows)], [predictor.slope], predictor.level)
    return along if predictor.own is None else add_parts([along, part_of(predictor.own, rows)], [1.0, 1.0])


def _score_part(score: LabelScore, rows: Explained) -> Part:
    """The label score: a mean over its members."""
    if id(score) in rows.scores:
        return rows.scores[id(score)]
    plain = rows.over(score.columns)
    prepared = plain if score.preparation is None else plain.prepared(score.preparation)
    columns = np.arange(plain.width) if score.columns is None else score.columns
    sources = columns if score.preparation is None else columns[score.preparation.sources]
    parts = [
        _back(
            part_of(member.predictor, plain if member.plain else prepared),
            columns if member.plain else sources,
            rows.width,
        )
        for member in score.members
    ]
    even = np.full(len(parts), 1.0 / (len(parts) * score.spread))
    rows.scores[id(score)] = add_parts(parts, even, -score.mean / score.spread)
    return rows.scores[id(score)]


@part_of.register
def _of_shifted(predictor: ShiftedPredictor, rows: Explained) -> Part:
    parts = [part_of(predictor.posterior, rows), part_of(predictor.propensity, rows)]
    parts.append(_shift_part(predictor, rows))
    return carry(partial(_shifted, predictor.of_class), *parts)


def _shifted(of_class: bool, a: Vector, b: Vector, shift: Any) -> Vector:
    return np.asarray(shift_class(a, b, shift)[0 if of_class else 1])


def _shift_part(predictor: ShiftedPredictor, rows: Explained) -> Part:
    """How far y is moved: for all rows, or by the group that a row is in, compared with the mean of the groups."""
    shift, groups = predictor.shift, predictor.groups
    if groups is None or isinstance(shift, float):
        return rows.constant(float(np.ravel(shift)[0]))
    base, own = float(np.mean(shift)), np.asarray(by_row(shift, groups, rows.design))
    shares = np.zeros((len(own), rows.width))
    shares[:, groups.columns] = ((own - base) / len(groups.columns))[:, np.newaxis]
    return Part(base, own, shares)


@part_of.register
def _of_corrected(predictor: CorrectedPredictor, rows: Explained) -> Part:
    parts = [part_of(each, rows) for each in (predictor.posterior, predictor.propensity)]
    return carry(partial(_corrected, predictor.facts, predictor.of_class), *parts)


def _corrected(facts: Audited, of_class: bool, a: Vector, b: Vector) -> Vector:
    return np.asarray(correct_rows(a, b, facts)[0 if of_class else 1])


@part_of.register
def _of_forest(predictor: ForestPredictor, rows: Explained) -> Part:
    own = rows.over(predictor.columns)
    found = Part(*forest_shapley(predictor.forest, np.asarray(own.features)))
    part = carry(partial(np.clip, a_min=-LARGEST_LOG_ODDS, a_max=LARGEST_LOG_ODDS), found)
    return part if predictor.columns is None else _back(part, predictor.columns, rows.width)


@part_of.register
def _of_classifier(predictor: ClassifierPredictor, rows: Explained) -> Part:
    own = rows.over(predictor.columns)
    inner = as_forest(ClassifierPredictor(predictor.classifier), own.features)
    part = _sampled(inner, own) if isinstance(inner, ClassifierPredictor) else part_of(inner, own)
    return part if predictor.columns is None else _back(part, predictor.columns, rows.width)


def _sampled(predictor: Predictor, rows: Explained) -> Part:
    """Of a classifier of any kind: features of the typical row are replaced by the row's own, one after the other.

    What that changes is what the feature adds, on average over a number of orders, drawn with a fixed seed; with few
    features over all orders. Each order adds up to the whole difference, and so does their mean.
    """
    cells, width = np.asarray(rows.features, dtype=np.float64), rows.width
    typical = typical_row(rows.mean, rows.levels)
    if width <= _ALL_SETS:
        sets = (np.arange(2**width)[:, np.newaxis] >> np.arange(width)) & 1
        found = _of_mixed(predictor, cells, typical, sets == 1)
        return Part(float(found[0, 0]) if len(cells) else 0.0, found[:, -1], found @ _shapley_matrix(sets))
    rng = np.random.default_rng(0)
    shares, base, value = np.zeros((len(cells), width)), 0.0, np.zeros(len(cells))
    for draw in range(_ORDERS // 2):
        first = rng.permutation(width)
        for order in (first, first[::-1]):
            known = np.argsort(order)[np.newaxis, :] < np.arange(width + 1)[:, np.newaxis]
            found = _of_mixed(predictor, cells, typical, known)
            shares[:, order] += np.diff(found, axis=1) / _ORDERS
        if draw == 0 and len(cells):
            base, value = float(found[0, 0]), found[:, -1]
    return Part(base, value, shares)


def _of_mixed(predictor: Predictor, cells: Matrix, typical: Vector, known: NDArray[np.bool_]) -> Matrix:
    """The log-odds of every row with all features but the known ones replaced, for each of some sets of them."""
    out = np.empty((len(cells), len(known)))
    step = max(1, _ROWS // len(known))
    for first in range(0, len(cells), step):
        block = cells[first : first + step]
        mixed = np.where(known[np.newaxis], block[:, np.newaxis], typical)
        found = predictor.log_odds(as_design(mixed.reshape(-1, cells.shape[1])))
        out[first : first + step] = np.asarray(found).reshape(len(block), len(known))
    if not np.isfinite(out).all():
        raise InvalidOption(
            "The reasons of a row need log-odds that are finite, and a classifier of this model gives others."
        )
    return out


def _shapley_matrix(sets: NDArray[np.integer]) -> Matrix:
    """What turns the values of all sets of some features, the first bit in the first column, into Shapley values."""
    weights = np.append(subset_weights(sets.shape[1]), 0.0) if sets.shape[1] else np.zeros(1)
    sizes = sets.sum(axis=1)[:, np.newaxis]
    return np.asarray(np.where(sets == 1, weights[sizes - 1], -weights[sizes]))
