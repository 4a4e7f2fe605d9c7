"""Columns that were named for e and may move y too: `python benchmarks/named_columns.py`.

y follows six numbers, one of them curved; 20 % of the rows are positive. e depends on further columns: three numbers,
4 categories or 30. In the worlds called "e only" these do not move y, in "both" they do. Only they are named, as
`propensity_features`, so that y may use all columns. Lists are in the order of h of the rows of fit; "off" is the error
of the number of positives that a list promises, as a share of its length, and "held" how often its range contains the
number.

The slopes that y has of its own over the named columns are shrunk by a ridge. `--times 1,10,k` multiplies it: by 1, by
10, by the number of these slopes, as PUClassifier does.
"""

import argparse
import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from propense import PUClassifier
from propense._maths.logistic import sigmoid
from propense._risks import PairRisk
from propense._steps import named_pair
from propense.errors import DoubtfulFit
from propense.tables.promise import Promise, add_up
from unseen import Mask, Rows

NUMBERS = 6
DRIVERS = ("3 numbers", "4 categories", "30 categories")
LENGTHS = (50, 200)
COLUMNS = (
    "P(Y=1) off",
    "held",
    "area, unlabelled",
    "balanced accuracy",
    *(f"first {length}{what}" for length in LENGTHS for what in ("", ", off", ", held")),
)


def world(drivers: str, moves_y: bool, rows: int, seed: int) -> tuple[Rows, Mask, Mask]:
    """X with the drivers last, who is positive, and who is labelled."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows, NUMBERS))
    score = 1.2 * Z[:, 0] + 1.2 * np.abs(Z[:, 1]) + 0.7 * Z[:, 2]
    if drivers == "3 numbers":
        V = rng.normal(size=(rows, 3))
        e, of_y = V @ np.array([1.0, 0.6, 0.0]), V @ np.array([0.9, -0.3, 0.5])
    else:
        levels = int(drivers.split()[0])
        group = rng.integers(0, levels, rows)
        V = np.eye(levels)[group]
        e, of_y = rng.normal(0.0, 1.0, levels)[group], rng.normal(0.0, 0.8, levels)[group]
    score = score + of_y if moves_y else score
    positive = rng.random(rows) < sigmoid(2.0 * (score - np.quantile(score, 0.8)))
    labelled = positive & (rng.random(rows) < sigmoid(e - 0.4))
    return np.hstack([Z, V]), positive, labelled


def shrunk(times: str) -> Any:
    """PairRisk with the ridge of y's own slopes multiplied."""

    def make(*args: Any, ridge: NDArray[np.float64], **options: Any) -> PairRisk:
        plain = ridge.copy()
        plain[1:] /= max(len(plain) - 1, 1)
        plain[1:] *= max(len(plain) - 1, 1) if times == "k" else float(times)
        return PairRisk(*args, ridge=plain, **options)

    return patch.object(named_pair, "PairRisk", make)


def measure(drivers: str, moves_y: bool, rows: int, times: str, seed: int) -> list[float]:
    """`COLUMNS` in one world."""
    X, positive, labelled = world(drivers, moves_y, rows, seed)
    model = PUClassifier(random_state=0, propensity_features=list(range(NUMBERS, X.shape[1])))
    with shrunk(times), warnings.catch_warnings():
        warnings.simplefilter("ignore", DoubtfulFit)
        model.fit(X, labelled)
    share, known = positive.mean(), model.diagnosis_
    found = [
        abs(model.prior_ - share),
        float(known.low <= share <= known.high),
        float(roc_auc_score(positive[~labelled], model.oof_hidden_[~labelled])),
        float(balanced_accuracy_score(positive, model.predict(X))),
    ]
    order = np.argsort(-np.where(labelled, -1.0, model.oof_hidden_), kind="stable")
    for length in LENGTHS:
        listed, count = order[:length], int(positive[order[:length]].sum())
        promise = Promise.of(add_up(model.oof_hidden_[listed], model.oof_hidden_range_[listed]))
        found += [count / length, abs(promise.expected - count) / length, float(promise.low <= count <= promise.high)]
    return found


def main() -> None:
    """Print a row for each world and each multiple."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", default="1,k", help="multiples of the ridge, k for the number of slopes")
    parser.add_argument("--rows", default="1500,5000")
    parser.add_argument("--seeds", type=int, default=14)
    parser.add_argument("--jobs", type=int, default=-1)
    asked = parser.parse_args()
    print("| rows | e depends on | it moves | times |", " | ".join(COLUMNS), "|")
    print("| ---: | --- | --- | --- |" + " ---: |" * len(COLUMNS))
    for rows in map(int, asked.rows.split(",")):
        for drivers in DRIVERS:
            for moves_y in (False, True):
                for times in asked.times.split(","):
                    found = Parallel(n_jobs=asked.jobs)(
                        delayed(measure)(drivers, moves_y, rows, times, seed) for seed in range(asked.seeds)
                    )
                    moved = "both" if moves_y else "e only"
                    cells = " | ".join(f"{value:.3f}" for value in np.mean(found, axis=0))
                    print(f"| {rows:,} | {drivers} | {moved} | {times} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
