"""The ranges over a correlation of what no column shows, from one fit at each value of it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri

from propense._inputs.preparation import Preparation
from propense._inputs.sample import Sample
from propense._maths.arrays import Vector, to_host
from propense._maths.bivariate_normal import LARGEST_CORRELATION
from propense.errors import InvalidFeatures
from propense.inference._bound_options import Asked
from propense.inference._correlated import STEP, CorrelatedFit, PairOfProbits, fit_correlated
from propense.inference._label_bands import LabelledRows

__all__ = ["CorrelatedEnds", "Ends", "correlated_ends"]

# Half of the 0.999 quantile of χ² with one degree of freedom.
_CLEARLY_WORSE = 5.41
_MOST_COLUMNS = 200


@dataclass(frozen=True)
class Ends:
    """The range and the limits of the share of positives, and of the share of these that are labelled."""

    prior: tuple[float, float]
    prior_limits: tuple[float, float]
    propensity: tuple[float, float]
    propensity_limits: tuple[float, float]


@dataclass(frozen=True)
class CorrelatedEnds:
    """The ends over all correlations that were asked for: of all rows, of each row's h, and of each group."""

    prior: Ends
    hidden: NDArray[np.float64]
    contradicted: str
    groups: dict[Any, Ends]


def correlated_ends(sample: Sample, rows: LabelledRows, asked: Asked, groups: NDArray[Any] | None) -> CorrelatedEnds:
    """Fit the two probits at each correlation, over the columns that the estimator has for y and for e."""
    assert asked.correlation is not None
    # Outwards to the next step, so that a wider range never gives a narrower answer.
    low = STEP * math.floor(asked.correlation[0] / STEP + 1e-9)
    high = STEP * math.ceil(asked.correlation[1] / STEP - 1e-9)
    data = _data(sample, rows)
    start = data.begin(rows.score, rows.propensity)
    every = fit_correlated(data, start, -LARGEST_CORRELATION, LARGEST_CORRELATION)
    fits = [fit for fit in every if low - 1e-9 <= fit.rho <= high + 1e-9]
    best, nearest = min(every, key=lambda fit: fit.loss), min(fits, key=lambda fit: fit.loss)
    contradicted = ""
    if nearest.loss - best.loss > _CLEARLY_WORSE:
        contradicted = (
            f"labels contradict them. With a correlation of {best.rho:.2f} the two probit models explain the labels "
            f"clearly better than with any from {low:g} to {high:g}; or being positive is not as simple as a probit "
            "model of these columns."
        )
    posteriors = np.array([data.posterior(fit.theta) for fit in fits])
    chances = np.array([data.chance(fit.theta, fit.rho) for fit in fits])
    hidden = np.clip((posteriors - chances) / (1.0 - chances), 0.0, 1.0)
    z = float(ndtri(0.5 + asked.confidence / 2.0))
    everyone = np.ones(len(rows.chance), dtype=bool)
    names = [] if groups is None else sorted(set(groups.tolist()), key=lambda each: (str(type(each)), each))
    return CorrelatedEnds(
        _ends(data, fits, posteriors, chances, everyone, z),
        np.stack([hidden.min(axis=0), hidden.max(axis=0)], axis=1),
        contradicted,
        {name: _ends(data, fits, posteriors, chances, groups == name, z) for name in names},
    )


def _ends(data: PairOfProbits, fits: list[CorrelatedFit], posteriors: Any, chances: Any, mask: Any, z: float) -> Ends:
    """The ends of one group of rows."""
    share = np.where(mask, data.weights, 0.0)
    share = share / share.sum()
    means, labelled = posteriors @ share, chances @ share
    errors = np.array([fit.standard_error(data.share_slope(fit.theta, share)) for fit in fits])
    # No fewer than the labelled rows.
    least = float(data.labelled @ share)
    limits = np.clip(means - z * errors, least, 1.0), np.clip(means + z * errors, least, 1.0)
    e, below, above = (np.minimum(labelled / np.maximum(each, 1e-12), 1.0) for each in (means, *limits))
    return Ends(
        (float(means.min()), float(means.max())),
        (float(limits[0].min()), float(limits[1].max())),
        (float(e.min()), float(e.max())),
        (float(above.min()), float(below.max())),
    )


def _data(sample: Sample, rows: LabelledRows) -> PairOfProbits:
    """The features as finite numbers, with the columns that the estimator names for y and for e."""
    features: Any = to_host(sample.design.features)
    if sp.issparse(features):
        raise InvalidFeatures("correlation= needs dense columns, but X is sparse. Use another assumption.")
    if features.shape[1] > _MOST_COLUMNS:
        raise InvalidFeatures(
            f"correlation= fits a model with two coefficients per column, for at most {_MOST_COLUMNS} columns, but X "
            f"has {features.shape[1]}. Use another assumption."
        )
    matrix: Vector = np.asarray(features, dtype=np.float64)
    columns = sample.class_columns, sample.propensity_columns
    if sample.levels is not None or not np.isfinite(matrix).all():
        levels = np.zeros(matrix.shape[1], dtype=np.int64) if sample.levels is None else sample.levels
        prepared = Preparation.fit(levels, matrix, rows.weights)
        matrix = prepared.transform(matrix)
        columns = prepared.features_of(columns[0]), prepared.features_of(columns[1])
    return PairOfProbits.of(matrix, *columns, rows.labelled, rows.weights)
