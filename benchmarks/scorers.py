"""How good a model each scorer selects, by cross-validation on labels alone, on data with a known truth.

Problems: double-logistic data (1 000 rows; e on other features than y, or following the class score) and tables from
`PROPENSE_DATA`, 70% of their rows to fit, half of the positives labelled by each mechanism. In each problem every
candidate, with both decisions, is scored by 3-fold cross-validation; the best by a scorer is fitted to all rows and
judged on other rows by its true balanced accuracy. Run: ``python benchmarks/scorers.py [--seeds 2] [--jobs 1]``.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from peer_measure import WORLDS
from propense import JERM, SAREM, TM, JointMLE, Naive, PGLin
from propense.datasets import load, make_double_logistic
from propense.errors import PropenseError
from propense.estimators._base import BasePUClassifier
from propense.labelling import MECHANISMS, simulate
from propense.metrics import get_scorer, get_scorer_names

SYNTHETIC = ("other features", "class score")
TABLES = ("diabetes", "wdbc", "banknote", "heart", "vehicle", "yeast")
# The mechanisms shown together.
GROUPS = {
    "S1": "at random",
    "S2": "class score",
    "S3": "class score",
    "S4": "class score",
    "falling": "falling",
    "feature": "feature, direction",
    "direction": "feature, direction",
}
CANDIDATES: list[BasePUClassifier] = [
    Naive(),
    PGLin(),
    TM(),
    JERM(),
    JERM(ridge=1.0),
    JERM(spy_quantile=0.1),
    *(SAREM(ridge=ridge, propensity_ridge=ridge) for ridge in (0.1, 1.0, 10.0)),
    JointMLE(n_starts=3, random_state=0),
]
DECISIONS = ("posterior", "balanced")
# The e of another method, the same for every candidate, so that none judges itself.
JUDGE = SAREM()

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Rows to fit on, their labels and true propensities, and other rows with their true classes."""

    X: NDArray[np.float64]
    labelled: NDArray[np.bool_]
    propensity: Vector
    X_fresh: NDArray[np.float64]
    positive: NDArray[np.bool_]


# A fitted model, rows, labels, true propensities, the judge's propensities → a score.
Score = Callable[[Any, Any, Any, Vector, Vector], float]


def scores() -> dict[str, Score]:
    """Each scorer with the model's own e; those that judge decisions also with the judge's e and the true one."""
    found: dict[str, Score] = {
        "accuracy against the labels": lambda m, X, s, e, j: accuracy_score(s, m.predict(X)),
    }
    for name in get_scorer_names():
        scorer = get_scorer(name)
        found[name] = lambda m, X, s, e, j, scorer=scorer: scorer(m, X, s)  # type: ignore[misc]
        if name == "lee_liu":
            found["lee_liu, e constant"] = lambda m, X, s, e, j, scorer=scorer: scorer(m, X, s, propensity=1.0)  # type: ignore[misc]
        if name in ("lee_liu", "sar_balanced_accuracy"):
            found[f"{name}, e by SAREM"] = lambda m, X, s, e, j, scorer=scorer: scorer(m, X, s, propensity=j)  # type: ignore[misc]
        if name in ("sar_balanced_accuracy", "neg_joint_risk"):
            found[f"{name}, true e"] = lambda m, X, s, e, j, scorer=scorer: scorer(m, X, s, propensity=e)  # type: ignore[misc]
    return found


def synthetic(name: str, seed: int) -> World:
    """A double-logistic problem."""
    data = make_double_logistic(1000, random_state=seed, **WORLDS[name])
    fresh = make_double_logistic(20_000, random_state=10_000 + seed, **WORLDS[name])
    return World(data.X, data.labelled, data.propensity, fresh.X, fresh.positive)


def tabular(name: str, mechanism: str, seed: int) -> World:
    """A table, standardised, with labels drawn."""
    data = load(name, download=False)
    parts = train_test_split(data.X, data.y, test_size=0.3, random_state=seed, stratify=data.y)
    scaler = StandardScaler().fit(parts[0])
    X, X_fresh = scaler.transform(parts[0]), scaler.transform(parts[1])
    drawn = simulate(X, parts[2], mechanism, 0.5, rng=seed)
    return World(X, drawn.labelled, drawn.propensity, X_fresh, parts[3])


