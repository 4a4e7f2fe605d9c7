"""How often each doubt is raised where it should be, and where it should not: `python benchmarks/doubts.py`.

Each doubt has a method, data that should raise it and data that should not, both with a known truth. The guide to
doubts shows the tables that this prints for 100 draws of each.
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
from sklearn.tree import DecisionTreeClassifier

from propense import JERM, LBE, SAREM, TM, JointMLE, Naive, PGLin, PUClassifier, SeveralSources
from propense.datasets import make_double_logistic

__all__ = ["CASES", "Case", "Data", "Measured", "kinds_of"]

Rows = NDArray[np.float64]
Data = tuple[Rows, NDArray[np.bool_]]

P = 10


def slopes(columns: range, length: float, intercept: float = 0.0, features: int = P) -> Rows:
    """β or γ of this length on some columns, of alternating signs."""
    out = np.zeros(features + 1)
    out[0] = intercept
    out[1 + np.asarray(columns)] = length / np.sqrt(len(columns)) * (-1.0) ** np.arange(len(columns))
    return out


def good(seed: int, n: int = 2000, **options: Any) -> Data:
    """y on five features, e on five others and half as steep."""
    data = make_double_logistic(n, **{"n_features": P, **options}, random_state=seed)
    return data.X, data.labelled


def noise(seed: int) -> Data:
    """Labels that have nothing to do with the features."""
    random = np.random.default_rng(seed)
    return random.standard_normal((2000, P)), random.random(2000) < 0.25


def strays(seed: int) -> Data:
    """A tenth as many labels again, on negatives."""
    data = make_double_logistic(2000, P, random_state=seed)
    wrong = np.random.default_rng(seed).choice(np.flatnonzero(~data.positive), data.labelled.sum() // 10, replace=False)
    labelled = data.labelled.copy()
    labelled[wrong] = True
    return data.X, labelled


def inverted(seed: int) -> Data:
    """Labels the wrong way round."""
    X, labelled = good(seed)
    return X, ~labelled


def two_sources(seed: int, e: float = 0.5, *, apart: bool = False, n: int = 2000) -> Data:
    """Labels from two sources, each on a share e of the positives; `apart`: never on the same row."""
    data = make_double_logistic(n, P, random_state=seed)
    random = np.random.default_rng(seed)
    given = data.positive[:, np.newaxis] & (random.random((n, 2)) < e)
    if apart:
        given[given.all(axis=1), 1] = False
    return data.X, given


def switch(seed: int) -> Data:
    """One column of two values, which says who is labelled."""
    X = np.random.default_rng(seed).integers(0, 2, size=(2000, 1)).astype(np.float64)
    return X, X[:, 0] > 0.0


def edge(seed: int) -> Data:
    """Every row beyond a line is labelled, and no other."""
    X = np.random.default_rng(seed).standard_normal((2000, P))
    return X, X[:, 0] > 1.0


@dataclass(frozen=True)
class Case:
    """A method, data on which it should raise the doubt and data on which it should not.

    `fine` is another method for the latter, where the method itself is at fault.
    """

    method: Any
    bad: Callable[[int], Data]
    sound: Callable[[int], Data] = good
    fine: Any = None


CASES = {
    "few_labels": Case(SAREM(), lambda seed: good(seed, 70, n_features=3)),
    "labels_per_feature": Case(SAREM(), lambda seed: good(seed, 150, n_features=60)),
    "unexplained": Case(SAREM(tol=1e-4), noise),
    "stray_labels": Case(SAREM(), strays),
    "swapped": Case(LBE(), lambda seed: good(seed, propensity_coef=slopes(range(5, P), 3.4))),
    "collinear": Case(JERM(), lambda seed: good(seed, propensity_coef=slopes(range(5), 1.5))),
    "at_boundary": Case(
        SAREM(propensity_features=[5]), lambda seed: good(seed, propensity_coef=slopes(range(5, 6), 6.0, -8.0))
    ),
    "all_labelled": Case(LBE(), edge),
    "all_positive": Case(JERM(variant="paper"), noise),
    "memorised": Case(
        SAREM(estimator=DecisionTreeClassifier(random_state=0), max_iter=2),
        good,
        fine=SAREM(estimator=DecisionTreeClassifier(max_depth=2, random_state=0), max_iter=20, tol=1e-2),
    ),
    "all_likely": Case(JERM(), lambda seed: good(seed, coef=slopes(range(5), 1.0)), fine=JERM(spy_quantile=0.1)),
    "starts_disagree": Case(
        JointMLE(ridge=0.1, random_state=0),
        lambda seed: good(
            seed,
            300,
            n_features=6,
            coef=slopes(range(3), 1.0, features=6),
            propensity_coef=slopes(range(3), 1.0, features=6),
        ),
    ),
}

# y on the first five columns, e on the next three; those named have nothing to do with the labels.
CASES["weak_columns"] = Case(
    SAREM(propensity_features=[8, 9]),
    lambda seed: good(seed, coef=slopes(range(5), 3.4), propensity_coef=slopes(range(5, 8), 1.7)),
)
CASES["unlike_worlds"] = Case(PUClassifier(learners="linear", random_state=0), switch)
CASES["mostly_labelled"] = Case(Naive(), inverted)
CASES["few_rows"] = Case(PUClassifier(random_state=0), lambda seed: good(seed, 190), lambda seed: good(seed, 300))
CASES["one_source"] = Case(SeveralSources(), good, two_sources)
CASES["no_overlap"] = Case(SeveralSources(), lambda seed: two_sources(seed, apart=True), two_sources)
CASES["few_overlaps"] = Case(SeveralSources(), lambda seed: two_sources(seed, 0.12), two_sources)

# Every method with its defaults, for the second table.
METHODS = {
    "PUClassifier": PUClassifier(learners="linear", random_state=0),
    "JERM": JERM(),
    "JERM, spy_quantile=0.1": JERM(spy_quantile=0.1),
    "TM": TM(),
    "SAREM": SAREM(),
    "LBE": LBE(),
    "JointMLE": JointMLE(n_starts=3, random_state=0),
    "PGLin": PGLin(),
    "Naive": Naive(),
}


def kinds_of(method: Any, data: Data) -> tuple[set[str], float]:
    """The kinds of the doubts that a fit raises, and its prior."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(method).fit(*data)
    return {doubt.kind for doubt in model.doubts_}, float(model.prior_)


