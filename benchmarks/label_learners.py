"""What the labels' learners know of the class: `python benchmarks/label_learners.py`.

The area under the curve of the true class, over the rows of fit, of the scores out of fold of each learner, of their
mean with equal weights, and with the weights that predict the labels best. Data and labelling as in
`benchmarks/review_lists.py --paper`; `--rows 150` takes so many rows of each, to see what small tables allow.
"""

import argparse

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._steps.label_learners import BOOSTED, LOGISTIC, TREES, auto_learners
from propense._steps.label_scores import fit_label_score
from review_lists import draw, worlds
from unseen import Mask, Rows, print_means

LEARNERS = (LOGISTIC, BOOSTED, TREES)
COLUMNS = (*LEARNERS, "equal weights", "weights that fit the labels")


def scores(X: Rows, labelled: Mask, seed: int) -> NDArray[np.float64] | None:
    """The score of every row by each learner alone, of mean 0 and spread 1, a column each; None without two labels."""
    sample = Sample(as_design(X), labelled, None, None)
    learners = {each.name: each for each in auto_learners(sample, seed)}
    if not learners.keys() >= {*LEARNERS}:
        return None
    return np.column_stack(
        [fit_label_score(sample, [learners[name]], cv=5, n_jobs=None, seed=seed, pair=None).t for name in LEARNERS]
    )


def areas(t: NDArray[np.float64], positive: Mask, labelled: Mask) -> list[float]:
    """The areas of `COLUMNS`."""
    best = LogisticRegression(C=1e4).fit(t, labelled).decision_function(t)
    return [float(roc_auc_score(positive, each)) for each in (*t.T, t.mean(axis=1), best)]


def measure(name: str, X: Rows, positive: Mask, mechanism: str, seed: int, rows: int | None = None) -> list[float]:
    """The areas in one world, or in some of its rows."""
    labelled = draw(name, X, positive, mechanism, seed)
    if rows is not None:
        part = np.random.default_rng(seed).permutation(len(X))[:rows]
        X, positive, labelled = X[part], positive[part], labelled[part]
    t = scores(X, labelled, seed)
    return [np.nan] * len(COLUMNS) if t is None else areas(t, positive, labelled)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unseen", action="store_true", help="the data sets of benchmarks/unseen.py instead")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    made = worlds(not asked.unseen, asked.seeds)
    found = np.array(Parallel(n_jobs=asked.jobs)(delayed(measure)(*each, rows=asked.rows) for each in made))
    print_means(COLUMNS, [each[3] for each in made], found)


if __name__ == "__main__":
    main()
