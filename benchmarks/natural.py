"""PUClassifier where nobody simulated the labelling: `python benchmarks/natural.py`, or with `--columns`.

The US health survey NHANES: a doctor told some of those who have diabetes, or high blood pressure, and the survey
measured everybody. `propense datasets fetch nhanes` brings it. Fitted to the years before 2013, without the columns
that define the class; classes and order are of the people of 2013 and 2014, lists of rows of fit.
`--columns` compares what may be said of the columns that speak of access to care: nothing; that being ill (y) does not
depend on them; that the chance of a label (e) depends on them alone; both. `--drop visits` leaves out a column.
"""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propense import SAREM, PUClassifier
from propense.datasets import load_nhanes
from propense.datasets.nhanes import ACCESS
from propense.datasets.nhanes_table import TASKS, nhanes_path
from propense.tables.promise import Promise, add_up
from unseen import Mask, Rows

_YEAR = 2013


@dataclass(frozen=True)
class Task:
    """Rows to fit, their labels and classes, and the columns; the same of later rows."""

    X: Rows
    labelled: Mask
    positive: Mask
    fresh: Rows
    truth: Mask
    fresh_labelled: Mask
    names: tuple[str, ...]


def read(task: str, drop: Sequence[str] = ()) -> Task:
    """The rows of a task, without some columns."""
    data = load_nhanes(task, download=False)
    kept = [j for j, name in enumerate(data.columns) if name not in drop]
    X, s, y, early = data.X[:, kept], data.labelled, data.positive, data.cycle < _YEAR
    names = tuple(data.columns[j] for j in kept)
    return Task(X[early], s[early], y[early], X[~early], y[~early], s[~early], names)


def measure(task: Task, top: int) -> list[str]:
    """A cell for each column of the table."""
    model = PUClassifier(random_state=0).fit(task.X, task.labelled)
    y = model.predict_proba(task.fresh)[:, 1]
    rest = np.flatnonzero(~task.labelled)
    listed = rest[np.argsort(-model.oof_posterior_[rest], kind="stable")[:top]]
    promise = Promise.of(add_up(model.oof_hidden_[listed], model.oof_hidden_range_[listed]))
    told = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression(max_iter=1000))
    chances = told.fit(task.X, task.positive).predict_proba(task.fresh)[:, 1]
    return [
        f"{len(task.X)}",
        f"{task.labelled.mean():.3f}",
        f"{task.positive[rest].mean():.3f}",
        f"{task.positive.mean():.3f}",
        f"{model.diagnosis_.low:.3f} to {model.diagnosis_.high:.3f}",
        f"{roc_auc_score(task.truth, y):.3f}",
        f"{balanced_accuracy_score(task.truth, model.predict(task.fresh)):.3f}",
        f"{balanced_accuracy_score(task.truth, chances > task.positive.mean()):.3f}",
        f"{promise.low:.0f} to {promise.high:.0f}",
        f"{task.positive[listed].sum()}",
    ]


def compare_columns(name: str, task: Task, methods: Sequence[str]) -> Iterator[list[str]]:
    """A line for each method and each way to name the columns of access to care."""
    access = [j for j, column in enumerate(task.names) if column in ACCESS]
    others = [j for j in range(len(task.names)) if j not in access]
    finite = make_pipeline(SimpleImputer(strategy="median"), StandardScaler()).fit(task.X)
    for method in methods:
        model, read = (SAREM(), finite.transform) if method == "SAREM" else (PUClassifier(random_state=0), np.asarray)
        for words, columns in {
            "nothing": {},
            "not for y": {"class_features": others},
            "alone for e": {"propensity_features": access},
            "both": {"class_features": others, "propensity_features": access},
        }.items():
            model.set_params(**{"class_features": None, "propensity_features": None, **columns})
            model.fit(read(task.X), task.labelled)
            y, rest = model.predict_proba(read(task.fresh))[:, 1], ~task.fresh_labelled
            chance = y * model.predict_propensity(read(task.fresh))
            yield [
                name,
                method,
                words,
                f"{roc_auc_score(task.truth, y):.3f}",
                f"{roc_auc_score(task.truth[rest], y[rest]):.3f}",
                f"{model.prior_:.3f}",
                f"{task.positive.mean():.3f}",
                f"{log_loss(task.fresh_labelled, chance):.4f}",
            ]


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", type=int, default=200)
    parser.add_argument("--columns", action="store_true", help="name columns of y and e, and compare")
    parser.add_argument("--methods", nargs="+", default=["SAREM", "PUClassifier"], help="with --columns")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--drop", nargs="+", default=[], help="columns to leave out")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if not nhanes_path().is_file():
        print(f"{nhanes_path()} is not there. Bring it with `propense datasets fetch nhanes`.")
        return
    if asked.columns:
        print("| task | method | columns of access | area under the curve | among the unlabelled ", end="")
        print(f"| P(Y=1), estimated | true | loss of the labels |\n| --- | --- | --- |{' ---: |' * 5}")
        for task in asked.tasks:
            for line in compare_columns(task, read(task, asked.drop), asked.methods):
                print(f"| {' | '.join(line)} |", flush=True)
        return
    columns = ("labelled", "positive among the others", "positive in truth", "estimated range", "area under the curve")
    print(f"| | rows | {' | '.join(columns)} | balanced accuracy | of logistic regression on the true class ", end="")
    print(f"| promised of the first {asked.top} | found |\n| --- |{' ---: |' * 10}")
    for task in asked.tasks:
        print(f"| {task} | {' | '.join(measure(read(task, asked.drop), asked.top))} |", flush=True)


if __name__ == "__main__":
    main()
