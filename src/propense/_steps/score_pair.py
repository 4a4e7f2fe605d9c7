"""y and e from label scores: along them, over named columns, or of classes that are all known."""

import math
from dataclasses import dataclass, replace

import numpy as np

from propense._designs import as_design
from propense._diagnostics.diagnosis import SCORE_READINGS, Diagnosis
from propense._diagnostics.doubts import doubt_of, falling_curve
from propense._inputs.sample import Sample
from propense._maths.arrays import Rows
from propense._steps.known_negatives import best_log_unknown, fit_complete
from propense._steps.label_scores import ScoredRows
from propense._steps.learners import Learner
from propense._steps.named_pair import fit_named
from propense._steps.pair_curve import PairSettings
from propense._steps.predictors import LogisticPredictor, Model, OutOfFold, certain
from propense._steps.readings import ScorePredictor, Split, fit_split

__all__ = ["ReadModel", "fit_class_along", "fit_named_along", "fit_split_along"]


@dataclass(frozen=True)
class ReadModel:
    """A model, and the rows of fit in every reading, the one in use last.

    Attributes
    ----------
    model : Model
    pairs : list of (Rows, Rows)
        The log-odds of y and e.
    unknowns : list of float
        log(1 − d) in each reading, where d is the share of negatives that are known.
    """

    model: Model
    pairs: list[tuple[Rows, Rows]]
    unknowns: list[float]


def fit_split_along(sample: Sample, scored: ScoredRows, settings: PairSettings, share: float | None) -> ReadModel:
    """y and e along the label scores, by two readings of the labels; a given share leaves one of them."""
    t, score = scored.t, scored.score
    split, curve = fit_split(sample, t, settings, share)
    pairs = split.pairs(t)
    names = (*split.readings, "shared")
    # The share of known negatives depends on how many negatives a reading finds; the last one is of y and e.
    unknowns = [best_log_unknown(sample, *pair) for pair in pairs]
    shares = [sample.share_positive(*pair, unknown) for pair, unknown in zip(pairs, unknowns, strict=True)]
    priors = {"bells": shares[1], **dict(zip(names, shares, strict=True))}
    facts = Diagnosis(
        curve.height,
        split.share or 0.0,
        scored.evidence,
        scored.alignment,
        {name: priors[name] for name in SCORE_READINGS},
        math.nan,
        learners=scored.learned,
    )
    model = Model(
        ScorePredictor(score, split, True),
        ScorePredictor(score, split, False),
        n_iter=max(curve.free.n_iter, 1),
        converged=curve.converged,
        risk_path=[each.value / sample.total_weight for each in (curve.constant, curve.free)],
        doubts=doubt_of(falling_curve, float(curve.beta[1])),
        log_unknown=unknowns[-1],
        kept={"diagnosis_": facts},
    )
    return ReadModel(model, pairs, unknowns)


def fit_named_along(sample: Sample, scored: list[ScoredRows], settings: PairSettings) -> ReadModel:
    """y along the label scores that explain the labels best, e over the columns that were named for it."""
    fits = [(fit_named(sample, each.t, settings), each) for each in scored]
    named, best = min(fits, key=lambda fit: fit[0].search.value)
    found, log_unknown, propensity = named.search, named.log_unknown, named.propensity
    split = Split(named.level, named.slope, 1.0, 0.0, None)
    posterior = ScorePredictor(best.score, split, True, named.own)
    pair = posterior.along(best.t, sample.design), sample.log_odds(propensity)
    priors = dict.fromkeys(SCORE_READINGS, sample.share_positive(*pair, log_unknown))
    model = Model(
        posterior,
        propensity,
        n_iter=max(found.n_iter, 1),
        converged=found.converged,
        risk_path=[found.value / sample.total_weight],
        log_unknown=log_unknown,
        kept={"diagnosis_": Diagnosis(0.0, 0.0, 0.0, 0.0, priors, math.nan, learners=best.learned)},
    )
    return ReadModel(model, [pair], [log_unknown])


def fit_class_along(sample: Sample, scored: ScoredRows) -> Model:
    """The scores are of the class, which is known for every row."""
    along = replace(sample, design=as_design(scored.t[:, np.newaxis]), propensity_columns=None, levels=None)
    model = fit_complete(along, Learner())
    assert isinstance(model.posterior, LogisticPredictor)
    level, slope = model.posterior.coef
    split = Split(float(level), float(slope), 1.0, 0.0, None)
    priors = dict.fromkeys(SCORE_READINGS, sample.mean(sample.labelled))
    return replace(
        model,
        posterior=ScorePredictor(scored.score, split, True),
        propensity=certain(sample.design.shape[1]),
        rows=OutOfFold(split.posterior(scored.t), along.log_odds(model.propensity)),
        kept={"diagnosis_": Diagnosis(1.0, 0.0, 0.0, 0.0, priors, math.nan, learners=scored.learned)},
    )
