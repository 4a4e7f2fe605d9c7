"""What the labels' learners know of the class: `python benchmarks/label_learners.py`.

The area under the curve of the true class, over the rows of fit, of scores out of fold: of each learner, of
scikit-learn's boosting with its defaults, of the learners' mean, which is in use, and of their sum with the weights
that predict the labels best. Data and labelling as in `benchmarks/review_lists.py --paper`. `--rows 150` takes
so many rows of each, to see what small tables allow. `--large --rows 30000` takes 40 columns of the image features, to
see what many rows allow; `--hidden` compares unlabelled rows only.
"""

import argparse

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._steps.label_learners import BOOSTED, LOGISTIC, auto_learners, given_learners
from propense._steps.label_scores import fit_label_score
from propense.datasets import load
from review_lists import World, draw, worlds
from unseen import MECHANISMS, Mask, Rows, print_means

LEARNERS = (LOGISTIC, BOOSTED)
COLUMNS = (*LEARNERS, "plain boosting", "mean", "weights that fit the labels")
IMAGES, IMAGE_COLUMNS = ("cifar10", "mnist", "fashion"), 40


def large_worlds(seeds: int) -> list[World]:
    """The image features, some of their columns, with every labelling rule and seed."""
    data = []
    for name in IMAGES:
        found = load(name)
        columns = np.random.default_rng(0).permutation(found.X.shape[1])[:IMAGE_COLUMNS]
        data.append((name, np.asarray(found.X, dtype=np.float64)[:, columns], found.y.astype(bool)))
    return [(*each, mechanism, seed) for each in data for mechanism in MECHANISMS for seed in range(seeds)]


def scores(X: Rows, labelled: Mask, seed: int) -> dict[str, NDArray[np.float64]] | None:
    """The score of every row, of mean 0 and spread 1, by each learner alone and together; None without two labels."""
    sample = Sample(as_design(X), labelled, None, None)
    learners = auto_learners(sample, seed)
    if len(learners) < len(LEARNERS):
        return None
    plain = given_learners([HistGradientBoostingClassifier(random_state=seed)])
    chosen = {**{each.name: [each] for each in learners}, "plain boosting": plain, "mean": learners}
    return {name: fit_label_score(sample, each, cv=None, n_jobs=None, seed=seed).t for name, each in chosen.items()}


def areas(t: dict[str, NDArray[np.float64]], positive: Mask, labelled: Mask, rows: Mask) -> list[float]:
    """The areas of `COLUMNS` over some rows."""
    each = np.column_stack([t[name] for name in LEARNERS])
    t = {**t, "weights that fit the labels": LogisticRegression(C=1e4).fit(each, labelled).decision_function(each)}
    return [float(roc_auc_score(positive[rows], t[name][rows])) for name in COLUMNS]


def measure(world: World, rows: int | None = None, hidden: bool = False) -> list[float]:
    """The areas in one world, or in some of its rows."""
    name, X, positive, mechanism, seed = world
    labelled = draw(name, X, positive, mechanism, seed)
    if rows is not None:
        part = np.random.default_rng(seed).permutation(len(X))[:rows]
        X, positive, labelled = X[part], positive[part], labelled[part]
    t = scores(X, labelled, seed)
    return [np.nan] * len(COLUMNS) if t is None else areas(t, positive, labelled, ~(labelled & hidden))


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unseen", action="store_true", help="the data sets of benchmarks/unseen.py instead")
    parser.add_argument("--large", action="store_true", help="the image features instead")
    parser.add_argument("--hidden", action="store_true", help="the areas of unlabelled rows")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    made = large_worlds(asked.seeds) if asked.large else worlds(not asked.unseen, asked.seeds)
    tasks = (delayed(measure)(each, asked.rows, asked.hidden) for each in made)
    found = np.array(Parallel(n_jobs=asked.jobs)(tasks))
    print_means(COLUMNS, [each[3] for each in made], found)


if __name__ == "__main__":
    main()