class Measured:
    """The doubts of each method on many draws of data; nothing is fitted twice."""

    def __init__(self, draws: int, jobs: int) -> None:
        self._draws, self._work = draws, Parallel(jobs)
        self._found: dict[Any, list[tuple[set[str], float]]] = {}

    def __call__(self, method: Any, make: Callable[[int], Data]) -> list[tuple[set[str], float]]:
        key = repr(method), make
        if key not in self._found:
            self._found[key] = self._work(delayed(kinds_of)(method, make(seed)) for seed in range(self._draws))
        return self._found[key]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    measured = Measured(options.draws, options.jobs)
    print("| doubt | raised where it should be | raised where it should not be |\n| --- | ---: | ---: |")
    for kind, case in CASES.items():
        fine = case.method if case.fine is None else case.fine
        parts = measured(case.method, case.bad), measured(fine, case.sound)
        heard, wrong = (100 * np.mean([kind in kinds for kinds, _ in found]) for found in parts)
        print(f"| `{kind}` | {heard:.0f}% | {wrong:.0f}% |", flush=True)
    truth = [make_double_logistic(2000, P, random_state=seed).positive.mean() for seed in range(options.draws)]
    print("\n| method | any doubt | which | error of `prior_` |\n| --- | ---: | --- | ---: |")
    for name, method in METHODS.items():
        said = measured(method, good)
        some = 100 * np.mean([bool(kinds) for kinds, _ in said])
        counts = {kind: 100 * np.mean([kind in kinds for kinds, _ in said]) for kind in CASES}
        words = ", ".join(f"`{kind}` {count:.0f}%" for kind, count in counts.items() if count > 0)
        error = np.median([prior - true for (_, prior), true in zip(said, truth, strict=True)])
        print(f"| {name} | {some:.0f}% | {words or '–'} | {error:+.2f} |", flush=True)


if __name__ == "__main__":
    main()
