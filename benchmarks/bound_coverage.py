"""How often bounds contain the truth where their assumption holds: `python benchmarks/bound_coverage.py`."""

import argparse
from collections import Counter
from itertools import product

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from propense.inference._bound_rows import ReadRows
from propense.inference._bounds import find_bounds

Vector = NDArray[np.float64]

# Where between the ends of the range the truth is.
KINDS = ("lower end", "between", "upper end")
SPREADS, PURITIES = (1.5, 3.0), (1.0, 0.7)
SCORES = ("known", "logistic regression", "trees")
# The chance of a label of a positive in the top rows.
E_TOP = 0.6


def make_world(
    kind: str, spread: float, purity: float, rng: np.random.Generator, n: int
) -> tuple[Vector, Vector, Vector, Vector]:
    """The columns, y, e and labels: y and e rise with one direction, and are constant in the top 5%."""
    X = rng.normal(size=(n, 5))
    t = np.minimum(1.0, (np.argsort(np.argsort(X[:, 0] + X[:, 1])) + 0.5) / (0.95 * n))
    if kind == "upper end":
        # s(x) first; e(x) is then the least that the spread allows.
        s = purity * E_TOP * t**3
        e = np.maximum(s / purity, E_TOP / spread)
        y = s / e
    else:
        y = purity * t**2
        e = E_TOP * (t**0 if kind == "lower end" else spread ** (t - 1.0))
    return X, y, e, (rng.random(n) < y * e).astype(np.float64)


def score_of(name: str, X: Vector, s: Vector, labelled: Vector) -> Vector:
    """s(x), or what a classifier says of rows that it has not seen."""
    if name == "known":
        return s
    learner = LogisticRegression() if name == "logistic regression" else HistGradientBoostingClassifier(max_iter=50)
    return np.asarray(cross_val_predict(learner, X, labelled, cv=5, method="predict_proba")[:, 1])


def main() -> None:
    """Print how often the truth was in the range and within the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 5000])
    asked = parser.parse_args()
    sets: Counter[tuple[str, int, str]] = Counter()
    held = {which: Counter(sets) for which in ("range", "limits", "half range", "half limits", "checked")}
    for n, kind, name, spread, purity in product(asked.rows, KINDS, SCORES, SPREADS, PURITIES):
        for repeat in range(asked.repeats):
            seed = [n, KINDS.index(kind), SCORES.index(name), int(10 * spread), int(10 * purity), repeat]
            rng = np.random.default_rng(seed)
            X, y, e, labelled = make_world(kind, spread, purity, rng, n)
            read = ReadRows(labelled, score_of(name, X, y * e, labelled), np.ones(n), 0.5)
            truth, key = float(y.mean()), (kind, n, name)
            sets[key] += 1
            top = read.score >= find_bounds(read, purity=1.0, draws=0).top_score
            # The rows that a fit puts at the top are less pure than the best ones.
            true_purity = max(float(y[top].mean()), float(labelled[top].mean()))
            found = find_bounds(read, spread=(spread, max(1.0, spread / 2.0)), purity=true_purity)
            for i, part in enumerate(("", "half ")):
                held[f"{part}range"][key] += found.low[i, 0] <= truth <= found.high[i, 0]
                held[f"{part}limits"][key] += found.low_limit[i, 0] <= truth <= found.high_limit[i, 0]
            drawn = rng.permutation(np.flatnonzero(top & (labelled == 0)))[:50]
            chance = (y * (1.0 - e) / (1.0 - y * e))[drawn]
            if len(drawn):
                checks = (int((rng.random(len(drawn)) < chance).sum()), len(drawn))
                found = find_bounds(read, spread=spread, checked=checks)
                held["checked"][key] += found.low_limit[0, 0] <= truth <= found.high_limit[0, 0]
    print(
        "| the truth is at | rows | score | data sets | in the range | in the limits | limits, checked rows |", end=""
    )
    print(" in the range, half of Λ | in the limits, half of Λ |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for key, count in sets.items():
        shares = [held[which][key] / count for which in ("range", "limits", "checked", "half range", "half limits")]
        print(f"| {key[0]} | {key[1]:,} | {key[2]} | {count} | {' | '.join(f'{each:.0%}' for each in shares)} |")


if __name__ == "__main__":
    main()
