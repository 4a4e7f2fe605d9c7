"""How many folds and rounds the label learners need in tables of many rows, and whether one refit is as good as a mean.

The area under the curve of the true class, by the mean of logistic regression and boosted trees of the labels: of
unlabelled rows out of fold, and of 10 000 new rows by the mean of the fold models and by one model of all rows; and the
seconds of the fits. Simulated clusters and 40 columns of the image features; 15 % and 40 % of the positives are
labelled, the more likely the clearer they are.

Run as ``python benchmarks/boosting_sizes.py [--rows 11000 20000]`` (ten minutes on two cores).
"""

import argparse
import time
from collections.abc import Iterator

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import brentq
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from propense._maths.arrays import Index
from propense._maths.logistic import sigmoid
from propense.datasets import load
from unseen import Mask, Rows

# Rounds and rate, with 31 leaves.
SETTINGS = ((150, 0.1), (100, 0.1), (100, 0.15))
NEW = 10_000


def tables(rows: int) -> Iterator[tuple[Rows, Mask]]:
    """Tables of so many rows and the new ones, in random order, and which rows are positive."""
    for seed, (apart, share) in enumerate(((0.5, 0.3), (1.0, 0.1), (1.0, 0.5))):
        X, y = make_classification(
            rows + NEW,
            30,
            n_informative=10,
            n_clusters_per_class=4,
            class_sep=apart,
            weights=[1 - share],
            random_state=seed,
        )
        yield X, y == 1
    for name in ("cifar10", "mnist", "fashion"):
        found, rng = load(name), np.random.default_rng(0)
        kept = rng.permutation(len(found.X))[: rows + NEW]
        columns = rng.permutation(found.X.shape[1])[:40]
        yield np.asarray(found.X, dtype=np.float64)[np.ix_(kept, columns)], np.asarray(found.y)[kept] == 1


def measure(X: Rows, positive: Mask, frequency: float) -> list[list[float]]:
    """For each setting and number of folds: the three areas, and seconds."""
    logistic = make_pipeline(StandardScaler(), LogisticRegression(C=1e-2))
    clear = logistic.fit(X, positive).decision_function(X)
    clear = 1.5 * (clear - clear.mean()) / clear.std()
    level = brentq(lambda a: sigmoid(clear + a)[positive].mean() - frequency, -50.0, 50.0)
    labelled = positive & (np.random.default_rng(1).random(len(X)) < sigmoid(clear + level))
    fit, new = np.arange(len(X) - NEW), np.arange(len(X) - NEW, len(X))
    out = []
    for rounds, rate in SETTINGS:
        trees = HistGradientBoostingClassifier(
            max_iter=rounds, learning_rate=rate, max_features=0.3, l2_regularization=5.0, early_stopping=False,
            random_state=0,
        )  # fmt: skip

        def scores(rows: Index, of: Index, trees: HistGradientBoostingClassifier = trees) -> Rows:
            models = (each.fit(X[rows], labelled[rows]) for each in (trees, logistic))
            return np.asarray(sum(each.decision_function(X[of]) for each in models))

        for folds in (3, 5):
            begun, held, mean = time.process_time(), np.empty(len(fit)), np.zeros(NEW)
            for rest, some in StratifiedKFold(folds, shuffle=True, random_state=0).split(fit, labelled[fit]):
                found = scores(rest, np.concatenate([some, new]))
                held[some], mean = found[: len(some)], mean + found[len(some) :]
            seconds, rest = time.process_time() - begun, ~labelled[fit]
            areas = [roc_auc_score(positive[fit][rest], held[rest])]
            areas += [roc_auc_score(positive[new], each) for each in (mean, scores(fit, new))]
            out.append([*map(float, areas), seconds])
    return out


def alone(*world: object) -> list[list[float]]:
    """The same in one thread."""
    with threadpool_limits(1):
        return measure(*world)  # type: ignore[arg-type]


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[11_000, 20_000, 40_000])
    asked = parser.parse_args()
    print("| rows | rounds, rate | folds | out of fold | new rows, mean | new rows, refit | seconds |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for rows in asked.rows:
        worlds = [(X, y, frequency) for X, y in tables(rows) for frequency in (0.15, 0.4)]
        found = np.mean(Parallel(n_jobs=2)(delayed(alone)(*world) for world in worlds), axis=0)
        names = [(setting, folds) for setting in SETTINGS for folds in (3, 5)]
        for ((rounds, rate), folds), (out, mean, refit, seconds) in zip(names, found, strict=True):
            print(f"| {rows} | {rounds}, {rate} | {folds} | {out:.4f} | {mean:.4f} | {refit:.4f} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
