"""How often the ranges of a capacity hold: `python benchmarks/capacity.py`.

To find a quarter, or half, of the hidden positives, the list must be read to some row. `Capacity.to_find` says how far,
with a range, and `Promise` says how many positives lists as long as these hold. Data and labelling as in
`benchmarks/review_lists.py`; with `--logistic` draws of `make_double_logistic`.
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed

from propense import PUClassifier
from propense.datasets import make_double_logistic
from propense.tables import capacity, summarise_estimator
from review_lists import draw, worlds
from unseen import Mask, Rows

COLUMNS = ("promise, quarter", "promise, half", "to find, quarter", "to find, half", "rows, quarter", "expected")


def measure(X: Rows, positive: Mask, labelled: Mask, seed: int) -> list[float]:
    """Whether each range holds; how far the list must be read for a quarter, and how far it should be, as shares."""
    warnings.simplefilter("ignore")
    found = capacity(summarise_estimator(PUClassifier(random_state=seed).fit(X, labelled), X, labelled))
    if found.unpromised:
        return [np.nan] * len(COLUMNS)
    hits = np.cumsum(positive[found.rows])
    counts = [max(1, round(int(hits[-1]) * share)) for share in (0.25, 0.5)]
    promised, needed = [], []
    for count in counts:
        said = found.at(count)
        promised.append(float(said.low <= hits[count - 1] <= said.high))
        low, _, high = found.to_find(count)
        rows = int(np.searchsorted(hits, count)) + 1
        needed.append(float((np.inf if low is None else low) <= rows <= (np.inf if high is None else high)))
    rows, expected = int(np.searchsorted(hits, counts[0])) + 1, found.to_find(counts[0])[1]
    total = found.unlabelled
    return [*promised, *needed, rows / total, np.nan if expected is None else expected / total]


def in_world(name: str, X: Rows, positive: Mask, mechanism: str, seed: int) -> list[float]:
    """The same in a world of `review_lists`."""
    return measure(X, positive, draw(name, X, positive, mechanism, seed), seed)


def in_logistic(rows: int, seed: int) -> list[float]:
    """The same in a draw of the double-logistic model."""
    data = make_double_logistic(rows, 6, random_state=seed)
    return measure(data.X, data.positive, data.labelled, seed)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logistic", action="store_true")
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    if asked.logistic:
        drawn = [(rows, seed) for rows in (500, 2000) for seed in range(20 * asked.seeds)]
        found = np.array(Parallel(n_jobs=asked.jobs)(delayed(in_logistic)(*each) for each in drawn))
    else:
        made = worlds(asked.paper, asked.seeds)
        found = np.array(Parallel(n_jobs=asked.jobs)(delayed(in_world)(*each) for each in made))
    kept = ~np.isnan(found[:, 0])
    print(f"{int(kept.sum())} of {len(kept)} fits promise a number.")
    print(f"| {' | '.join(COLUMNS)} |")
    print(f"|{' ---: |' * len(COLUMNS)}")
    print(f"| {' | '.join(f'{mean:.3f}' for mean in np.nanmean(found[kept], axis=0))} |")


if __name__ == "__main__":
    main()
