"""Whether the columns that were named for e move the labels, given the others: regressions of the labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from propense._designs import Design, as_design, column_scales
from propense._designs.dense import DenseDesign
from propense._diagnostics.fit_statistics import effective_rows
from propense._inputs.preparation import Preparation
from propense._inputs.sample import Sample
from propense._maths.arrays import Rows, Vector
from propense._maths.linear import is_wide
from propense._risks import LogisticRisk
from propense._solvers import newton

__all__ = ["LabelDesigns", "fit_labels", "label_designs", "label_gain", "named_statistics"]

# Far more digits than a p-value shows.
_TOL, _STEPS = 1e-8, 200


@dataclass(frozen=True)
class LabelDesigns:
    """The columns that may explain the labels, as finite numbers: without those named for e, and with them."""

    without: Design
    complete: Design

    @property
    def added(self) -> int:
        """The number of coefficients of the named columns."""
        return self.complete.shape[1] - self.without.shape[1]


def label_designs(sample: Sample) -> LabelDesigns:
    """The two designs of a sample whose columns of e were named; columns that neither y nor e may use do not count."""
    named, used, design = sample.propensity_columns, sample.label_columns, sample.design
    assert named is not None
    # Only arrays have missing cells. They show in the sums, which take no copy of an array that is mapped from a file.
    if isinstance(design, DenseDesign) and (sample.levels is not None or np.isnan(design.rmatvec(None)).any()):
        features = design.features
        levels = np.zeros(features.shape[1], dtype=np.int64) if sample.levels is None else sample.levels
        preparation = Preparation.fit(levels, features, sample.weights)
        design = as_design(preparation.transform(features))
        named, used = preparation.features_of(named), preparation.features_of(used)
        assert named is not None
    if used is not None:
        rest = np.setdiff1d(used, named)
        return LabelDesigns(design.columns(rest), design.columns(used))
    rest = np.setdiff1d(np.arange(design.shape[1] - 1), named)
    return LabelDesigns(design.columns(rest), design)


def fit_labels(design: Design, labelled: Rows, weights: Rows | None) -> Vector:
    """The logistic regression of the labels, with the light ridge of a fit in standard deviations of the columns."""
    risk = LogisticRisk(design, labelled, weights=weights, ridge=column_scales(design, weights)[1])
    return newton(risk, np.zeros(design.shape[1]), tol=_TOL, max_iter=_STEPS).coef


def label_gain(sample: Sample, designs: LabelDesigns) -> float:
    """The likelihood ratio: twice the log-likelihood of the labels that the named columns add, for the rows there are.

    With weights, for Kish's effective number of rows.
    """
    losses = []
    for design in (designs.without, designs.complete):
        coef = fit_labels(design, sample.labelled, sample.weights)
        losses.append(LogisticRisk(design, sample.labelled, weights=sample.weights).value_gradient(coef)[0])
    return 2.0 * (losses[0] - losses[1]) * effective_rows(sample) / sample.total_weight


def named_statistics(sample: Sample) -> dict[str, Any]:
    """What the statistics of a fit say of the columns named for e; nothing where there are none.

    Nor where there are so many columns that the regressions would take long.
    """
    columns = sample.propensity_columns
    if columns is None or not len(columns) or is_wide(sample.design.shape[1]):
        return {}
    designs = label_designs(sample)
    return {"named_gain": label_gain(sample, designs), "named_features": designs.added}
