"""Measure a cell of natural labels: fit a method to the past, told what the plan says, and test it on what followed."""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import get_tags

from propense._maths.double_logistic import hidden_positive
from propense._maths.logistic import LARGEST_LOG_ODDS, logit, sigmoid
from propense._steps.corrected import correct_rows
from propense.audit import Audit, correct, draw, read
from propense.errors import InvalidOption
from propense.estimators import BasePUClassifier, Oracle
from propense.estimators._lists import lists_by_class
from propense.study.natural_data import NaturalSplit, split_natural
from propense.study.natural_scores import Answer, score_answers
from propense.study.plan import Cell
from propense.study.record import Record, rounds_of
from propense.study.told import names_columns, words_of

__all__ = ["measure_natural"]

# Rows that are checked in an audit, the audits that are averaged over, and the folds of methods that do not score the
# rows of fit out of fold themselves.
_VERDICTS, _AUDITS, _FOLDS = 200, 20, 5
_SCORES = ("balanced_accuracy", "accuracy", "auc", "f1", "log_loss", "prior_error")

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]


def measure_natural(cell: Cell) -> Record:
    """Fit the method and score it against the truth."""
    data = split_natural(cell.dataset, cell.mechanism)
    problem = _Problem.of(cell, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model = problem.fit(np.arange(len(data.X)))
        seconds = time.perf_counter() - start
        chances, rows = problem.pair(model, problem.X_test), problem.out_of_fold(model)
    if "audit" in problem.told:
        seeds = cell.rng("audit", cell.mechanism).integers(2**31, size=_AUDITS)
        answers = [_audited(model, chances, rows, data, int(seed)) for seed in seeds]
    else:
        answers = [_answer(model, chances, rows, problem)]
    # All methods get the same resamples of rows.
    found = score_answers(answers, data, cell.rng("resamples", cell.mechanism))
    converged = getattr(model, "converged_", None)
    scores: dict[str, Any] = {name: found.pop(name, None) for name in _SCORES}
    return Record(
        **scores,
        seconds=seconds,
        rounds=rounds_of(getattr(model, "n_iter_", None)),
        converged=None if converged is None else bool(converged),
        more=found,
    )


@dataclass(frozen=True)
class _Pair:
    """The log-odds of y, and those of e if the method has an e."""

    y: Rows
    e: Rows | None


@dataclass(frozen=True)
class _Problem:
    """What a method is fitted to, and how it is made."""

    cell: Cell
    X: Rows
    target: Mask
    X_test: Rows
    told: tuple[str, ...]
    parameters: dict[str, Any]
    knows_truth: bool

    @classmethod
    def of(cls, cell: Cell, data: NaturalSplit) -> "_Problem":
        """The problem of a cell, as its method takes it and with what it is told."""
        told, model = tuple(words_of(cell.method.told)), cell.make()
        X, X_test = (data.X, data.X_test) if get_tags(model).input_tags.allow_nan else data.filled
        others = np.setdiff1d(np.arange(X.shape[1]), data.access)
        parameters: dict[str, Any] = {}
        if "access" in told and names_columns(model):
            parameters = {"class_features": others.tolist(), "propensity_features": data.access.tolist()}
        elif "access" in told:
            # The class does not depend on access: a method that has only one model must not see it.
            X, X_test = X[:, others], X_test[:, others]
        if "prevalence" in told:
            parameters["prior"] = float(data.positive.mean())
        truth = "truth" in told or isinstance(model, Oracle)
        return cls(cell, X, data.positive if truth else data.labelled, X_test, told, parameters, truth)

    def fit(self, rows: NDArray[np.intp]) -> Any:
        """The method, fitted to these rows."""
        return self.cell.make().set_params(**self.parameters).fit(self.X[rows], self.target[rows])

    def pair(self, model: Any, X: Rows) -> _Pair:
        """What a fitted method says of rows. One that knows the truth has no e."""
        e = None
        if hasattr(model, "predict_propensity") and not self.knows_truth:
            e = _log_odds(model.predict_propensity(X))
        return _Pair(_log_odds(model.predict_proba(X)[:, 1]), e)

    def out_of_fold(self, model: Any) -> _Pair:
        """What models that have not seen them say of the rows of fit."""
        known = [getattr(model, name, None) for name in ("oof_posterior_", "oof_propensity_")]
        if isinstance(known[0], np.ndarray) and isinstance(known[1], np.ndarray) and not self.knows_truth:
            return _Pair(_log_odds(known[0]), _log_odds(known[1]))
        y, e, has_propensity = np.empty(len(self.X)), np.empty(len(self.X)), False
        for rest, held in StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(self.X, self.target):
            pair = self.pair(self.fit(rest), self.X[held])
            y[held], has_propensity = pair.y, pair.e is not None
            e[held] = 0.0 if pair.e is None else pair.e
        return _Pair(y, e if has_propensity else None)


def _log_odds(chances: Rows) -> Rows:
    return np.asarray(np.clip(logit(chances), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))


def _by_class(model: Any, rows: _Pair) -> bool:
    """Whether the list is ordered by y: as `propense fit` does, and where the method has no h."""
    return rows.e is None or (isinstance(model, BasePUClassifier) and lists_by_class(model))


def _answer(model: Any, chances: _Pair, rows: _Pair, problem: _Problem) -> Answer:
    """What the method says by itself."""
    prior = getattr(model, "prior_", None)
    if type(model).__module__.startswith("sklearn."):
        # scikit-learn's classifiers cut at ½. Balanced accuracy is largest at the share of the target.
        called = sigmoid(chances.y) > problem.target.mean()
    else:
        called = np.asarray(model.predict(problem.X_test)) == model.classes_[1]
    hidden = None if rows.e is None else hidden_positive(rows.y, rows.e)
    return Answer(
        sigmoid(chances.y),
        called,
        sigmoid(rows.y) if hidden is None or _by_class(model, rows) else hidden,
        hidden,
        None if rows.e is None else sigmoid(rows.e),
        None if prior is None else float(prior),
    )


def _audited(model: Any, chances: _Pair, rows: _Pair, data: NaturalSplit, seed: int) -> Answer:
    """What the method says after an audit of rows of fit, whose verdicts are the truth."""
    if chances.e is None or rows.e is None:
        raise InvalidOption(f"{model} has no chances that an audit could correct.")
    hidden, by_class = hidden_positive(rows.y, rows.e), _by_class(model, rows)
    order = sigmoid(rows.y) if by_class else hidden
    drawn = draw(hidden, _VERDICTS, labelled=data.labelled, order=order, random_state=seed)
    audit = Audit(drawn, data.positive[drawn.rows].astype(float))
    found = read(audit, hidden, labelled=data.labelled, order=order)
    corrected = correct(model, found, along="posterior" if by_class else "hidden")
    y, _, _ = correct_rows(chances.y, chances.e, corrected.audit_)
    y_rows, e_rows, _ = correct_rows(rows.y, rows.e, corrected.audit_)
    called, prior = y > logit(corrected.prior_), float(corrected.prior_)
    # An audit does not change the order of the list.
    return Answer(sigmoid(y), called, order, hidden_positive(y_rows, e_rows), sigmoid(e_rows), prior)
