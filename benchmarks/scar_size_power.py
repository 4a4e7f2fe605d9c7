"""How often `scar_test` rejects at level .05: if labels are given at random (size), and if they are not (power).

Ten columns. *logistic*: normal features, log-odds with a standard deviation of 1.5 (overlapping classes), 3.4 (between)
or 6 (separated). *normal*: classes 3 apart, of equal or of unequal variances, for which log-odds are quadratic;
"+ squares" adds the squares of the columns to y only. In real sets the labels are drawn, not the classes.

For every data set one simulation is made, and its statistic is pooled with those of the other sets of its kind
(Giacomini, Politis and White, 2013): this measures the test with many simulations. `--whole` measures the test itself,
each set with 19 simulations of its own, on overlapping classes (n = 2 000, .6 positive, c = .8). Three assumptions:
none; at least a fifth of the positives are hidden, which is the test's default; the true share of positives is known.
There are half as many sets with normal classes, and a quarter as many real sets and sets for power.

Run: ``python benchmarks/scar_size_power.py [--sets 400] [--jobs 2] [--whole | --time]``; real sets need PROPENSE_DATA.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.impute import SimpleImputer

from propense import scar_test
from propense._maths.logistic import sigmoid
from propense.datasets import is_available, load, make_double_logistic
from propense.inference._scar import _ANY, _standardised
from propense.inference._scar_models import LabelModels
from propense.labelling import simulate

Data = tuple[NDArray[np.float64], NDArray[np.bool_]]
Maker = Callable[[np.random.Generator], Data]
P = 10
LEVEL = 0.05
REAL = ("breast-w", "banknote", "diabetes", "vehicle", "waveform", "yeast")
KINDS = (("logistic, overlapping", 1.5), ("logistic, between", 3.4), ("logistic, separated", 6.0))
# What is assumed: nothing; the default limit on the label frequency; the prior, known.
MOST = 0.8
KNOWLEDGE = ("nothing", "most_labelled=0.8", "prior known")


def logistic(spread: float, n: int, prior: float) -> Maker:
    """Normal features; half of them matter, equally."""
    half = P // 2
    slopes = np.zeros(P)
    slopes[:half] = spread / np.sqrt(half) * (-1.0) ** np.arange(half)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights /= weights.sum()
    offset = brentq(lambda a: float(weights @ sigmoid(a + spread * nodes)) - prior, -99.0, 99.0)

    def make(rng: np.random.Generator) -> Data:
        X = rng.normal(size=(n, P))
        return X, rng.random(n) < sigmoid(offset + X @ slopes)

    return make


def normal(n: int, prior: float, scales: tuple[float, float]) -> Maker:
    """Two normal classes three apart; the variances of the positive one range between the squares of the scales."""

    def make(rng: np.random.Generator) -> Data:
        X, positive = rng.normal(size=(n, P)), rng.random(n) < prior
        X[positive] = X[positive] * np.linspace(*scales, P) + 3.0 / np.sqrt(P)
        return X, positive

    return make


def real(name: str) -> Maker:
    """A data set of the paper, at most 2 000 rows of it."""
    data = load(name)
    X = SimpleImputer().fit_transform(np.asarray(data.X, dtype=np.float64))

    def make(rng: np.random.Generator) -> Data:
        rows = rng.choice(len(X), min(len(X), 2000), replace=False)
        return X[rows], data.y[rows]

    return make


def once(make: Maker, mechanism: str, frequency: float, squares: bool, seed: int) -> list[tuple[float, float]]:
    """The statistic of a set and that of one simulation, for each state of knowledge."""
    rng = np.random.default_rng(seed)
    X, positive = make(rng)
    labelled = simulate(X, positive, mechanism, frequency, rng=rng).labelled
    columns = np.arange(X.shape[1]) if squares else None
    X = _standardised(X)
    if squares:
        X = _standardised(np.hstack([X, X**2]))
    share = float(positive.mean())
    out = []
    for prior, most in ((_ANY, 1.0), (_ANY, MOST), ((share, share), 1.0)):
        models = LabelModels(X, columns, prior, most)
        null = models.fit_scar(labelled)
        drawn = models.draw(null, rng)
        simulated = models.likelihood_ratio(drawn, models.fit_scar(drawn, null))
        out.append((models.likelihood_ratio(labelled, null), simulated))
    return out


def rejected(make: Maker, mechanism: str, frequency: float, sets: int, jobs: int, squares: bool = False) -> list[str]:
    """The share of the sets that are rejected, for each state of knowledge."""
    tasks = (delayed(once)(make, mechanism, frequency, squares, seed) for seed in range(sets))
    found = np.array(Parallel(n_jobs=jobs)(tasks))
    # found: sets × knowledge × (observed, simulated)
    p = (1 + (found[None, :, :, 1] >= found[:, None, :, 0]).sum(axis=1)) / (1 + sets)
    return [f"{share:.3f}" for share in (p <= LEVEL).mean(axis=0)]


def line(words: str, n: Any, prior: Any, c: float, mechanism: str, shares: list[str]) -> None:
    """A row of the table."""
    print(f"| {words} | {n} | {prior} | {c} | {mechanism} | {' | '.join(shares)} |", flush=True)


def size(sets: int, jobs: int) -> None:
    """Labels at random."""
    for words, spread in KINDS:
        for n, prior, c in ((1000, 0.2, 0.5), (2000, 0.4, 0.2), (2000, 0.4, 0.7), (2000, 0.6, 0.8)):
            line(words, n, prior, c, "S1", rejected(logistic(spread, n, prior), "S1", c, sets, jobs))


def wrong(sets: int, jobs: int) -> None:
    """Labels at random where log-odds are not linear, or unknown."""
    line("normal, equal variances", 2000, 0.4, 0.5, "S1", rejected(normal(2000, 0.4, (1, 1)), "S1", 0.5, sets, jobs))
    unequal = normal(2000, 0.4, (0.6, 1.6))
    line("normal, unequal variances", 2000, 0.4, 0.5, "S1", rejected(unequal, "S1", 0.5, sets, jobs))
    line("the same + squares", 2000, 0.4, 0.5, "S1", rejected(unequal, "S1", 0.5, sets, jobs, squares=True))
    for name in REAL:
        if is_available(name):
            data = load(name)
            shown = name, min(len(data.y), 2000), f"{data.y.mean():.2f}", 0.5
            line(*shown, "S1", rejected(real(name), "S1", 0.5, sets // 2, jobs))
            if data.X.shape[1] < 20:
                shares = rejected(real(name), "S1", 0.5, sets // 2, jobs, squares=True)
                line(f"{name} + squares", *shown[1:], "S1", shares)


def power(sets: int, jobs: int) -> None:
    """Labels not at random."""
    cells = [("S2", c) for c in (0.2, 0.5, 0.8)]
    cells += [(mechanism, 0.5) for mechanism in ("S3", "S4", "falling", "feature", "direction")]
    for words, spread in KINDS:
        for mechanism, c in cells:
            shares = rejected(logistic(spread, 2000, 0.4), mechanism, c, sets, jobs)
            line(words, 2000, 0.4, c, mechanism, shares)


def whole(sets: int, jobs: int) -> None:
    """The test itself, with 19 simulations, which has the level .05 too."""

    def p_value(mechanism: str, known: bool, seed: int) -> float:
        rng = np.random.default_rng(seed)
        X, positive = logistic(1.5, 2000, 0.6)(rng)
        labelled = simulate(X, positive, mechanism, 0.8, rng=rng).labelled
        prior = float(positive.mean()) if known else None
        return scar_test(X, labelled, prior=prior, n_simulations=19, random_state=seed).p_value

    for mechanism in ("S1", "S2"):
        for known in (False, True):
            found = Parallel(n_jobs=jobs)(delayed(p_value)(mechanism, known, seed) for seed in range(sets))
            prior = "known" if known else "unknown"
            print(f"{mechanism}, prior {prior}: {np.mean(np.array(found) <= LEVEL):.3f} of {sets}", flush=True)


def seconds() -> None:
    """The cost of the test with its defaults, in seconds on one core."""
    for n, p in ((2000, 10), (5000, 10), (2000, 40)):
        data = make_double_logistic(n, p, random_state=0)
        begun = time.process_time()
        scar_test(data.X, data.labelled, random_state=0)
        print(f"{n} × {p}: {time.process_time() - begun:.1f} s", flush=True)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--time", action="store_true")
    asked = parser.parse_args()
    if asked.time:
        seconds()
        return
    if asked.whole:
        whole(asked.sets, asked.jobs)
        return
    print(f"| classes | n | positive | c | labels | {' | '.join(KNOWLEDGE)} |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    size(asked.sets, asked.jobs)
    power(asked.sets // 4, asked.jobs)
    wrong(asked.sets // 2, asked.jobs)


if __name__ == "__main__":
    main()
