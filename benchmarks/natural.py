"""PUClassifier where nobody simulated the labelling: `python benchmarks/natural.py`.

The US health survey NHANES: a doctor told some of those who have diabetes, or high blood pressure, and the survey
measured everybody. `natural/nhanes.csv.gz` in the data folder, `PROPENSE_DATA`. Fitted to the years before 2013,
without the columns that define the class; classes and order are of the people of 2013 and 2014, lists of rows of fit.
"""

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propense import PUClassifier
from propense.datasets.home import data_home
from propense.tables.promise import Promise, add_up
from unseen import Mask, Rows

# The columns that define the class of each task.
DEFINING = {
    "diabetes": ("hba1c", "fasting_glucose", "diabetes_medicine", "told_diabetes"),
    "hypertension": ("sbp", "dbp", "bp_medicine", "told_hypertension"),
}
# Those of the survey's design, and all answers.
_OTHERS = ("seqn", "cycle", "weight", "psu", "stratum", *(f"{kind}_{task}" for kind in "sy" for task in DEFINING))
_YEAR = 2013


@dataclass(frozen=True)
class Task:
    """Rows to fit, their labels and classes; the same of later rows."""

    X: Rows
    labelled: Mask
    positive: Mask
    fresh: Rows
    truth: Mask


def read(table: NDArray[Any], task: str) -> Task:
    """The rows of a task."""
    table = table[~np.isnan(table[f"s_{task}"] + table[f"y_{task}"])]
    early = table["cycle"] < _YEAR
    left_out = {*_OTHERS, *DEFINING[task]}
    X = np.column_stack([table[name] for name in table.dtype.names or () if name not in left_out])
    s, y = (table[f"{kind}_{task}"] == 1 for kind in "sy")
    return Task(X[early], s[early], y[early], X[~early], y[~early])


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


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", type=int, default=200)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    path = data_home() / "natural" / "nhanes.csv.gz"
    if not path.is_file():
        print(f"{path} is not there. Set PROPENSE_DATA to the folder that has it.")
        return
    table = np.genfromtxt(path, delimiter=",", names=True)
    columns = ("labelled", "positive among the others", "positive in truth", "estimated range", "area under the curve")
    print(f"| | rows | {' | '.join(columns)} | balanced accuracy | of logistic regression on the true class ", end="")
    print(f"| promised of the first {asked.top} | found |\n| --- |{' ---: |' * 10}")
    for task in DEFINING:
        print(f"| {task} | {' | '.join(measure(read(table, task), asked.top))} |", flush=True)


if __name__ == "__main__":
    main()
