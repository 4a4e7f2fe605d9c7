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
from propense.errors import InvalidInput, PropenseError
from propense.estimators._base import BasePUClassifier
from propense.estimators._inputs import read_sample
from propense.inference._freed import freed, log_odds_of

__all__ = ["Rows", "Refits", "refit"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """What `fit` was given; `weights` on the host, one per row."""

    X: Any
    y: Any
    weights: Vector
    propensity: Any = None


@dataclass(frozen=True)
class Refits:
    """`log_odds_of` every refit, `freed`, one a line; how many refits failed, and how many of the lines did not converge."""

    draws: NDArray[np.float64]
    failed: int
    unconverged: int


def refit(
    estimator: BasePUClassifier, rows: Rows, at: Design | None, count: int, random_state: Any, n_jobs: Any
) -> Refits:
    """`count` refits, the same whatever runs them in parallel."""
    # One seed for each, drawn here: what a refit gets does not depend on who does it.
    seeds = check_random_state(random_state).randint(2**31 - 1, size=count)
    results = Parallel(n_jobs=n_jobs)(delayed(_refit)(estimator, rows, at, int(seed)) for seed in seeds)
    errors = [result for result in results if isinstance(result, PropenseError)]
    done = [result for result in results if not isinstance(result, PropenseError)]
    if len(done) < max(2, count / 2):
        raise InvalidInput(
            f"{len(errors)} of {count} refits to resampled rows failed, the last with: {errors[-1]}"
            if errors
            else f"n_resamples={count}: a spread needs at least two."
        )
    return Refits(np.array([draw for draw, _ in done]), len(errors), sum(not converged for _, converged in done))


def _refit(
    estimator: BasePUClassifier, rows: Rows, at: Design | None, seed: int
) -> tuple[Vector, bool] | PropenseError:
    """What a refit to one resample says, and whether it converged; or why there was none."""
    rng = np.random.default_rng(seed)
    weights = _resample(rows.weights, rng)
    model = _seeded(clone(estimator), rng)
    model._begin = estimator._posterior, estimator._propensity
    known = {} if rows.propensity is None else {"propensity": rows.propensity}
    with warnings.catch_warnings():
        # What a fit has to say is said of the one that was made by hand; here it is counted.
        warnings.simplefilter("ignore")
        try:
            model.fit(rows.X, rows.y, sample_weight=weights, **known)
        except PropenseError as error:
            return error
    # Read a second time rather than kept on the model, which holds nothing of the size of X.
    sample, _ = read_sample(clone(model), rows.X, rows.y, weights, rows.propensity, model._read_labels)
    return log_odds_of(freed(model, sample), at), model.converged_


def _resample(weights: Vector, rng: np.random.Generator) -> Vector:
    """How often each row is drawn, in as many draws as the weights add up to: a row of weight 2 is two rows."""
    edges = np.cumsum(weights)
    draws = max(round(edges[-1]), 1)
    # By their places on one line, so that copies side by side are drawn as the weight that stands for them.
    drawn = np.searchsorted(edges, rng.random(draws) * edges[-1], side="right")
    counts = np.bincount(np.minimum(drawn, len(weights) - 1), minlength=len(weights))
    return np.asarray(counts * (edges[-1] / draws))


def _seeded(model: BasePUClassifier, rng: np.random.Generator) -> BasePUClassifier:
    """The same with a seed of its own wherever one may be set: what chance does in a fit counts too."""
    names = [name for name in sorted(model.get_params()) if name.split("__")[-1] == "random_state"]
    return model.set_params(**{name: int(rng.integers(2**31)) for name in names})
