"""What a list of rows to review holds, and what it promises: `python benchmarks/review_lists.py`.

Rows of fit, a list half as long as the number of hidden positives. Order and promise come from values out of fold: of
a logistic regression and of boosted trees of the labels, and of PUClassifier, with logistic regression alone and with
both. Data and labelling as in `benchmarks/unseen.py`; with `--paper` the 16 tables of the JERM paper, prepared as
there, from the data folder.
"""

import argparse
import warnings
import zlib
from collections.abc import Iterator

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from propense import PUClassifier
from propense.datasets import names
from propense.study.measure import prepare
from propense.tables.promise import Promise, add_up
from unseen import MECHANISMS, Mask, Rows, label, print_means, sets

COLUMNS = (
    "logistic regression",
    "boosted trees",
    "linear",
    "PUClassifier",
    "promised",
    "off",
    "held",
    "prior held",
)


def paper_sets() -> Iterator[tuple[str, Rows, Mask]]:
    """The 16 tables of the paper, training rows of the first split."""
    for name in names()[:16]:
        data = prepare(name, "paper", 0, 0)
        yield name, np.asarray(data.X_train, dtype=np.float64), data.y_train


World = tuple[str, Rows, Mask, str, int]


def worlds(paper: bool, seeds: int) -> list[World]:
    """Every data set with every labelling rule and seed."""
    data = list(paper_sets() if paper else sets())
    return [(*each, mechanism, seed) for each in data for mechanism in MECHANISMS for seed in range(seeds)]


def draw(name: str, X: Rows, positive: Mask, mechanism: str, seed: int) -> Mask:
    """The labels of a world."""
    warnings.simplefilter("ignore")
    return label(X, positive, mechanism, np.random.default_rng([seed, zlib.crc32(f"{name}, {mechanism}".encode())]))


def top(score: Rows, positive: Mask, labelled: Mask) -> NDArray[np.intp]:
    """The unlabelled rows of the highest scores, half as many as there are positives among them."""
    rest = np.flatnonzero(~labelled)
    length = max(int((positive & ~labelled).sum() / 2), 5)
    return rest[np.argsort(-score[rest], kind="stable")[:length]]


def held(model: PUClassifier, listed: NDArray[np.intp], positive: Mask) -> list[float]:
    """1 where the range of a list's yield holds what is found, else 0; and the same of P(Y=1)."""
    promise = Promise.of(add_up(model.oof_hidden_[listed], model.oof_hidden_range_[listed]))
    yielded = promise.low <= positive[listed].sum() <= promise.high
    prior = model.diagnosis_.low <= positive.mean() <= model.diagnosis_.high
    return [float(yielded), float(prior)]


def measure(name: str, X: Rows, positive: Mask, mechanism: str, seed: int) -> list[float]:
    """The precision of four lists; then of the last the promise, its error, and whether the ranges hold."""
    labelled = draw(name, X, positive, mechanism, seed)
    plain = [
        cross_val_predict(model, X, labelled, method="decision_function")
        for model in (LogisticRegression(max_iter=1000), HistGradientBoostingClassifier(max_iter=80, max_leaf_nodes=8))
    ]
    linear = PUClassifier(learners="linear", random_state=seed).fit(X, labelled)
    model = PUClassifier(random_state=seed).fit(X, labelled)
    lists = [top(score, positive, labelled) for score in (*plain, linear.oof_posterior_, model.oof_posterior_)]
    found = [float(positive[rows].mean()) for rows in lists]
    promised = float(model.oof_hidden_[lists[-1]].mean())
    return [*found, promised, abs(promised - found[-1]), *held(model, lists[-1], positive)]


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    made = worlds(asked.paper, asked.seeds)
    found = np.array(Parallel(n_jobs=asked.jobs)(delayed(measure)(*each) for each in made))
    print_means(COLUMNS, [each[3] for each in made], found)


if __name__ == "__main__":
    main()
