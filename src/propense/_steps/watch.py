"""What a long fit reports, its stages and its passes over the data, and the parts that it keeps to go on from."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from propense._checkpoints import Checkpoint, Part
from propense._designs import Predictor
from propense._inputs.sample import Sample
from propense._maths.arrays import Vector, as_float
from propense._passes import observe_passes
from propense._solvers import Solution
from propense._steps.predictors import LogisticPredictor

__all__ = ["Progress", "Watch", "coefs"]

# The multiples of this number, without what is before the point, are spread evenly and do not repeat.
_GOLDEN = 0.6180339887498949

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

# Called with the stage, the number of passes so far, and the seconds so far.
Progress = Callable[[str, int, float], None]


class Watch:
    """The observer of one fit; without arguments it does nothing.

    Parameters
    ----------
    progress : callable, default=None
        Called with the stage, the number of passes over the data and the seconds so far, at each change of the first
        two. Those of a stopped fit that this one goes on from are included.
    checkpoint : Checkpoint, default=None
        Where finished parts are kept.
    """

    def __init__(self, progress: Progress | None = None, checkpoint: Checkpoint | None = None) -> None:
        self._progress, self._checkpoint = progress, checkpoint
        self._stage, self._start = "", time.perf_counter()
        self.passes, self._before = (0, 0.0) if checkpoint is None else checkpoint.so_far

    @property
    def seconds(self) -> float:
        """The seconds spent so far."""
        return self._before + time.perf_counter() - self._start

    def stage(self, name: str) -> None:
        """Begin a stage."""
        if self._progress is not None:
            self._stage = name
            self._progress(name, self.passes, self.seconds)

    @contextmanager
    def observing(self, estimator: Any) -> Iterator[None]:
        """Observe the fit of an estimator inside `with`."""
        estimator._watch = self
        try:
            with self.counting():
                yield
        finally:
            del estimator._watch

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count passes over the data of a Dask array inside `with`."""
        with observe_passes(self._on_pass):
            yield

    def claim(self, estimator: Any, sample: Sample) -> None:
        """Refuse a checkpoint of another method, other parameters or other data."""
        if self._checkpoint is None:
            return
        design = sample.design
        parameters = {name: _in_words(value) for name, value in estimator.get_params(deep=False).items()}
        self._checkpoint.claim(
            {
                # Not imported: layers below import this module, and the package imports all layers.
                "the version of propense": sys.modules["propense"].__version__,
                "the method": type(estimator).__name__,
                **dict(sorted(parameters.items())),
                "the number of rows": str(design.shape[0]),
                "the number of columns": str(design.shape[1] - 1),
            }
        )
        self._checkpoint.claim_sums(_sums(sample), (self.passes, self.seconds))

    def get(self, part: str) -> Part | None:
        """A part that a stopped fit has kept, if any."""
        return None if self._checkpoint is None else self._checkpoint.get(part)

    def keep(self, part: str, /, *, drop: tuple[str, ...] = (), **values: Any) -> None:
        """Keep a part, and forget those that it makes superfluous."""
        if self._checkpoint is not None:
            self._checkpoint.drop(*drop)
            self._checkpoint.keep(part, values, (self.passes, self.seconds))

    @property
    def keeps(self) -> bool:
        """Whether there is a checkpoint."""
        return self._checkpoint is not None

    def predictor(self, part: str, fit: Callable[[], Predictor]) -> Predictor:
        """A predictor that was kept, or else is fitted, and kept if it is logistic."""
        if (found := self.get(part)) is not None:
            return LogisticPredictor(found["coef"])
        fitted = fit()
        if isinstance(fitted, LogisticPredictor):
            self.keep(part, coef=fitted.coef)
        return fitted

    def solution(self, part: str, solve: Callable[[], tuple[Solution, float]]) -> tuple[Solution, float]:
        """A solution and log(1 − d) that were kept, or else are found and kept."""
        if (found := self.get(part)) is not None:
            solution = Solution(
                found["coef"],
                float(found["value"]),
                float(found["norm"]),
                int(found["n_iter"]),
                bool(found["converged"]),
            )
            return solution, float(found["log_unknown"])
        solution, log_unknown = solve()
        self.keep(
            part,
            coef=solution.coef,
            value=solution.value,
            norm=solution.gradient_norm,
            n_iter=solution.n_iter,
            converged=solution.converged,
            log_unknown=log_unknown,
        )
        return solution, log_unknown

    def _on_pass(self) -> None:
        self.passes += 1
        if self._progress is not None:
            self._progress(self._stage, self.passes, self.seconds)


def coefs(*predictors: Predictor) -> list[Vector] | None:
    """The coefficients of predictors, or None unless all are logistic."""
    found = [each.coef for each in predictors if isinstance(each, LogisticPredictor)]
    return found if len(found) == len(predictors) else None


def _sums(sample: Sample) -> Vector:
    """What the columns sum to, in one pass. Each row has a weight of its own, since parts depend on the order of rows.

    Labelled rows and known negatives are counted several times.
    """
    design = sample.design
    rows = 0.5 + as_float(design.numbers()) * _GOLDEN % 1.0
    rows = rows * (1.0 + 2.0 * as_float(sample.labelled))
    if sample.negative is not None:
        rows = rows * (1.0 + 4.0 * as_float(sample.negative))
    if sample.weights is not None:
        rows = rows * sample.weights
    sums = np.asarray(design.rmatvec(rows))
    missing = np.flatnonzero(np.isnan(sums))
    if len(missing):
        # Only dense features in memory may have missing numbers.
        sums[missing] = rows @ np.nan_to_num(np.asarray(design.columns(missing - 1).features[:]))
    return sums


def _in_words(value: Any) -> str:
    """A parameter in full: the text of long arrays and of estimators leaves parts out."""
    # The state of a generator is not a parameter: what was drawn from it is kept.
    if isinstance(value, np.random.RandomState):
        return "a RandomState"
    if hasattr(value, "get_params") and not isinstance(value, type):
        given = (f"{name}={_in_words(each)}" for name, each in sorted(value.get_params(deep=False).items()))
        return f"{type(value).__name__}({', '.join(given)})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_in_words, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_in_words(key)}: {_in_words(each)}' for key, each in value.items())}}}"
    # Arrays and their numbers, as plain ones.
    if hasattr(value, "tolist"):
        return _in_words(value.tolist())
    # The address of a function is another one in each process.
    return _ADDRESS.sub("", repr(value))
