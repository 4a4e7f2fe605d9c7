"""PUClassifier on data and labelling rules that its worlds were not drawn from: `python benchmarks/unseen.py`.

Data that scikit-learn bundles or generates: tumours (which some worlds are drawn from, too), wine, digits, irises,
clusters, moons. Labels follow S1, S2 or S4; or jump or peak along the class score; or jump, peak or rise steeply along
a random direction; or mix score and direction; or rise, jump or fall along the class score of boosted trees. c = .4;
30% of the rows are held out; columns are standardised; the threshold is the prior.
"""

import argparse
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification, make_moons
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.preprocessing import StandardScaler, scale

from propense import JERM, SAREM, Oracle, PGLin, PUClassifier
from propense._maths.logistic import sigmoid
from propense.labelling import simulate

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]
FREQUENCY = 0.4
METHODS: dict[str, Callable[[], Any]] = {
    "PUClassifier": lambda: PUClassifier(random_state=0),
    "linear": lambda: PUClassifier(learners="linear", random_state=0),
    "PGLin": lambda: PGLin(decision="balanced"),
    "JERM": lambda: JERM(decision="balanced"),
    "SAREM": lambda: SAREM(decision="balanced"),
    "Oracle": lambda: Oracle(decision="balanced"),
}
# Log-odds of a label, up to a constant, from the class score t and a random direction v, both standardised.
OTHERS: dict[str, Callable[[Rows, Rows, Mask], Rows]] = {
    "jump along the score": lambda t, v, y: np.where(t > np.median(t[y]), 2.0, -1.0),
    "hump along the score": lambda t, v, y: -2.0 * (t - t[y].mean()) ** 2,
    "jump along a direction": lambda t, v, y: np.where(v > 0, 2.0, -1.0),
    "hump along a direction": lambda t, v, y: 1.5 * (v**2 - 1.0),
    "steep along a direction": lambda t, v, y: 3.0 * v,
    "score and direction": lambda t, v, y: t + v,
}
# The same along the class score of boosted trees, out of fold.
CURVED: dict[str, Callable[[Rows, Mask], Rows]] = {
    "rise along a curved score": lambda t, y: 1.5 * t,
    "jump along a curved score": lambda t, y: np.where(t > np.median(t[y]), 2.0, -1.0),
    "fall along a curved score": lambda t, y: -1.5 * t,
}
MECHANISMS = ("S1", "S2", "S4", *OTHERS, *CURVED)


def sets() -> Iterator[tuple[str, Rows, Mask]]:
    """Name, features, which rows are positive."""
    cancer, wine, digits, iris = load_breast_cancer(), load_wine(), load_digits(), load_iris()
    yield "malignant", cancer.data, cancer.target == 0
    for bunch, name, classes in ((wine, "wine", (0, 1)), (digits, "digit", (1, 3, 8, 9)), (iris, "iris", (1, 2))):
        for each in classes:
            yield f"{name} {each}", bunch.data, bunch.target == each
    yield "odd digits", digits.data, digits.target % 2 == 1
    yield "large digits", digits.data, digits.target > 4
    for apart in (0.5, 1.0, 2.0):
        for share in (0.3, 0.7):
            X, y = make_classification(2000, 12, n_informative=6, class_sep=apart, weights=[1 - share], random_state=3)
            yield f"clusters {apart}, {share}", X, y == 1
    X, y = make_moons(1500, noise=0.3, random_state=0)
    yield "moons", np.column_stack([X, np.random.default_rng(7).normal(size=(1500, 3))]), y == 1


def label(X: Rows, positive: Mask, mechanism: str, rng: np.random.Generator) -> Mask:
    """Which rows are labelled."""
    if mechanism in CURVED:
        trees = HistGradientBoostingClassifier(max_iter=80, max_leaf_nodes=8, random_state=0)
        curved = scale(cross_val_predict(trees, X, positive, method="decision_function"))
        return _draw(CURVED[mechanism](curved, positive), positive, rng)
    if mechanism not in OTHERS:
        return np.asarray(simulate(X, positive, mechanism, FREQUENCY, rng=rng).labelled)
    standard = scale(X)
    score = scale(LogisticRegression(max_iter=1000).fit(standard, positive).decision_function(standard))
    direction = scale(standard @ rng.normal(size=X.shape[1]))
    return _draw(OTHERS[mechanism](score, direction, positive), positive, rng)


def _draw(log_odds: Rows, positive: Mask, rng: np.random.Generator) -> Mask:
    """Labels with these log-odds, up to the constant that gives the label frequency."""
    shift = brentq(lambda a: float(sigmoid(log_odds[positive] + a).mean()) - FREQUENCY, -60.0, 60.0)
    return np.asarray(positive & (rng.random(len(positive)) < sigmoid(log_odds + shift)))


def accuracies(name: str, X: Rows, positive: Mask, mechanism: str, seed: int) -> list[float]:
    """Balanced accuracy of every method on the held-out rows."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, zlib.crc32(f"{name}, {mechanism}".encode())])
    labelled = label(X, positive, mechanism, rng)
    rows, fresh = train_test_split(np.arange(len(X)), test_size=0.3, random_state=seed, stratify=positive)
    scaler = StandardScaler().fit(X[rows])
    known, unknown = scaler.transform(X[rows]), scaler.transform(X[fresh])
    models = [make() for make in METHODS.values()]
    return [
        balanced_accuracy_score(
            positive[fresh],
            model.fit(known, (positive if isinstance(model, Oracle) else labelled)[rows]).predict(unknown),
        )
        for model in models
    ]


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    made = [(*each, mechanism, seed) for each in sets() for mechanism in MECHANISMS for seed in range(asked.seeds)]
    found = np.array(Parallel(n_jobs=asked.jobs)(delayed(accuracies)(*each) for each in made))
    print_means(METHODS, [each[3] for each in made], found)


def print_means(columns: Iterable[str], kinds: Sequence[str], found: Rows) -> None:
    """A Markdown table of means: a row for each mechanism."""
    names = list(columns)
    print(f"| | {' | '.join(names)} |")
    print(f"| --- |{' ---: |' * len(names)}")
    for kind in (*MECHANISMS, "all"):
        means = np.nanmean(found[(np.array(kinds) == kind) | (kind == "all")], axis=0)
        print(f"| {kind} | {' | '.join(f'{mean:.3f}'.lstrip('0') for mean in means)} |")


if __name__ == "__main__":
    main()