def measure(world: World) -> tuple[dict[str, Vector], Vector]:
    """The mean score of each candidate with each decision, by each scorer; and their true balanced accuracies."""
    names = scores()
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(world.X, world.labelled))
    found = {name: np.zeros((len(CANDIDATES), len(DECISIONS))) for name in names}
    truth = np.zeros((len(CANDIDATES), len(DECISIONS)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judges = [clone(JUDGE).fit(world.X[train], world.labelled[train]) for train, _ in folds]
        for i, candidate in enumerate(CANDIDATES):
            for (train, test), judge in zip(folds, judges, strict=True):
                model = clone(candidate).fit(world.X[train], world.labelled[train])
                rows = world.X[test], world.labelled[test], world.propensity[test]
                for j, decision in enumerate(DECISIONS):
                    model.set_params(decision=decision)
                    for name, score in names.items():
                        found[name][i, j] += score(model, *rows, judge.predict_propensity(world.X[test])) / len(folds)
            model = clone(candidate).fit(world.X, world.labelled)
            for j, decision in enumerate(DECISIONS):
                said = model.set_params(decision=decision).predict(world.X_fresh)
                truth[i, j] = balanced_accuracy_score(world.positive, said)
    return {name: values.ravel() for name, values in found.items()}, truth.ravel()


def picked(score: Vector, truth: Vector) -> float:
    """The true balanced accuracy of the best by a score; the mean over ties."""
    return float(truth[score >= score.max() - 1e-12].mean())


def agreement(score: Vector, truth: Vector) -> float:
    """Spearman's correlation, 0 if the score is the same for all."""
    return 0.0 if np.ptp(score) == 0.0 or np.ptp(truth) == 0.0 else float(spearmanr(score, truth).statistic)


def judged(group: str, make: Callable[..., World], *which: Any) -> tuple[str, dict[str, tuple[float, float]]] | None:
    """What each scorer selected in a problem, and its agreement with the truth; nothing if a method failed."""
    try:
        found, truth = measure(make(*which))
    except PropenseError as error:
        print(f"left out: {which}, {type(error).__name__}: {error}", flush=True)
        return None
    rows = {"the best in hindsight": (float(truth.max()), 1.0), "one at random": (float(truth.mean()), 0.0)}
    rows |= {name: (picked(score, truth), agreement(score, truth)) for name, score in found.items()}
    # Without a choice: the method that is best on average over these problems, and the library's first choice.
    for i, candidate in enumerate(CANDIDATES):
        for j, decision in enumerate(DECISIONS):
            rows[f"always {candidate}, {decision}"] = (float(truth[i * len(DECISIONS) + j]), np.nan)
    return group, rows


def show(results: list[tuple[str, dict[str, tuple[float, float]]]]) -> None:
    """Print a Markdown table: a row for each scorer, and the best four fixed choices."""
    groups = list(dict.fromkeys(group for group, _ in results))
    counts = [sum(each == group for each, _ in results) for group in groups]
    print("| picked by | " + " | ".join(f"{g} ({n})" for g, n in zip(groups, counts, strict=True)) + " | mean | ρ |")
    print("| --- " * (len(groups) + 3) + "|")
    lines = []
    for name in results[0][1]:
        means = [np.mean([rows[name][0] for each, rows in results if each == group]) for group in groups]
        rho = np.mean([rows[name][1] for _, rows in results])
        lines.append((name, float(np.mean(means)), [*means, np.mean(means)], rho))
    always = sorted((line for line in lines if line[0].startswith("always")), key=lambda line: -line[1])[:4]
    for name, _, means, rho in [*(line for line in lines if not line[0].startswith("always")), *always]:
        print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + f" | {rho:.2f} |")


def main() -> None:
    """Measure every problem and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    tasks: list[Any] = [
        delayed(judged)(f"synthetic, {name}", synthetic, name, seed)
        for name in SYNTHETIC
        for seed in range(5 * options.seeds)
    ]
    tasks += [
        delayed(judged)(f"tables, {GROUPS[mechanism]}", tabular, name, mechanism, seed)
        for mechanism in MECHANISMS
        for name in TABLES
        for seed in range(options.seeds)
    ]
    show([each for each in Parallel(options.jobs)(tasks) if each is not None])


if __name__ == "__main__":
    main()
