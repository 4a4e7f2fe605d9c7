"""Measure one cell: split, prepare, label, fit, score. The same cell always gives the same numbers."""

import time
import warnings
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from propense._maths.logistic import logit, sigmoid
from propense.datasets import Dataset, load
from propense.estimators import Oracle
from propense.labelling import MECHANISMS, Labelling, class_score, draw_labels, simulate
from propense.study.natural import measure_natural
from propense.study.plan import PAPER_METHODS, Cell
from propense.study.record import Record, rounds_of
from propense.study.scores import area_under_curve, classification_scores, log_loss

__all__ = ["Prepared", "Record", "measure", "prepare"]

# The paper keeps at most 30 columns, those with the most information about the class, and drops near-copies.
_MAX_COLUMNS = 30
_MAX_CORRELATION = 0.95
# Used as the cell's method where the method does not matter.
_ANY_METHOD = PAPER_METHODS["oracle"]

Shared = TypeVar("Shared", "Prepared", Labelling)


@dataclass(frozen=True)
class Prepared:
    """A split, ready to be labelled."""

    X_train: NDArray[Any]
    y_train: NDArray[np.bool_]
    X_test: NDArray[Any]
    y_test: NDArray[np.bool_]


def measure(cell: Cell) -> Record:
    """Fit the method to labels drawn for this cell, or to natural ones, and score it against the true classes.

    Errors are recorded.
    """
    try:
        if cell.protocol == "natural":
            return measure_natural(cell)
        return _score(cell, prepare(cell.dataset, cell.protocol, cell.repeat, cell.seed))
    except (Exception, SystemExit) as error:
        return Record(error=f"{type(error).__name__}: {error}")


def _score(cell: Cell, data: Prepared) -> Record:
    drawn = _label(replace(cell, method=_ANY_METHOD))
    model = cell.make()
    target = data.y_train if isinstance(model, Oracle) else drawn.labelled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(data.X_train, target)
        seconds = time.perf_counter() - start
    predicted = np.asarray(model.predict(data.X_test)) == model.classes_[1]
    posterior = model.predict_proba(data.X_test)[:, 1]
    propensity_error = None
    if hasattr(model, "predict_propensity") and not isinstance(model, Oracle):
        positive = data.y_train
        propensity_error = float(np.abs(model.predict_propensity(data.X_train) - drawn.propensity)[positive].mean())
    balanced_accuracy, accuracy, f1 = classification_scores(data.y_test, predicted)
    prior, converged = getattr(model, "prior_", None), getattr(model, "converged_", None)
    return Record(
        balanced_accuracy=balanced_accuracy,
        accuracy=accuracy,
        f1=f1,
        auc=area_under_curve(data.y_test, posterior),
        log_loss=log_loss(data.y_test, posterior),
        propensity_error=propensity_error,
        prior_error=None if prior is None else float(abs(prior - data.y_train.mean())),
        seconds=seconds,
        rounds=rounds_of(getattr(model, "n_iter_", None)),
        converged=None if converged is None else bool(converged),
    )


@lru_cache(maxsize=1)
def _label(cell: Cell) -> Labelling:
    """The labels of a cell. All methods get the same ones."""
    data = prepare(cell.dataset, cell.protocol, cell.repeat, cell.seed)
    # Each mechanism has its own generator, so that other mechanisms in the plan do not change its labels.
    frequency = float(cell.frequency or 0.0)
    rng = cell.rng("labels", cell.mechanism, repr(frequency))
    mechanism = MECHANISMS[cell.mechanism]
    if cell.protocol == "clean" or mechanism.follows != "class":
        return _lock(simulate(data.X_train, data.y_train, mechanism, frequency, rng))
    # The paper used the log-odds of fitted probabilities, with 0.999 and 0.001 in place of exactly 1 and 0.
    score = class_score(data.X_train, data.y_train)
    probability = sigmoid(score)
    score = np.where(probability == 1.0, logit(0.999), np.where(probability == 0.0, logit(0.001), score))
    propensity = mechanism.propensity(score, data.y_train, frequency)
    return _lock(Labelling(draw_labels(propensity, data.y_train, rng), propensity))


