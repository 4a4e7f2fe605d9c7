"""y along a label score beside an e of its own over named columns."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._designs import Design, as_design, column_scales
from propense._inputs.preparation import Preparation
from propense._inputs.sample import Sample
from propense._maths.arrays import Index, Rows, Vector, library_of, namespace
from propense._risks import PairRisk
from propense._solvers import Solution
from propense._steps.known_negatives import minimise
from propense._steps.pair_curve import PairSettings
from propense._steps.predictors import from_dense_rows

__all__ = ["NamedPredictor", "fit_named"]


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


def fit_named(
    sample: Sample, t: Any, settings: PairSettings
) -> tuple[tuple[float, float], NamedPredictor, Solution, float]:
    """y = σ(level + slope·t) and e over the named columns, together: level and slope, e, the search and log(1 − d)."""
    columns = sample.propensity_columns
    assert columns is not None
    part, preparation = sample.design.columns(columns), None
    if isinstance(part.features, np.ndarray):
        levels = np.zeros(len(columns), dtype=np.int64) if sample.levels is None else sample.levels[columns]
        preparation = Preparation.fit(levels, part.features, sample.weights)
    features = part.features if preparation is None else preparation.transform(part.features)
    design = as_design(_beside(features, t[:, np.newaxis]))
    means, squares = column_scales(design, sample.weights)
    risk = PairRisk(
        design,
        sample.labelled,
        class_columns=np.array([0], dtype=np.intp),
        columns=np.arange(1, design.shape[1] - 1, dtype=np.intp),
        weights=sample.weights,
        ridge=settings.ridge * squares[:1],
        propensity_ridge=settings.ridge * squares[1:],
        level=np.append(1.0, means),
    )
    own = replace(sample, design=design, propensity_columns=None, levels=None, class_columns=None)
    start = np.zeros(1 + design.shape[1])
    start[1] = 1.0
    found, log_unknown = minimise(own, risk, start, settings.solve)
    beta, gamma = risk.split(found.coef)
    coef = np.append(gamma[0], gamma[2:])
    return (float(beta[0]), float(beta[1])), NamedPredictor(columns, preparation, coef), found, log_unknown


def _beside(features: Any, t: Any) -> Any:
    """A matrix of the score, a column, and the features, wherever they are."""
    if library_of(features) == "dask":
        chunks = features.chunks[0], (1 + features.shape[1],)
        return features.map_blocks(_beside, t, dtype=np.float64, chunks=chunks, meta=features._meta)
    return (
        sp.hstack([t, features], format="csr") if sp.issparse(features) else namespace(features).hstack([t, features])
    )
