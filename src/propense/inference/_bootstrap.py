"""Refits to resampled rows, each started at the fitted answer if the method can."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_random_state

from propense._designs import Design
from propense._inputs.sample import Sample
from propense._maths.arrays import Matrix, Vector
from propense._steps.known_prior import unmoved
from propense.errors import InvalidInput, NoLabelledInstances, NoUnlabelledInstances, PropenseError
from propense.estimators._base import BasePUClassifier
from propense.inference._debias import debiased, log_odds_of
from propense.inference._survey import Survey

__all__ = ["Refits", "refit"]


@dataclass(frozen=True)
class Refits:
    """`log_odds_of` each `debiased` refit, one per line, and the numbers of refits that failed or did not converge."""

    draws: Matrix
    failed: int
    unconverged: int


def refit(
    estimator: BasePUClassifier,
    sample: Sample,
    at: Design | None,
    count: int,
    random_state: Any,
    n_jobs: Any,
    survey: Survey | None = None,
) -> Refits:
    """`count` refits, to clusters where there is a survey; the result does not depend on `n_jobs`."""
    # One seed per refit, drawn here, so that the process that runs a refit does not matter.
    seeds = check_random_state(random_state).randint(2**31 - 1, size=count)
    results = Parallel(n_jobs=n_jobs)(delayed(_refit)(estimator, sample, at, int(seed), survey) for seed in seeds)
    errors = [result for result in results if isinstance(result, PropenseError)]
    done = [result for result in results if not isinstance(result, PropenseError)]
    if len(errors) > count / 2:
        raise InvalidInput(
            f"{len(errors)} of {count} refits to resampled rows failed, the last with: {errors[-1]}"
        ) from errors[-1]
    return Refits(np.array([draw for draw, _ in done]), len(errors), sum(not converged for _, converged in done))


def _refit(
    estimator: BasePUClassifier, sample: Sample, at: Design | None, seed: int, survey: Survey | None
) -> tuple[Vector, bool] | PropenseError:
    """The result of one refit and whether it converged, or the error that stopped it."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        # The warnings of the original fit are enough; here failures are counted.
        warnings.simplefilter("ignore")
        try:
            drawn = _resample(sample, rng) if survey is None else _resample_clusters(sample, survey, rng)
            model = _seeded(clone(estimator), rng)
            model._begin = unmoved(estimator._posterior, estimator._propensity)
            model._fit_sample(drawn)
        except PropenseError as error:
            return error
    return log_odds_of(debiased(model, drawn), at), model.converged_


def _resample(sample: Sample, rng: np.random.Generator) -> Sample:
    """Rows drawn with replacement, as many as the weights add up to: a row of weight 2 is two rows."""
    design = sample.design
    edges = np.cumsum(np.ones(design.shape[0]) if sample.weights is None else design.bring(sample.weights))
    draws = max(round(edges[-1]), 1)
    # Draw positions on the line of cumulative weights: two copies of a row are drawn as one row of weight 2 is.
    positions = np.searchsorted(edges, rng.random(draws) * edges[-1], side="right")
    counts = np.bincount(np.minimum(positions, len(edges) - 1), minlength=len(edges))
    return _checked(sample.reweighted(design.send(counts * (edges[-1] / draws))))


def _resample_clusters(sample: Sample, survey: Survey, rng: np.random.Generator) -> Sample:
    """Clusters drawn with replacement in each stratum; weights are of the survey, and do not count rows."""
    times = survey.draw(rng)
    weights = times if sample.weights is None else sample.design.bring(sample.weights) * times
    return _checked(sample.reweighted(sample.design.send(weights)))


def _checked(drawn: Sample) -> Sample:
    if not bool(drawn.labelled.any()):
        raise NoLabelledInstances("No labelled row was drawn.")
    if bool(drawn.labelled.all()):
        raise NoUnlabelledInstances("No unlabelled row was drawn.")
    return drawn


def _seeded(model: BasePUClassifier, rng: np.random.Generator) -> BasePUClassifier:
    """The same model with new seeds: the randomness of a fit is part of its uncertainty."""
    names = [name for name in sorted(model.get_params()) if name.split("__")[-1] == "random_state"]
    model.set_params(**{name: int(rng.integers(2**31)) for name in names})
    return model
