"""How often bounds contain the truth where their assumption holds: `python benchmarks/bound_coverage.py`."""

import argparse
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from propense.inference._bound_options import read_assumptions
from propense.inference._bounds import find_bounds
from propense.inference._label_bands import LabelledRows

Vector = NDArray[np.float64]

KINDS = ("constant", "rising", "own columns", "curved")
BASES, LEVELS = (-2, 0, 1), (0.25, 0.6)
# As in the tests: the assumption holds, and hardly anything stronger would.
SLACK = 1.02


def make_world(kind: str, base: float, level: float, seed: int, n: int) -> tuple[Vector, Vector, Vector, Vector]:
    """The columns, y, e and labels: e constant, rising with the class score, along its own columns, or curved."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    f = base + (1.2 * X[:, 0] ** 2 - 1.2 + X[:, 1] if kind == "curved" else 1.5 * X[:, 0] - 1.2 * X[:, 1])
    shifts = {
        "constant": 0.0 * f,
        "rising": 0.5 * (f - base),
        "own columns": 0.8 * X[:, 2] - 0.6 * X[:, 3],
        "curved": 0.7 * np.abs(X[:, 2]) - 0.5,
    }
    e = expit(logit(level) + shifts[kind]).clip(0.05, 0.95)
    y = expit(f)
    return X, y, e, (rng.random(n) < y * e).astype(np.float64)


def assumptions(kind: str, y: Vector, e: Vector, top: Any) -> dict[str, dict[str, Any]]:
    """Assumptions that hold, by name."""
    clearest = float(y[top].mean()) / SLACK
    found: dict[str, dict[str, Any]] = {
        "propensity": {"propensity": (e.min() / SLACK, min(1.0, SLACK * e.max()))},
        "odds_ratio": {"odds_ratio": SLACK * float(np.exp(np.ptp(logit(e))))},
        "departure": {"departure": 1.2},
    }
    if kind in ("constant", "rising"):
        found["rising, propensity"] = {"rising": True, "propensity": e.min() / SLACK}
        found["rising, clearest"] = {"rising": True, "clearest": clearest}
    if kind == "constant":
        found["odds_ratio, clearest"] = {"odds_ratio": SLACK, "clearest": clearest}
    return found


def main() -> None:
    """Print how often the truth was outside the range and outside the limits, for each assumption."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--labels", type=float, default=50.0, help="labels expected in a cell")
    asked = parser.parse_args()
    sets: Counter[tuple[str, str]] = Counter()
    outside, beyond, contradicted = Counter(sets), Counter(sets), Counter(sets)
    for repeat, kind, base, level in product(range(asked.repeats), KINDS, BASES, LEVELS):
        seed = 1000 * repeat + 100 * KINDS.index(kind) + 10 * BASES.index(base) + LEVELS.index(level)
        X, y, e, labelled = make_world(kind, base, level, seed, asked.rows)
        # Its log-odds are linear, which those of s are not.
        simple = cross_val_predict(LogisticRegression(), X, labelled, cv=5, method="predict_proba")[:, 1]
        for name, chance in (("known", y * e), ("fitted", simple)):
            rows = LabelledRows.of(labelled, chance, y, e, np.ones(len(y)), asked.labels)
            for words, given in assumptions(kind, y, e, rows.top).items():
                found = find_bounds(rows, read_assumptions(**given), 0.5)
                key = words, name
                sets[key] += 1
                contradicted[key] += found.contradicted != ""
                low, high = found.prior
                outside[key] += not low <= y.mean() <= high
                low, high = found.prior_limits
                beyond[key] += not low <= y.mean() <= high
    print("| assumption | s(x) | data sets | outside the range | outside the limits | called a contradiction |")
    print("| --- | --- | --- | --- | --- | --- |")
    for key, count in sorted(sets.items()):
        print(f"| {key[0]} | {key[1]} | {count} | {outside[key]} | {beyond[key]} | {contradicted[key]} |")


if __name__ == "__main__":
    main()
