"""y and the propensities of several sources, all logistic, fitted together."""

from dataclasses import dataclass

import numpy as np

from propense._designs import Design, column_scales
from propense._inputs.sample import Sample
from propense._inputs.sources import Sources
from propense._maths.arrays import Index, Matrix, Rows, Vector
from propense._maths.logistic import softplus
from propense._maths.looks import Looks, any_label_log_odds
from propense._risks import JointRisk, SourcesRisk
from propense._solvers import Solution, newton
from propense._steps.learners import Learner, fit_logistic
from propense._steps.predictors import LogisticPredictor
from propense.errors import NoLabelledInstances

__all__ = ["AnyLabelPredictor", "SourcesFit", "fit_sources", "seen_log_odds", "sources_risk"]

# The tolerance of the fits that a search starts from.
_ROUGH = 1e-3
# The ridge on the level of a source where its first fit has few rows: it may label all or none of them.
_LEVEL_RIDGE = 1.0


@dataclass(frozen=True)
class AnyLabelPredictor:
    """1 − Π(1 − e_k(x)) with e_k = σ(γ_kᵀx), the intercept first: the chance that some source labels a positive row."""

    sources: Matrix

    def log_odds(self, design: Design) -> Rows:
        return any_label_log_odds(np.asarray(sum(softplus(design.matvec(coef)) for coef in self.sources)))


@dataclass(frozen=True)
class SourcesFit:
    """The coefficients of y and of each source over all columns, and how each search ended, the best last."""

    beta: Vector
    gammas: Matrix
    solutions: list[Solution]


def sources_risk(sample: Sample, ridge: float, log_odds_ratio: float = 0.0) -> SourcesRisk:
    """The risk of a sample with sources; the ridge is in units of the columns' standard deviations."""
    sources = _sources(sample)
    return SourcesRisk(
        sample.design,
        sources.labels,
        columns=sources.columns,
        class_columns=sample.class_columns,
        weights=sample.weights,
        ridge=ridge * column_scales(sample.design, sample.weights)[1],
        log_odds_ratio=log_odds_ratio,
    )


def fit_sources(
    sample: Sample, *, ridge: float, tol: float, max_iter: int, begin: Matrix | None = None, log_odds_ratio: float = 0.0
) -> SourcesFit:
    """The minimum of the risk: from `begin`, y's coefficients and then those of each source, or from two starts."""
    sources = _sources(sample)
    given = np.where(np.isnan(sources.labels), 0.0, sources.labels).any(axis=0)
    if not given.all():
        name = sources.names[int(np.argmin(given))]
        raise NoLabelledInstances(f"The source {name!r} has given no label to these rows. Leave it out.")
    risk = sources_risk(sample, ridge, log_odds_ratio)
    starts = _starts(sample, ridge) if begin is None else [begin]
    found = [newton(risk, risk.join(start), tol=tol, max_iter=max_iter) for start in starts]
    found.sort(key=lambda each: -each.value)
    beta, *gammas = risk.split(found[-1].coef)
    return SourcesFit(beta, np.array(gammas), found)


def seen_log_odds(sample: Sample, gammas: Matrix) -> Vector:
    """The log-odds that a positive row has a label from one of the sources that looked at it."""
    looked = ~np.isnan(_sources(sample).labels)
    b = np.column_stack([sample.log_odds(LogisticPredictor(coef)) for coef in gammas])
    return any_label_log_odds(Looks(b, looked).unseen)


def _sources(sample: Sample) -> Sources:
    assert sample.sources is not None
    return sample.sources


def _starts(sample: Sample, ridge: float) -> list[Matrix]:
    """Where to search from: propensities of ½; and, with several sources, what each does where others have labelled.

    A row that another source has labelled is positive, so a regression of the labels on such rows estimates e_k without
    y, and the labels of all sources then estimate y. That is near the answer if the sources are independent.
    """
    squares = column_scales(sample.design, sample.weights)[1]
    labels, count, p = _sources(sample).labels, len(_sources(sample).names), sample.design.shape[1]
    naive = _fit_class(sample, ridge * squares, None)
    starts = [np.vstack([naive, np.zeros((count, p))])]
    if count == 1:
        return starts
    gammas = np.zeros((count, p))
    given = np.where(np.isnan(labels), 0.0, labels)
    for k, columns in enumerate(_sources(sample).columns):
        elsewhere = (np.delete(given, k, axis=1).any(axis=1)) & ~np.isnan(labels[:, k])
        if not elsewhere.any():
            continue
        learner = Learner(ridge=ridge * _of(squares, columns), intercept_ridge=_LEVEL_RIDGE, columns=columns)
        weights = None if sample.weights is None else sample.weights[elsewhere]
        found, _ = learner.fit(sample.design.take(elsewhere), given[elsewhere, k], weights)
        gammas[k] = found.coef  # type: ignore[attr-defined]
    beta = _fit_class(sample, ridge * squares, seen_log_odds(sample, gammas), naive)
    return [*starts, np.vstack([beta, gammas])]


def _fit_class(sample: Sample, ridge: Vector, seen: Vector | None, start: Vector | None = None) -> Vector:
    """β over all columns, for propensities with these log-odds; without them, the regression of the labels."""
    own = sample.class_columns
    design = sample.design if own is None else sample.design.columns(own)
    places = np.arange(len(ridge) + 1) if own is None else np.concatenate([[0], own + 1])
    out = np.zeros(len(ridge) + 1)
    if seen is None:
        out[places] = fit_logistic(design, sample.labelled, sample.weights, ridge=_of(ridge, own)).coef
        return out
    risk = JointRisk(design, sample.labelled, seen, weights=sample.weights, ridge=_of(ridge, own))
    begin = np.zeros(len(places)) if start is None else start[places]
    out[places] = newton(risk, begin, tol=_ROUGH, max_iter=100).coef
    return out


def _of(values: Vector, columns: Index | None) -> Vector:
    return values if columns is None else values[columns]
