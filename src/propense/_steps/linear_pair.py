"""y and e both linear: two logistic curves fitted to the labels, and how far they can be distinguished."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from propense._designs import Predictor, column_scales
from propense._diagnostics.diagnosis import READINGS, Diagnosis
from propense._diagnostics.doubts import doubt_of, halves_disagree, readings_differ
from propense._inputs.sample import Sample
from propense._maths.arrays import as_float
from propense._maths.logistic import logit
from propense._steps.known_negatives import fit_complete
from propense._steps.learners import Learner
from propense._steps.pair_curve import (
    PairCurve,
    PairSettings,
    climb_share,
    fit_pair_curve,
    pair_predictors,
    refit_pair,
)
from propense._steps.predictors import Model
from propense._steps.watch import Watch

__all__ = ["fit_linear_class", "fit_linear_pair"]


def fit_linear_pair(
    sample: Sample,
    settings: PairSettings,
    share: float | None,
    halves: NDArray[np.bool_] | None,
    of_halves: PairSettings,
    watch: Watch,
) -> Model:
    """The pair with a given share of the steepness, or its own; `halves` marks one of two halves to compare, if any."""
    watch.stage("linear pair")
    curve = fit_pair_curve(sample, settings, watch)
    watch.stage("diagnosis")
    share = _share(sample, curve) if share is None else float(share)
    stability = math.nan if halves is None else _stability(sample, of_halves, curve, share, halves)
    found = _diagnose(sample, curve, share, stability)
    return Model(
        *pair_predictors(curve.beta, curve.gamma, share),
        n_iter=max(curve.free.n_iter, 1),
        converged=curve.converged,
        risk_path=[each.value / sample.total_weight for each in (curve.constant, curve.free)],
        doubts=(
            *(doubt_of(readings_differ, found.priors) if share else ()),
            *doubt_of(halves_disagree, found.stability),
        ),
        log_unknown=curve.log_unknown,
        kept={"diagnosis_": found},
    )


def fit_linear_class(sample: Sample, ridge: float) -> Model:
    """The regression of the class, which is known for every row."""
    priors = dict.fromkeys(READINGS, sample.mean(sample.labelled))
    found = Diagnosis(1.0, 0.0, 0.0, 0.0, priors, math.nan)
    _, squares = column_scales(sample.design, sample.weights)
    model = fit_complete(sample, Learner(ridge=ridge * squares))
    return replace(model, risk_path=2 * model.risk_path, kept={"diagnosis_": found})


def _share(sample: Sample, curve: PairCurve) -> float:
    """The part of the steepness along βᵀx that belongs to e."""
    # Named columns, or evidence, distinguish y from e.
    if sample.propensity_columns is not None or curve.is_strong:
        return 0.0
    return climb_share(curve.height)


def _stability(
    sample: Sample, settings: PairSettings, curve: PairCurve, share: float, halves: NDArray[np.bool_]
) -> float:
    """The share of rows on which fits to the two halves agree; NaN if a half has no label."""
    calls = []
    for mask in (halves, ~halves):
        # One is somewhat more than a half. Both are copied, one after the other.
        half = sample.subset(sample.design.send(mask), most=0.6)
        if half.is_complete or not 0.0 < half.weight_of(half.labelled) < half.total_weight:
            return math.nan
        beta, gamma, log_unknown = refit_pair(half, settings, curve)
        posterior, propensity = pair_predictors(beta, gamma, share)
        calls.append(sample.log_odds(posterior) > logit(_prior(half, posterior, propensity, log_unknown)))
    return sample.mean(as_float(calls[0] == calls[1]))


def _diagnose(sample: Sample, curve: PairCurve, share: float, stability: float) -> Diagnosis:
    """The diagnosis of a linear answer with this share."""
    free = curve.beta, curve.gamma
    flat = _prior(sample, *pair_predictors(*curve.flat, 0.0), curve.log_unknown)
    shared = {each: _prior(sample, *pair_predictors(*free, each), curve.log_unknown) for each in {0.0, 0.5, share}}
    priors = flat, shared[0.0], shared[0.5], shared[share]
    return Diagnosis(
        height=curve.height,
        share=share,
        evidence=curve.evidence,
        alignment=curve.alignment(sample),
        priors=dict(zip(READINGS, priors, strict=True)),
        stability=stability,
    )


def _prior(sample: Sample, posterior: Predictor, propensity: Predictor, log_unknown: float) -> float:
    """The estimated P(Y=1)."""
    return sample.share_positive(sample.log_odds(posterior), sample.log_odds(propensity), log_unknown)
