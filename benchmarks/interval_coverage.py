"""How often 95% intervals contain the truth, where the model holds and where it does not.

Four standard normal columns; y(x) depends on the first two, e(x) on the last two, unless stated otherwise. Coverage
in percent; for y, e and h the mean over twenty fixed rows. The true prevalence is that of the population.
Run: ``python benchmarks/interval_coverage.py [--only NAME …] [--sets 300] [--resamples 200] [--jobs 2]``.
"""

import argparse
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from propense import JERM, SAREM, JointMLE, PGLin, PUClassifier
from propense._maths.logistic import sigmoid
from propense.estimators._base import BasePUClassifier
from propense.inference import Interval, Intervals, intervals

Vector = NDArray[np.float64]
Score = Callable[[NDArray[np.float64]], Vector]

COLUMNS = 4
AT = np.random.default_rng(99).normal(size=(20, COLUMNS))
QUANTITIES = ("prior", "label_frequency", "posterior", "propensity", "hidden")


def class_score(X: NDArray[np.float64]) -> Vector:
    """Log-odds of y: half of the rows are positive, and the best balanced accuracy is .85."""
    return np.asarray(2.4 * (X[:, 0] - X[:, 1]))


def own_score(X: NDArray[np.float64]) -> Vector:
    """Log-odds of e, on columns of its own."""
    return np.asarray(1.06 * (X[:, 2] - X[:, 3]))


@dataclass(frozen=True)
class Case:
    """A truth, and what is fitted to it."""

    truth: str
    model: BasePUClassifier
    posterior: Score = class_score
    propensity: Score = own_score
    n: int = 2000
    hows: tuple[str, ...] = ("bootstrap", "sandwich")
    # The share of the data sets to use, where fewer suffice.
    share: float = 1.0


NAMED = JointMLE(propensity_features=[2, 3], n_starts=5, random_state=0)
FREE = JointMLE(n_starts=5, random_state=0)
CASES = {
    "named": Case("holds", NAMED),
    "free": Case("holds", FREE),
    "sarem": Case("holds", SAREM()),
    "rare": Case("holds, few positives", NAMED, lambda X: class_score(X) - 3.0, lambda X: own_score(X) - 0.5),
    "large": Case("holds", FREE, n=5000, hows=("sandwich",)),
    "ridge": Case("holds", JointMLE(ridge=10.0, n_starts=5, random_state=0), share=0.5),
    "aligned": Case("e on the score of y", FREE, propensity=lambda X: 0.5 * class_score(X), share=1 / 3),
    "curved": Case("y quadratic", NAMED, posterior=lambda X: class_score(X) + 1.5 * (X[:, 0] ** 2 - 1.0), share=1 / 3),
    "jerm": Case("holds", JERM(), hows=("bootstrap",), share=1 / 3),
    "jerm-spies": Case("holds", JERM(spy_quantile=0.3), hows=("bootstrap",), share=1 / 3),
    "pu": Case("holds", PUClassifier(learners="linear", random_state=0), hows=("bootstrap",), share=1 / 3),
    "pglin": Case("holds", PGLin(), hows=("bootstrap",), share=1 / 3),
}


@dataclass(frozen=True)
class Found:
    """Whether each interval held the truth, how wide the prevalence's was, and what came of the refits."""

    covered: dict[str, Any]
    width: float
    failed: int
    unconverged: int


def truth_of(case: Case) -> dict[str, Any]:
    """The five quantities in the population."""
    X = np.random.default_rng(7).normal(size=(2_000_000, COLUMNS))
    y, e = sigmoid(case.posterior(X)), sigmoid(case.propensity(X))
    prior, labelled = float(y.mean()), float((y * e).mean())
    y, e = sigmoid(case.posterior(AT)), sigmoid(case.propensity(AT))
    return dict(zip(QUANTITIES, (prior, labelled / prior, y, e, y * (1 - e) / (1 - y * e)), strict=True))


def measure(name: str, truth: dict[str, Any], seed: int, resamples: int) -> list[Found]:
    """One data set, each way."""
    case, rng = CASES[name], np.random.default_rng(seed)
    X = rng.normal(size=(case.n, COLUMNS))
    positive = rng.random(case.n) < sigmoid(case.posterior(X))
    labelled = positive & (rng.random(case.n) < sigmoid(case.propensity(X)))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = case.model.fit(X, labelled)
        return [
            judge(intervals(model, X, labelled, at=AT, how=how, n_resamples=resamples, random_state=seed), truth)
            for how in case.hows
        ]


def judge(found: Intervals, truth: dict[str, Any]) -> Found:
    """The intervals against the truth."""
    covered = {}
    for name in QUANTITIES:
        interval: Interval = getattr(found, name)
        covered[name] = np.mean((interval.low <= truth[name]) & (truth[name] <= interval.high))
    return Found(covered, found.prior.high - found.prior.low, found.failed, found.unconverged)


def main() -> None:
    """Print a Markdown table, line by line as results come in."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    print("| truth | method | n | by | sets | prevalence | label frequency | y(x) | e(x) | h(x) | width | failed |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in asked.only:
        case, truth = CASES[name], truth_of(CASES[name])
        sets = max(round(asked.sets * case.share), 1)
        every = Parallel(n_jobs=asked.jobs)(
            delayed(measure)(name, truth, seed, asked.resamples) for seed in range(sets)
        )
        for how, results in zip(case.hows, zip(*every, strict=True), strict=True):
            shown = [f"{100 * np.mean([each.covered[which] for each in results]):.1f}" for which in QUANTITIES]
            width = np.median([each.width for each in results])
            faults = f"{sum(each.failed for each in results)} + {sum(each.unconverged for each in results)}"
            cells = (case.truth, f"`{case.model}`", case.n, how, sets, *shown, f"{width:.3f}", faults)
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
