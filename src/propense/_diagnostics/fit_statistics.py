"""The statistics of a fit over its own rows, summed in one pass, from which doubts are derived."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import chdtrc

from propense._designs.threads import slices
from propense._inputs.sample import Sample
from propense._maths.arrays import as_float, namespace
from propense._maths.double_logistic import class_given_label, joint_loss
from propense._maths.logistic import LARGEST_LOG_ODDS, sigmoid

__all__ = ["FitStatistics", "compute_fit_statistics", "effective_rows", "p_by_chance"]

# A propensity closer to 0 or 1 than this is at the boundary.
_EDGE = 0.01
# The chance of a label is low if it is below this fraction of the label rate.
_LOW = 0.25
# The most that one row may count against the fit, however small its chance of a label: one outlier is not lack of fit.
_MOST = 20.0
# Rows summed at a time, so that intermediate results stay in cache and use little memory. More for tensors, which may
# be on a device where each step has a fixed cost.
_ROWS, _TENSOR_ROWS = 1 << 15, 1 << 20
# A relative variance below this is rounding of a constant.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class FitStatistics:
    """The statistics of a fit; rows count by their weights.

    Attributes
    ----------
    method : str
        The estimator's name.
    labels, rows : float
        The number of labelled rows and of all rows: Kish's effective number (Σw)²/Σw², which does not depend on the
        scale of the weights and never exceeds the actual number.
    features : int
        Columns that y may depend on.
    propensity_features : int
        Columns that e may depend on; 0 where e is known or follows from y.
    prior, frequency : float
        `prior_` and `label_frequency_`.
    gain : float
        Twice the log-likelihood of the labels under y·e, minus that under their rate, for `rows` rows.
    low, low_expected : float
        The number of labels on rows whose chance y·e is below a quarter of the rate, and the number expected there.
    stray : float
        The score test, about standard normal, of labels placed at random: of ε = 0 in (1−ε)·y·e + ε·rate. Above 0, rows
        with hardly any chance of a label have too many.
    spread, propensity_spread : float
        Standard deviations of the log-odds of y and e over the rows.
    correlation : float
        The correlation of the two; 0 if one is constant.
    never, surely : float
        Shares of the expected positives whose e is within .01 of 0, and of 1.
    distinguishable : bool
        Whether y and e cannot be swapped, because they have different columns or different kinds of model.
    flexible : bool
        Whether y is a classifier that can memorise the labels.
    named_gain, named_features : float and int
        If columns of e were named: twice the log-likelihood that they add to a regression of the labels on the others,
        and the number of their coefficients; 0 coefficients where that was not asked.
    marked : str
        What y = 1 means in fit: "labelled", or "positive" if true classes were passed.
    fitted_along : int or None
        If rows are scored by models that have not seen them: the coefficients that saw the labels of all rows even so.
    """

    method: str
    labels: float
    rows: float
    features: int
    propensity_features: int
    prior: float
    frequency: float
    gain: float
    low: float
    low_expected: float
    stray: float
    spread: float
    propensity_spread: float
    correlation: float
    never: float
    surely: float
    distinguishable: bool = False
    flexible: bool = False
    named_gain: float = 0.0
    named_features: int = 0
    marked: str = "labelled"
    fitted_along: int | None = None


def p_by_chance(gain: float, coefficients: int) -> float:
    """How often columns that have nothing to do with the labels gain as much likelihood (Wilks: χ²)."""
    return float(chdtrc(coefficients, max(gain, 0.0)))


def effective_rows(sample: Sample) -> float:
    """Kish's (Σw)²/Σw²: the number of rows of equal weight that carry as much information."""
    if sample.weights is None:
        return float(sample.design.shape[0])
    return sample.total_weight**2 / sample.weight_of(sample.weights)


def compute_fit_statistics(sample: Sample, a: Any, b: Any, **known: Any) -> FitStatistics:
    """The statistics for the log-odds a of y and b of e of every row; `known` are the fields known already."""
    rate = sample.mean(sample.labelled)
    (parts,) = sample.gather(partial(_sums, rate=rate), a, b, sample.labelled)
    sums = dict(zip(_NAMES, parts.sum(0).tolist(), strict=True))
    total, labelled = sums["w"], sums["w·s"]
    rows, labels = total**2 / sums["w²"], labelled**2 / sums["w²·s"]
    spread, propensity_spread, correlation = _moments(sums)
    chance = -(rate * math.log(rate) + (1.0 - rate) * math.log1p(-rate))
    return FitStatistics(
        labels=labels,
        rows=rows,
        gain=2.0 * (chance - sums["loss"] / total) * rows,
        low=sums["low"] * labels / labelled,
        low_expected=sums["low_expected"] * labels / labelled,
        stray=sums["stray"] / math.sqrt(sums["stray²"] or 1.0),
        spread=spread,
        propensity_spread=propensity_spread,
        correlation=correlation,
        never=sums["never"] / sums["positive"],
        surely=sums["surely"] / sums["positive"],
        **known,
    )


_NAMES = ["w", "w²", "w·s", "w²·s", "loss", "low", "low_expected", "stray", "stray²", "positive", "never", "surely"]
_NAMES += ["a", "b", "aa", "bb", "ab"]


def _sums(a: Any, b: Any, labelled: Any, weights: Any, *, rate: float) -> tuple[Any]:
    """Σ over the rows of each of `_NAMES`, as an array of one row."""
    xp = namespace(a)
    size = _ROWS if xp is np else _TENSOR_ROWS
    # A block of no rows sums to 0.
    parts = [_part(a[i], b[i], labelled[i], weights[i], rate) for i in slices(max(len(a), 1), size)]
    return (xp.stack(parts).sum(0)[None],)


def _part(a: Any, b: Any, labelled: Any, w: Any, rate: float) -> Any:
    # e(x) = 1 has infinite log-odds, whose mean would not be finite.
    a, b = a.clip(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS), b.clip(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    e = sigmoid(b)
    chance, positive, s = sigmoid(a) * e, w * class_given_label(a, b, labelled), as_float(labelled)
    low = w * (chance < _LOW * rate)
    xp = namespace(a)
    # (rate − y·e) / (y·e·(1 − y·e)), the weight of a label in the test of stray labels; 0 where a label is expected.
    least = xp.where(chance < rate, chance, rate)
    against = w * (rate - least) / (xp.where(least * _MOST > rate, least, rate / _MOST) * (1.0 - least))
    rows = [w, w * w, w * s, w * w * s, w * joint_loss(a, b, labelled), low * s, low * chance]
    rows += [against * (s - chance), against**2 * chance * (1.0 - chance)]
    rows += [positive, positive * (e < _EDGE), positive * (e > 1.0 - _EDGE)]
    rows += [w * a, w * b, w * a * a, w * b * b, w * a * b]
    return xp.stack([each.sum() for each in rows])


def _moments(sums: dict[str, float]) -> tuple[float, float, float]:
    """The spreads of a and b, and their correlation."""
    total = sums["w"]
    means, squares = (sums["a"] / total, sums["b"] / total), (sums["aa"] / total, sums["bb"] / total)
    spreads = [
        math.sqrt(square - mean**2) if square - mean**2 > _ROUNDING * square else 0.0
        for mean, square in zip(means, squares, strict=True)
    ]
    if 0.0 in spreads:
        return spreads[0], spreads[1], 0.0
    r = (sums["ab"] / total - means[0] * means[1]) / (spreads[0] * spreads[1])
    return spreads[0], spreads[1], float(np.clip(r, -1.0, 1.0))
