"""y and e from label scores: as in worlds like these, over named columns, or of classes that are all known."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from propense._designs import as_design
from propense._diagnostics.diagnosis import LEVELS, Diagnosis
from propense._inputs.sample import Sample
from propense._maths.arrays import Rows, Vector, namespace
from propense._steps.known_negatives import best_log_unknown, fit_complete, observed_loss
from propense._steps.known_prior import KnownPrior, ShiftedPredictor, shift_to
from propense._steps.label_scores import ScoredRows
from propense._steps.learners import Learner
from propense._steps.named_pair import NamedPredictor, fit_named
from propense._steps.predictors import LogisticPredictor, Model, OutOfFold
from propense.worlds.answer import Answer, Given, curves_of, even_curves
from propense.worlds.library import the_worlds
from propense.worlds.predictors import CurvePredictor, LinePredictor, Pair, pairs_along, range_of_hidden
from propense.worlds.summary import named_values, ranking, summarise

__all__ = ["fit_class_along", "fit_curves_along", "fit_named_along"]

# The most rows, roughly, that are summarised: more hardly change a summary.
_MOST_ROWS = 50_000


def fit_curves_along(sample: Sample, scored: ScoredRows, known: KnownPrior | None, at_random: bool) -> Model:
    """y and e along the label scores, as in worlds whose labels look like these."""
    t, labelled, weights = _gather(sample, scored.t)
    summary = summarise(t, labelled, weights, _columns(sample))
    ask = partial(the_worlds().like, summary.rate, summary.values)
    answer = ask(_given(sample, known, at_random))
    rest = labelled == 0.0
    if at_random:
        curves = even_curves(answer, t, labelled, weights)
    else:
        curves = curves_of(answer, summary, t[rest], weights[rest])
    y, e = (CurvePredictor(scored.score, curves, of_class) for of_class in (True, False))
    pairs = [each.pair(scored.t) for each in curves.three()]
    answers = answer, answer if known is None else ask(_given(sample, None, at_random))
    return _model(sample, scored, known, answers, (y, e), pairs, "random" if at_random else "learned")


def fit_named_along(sample: Sample, scored: ScoredRows, known: KnownPrior | None) -> Model:
    """y along the label scores and e over the columns that were named for it, in worlds where names are right or not.

    `scored` are scores from the other columns.
    """
    fit = fit_named(sample, scored.t)
    posterior = LinePredictor(scored.score, fit.level, fit.slope, fit.own)
    found = posterior.along(scored.t, sample.design), sample.log_odds(fit.propensity)
    t, a, b, labelled, weights = _gather(sample, scored.t, *found)
    summary = summarise(t, labelled, weights, _columns(sample))
    names = named_values(t, a, b, a - fit.level - fit.slope * t, labelled, weights, len(fit.propensity.coef) - 1)
    ask = partial(the_worlds("named").like, summary.rate, np.append(summary.values, names))
    answer = ask(_given(sample, known, False))
    # y·e, the chance of a label, stays as it was found.
    moves = tuple(shift_to(share, sample, *found, fit.log_unknown) for share in answer.three())
    y, e = (ShiftedPredictor(posterior, fit.propensity, moves[-1], of_class, moves) for of_class in (True, False))
    pairs = pairs_along([found] * 3, moves)
    answers = answer, answer if known is None else ask(_given(sample, None, False))
    model = _model(sample, scored, known, answers, (y, e), pairs, "named")
    search = fit.search
    path = [search.value / sample.total_weight]
    return replace(model, n_iter=max(search.n_iter, 1), converged=search.converged, risk_path=path)


def fit_class_along(sample: Sample, scored: ScoredRows) -> Model:
    """The scores are of the class, which is known for every row."""
    along = replace(sample, design=as_design(scored.t[:, np.newaxis]), propensity_columns=None, levels=None)
    model = fit_complete(along, Learner())
    assert isinstance(model.posterior, LogisticPredictor)
    level, slope = model.posterior.coef
    posterior = LinePredictor(scored.score, float(level), float(slope))
    share = sample.mean(sample.labelled)
    facts = Diagnosis("complete", (share,) * len(LEVELS), share, share, 0.0, False, _learned(sample, scored))
    return replace(
        model,
        posterior=posterior,
        # Of no columns, so that none can be missing.
        propensity=NamedPredictor(np.empty(0, dtype=np.intp), None, np.array([np.inf])),
        rows=OutOfFold(posterior.along(scored.t, sample.design), along.log_odds(model.propensity)),
        kept={"diagnosis_": facts},
    )


def _model(
    sample: Sample,
    scored: ScoredRows,
    known: KnownPrior | None,
    answers: tuple[Answer, Answer],
    predictors: tuple[Any, Any],
    pairs: list[Pair],
    labelling: str,
) -> Model:
    """The model of y and e at the low end of the range, at the high end, and in use.

    `answers` are the one in use, and that of the labels alone.
    """
    (answer, alone), log_unknown = answers, best_log_unknown(sample, *pairs[-1])
    quantiles, middle, moved = answer.at(np.array(LEVELS)), answer.middle, {}
    if known is not None and known.groups is None:
        moved = {"all rows": (alone.middle, answer.middle)}
    elif known is not None:
        # Each group is moved to what is known of it, in all three.
        before, moves = pairs[-1], tuple(known.shift(sample, pair, log_unknown) for pair in pairs)
        pairs = [known.move(sample, *each) for each in zip(pairs, moves, strict=True)]
        moved = known.moved(sample, before, pairs[-1], log_unknown)
        predictors = known.predictors(predictors, moves[-1], moves)
        shares = [sample.share_positive(*pair, log_unknown) for pair in pairs]
        low, high, middle = np.clip(shares, *known.bounds).tolist()
        quantiles = np.interp(quantiles, np.sort(answer.three()), [low, middle, high])
    facts = Diagnosis(
        labelling,
        tuple(quantiles.tolist()),
        middle,
        sample.mean(sample.labelled),
        1.0 / float((answer.weights**2).sum()),
        answer.strange,
        _learned(sample, scored),
        moved=moved,
    )
    return Model(
        *predictors,
        n_iter=1,
        converged=True,
        risk_path=[observed_loss(sample, *pairs[-1], log_unknown)],
        log_unknown=log_unknown,
        kept={"diagnosis_": facts},
        rows=OutOfFold(*pairs[-1], range_of_hidden(pairs)),
        knows_prior=True,
    )


def _given(sample: Sample, known: KnownPrior | None, at_random: bool) -> Given:
    """What is known of the share of positives, and of labelling."""
    negative = 0.0 if sample.negative is None else sample.mean(sample.negative)
    # Each group is moved by itself.
    low, high = (0.0, 1.0) if known is None or known.groups is not None else known.bounds
    return Given(low, high, negative, at_random)


def _columns(sample: Sample) -> int:
    return sample.design.shape[1] - 1 if sample.class_columns is None else len(sample.class_columns)


def _learned(sample: Sample, scored: ScoredRows) -> dict[str, float]:
    """For each learner, how often it scores a labelled row above an unlabelled one."""
    found = {}
    for member, part in zip(scored.score.members, scored.parts, strict=True):
        t, labelled, weights = _gather(sample, part)
        found[member.name] = ranking(t, labelled, weights)
    return found


def _gather(sample: Sample, *rows: Any) -> tuple[Vector, ...]:
    """Numbers of the rows, their labels and weights, in memory: all labelled rows, and as many others as are enough."""
    step = max(1, round(sample.design.shape[0] / _MOST_ROWS))
    found = sample.gather(partial(_thin, step), *rows, sample.labelled)
    return tuple(np.asarray(each, dtype=np.float64) for each in found)


def _thin(step: int, *rows: Rows) -> list[Rows]:
    """All labelled rows, and every `step`-th of the others, which stands for `step` of them."""
    *values, labelled, weights = rows
    xp = namespace(weights)
    kept = xp.concatenate([xp.where(labelled)[0], xp.where(~labelled)[0][::step]])
    return [each[kept] for each in (*values, labelled, xp.where(labelled, weights, weights * step))]
