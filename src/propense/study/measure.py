"""One cell measured: split, prepare, label, fit, score. Pure: the same cell gives the same numbers anywhere."""

import time
import warnings
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import mutual_info_classif
from sklearn.model_selection import train_test_split

from propense._maths.logistic import logit, sigmoid
from propense.datasets import Dataset, load
from propense.estimators import Oracle
from propense.labelling import MECHANISMS, Labelling, class_score, draw_labels, simulate
from propense.study.plan import METHODS, Cell
from propense.study.scores import area_under_curve, counted, log_loss

__all__ = ["Prepared", "Record", "measure", "prepare"]

# At most so many columns, the most informative of the class; the paper's number.
_WIDEST = 30
_ALIKE = 0.95
# Stands where the method does not matter.
_ANY = METHODS["oracle"]

Shared = TypeVar("Shared", "Prepared", Labelling)


@dataclass(frozen=True)
class Record:
    """What was measured of a cell, on the test rows but for the errors of e and of the prior (training rows).

    `error` says why a cell could not be measured; the scores are then None.
    """

    balanced_accuracy: float | None = None
    accuracy: float | None = None
    auc: float | None = None
    f1: float | None = None
    log_loss: float | None = None
    propensity_error: float | None = None
    prior_error: float | None = None
    seconds: float | None = None
    rounds: int | None = None
    converged: bool | None = None
    error: str | None = None


@dataclass(frozen=True)
class Prepared:
    """A split, ready to be labelled."""

    X_train: NDArray[Any]
    y_train: NDArray[np.bool_]
    X_test: NDArray[Any]
    y_test: NDArray[np.bool_]


def measure(cell: Cell) -> Record:
    """Fit the method to labels drawn for this cell and score it against the truth; what goes wrong is recorded."""
    try:
        return _score(cell, prepare(cell.dataset, cell.protocol, cell.repeat, cell.seed))
    except (Exception, SystemExit) as error:
        return Record(error=f"{type(error).__name__}: {error}")


def _score(cell: Cell, data: Prepared) -> Record:
    drawn = _label(replace(cell, method=_ANY))
    model = cell.method.make()
    if "random_state" in model.get_params() and model.get_params()["random_state"] is None:
        model.set_params(random_state=int(cell.rng("method", cell.method.name).integers(2**31)))
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
    balanced_accuracy, accuracy, f1 = counted(data.y_test, predicted)
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
        rounds=_rounds(getattr(model, "n_iter_", None)),
        converged=None if converged is None else bool(converged),
    )


def _rounds(n_iter: Any) -> int | None:
    """A number, or the largest of several, as scikit-learn's own estimators have them."""
    return None if n_iter is None or np.size(n_iter) == 0 else int(np.max(n_iter))


@lru_cache(maxsize=1)
def _label(cell: Cell) -> Labelling:
    """The labels of a cell, which the methods share."""
    data = prepare(cell.dataset, cell.protocol, cell.repeat, cell.seed)
    # By the mechanism's own generator, so that other mechanisms in the plan move nothing.
    rng = cell.rng("labels", cell.mechanism, repr(float(cell.frequency)))
    mechanism = MECHANISMS[cell.mechanism]
    if cell.protocol == "clean" or mechanism.follows != "class":
        return _kept(simulate(data.X_train, data.y_train, mechanism, cell.frequency, rng))
    # The paper took the log-odds of fitted probabilities, and .999 and .001 for those that are exactly 1 and 0.
    score = class_score(data.X_train, data.y_train)
    chance = sigmoid(score)
    score = np.where(chance == 1.0, logit(0.999), np.where(chance == 0.0, logit(0.001), score))
    propensity = mechanism.propensity(score, data.y_train, cell.frequency)
    return _kept(Labelling(draw_labels(propensity, data.y_train, rng), propensity))


@lru_cache(maxsize=2)
def _loaded(dataset: str) -> Dataset:
    return load(dataset, download=False)


@lru_cache(maxsize=4)
def prepare(dataset: str, protocol: str, repeat: int, seed: int) -> Prepared:
    """The split of a repeat, its columns scaled and chosen."""
    data = _loaded(dataset)
    if protocol == "paper":
        X, chosen = _whole(dataset)
        train, test = _rows(data.y, data.test, repeat)
        return _kept(Prepared(X[train][:, chosen], data.y[train], X[test][:, chosen], data.y[test]))
    train, test = _rows(data.y, data.test, int(_split_rng(dataset, repeat, seed).integers(2**31)))
    X = _fill(data.X, data.X[train])
    X_train, X_test = (_scale(X[rows], X[train], "z-score") for rows in (train, test))
    chosen = choose_columns(X_train, data.y[train])
    return _kept(Prepared(X_train[:, chosen], data.y[train], X_test[:, chosen], data.y[test]))


def _kept(shared: Shared) -> Shared:
    """Locked, since other cells use the same arrays: an estimator that writes into its input fails, and alone."""
    for each in fields(shared):
        getattr(shared, each.name).setflags(write=False)
    return shared


@lru_cache(maxsize=2)
def _whole(dataset: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The paper's preparation, on the whole set with the true classes: a leak, kept because its numbers have it."""
    data = _loaded(dataset)
    train = np.arange(len(data.y)) if data.test is None else np.flatnonzero(~data.test)
    X = _fill(data.X, data.X[train])
    X = _scale(X, X[train], data.entry.scaling)
    return X, choose_columns(X[train], data.y[train])


def choose_columns(X: NDArray[Any], y: NDArray[np.bool_]) -> NDArray[np.intp]:
    """No column that is nearly an earlier one (correlation ≥ 0.95, signed), and the 30 most informative of the rest."""
    with np.errstate(invalid="ignore"):
        correlation = np.nan_to_num(np.corrcoef(X.T.astype(np.float64)).reshape(X.shape[1], X.shape[1]))
    kept = np.array([j for j in range(X.shape[1]) if not (correlation[:j, j] >= _ALIKE).any()])
    if len(kept) <= _WIDEST:
        return kept
    information = mutual_info_classif(X[:, kept], y, random_state=0)
    return np.sort(kept[np.argsort(-information, kind="stable")[:_WIDEST]])


def _rows(
    y: NDArray[np.bool_], test: NDArray[np.bool_] | None, state: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows of the training and test parts: the fixed ones, or three quarters and a quarter."""
    if test is not None:
        return np.flatnonzero(~test), np.flatnonzero(test)
    train, held = train_test_split(np.arange(len(y)), random_state=state)
    return train, held


def _split_rng(dataset: str, repeat: int, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, repeat, *dataset.encode()])


def _fill(X: NDArray[Any], reference: NDArray[Any]) -> NDArray[Any]:
    """Missing cells filled by the median of their column."""
    if not np.isnan(X).any():
        return X
    return np.where(np.isnan(X), np.nanmedian(reference, axis=0), X)


def _scale(X: NDArray[Any], reference: NDArray[Any], how: str) -> NDArray[Any]:
    """Columns scaled by what the reference rows say; a constant column is only moved."""
    if how == "raw":
        return X
    if how == "min-max":
        place, width = reference.min(axis=0), np.ptp(reference, axis=0)
    else:
        place, width = reference.mean(axis=0), reference.std(axis=0)
    return np.asarray((X - place) / np.where(width == 0, 1, width))
