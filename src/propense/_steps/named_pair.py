"""y along a label score beside an e of its own over named columns."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from propense._designs import Design, as_design, column_scales
from propense._inputs.preparation import Preparation
from propense._inputs.sample import Sample
from propense._maths.arrays import Index, Rows, Vector
from propense._risks import PairRisk
from propense._solvers import Solution
from propense._steps.known_negatives import minimise
from propense._steps.pair_curve import PairSettings

__all__ = ["NamedPredictor", "fit_named"]


@dataclass(frozen=True)
class NamedPredictor:
    """σ(coefᵀv) with v the named columns, prepared, the intercept first."""

    columns: Index
    preparation: Preparation | None
    coef: Vector

    def log_odds(self, design: Design) -> Rows:
        return _prepared(design.columns(self.columns), self.preparation).matvec(self.coef)


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
    named = _prepared(part, preparation)
    features = named.features
    design = as_design(np.column_stack([t, features]))
    _, squares = column_scales(design, sample.weights)
    risk = PairRisk(
        design,
        sample.labelled,
        class_columns=np.array([0], dtype=np.intp),
        columns=np.arange(1, design.shape[1] - 1, dtype=np.intp),
        weights=sample.weights,
        ridge=settings.ridge * squares[:1],
        propensity_ridge=settings.ridge * squares[1:],
        level=np.append(1.0, column_scales(design, sample.weights)[0]),
    )
    own = replace(sample, design=design, propensity_columns=None, levels=None, class_columns=None)
    start = np.zeros(2 + named.shape[1])
    start[1] = 1.0
    found, log_unknown = minimise(own, risk, start, settings.solve)
    beta, gamma = risk.split(found.coef)
    coef = np.append(gamma[0], gamma[2:])
    return (float(beta[0]), float(beta[1])), NamedPredictor(columns, preparation, coef), found, log_unknown


def _prepared(design: Design, preparation: Preparation | None) -> Design:
    return design if preparation is None else as_design(preparation.transform(design.features))
