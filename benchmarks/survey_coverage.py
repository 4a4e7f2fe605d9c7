"""How often 95% intervals of the prevalence contain the truth in a survey of clusters, with and without its design.

Four strata, which hold 40, 30, 20 and 10% of the population, 10 clusters of each and 40 rows of each cluster. Columns
are normal with a part that is shared in a cluster, half of the variance; the first also differs between strata. y(x) is
logistic in the first two columns and e(x) in the last two. Rows get weights that undo the unequal sampling.
Run: ``python benchmarks/survey_coverage.py [--sets 100] [--resamples 100] [--jobs 2]``.
"""

import argparse
import os
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from propense import JointMLE, intervals
from propense._maths.logistic import sigmoid

SHARES = np.array([0.4, 0.3, 0.2, 0.1])
CLUSTERS, ROWS, SHARED = 10, 40, 0.5
MODEL = JointMLE(propensity_features=[2, 3], n_starts=2, random_state=0)


def draw(rng: np.random.Generator, clusters: int, rows: int) -> dict[str, Any]:
    """So many clusters of each stratum, and so many rows of each cluster."""
    strata = np.repeat(np.arange(4), clusters * rows)
    cluster = np.repeat(np.arange(4 * clusters), rows)
    common, own = rng.normal(size=(4 * clusters, 4)), rng.normal(size=(len(strata), 4))
    X = np.sqrt(SHARED) * common[cluster] + np.sqrt(1.0 - SHARED) * own
    X[:, 0] += 0.5 * (strata - 1.5)
    y, e = sigmoid(1.5 * (X[:, 0] - X[:, 1]) - 0.5), sigmoid(X[:, 2] - X[:, 3])
    positive = rng.random(len(y)) < y
    weights = SHARES[strata] / SHARES.mean()
    labelled = positive & (rng.random(len(y)) < e)
    return {"X": X, "labelled": labelled, "strata": strata, "clusters": cluster, "weights": weights, "posterior": y}


def measure(truth: float, seed: int, resamples: int) -> dict[str, tuple[bool, float]]:
    """One data set: whether each interval contains the truth, and how wide it is."""
    data = draw(np.random.default_rng(seed), CLUSTERS, ROWS)
    rows = data["X"], data["labelled"]
    designs: dict[str, dict[str, Any]] = {
        "strata and clusters": {"strata": data["strata"], "clusters": data["clusters"]},
        "clusters": {"clusters": data["clusters"]},
        "neither": {},
    }
    found = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODEL.fit(*rows, data["weights"])
        for how in ("sandwich", "bootstrap"):
            for name, design in designs.items():
                asked = {"how": how, "n_resamples": resamples, "random_state": seed, **design}
                prior = intervals(model, *rows, sample_weight=data["weights"], **asked).prior
                found[f"{how} | {name}"] = prior.low <= truth <= prior.high, prior.high - prior.low
    return found


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    population = draw(np.random.default_rng(10**6), 50_000, 2)
    truth = float(np.average(population["posterior"], weights=population["weights"]))
    every = Parallel(n_jobs=asked.jobs)(delayed(measure)(truth, seed, asked.resamples) for seed in range(asked.sets))
    print(f"{truth:.1%} of the population are positive; {asked.sets} surveys, {asked.resamples} refits.")
    print("| by | design passed | contains the truth | width |\n| --- | --- | --- | --- |")
    for name in every[0]:
        covered, widths = zip(*(each[name] for each in every), strict=True)
        print(f"| {name} | {100 * np.mean(covered):.1f} | {np.median(widths):.3f} |")


if __name__ == "__main__":
    main()
