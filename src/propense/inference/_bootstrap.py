"""Refits to resampled rows, each begun at the fitted answer where the method can."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from propense._designs import Design
from propense._inputs.sample import Sample
from propense.errors import InvalidInput, NoLabelledInstances, NoUnlabelledInstances, PropenseError
from propense.estimators._base import BasePUClassifier
from propense.inference._debias import debiased, log_odds_of

__all__ = ["Refits", "refit"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Refits:
    """`log_odds_of` every refit, `debiased`, a line each; how many failed, and how many lines did not converge."""

    draws: NDArray[np.float64]
    failed: int
    unconverged: int


def refit(
    estimator: BasePUClassifier, sample: Sample, at: Design | None, count: int, random_state: Any, n_jobs: Any
) -> Refits:
    """`count` refits, the same whatever runs them in parallel."""
    # One seed for each, drawn here: what a refit gets does not depend on who does it.
    seeds = check_random_state(random_state).randint(2**31 - 1, size=count)
    results = Parallel(n_jobs=n_jobs)(delayed(_refit)(estimator, sample, at, int(seed)) for seed in seeds)
    errors = [result for result in results if isinstance(result, PropenseError)]
    done = [result for result in results if not isinstance(result, PropenseError)]
    if len(errors) > count / 2:
        raise InvalidInput(
            f"{len(errors)} of {count} refits to resampled rows failed, the last with: {errors[-1]}"
        ) from errors[-1]
    return Refits(np.array([draw for draw, _ in done]), len(errors), sum(not converged for _, converged in done))


def _refit(
    estimator: BasePUClassifier, sample: Sample, at: Design | None, seed: int
) -> tuple[Vector, bool] | PropenseError:
    """What a refit to one resample says, and whether it converged; or why there was none."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        # What a fit has to say is said of the one that was made by hand; here it is counted.
        warnings.simplefilter("ignore")
        try:
            drawn = _resample(sample, rng)
            model = _seeded(clone(estimator), rng)
            model._begin = estimator._posterior, estimator._propensity
            model._fit_sample(drawn)
        except PropenseError as error:
            return error
    return log_odds_of(debiased(model, drawn), at), model.converged_


def _resample(sample: Sample, rng: np.random.Generator) -> Sample:
    """As many rows as the weights add up to, drawn with replacement: a row of weight 2 is two rows."""
    design = sample.design
    edges = np.cumsum(np.ones(design.shape[0]) if sample.weights is None else design.bring(sample.weights))
    draws = max(round(edges[-1]), 1)
    # By their places on one line, so that copies side by side are drawn as the weight that stands for them.
    places = np.searchsorted(edges, rng.random(draws) * edges[-1], side="right")
    counts = np.bincount(np.minimum(places, len(edges) - 1), minlength=len(edges))
    drawn = sample.reweighted(design.send(counts * (edges[-1] / draws)))
    if not bool(drawn.labelled.any()):
        raise NoLabelledInstances("No labelled row was drawn.")
    if bool(drawn.labelled.all()):
        raise NoUnlabelledInstances("No unlabelled row was drawn.")
    return drawn


def _seeded(model: BasePUClassifier, rng: np.random.Generator) -> BasePUClassifier:
    """The same with a seed of its own wherever one may be set: what chance does in a fit counts too."""
    names = [name for name in sorted(model.get_params()) if name.split("__")[-1] == "random_state"]
    model.set_params(**{name: int(rng.integers(2**31)) for name in names})
    return model