@lru_cache(maxsize=2)
def _load(dataset: str) -> Dataset:
    return load(dataset, download=False)


@lru_cache(maxsize=4)
def prepare(dataset: str, protocol: str, repeat: int, seed: int) -> Prepared:
    """The split of a repeat, with its columns scaled and selected."""
    data = _load(dataset)
    if protocol == "paper":
        X, chosen = _prepare_whole(dataset)
        train, test = _split_rows(data.y, data.test, repeat)
        return _lock(Prepared(X[train][:, chosen], data.y[train], X[test][:, chosen], data.y[test]))
    rng = np.random.default_rng([seed, repeat, *dataset.encode()])
    train, test = _split_rows(data.y, data.test, int(rng.integers(2**31)))
    X = _fill(data.X, data.X[train])
    X_train, X_test = (_scale(X[rows], X[train], "z-score") for rows in (train, test))
    chosen = choose_columns(X_train, data.y[train])
    return _lock(Prepared(X_train[:, chosen], data.y[train], X_test[:, chosen], data.y[test]))


def _lock(shared: Shared) -> Shared:
    """Make arrays read-only. Other cells use them too; a method that writes into its input fails only its own cell."""
    for each in fields(shared):
        getattr(shared, each.name).setflags(write=False)
    return shared


@lru_cache(maxsize=2)
def _prepare_whole(dataset: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The paper's preparation, on all rows with the true classes. It leaks, but the published numbers include that."""
    data = _load(dataset)
    train = np.arange(len(data.y)) if data.test is None else np.flatnonzero(~data.test)
    X = _fill(data.X, data.X[train])
    X = _scale(X, X[train], data.entry.scaling)
    return X, choose_columns(X[train], data.y[train])


def choose_columns(X: NDArray[Any], y: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Drop columns that nearly copy an earlier one (signed correlation ≥ 0.95); keep the 30 most informative others."""
    with np.errstate(invalid="ignore"):
        correlation = np.nan_to_num(np.corrcoef(X.T.astype(np.float64)).reshape(X.shape[1], X.shape[1]))
    kept = np.array([j for j in range(X.shape[1]) if not (correlation[:j, j] >= _MAX_CORRELATION).any()])
    if len(kept) <= _MAX_COLUMNS:
        return kept
    from sklearn.feature_selection import mutual_info_classif

    information = mutual_info_classif(X[:, kept], y, random_state=0)
    return np.sort(kept[np.argsort(-information, kind="stable")[:_MAX_COLUMNS]])


def _split_rows(
    y: NDArray[np.bool_], test: NDArray[np.bool_] | None, state: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows of the training and test parts: those of the data set, or a random three quarters and one quarter."""
    if test is not None:
        return np.flatnonzero(~test), np.flatnonzero(test)
    from sklearn.model_selection import train_test_split

    train, held = train_test_split(np.arange(len(y)), random_state=state)
    return train, held


def _fill(X: NDArray[Any], reference: NDArray[Any]) -> NDArray[Any]:
    """Fill missing values with the column's median over the reference rows."""
    if not np.isnan(X).any():
        return X
    return np.where(np.isnan(X), np.nanmedian(reference, axis=0), X)


def _scale(X: NDArray[Any], reference: NDArray[Any], how: str) -> NDArray[Any]:
    """Scale columns by the reference rows; a constant column is only shifted."""
    if how == "raw":
        return X
    if how == "min-max":
        offset, width = reference.min(axis=0), np.ptp(reference, axis=0)
    else:
        offset, width = reference.mean(axis=0), reference.std(axis=0)
    return np.asarray((X - offset) / np.where(width == 0, 1, width))
