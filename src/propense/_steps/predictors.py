"""Predictors: functions from rows to log-odds, of being positive or labelled if positive; and the Model of both."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propense._designs import Design, Predictor
from propense._designs.threads import map_in_threads, one_blas_thread, one_thread, slices
from propense._diagnostics.doubts import Doubt
from propense._maths.arrays import Index, Rows, Vector, library_of, to_host
from propense._maths.forest import Forest
from propense._maths.logistic import LARGEST_LOG_ODDS, log_odds_of_log, softplus

__all__ = [
    "ClassifierPredictor",
    "ForestPredictor",
    "LogisticPredictor",
    "Model",
    "OutOfFold",
    "RootPredictor",
    "certain",
    "from_dense_rows",
    "log_chance",
    "logistic_pair",
]

# Rows that one thread scores at a time.
_ROWS = 65_536


@dataclass(frozen=True)
class LogisticPredictor:
    """σ(coefᵀx), with the intercept first."""

    coef: Vector

    def log_odds(self, design: Design) -> Rows:
        return design.matvec(self.coef)


@dataclass(frozen=True)
class RootPredictor:
    """min(1, √(factor·s(x))) with s(x) = σ(coefᵀx)."""

    coef: Vector
    log_factor: float

    def log_odds(self, design: Design) -> Rows:
        # The row that sets k has y = 1: its log-odds are the largest there are.
        return log_odds_of_log(0.5 * (log_chance(design, self.coef) + self.log_factor))


@dataclass(frozen=True)
class ClassifierPredictor:
    """`predict_proba` of a fitted scikit-learn classifier with classes 0 and 1, over some or all of the features."""

    classifier: Any
    columns: Index | None = None

    def log_odds(self, design: Design) -> Rows:
        features = design.features if self.columns is None else design.columns(self.columns).features
        if library_of(features) == "dask":
            return features.map_blocks(self._log_odds_of, drop_axis=1, meta=np.empty(0))
        return design.send(self._log_odds_of(features))

    def _log_odds_of(self, features: Any) -> Vector:
        chances = np.asarray(self.classifier.predict_proba(features), dtype=np.float64)
        with np.errstate(divide="ignore"):
            log_odds = np.log(chances[:, 1]) - np.log(chances[:, 0])
        return np.asarray(np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))


@dataclass(frozen=True)
class ForestPredictor:
    """The log-odds of boosted trees, over some or all of the features."""

    forest: Forest
    columns: Index | None = None

    def log_odds(self, design: Design) -> Rows:
        return from_dense_rows(design if self.columns is None else design.columns(self.columns), self._of_rows)

    def _of_rows(self, rows: NDArray[np.floating]) -> Vector:
        with one_blas_thread() as workers:
            parts = map_in_threads(lambda some: self.forest.log_odds(rows[some]), slices(len(rows), _ROWS), workers)
        return np.concatenate([np.empty(0), *parts])


@dataclass(frozen=True)
class OutOfFold:
    """Log-odds of the rows of fit by models that have not seen them: of y, of e, and of the ends of the range of h."""

    posterior: Any
    propensity: Any
    hidden_range: tuple[Any, Any] | None = None


@dataclass(frozen=True)
class Model:
    """What a method finds: y(x) and e(x), how the fit went, the doubts it raised, and what else to keep.

    Attributes
    ----------
    posterior, propensity : predictor
        y(x) and e(x): objects with ``log_odds(design)``, such as `LogisticPredictor`.
    n_iter, converged, risk_path
        The values of the fitted attributes ``n_iter_``, ``converged_`` and ``risk_path_``.
    doubts : tuple of Doubt
        The method's own reasons not to trust the fit.
    log_unknown : float
        log(1 − d), where d is the share of negatives that are known; 0 if none are.
    kept : dict
        Further fitted attributes, by name; the method's description lists them.
    rows : OutOfFold or None
        The log-odds of y and e of the rows of fit, by models that have not seen them; None if y and e have seen them.
    knows_prior : bool
        Whether y meets what is known of the share of positives.
    """

    posterior: Predictor
    propensity: Predictor
    n_iter: int
    converged: bool
    risk_path: list[float]
    doubts: tuple[Doubt, ...] = ()
    log_unknown: float = 0.0
    kept: dict[str, Any] = field(default_factory=dict)
    rows: OutOfFold | None = None
    knows_prior: bool = False


def from_dense_rows(design: Design, function: Callable[[NDArray[np.floating]], Vector]) -> Rows:
    """A function of dense NumPy rows for the rows of any design: block by block if it has blocks."""
    features = design.features
    if library_of(features) == "dask":
        # Blocks run in parallel already.
        return features.map_blocks(partial(_of_block, function), drop_axis=1, meta=np.empty(0))
    return design.send(_of_dense(function, features))


def _of_block(function: Callable[[NDArray[np.floating]], Vector], features: Any) -> Vector:
    with one_thread():
        return _of_dense(function, features)


def _of_dense(function: Callable[[NDArray[np.floating]], Vector], features: Any) -> Vector:
    return function(features.toarray() if sp.issparse(features) else to_host(features))


def logistic_pair(pair: tuple[Predictor, Predictor] | None) -> tuple[Vector, Vector] | None:
    """β and γ if both predictors are logistic and finite, else None."""
    coefs = [each.coef for each in pair or () if isinstance(each, LogisticPredictor)]
    return (coefs[0], coefs[1]) if len(coefs) == 2 and np.isfinite(coefs).all() else None


def certain(p: int) -> LogisticPredictor:
    """e(x) = 1 for a design of p columns: every positive is labelled."""
    gamma = np.zeros(p)
    gamma[0] = np.inf
    return LogisticPredictor(gamma)


def log_chance(design: Design, coef: Vector) -> Rows:
    """log σ(coefᵀx) of every row."""
    return -softplus(-design.matvec(coef))
