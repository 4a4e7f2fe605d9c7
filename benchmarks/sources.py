"""Two sources of labels against every method that looks at one: `python benchmarks/sources.py`.

Each world has 5 000 rows and two sources with a known truth. `SeveralSources` gets both columns of labels; the methods
for one source get the labels of the first, of the second, and of either. The table has the mean error of the estimated
share of positives: its size, and in brackets the mean of the error itself. For the methods of one source it is the
smallest of the three, although nobody would know which of the three that is. The guide to sources shows the table.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from propense import JERM, SAREM, JointMLE, PUClassifier, SeveralSources, sources_test

__all__ = ["SINGLE", "WORLDS", "World", "errors_of", "make"]

Rows = NDArray[np.float64]
N, P = 5000, 6

SINGLE = {
    "PUClassifier": PUClassifier(random_state=0),
    "PUClassifier, linear": PUClassifier(learners="linear", random_state=0),
    "JERM": JERM(),
    "SAREM": SAREM(),
    "JointMLE": JointMLE(n_starts=3, random_state=0),
}


@dataclass(frozen=True)
class World:
    """How likely rows are positive, and labelled by each source if they are: log-odds from the columns."""

    words: str
    a: Callable[[Rows], Rows]
    b: Callable[[Rows, Rows], tuple[Rows, Rows]]


def _mild(X: Rows) -> Rows:
    return -0.5 + 0.8 * X[:, 0] - 0.6 * X[:, 1]


def _rare(X: Rows) -> Rows:
    return -2.2 + X[:, 0] - 0.8 * X[:, 1]


def _steep(X: Rows) -> Rows:
    return -1.0 + 1.5 * X[:, 0] - X[:, 1] + 0.5 * X[:, 2]


def _curved(X: Rows) -> Rows:
    return -1.5 + 1.5 * X[:, 0] + 0.8 * (X[:, 1] ** 2 - 1.0) - X[:, 0] * X[:, 2]


WORLDS = {
    "class": World("both sources prefer clear cases", _mild, lambda X, a: (0.2 + a, 0.3 + 0.8 * a)),
    "rare": World("the same, few rows are positive", _rare, lambda X, a: (1.5 + a, 1.0 + 0.6 * a)),
    "shared": World(
        "both follow columns of the class and others",
        _mild,
        lambda X, a: (X[:, 0] + X[:, 3], 0.3 - X[:, 1] + 0.5 * X[:, 0]),
    ),
    "opposite": World("one prefers clear cases, one unclear ones", _mild, lambda X, a: (0.2 + a, 0.2 - 0.8 * a)),
    "columns": World(
        "both follow other columns than the class", _steep, lambda X, a: (X[:, 3] + X[:, 4], 0.8 * X[:, 4] - X[:, 5])
    ),
    "constant": World("at random", _steep, lambda X, a: (0.0 * a, 0.0 * a - 0.4)),
    "curved": World(
        "being positive is curved; both follow columns", _curved, lambda X, a: (X[:, 0] + X[:, 3], 0.5 * X[:, 0])
    ),
    "curved apart": World(
        "the same; both follow other columns than the class",
        _curved,
        lambda X, a: (0.3 + X[:, 3] - X[:, 4], 0.2 + 0.8 * X[:, 4]),
    ),
    "curved far": World(
        "the same; both label less where positives are frequent",
        _curved,
        lambda X, a: (0.4 - X[:, 0] + 0.5 * X[:, 3], 0.2 - 0.8 * X[:, 0]),
    ),
    "curved class": World("the same; both prefer clear cases", _curved, lambda X, a: (0.2 + 0.7 * a, 0.5 * a)),
}


def make(world: World, seed: int, n: int = N) -> tuple[Rows, NDArray[np.bool_], NDArray[np.bool_]]:
    """Rows, which of them are positive, and the labels of both sources."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, P))
    a = world.a(X)
    positive = random.random(n) < 1.0 / (1.0 + np.exp(-a))
    e = 1.0 / (1.0 + np.exp(-np.column_stack(world.b(X, a))))
    return X, positive, positive[:, np.newaxis] & (random.random((n, 2)) < e)


def errors_of(world: World, seed: int, single: dict[str, Any]) -> dict[str, float]:
    """The error of the share of positives: of `SeveralSources`, and of each method on each set of labels."""
    X, positive, Y = make(world, seed)
    truth = float(positive.mean())
    looks = {"first": Y[:, 0], "second": Y[:, 1], "either": Y.any(axis=1)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SeveralSources().fit(X, Y)
        out = {"truth": truth, "sources": model.prior_ - truth}
        # With 27 columns and 300 to 800 rows that both have labelled, a ridge of 1 gives up to .014 too many positives.
        products = make_pipeline(PolynomialFeatures(2, include_bias=False), SeveralSources(ridge=10.0))
        out["products"] = products.fit(X, Y)[-1].prior_ - truth
        priors = sources_test(model, X, Y).priors
        out |= {"half": priors[0.5] - truth, "double": priors[2.0] - truth}
        for name, method in single.items():
            for which, labelled in looks.items():
                out[f"{name}: {which}"] = clone(method).fit(X, labelled).prior_ - truth
    return out


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--single-draws", type=int, default=5, help="how many of them for the methods of one source")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="without the learners of PUClassifier")
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS))
    options = parser.parse_args()
    single = {name: each for name, each in SINGLE.items() if not (options.quick and name == "PUClassifier")}
    single = single if options.single_draws else {}
    head = ["labels", "positive", "two sources", "with squares and products", *single, "odds ratio ½ or 2"]
    print(f"| {' | '.join(head)} |\n| --- |{' ---: |' * (len(head) - 1)}")
    for name in options.worlds:
        found = Parallel(options.jobs)(
            delayed(errors_of)(WORLDS[name], seed, single if seed < options.single_draws else {})
            for seed in range(options.draws)
        )
        mean = {key: float(np.mean([abs(each[key]) for each in found if key in each])) for key in found[0]}
        best = [min(mean[f"{each}: {which}"] for which in ("first", "second", "either")) for each in single]
        wrong = [float(np.mean([each[key] for each in found])) for key in ("half", "double")]
        both = [f"{mean[key]:.3f} ({np.mean([each[key] for each in found]):+.3f})" for key in ("sources", "products")]
        cells = [f"{mean['truth']:.2f}", *both, *(f"{each:.3f}" for each in best)]
        print(f"| {WORLDS[name].words} | {' | '.join(cells)} | {wrong[0]:+.2f}, {wrong[1]:+.2f} |", flush=True)


if __name__ == "__main__":
    main()
