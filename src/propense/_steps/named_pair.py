"""y along a label score and an e of its own over named columns, fitted together.

A label score contains e: labels are frequent where y is high or e is. So y has slopes of its own over the named columns
that it may depend on, which take out of the score what belongs to e.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._designs import Design, as_design, column_scales
from propense._inputs.preparation import Preparation
from propense._inputs.sample import Sample
from propense._maths.arrays import Index, Rows, Vector, library_of, namespace
from propense._risks import PairRisk
from propense._solvers import Solution, newton
from propense._steps.known_negatives import minimise
from propense._steps.predictors import from_dense_rows

__all__ = ["NamedFit", "NamedPredictor", "fit_named", "other_columns"]

# The search ends when no entry of the gradient is above this, or after so many steps.
_TOL, _STEPS = 1e-8, 1000


@dataclass(frozen=True)
class NamedPredictor:
    """σ(coefᵀv) with v the named columns, prepared, the intercept first."""

    columns: Index
    preparation: Preparation | None
    coef: Vector

    def log_odds(self, design: Design) -> Rows:
        part = design.columns(self.columns)
        return part.matvec(self.coef) if self.preparation is None else from_dense_rows(part, self._of_dense)

    def _of_dense(self, features: NDArray[np.floating]) -> Vector:
        assert self.preparation is not None
        return np.asarray(as_design(self.preparation.transform(features)).matvec(self.coef))


@dataclass(frozen=True)
class NamedFit:
    """y = σ(level + slope·t + own) and e, with `own` linear in the named columns that y may depend on, if any."""

    level: float
    slope: float
    own: NamedPredictor | None
    propensity: NamedPredictor
    search: Solution
    log_unknown: float


def other_columns(sample: Sample) -> Index:
    """The columns that y may depend on and e may not."""
    assert sample.propensity_columns is not None
    columns = np.arange(sample.design.shape[1] - 1) if sample.class_columns is None else sample.class_columns
    return np.setdiff1d(columns, sample.propensity_columns)


def fit_named(sample: Sample, t: Any) -> NamedFit:
    """y along t and e over the named columns, together."""
    columns = sample.propensity_columns
    assert columns is not None
    part, preparation = sample.design.columns(columns), None
    if isinstance(part.features, np.ndarray):
        levels = np.zeros(len(columns), dtype=np.int64) if sample.levels is None else sample.levels[columns]
        preparation = Preparation.fit(levels, part.features, sample.weights)
    features = part.features if preparation is None else preparation.transform(part.features)
    design = as_design(_beside(features, t[:, np.newaxis]))
    means, squares = column_scales(design, sample.weights)
    sources = columns if preparation is None else columns[preparation.sources]
    shared = np.ones(len(sources), dtype=bool)
    if sample.class_columns is not None:
        shared = np.isin(sources, sample.class_columns)
    of_class = np.append(0, 1 + np.flatnonzero(shared))
    # A column that was named for e is likelier to move e than y, and where it has many categories, their few labels
    # cannot say which of the two it moves: each category with few labels would look full of hidden positives. So the
    # more slopes y has of its own, the more they are shrunk (benchmarks/named_columns.py).
    ridge = squares[of_class].copy()
    ridge[1:] *= max(shared.sum(), 1)
    risk = PairRisk(
        design,
        sample.labelled,
        class_columns=of_class,
        columns=np.arange(1, design.shape[1] - 1, dtype=np.intp),
        weights=sample.weights,
        ridge=ridge,
        propensity_ridge=squares[1:],
        level=np.append(1.0, means),
    )
    along = replace(sample, design=design, propensity_columns=None, levels=None, class_columns=None)
    start = np.zeros(len(of_class) + design.shape[1])
    start[1] = 1.0
    found, log_unknown = minimise(along, risk, start, partial(newton, tol=_TOL, max_iter=_STEPS))
    beta, gamma = risk.split(found.coef)
    own = NamedPredictor(columns, preparation, np.append(0.0, beta[2:])) if shared.any() else None
    propensity = NamedPredictor(columns, preparation, np.append(gamma[0], gamma[2:]))
    return NamedFit(float(beta[0]), float(beta[1]), own, propensity, found, log_unknown)


def _beside(features: Any, t: Any) -> Any:
    """A matrix of the score, a column, and the features, wherever they are."""
    if library_of(features) == "dask":
        chunks = features.chunks[0], (1 + features.shape[1],)
        return features.map_blocks(_beside, t, dtype=np.float64, chunks=chunks, meta=features._meta)
    return (
        sp.hstack([t, features], format="csr") if sp.issparse(features) else namespace(features).hstack([t, features])
    )
