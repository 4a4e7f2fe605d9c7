"""The constants of PUClassifier, halved and doubled, on two halves of the tables: `python benchmarks/constants.py`.

The 16 tables of the JERM paper, prepared as there, from the data folder; at most 1 000 rows to fit. They are dealt to
two halves in turn. The error is the mean of three: 1 − balanced accuracy on held-out rows, the error of P(Y=1), and the
error of what a list half as long as the number of hidden positives promises. A constant that was fitted to some tables
rather than found in them would be best on one half only. "Loss" is what choosing it on one half costs on the other,
compared with the best choice there.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score

from propense import PUClassifier
from propense._steps import label_learners, label_scores, learner_weights, pair_curve, readings
from propense._steps.label_learners import BOOSTED, LOGISTIC, TREES, LabelLearner
from propense.datasets import names
from propense.estimators import _pu
from propense.study.measure import prepare
from review_lists import draw, held, top
from unseen import Mask, Rows

MECHANISMS = ("S1", "S2", "steep along a direction", "fall along a curved score")
FACTORS = (0.5, 1.0, 2.0)
ROWS = 1000


def _of_module(module: Any, name: str) -> Callable[[float], Any]:
    """Multiply a constant of a module."""
    return lambda factor: patch.object(module, name, factor * getattr(module, name))


def _of_learner(learner: str, change: Callable[[LabelLearner, float, int], LabelLearner]) -> Callable[[float], Any]:
    """Change what a learner of the labels is made with."""
    make = label_learners.auto_learners

    def changed(factor: float, sample: Any, seed: int) -> list[LabelLearner]:
        n = sample.design.shape[0]
        return [change(each, factor, n) if each.name == learner else each for each in make(sample, seed)]

    return lambda factor: patch.object(_pu, "auto_learners", partial(changed, factor))


def _of_classifier(learner: str, option: str) -> Callable[[float], Any]:
    """Multiply an option of a classifier; a whole number stays one, and a share at most 1."""

    def change(each: LabelLearner, factor: float, _: int) -> LabelLearner:
        value = each.classifier.get_params()[option]
        moved = max(round(factor * value), 1) if isinstance(value, int) else min(factor * value, 1.0)
        return replace(each, classifier=clone(each.classifier).set_params(**{option: moved}))

    return _of_learner(learner, change)


# What multiplies each constant while a fit runs.
CONSTANTS: dict[str, Callable[[float], Any]] = {
    "penalty of logistic regression, √n": _of_learner(
        # A fold is fitted to four fifths of the rows.
        LOGISTIC,
        lambda each, factor, n: replace(each, ridge=factor * math.sqrt(0.8 * n)),
    ),
    "boosting, rounds, 100": _of_classifier(BOOSTED, "max_iter"),
    "boosting, leaves, 15": _of_classifier(BOOSTED, "max_leaf_nodes"),
    "boosting, columns at a split, 30 %": _of_classifier(BOOSTED, "max_features"),
    "extra trees, rows of a leaf, √n/3": _of_classifier(TREES, "min_samples_leaf"),
    "penalty on different weights, 100": _of_module(learner_weights, "_EVEN"),
    "evidence for a linear pair, 10": _of_module(pair_curve, "STRONG"),
    "standard errors for a linear learner alone, 2": _of_module(learner_weights, "_CLEARLY"),
    "climb, 2": _of_module(pair_curve, "_CLIMB"),
    "climb, power 4": _of_module(pair_curve, "_POWER"),
    "bells, rows of the width, 50": _of_module(readings, "_ROWS"),
    "bells, width, ½": _of_module(readings, "_SHRUNK"),
    "bells, penalty on the slope of e, 3√n": _of_module(readings, "_SLOPE_RIDGE"),
}
# What is added to a range, the last constant.
_widen = _of_module(readings, "WIDER")


@contextmanager
def remembered() -> Iterator[None]:
    """Learners that were already fitted to the same rows in here are not fitted again."""
    known: dict[Any, Any] = {}
    fit = label_scores._fit_one

    def fit_once(learner: LabelLearner, sample: Any, design: Any, held: Any) -> Any:
        key = repr(learner), None if held is None else held.tobytes()
        if key not in known:
            known[key] = fit(learner, sample, design, held)
        return known[key]

    with patch.object(label_scores, "_fit_one", fit_once):
        yield


def data(table: str) -> tuple[Rows, Mask, Rows, Mask]:
    """Rows to fit, which of them are positive, and the same of rows that are held out."""
    split = prepare(table, "paper", 0, 0)
    rows = np.random.default_rng(0).permutation(len(split.X_train))[:ROWS]
    X, fresh = (np.asarray(each, dtype=np.float64) for each in (split.X_train[rows], split.X_test))
    return X, split.y_train[rows], fresh, split.y_test


def outcome(X: Rows, positive: Mask, labelled: Mask, fresh: Rows, truth: Mask) -> list[float]:
    """1 − balanced accuracy, the error of P(Y=1) and of a list's promise; whether the ranges of the latter two hold."""
    model = PUClassifier(random_state=0).fit(X, labelled)
    listed = top(model.oof_posterior_, positive, labelled)
    promise = float(model.oof_hidden_[listed].mean()) - float(positive[listed].mean())
    accuracy = float(balanced_accuracy_score(truth, model.predict(fresh)))
    off = abs(model.prior_ - float(positive.mean()))
    return [1.0 - accuracy, off, abs(promise), *held(model, listed, positive)]


def measure(table: str, mechanism: str) -> list[list[list[float]]]:
    """The outcomes in one world, for each constant and factor; the width of the range is the last constant."""
    X, positive, fresh, truth = data(table)
    labelled = draw(table, X, positive, mechanism, 0)
    with remembered():
        usual = outcome(X, positive, labelled, fresh, truth)

        def changed(change: Callable[[float], Any], factor: float) -> list[float]:
            with change(factor):
                return outcome(X, positive, labelled, fresh, truth)

        changes = (*CONSTANTS.values(), _widen)
        return [[usual if factor == 1.0 else changed(change, factor) for factor in FACTORS] for change in changes]


def loss(one: Rows, other: Rows) -> float:
    """What the choice that is best on one half costs on the other, compared with the best there."""
    return float(other[one.argmin()] - other.min())


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    tables = names()[:16]
    made = [(table, mechanism) for table in tables for mechanism in MECHANISMS]
    found = np.array(Parallel(n_jobs=asked.jobs)(delayed(measure)(*each) for each in made))
    first = np.array([tables.index(table) % 2 == 0 for table, _ in made])
    halves = [found[rows].mean(axis=0) for rows in (first, ~first)]
    print("| error | one half: halved | as it is | doubled | other half: halved | as it is | doubled | loss |")
    print("| --- |" + " ---: |" * 7)
    for place, name in enumerate(CONSTANTS):
        one, other = (half[place, :, :3].mean(axis=-1) for half in halves)
        worst = max(loss(one, other), loss(other, one))
        print(f"| {name} | {' | '.join(f'{each:.4f}'.lstrip('0') for each in (*one, *other, worst))} |")
    for name, kind in (("a list's yield", 3), ("P(Y=1)", 4)):
        shares = [f"{share:.0%}" for half in halves for share in half[-1, :, kind]]
        print(f"| the range's 1¼: how often that of {name} holds | {' | '.join(shares)} | |")


if __name__ == "__main__":
    main()
