"""Worlds: tables whose positives are all known, labelled by chance, with what learners of the labels say of each row.

A world is drawn from its number alone, so any of them can be made again. Three quarters of the tables are resampled
from the paper's 16 (with their class, or with one of their columns, cut somewhere, as the class), the others are
simulated: linear, curved, in steps or in clusters, with 200 to 20 000 rows. The share of positives goes from .01 to .95
and the share of them that is labelled from .03 to .95. The chance of a label rises or falls with the class score, with
how far a row is beyond the cut, along a direction or a column, along columns of access that are named, or along a
mixture; it may have a ceiling and a floor. In some worlds the clearest rows are only partly positive.

Run as ``python studies/worlds.py --worlds 4000 --jobs 2 --folder .worlds``. Each file of the folder holds 50 worlds; a
run that was stopped goes on with the files that are missing. The paper's tables are read from the data home.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import cauchy, rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._steps.label_learners import auto_learners
from propense._steps.label_scores import fit_label_score
from propense.datasets import CATALOGUE, load

__all__ = ["MECHANISMS", "Table", "World", "draw_world", "read_worlds", "write_worlds"]

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]

MECHANISMS = ("random", "rising", "falling", "direction", "column", "mixture", "named")
TABLES = [name for name, entry in CATALOGUE.items() if not entry.images]
# Worlds in a file.
TOGETHER = 50
# The fewest positive, negative and labelled rows of a world.
_CLASS, _LABELS = 15, 8
_MOST_CELLS, _MOST_COLUMNS = 1_500_000, 120


@dataclass(frozen=True)
class Table:
    """Rows, which of them are positive, and where they come from; `severity` is the log-odds, or what was cut."""

    X: Rows
    positive: Mask
    severity: Rows
    source: str


@dataclass(frozen=True)
class World:
    """A labelled table, and what is known of it.

    Attributes
    ----------
    number : int
    source : str
        The table, or "simulated".
    scores : float32 ndarray of shape (2, n_rows)
        Log-odds of a label, out of fold, by logistic regression and by boosted trees.
    others : float32 ndarray of shape (2, n_rows)
        The same from the columns that are not named; of no rows if none are.
    access : float32 ndarray of shape (n_rows, n_named)
        The columns that a user would name for the labelling.
    labelled, positive : bool ndarray of shape (n_rows,)
    columns : int
    followed : float
        How far labelling follows the named columns, from 0 to 1; NaN if none are.
    unevenness : float
        The standard deviation of e(x) over the positives, divided by its mean: 0 if labels are given at random.
    mechanism : str
        What the chance of a label follows, one of `MECHANISMS`.
    """

    number: int
    source: str
    scores: NDArray[np.float32]
    others: NDArray[np.float32]
    access: NDArray[np.float32]
    labelled: Mask
    positive: Mask
    columns: int
    followed: float
    unevenness: float
    mechanism: str


def draw_world(number: int) -> World:
    """The world of this number."""
    rng = np.random.default_rng(number)
    while True:
        table = _blur(_resample(rng) if rng.random() < 0.75 else _simulate(rng), rng)
        found = _label(table, rng) if _is_large(table.positive) else None
        if found is None:
            continue
        X, labelled, named, followed, unevenness, mechanism = found
        if labelled.sum() >= _LABELS and (~labelled).sum() >= _CLASS:
            break
    rest = np.delete(X, named, axis=1)
    return World(
        number=number,
        source=table.source,
        scores=out_of_fold(X, labelled, number),
        others=out_of_fold(rest, labelled, number) if len(named) else np.empty((2, 0), np.float32),
        access=X[:, named].astype(np.float32),
        labelled=labelled,
        positive=table.positive,
        columns=X.shape[1],
        followed=followed,
        unevenness=unevenness,
        mechanism=mechanism,
    )


def out_of_fold(X: Rows, labelled: Mask, seed: int) -> NDArray[np.float32]:
    """Log-odds of a label from models that have not seen the row, as `PUClassifier` learns them."""
    sample = Sample(as_design(X), labelled, None, None)
    scored = fit_label_score(sample, auto_learners(sample, seed), cv=None, n_jobs=1, seed=seed)
    return np.array(scored.parts, dtype=np.float32)


@cache
def _table(name: str) -> tuple[Rows, Mask]:
    data = load(name, download=False)
    X = np.asarray(data.X, dtype=np.float64)
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X), np.asarray(data.y == 1)


def _resample(rng: np.random.Generator) -> Table:
    """Some rows and columns of one of the paper's tables, with its class or a column as the class."""
    while True:
        name = TABLES[rng.integers(len(TABLES))]
        X, positive = _table(name)
        severity = None
        cut = [j for j in range(X.shape[1]) if len(np.unique(X[:500, j])) >= 8]
        if cut and rng.random() < 0.25:
            column = cut[rng.integers(len(cut))]
            severity = _standard(X[:, column]) * rng.choice([-1.0, 1.0])
            positive = severity > np.quantile(severity, rng.uniform(0.05, 0.95))
            X = np.delete(X, column, axis=1)
        p = X.shape[1]
        most = int(rng.integers(min(3, p), min(p, _MOST_COLUMNS) + 1)) if rng.random() < 0.5 else _MOST_COLUMNS
        X = X[:, np.sort(rng.permutation(p)[:most])]
        some, others = np.flatnonzero(positive), np.flatnonzero(~positive)
        if min(len(some), len(others)) < _CLASS:
            continue
        share = _share(rng, 0.01) if rng.random() < 0.5 else len(some) / len(positive)
        n = int(min(np.exp(rng.uniform(np.log(200), np.log(8000))), len(some) / share, len(others) / (1 - share)))
        count = round(n * share)
        if n >= 150 and min(count, n - count) >= _CLASS:
            rows = rng.permutation(
                np.concatenate([rng.permutation(some)[:count], rng.permutation(others)[: n - count]])
            )
            return _with_severity(X[rows], positive[rows], None if severity is None else severity[rows], name, rng)


def _simulate(rng: np.random.Generator) -> Table:
    """Correlated columns, some rounded, skewed or binary, and a class that is linear, curved, stepped or clustered."""
    n = int(np.exp(rng.uniform(np.log(200), np.log(20_000 if rng.random() < 0.2 else 6000))))
    p = int(np.exp(rng.uniform(np.log(2), np.log(60 if rng.random() < 0.85 else 500))))
    n = min(n, _MOST_CELLS // p)
    factors = rng.normal(size=(n, int(rng.integers(1, 8))))
    X = (
        rng.normal(size=(n, p)) * rng.uniform(0.2, 1.0)
        + factors @ rng.normal(size=(factors.shape[1], p)) * rng.random()
    )
    slopes = rng.normal(size=p) * (rng.random(p) < rng.uniform(0.1, 1.0))
    slopes[rng.integers(p)] = 1.0
    linear = X @ slopes
    form = rng.integers(5)
    if form == 0:
        f = linear
    elif form == 1:
        f = linear + 0.5 * rng.normal() * (X @ rng.normal(size=p)) ** 2
    elif form == 2:
        f = np.tanh(2.0 * X @ rng.normal(size=(p, 6)) / np.sqrt(p)) @ rng.normal(size=6)
    elif form == 3:
        steps = [(X[:, rng.integers(p, size=2)] > rng.normal(size=2)).all(axis=1) * rng.normal() for _ in range(6)]
        f = np.sum(steps, axis=0) + 0.01 * linear
    else:
        of, centres = rng.integers(5, size=n), rng.normal(size=(5, p)) * rng.uniform(0.5, 3.0)
        X, f = X + centres[of], rng.normal(size=5)[of] + 0.1 * linear / np.sqrt(p)
    log_odds = np.exp(rng.uniform(np.log(2.0), np.log(25.0))) * _standard(f)
    share = _share(rng, max(0.01, 20 / n))
    log_odds += brentq(lambda a: float(expit(log_odds + a).mean()) - share, -200.0, 200.0)
    kinds = rng.choice(4, size=p, p=[0.6, 0.15, 0.15, 0.1])
    for j in range(p):
        column = X[:, j]
        X[:, j] = (column, np.exp(np.minimum(column, 20.0)), np.round(column), column > rng.normal())[kinds[j]]
    return Table(X, rng.random(n) < expit(log_odds), log_odds, "simulated")


def _with_severity(X: Rows, positive: Mask, severity: Rows | None, source: str, rng: np.random.Generator) -> Table:
    """The table with what was cut as the severity, or the class score: log-odds, out of fold, of a random learner."""
    if severity is None or rng.random() < 0.5:
        severity, kind, scaled = np.zeros(len(positive)), rng.integers(3), _standard(X)
        trees = HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=0)
        folds = StratifiedKFold(3, shuffle=True, random_state=int(rng.integers(2**31)))
        for fitted, held in folds.split(X, positive):
            if kind != 1:
                linear = LogisticRegression(max_iter=200).fit(scaled[fitted], positive[fitted])
                severity[held] += linear.decision_function(scaled[held])
            if kind != 0:
                severity[held] += trees.fit(X[fitted], positive[fitted]).decision_function(X[held])
    return Table(X, positive, np.clip(severity, -20.0, 20.0), source)


def _blur(table: Table, rng: np.random.Generator) -> Table:
    """In some worlds the clearest rows are only partly positive, and unclear ones are positive now and then."""
    positive = table.positive.copy()
    if rng.random() < 0.1:
        positive &= rng.random(len(positive)) < rng.uniform(0.3, 1.0)
    if rng.random() < 0.08:
        positive |= rng.random(len(positive)) < rng.uniform(0.0, 0.15)
    return replace(table, positive=positive)


def _label(table: Table, rng: np.random.Generator) -> tuple[Rows, Mask, NDArray[np.intp], float, float, str]:
    """The columns, the labelled rows, the named columns, how far labelling follows these, unevenness and mechanism."""
    X, positive, n, p = table.X, table.positive, len(table.X), table.X.shape[1]
    count = int(positive.sum())
    frequency = _frequency(rng, max(0.03, _LABELS / count))
    along = _standard(table.severity) if rng.random() < 0.5 else 3.4 * rankdata(table.severity) / n - 1.7
    # Of the class score, a direction and a column.
    parts = rng.dirichlet([1.2, 0.6, 0.6]) if rng.random() < 0.3 else np.eye(3)[rng.choice(3, p=[0.6, 0.2, 0.2])]
    scaled = _standard(X)
    others = _standard(scaled @ rng.normal(size=p)), scaled[:, rng.integers(p)]
    sign = 1.0 if rng.random() < 0.8 else -1.0
    follows = sign * parts[0] * along + parts[1] * others[0] + parts[2] * others[1]
    mechanism = "mixture" if parts.max() < 1.0 else ("class", "direction", "column")[int(parts.argmax())]
    if mechanism == "class":
        mechanism = "rising" if sign > 0.0 else "falling"
    named, followed = np.empty(0, np.intp), np.nan
    if rng.random() < 0.4:
        followed = float(rng.choice([1.0, 0.7, 0.4, 0.0]) if rng.random() < 0.6 else rng.random())
        X, named = _with_access(X, along, rng)
        access = _standard(_standard(X[:, named]) @ rng.normal(size=len(named)))
        follows = followed * access + (1.0 - followed) * _standard(follows if rng.random() < 0.3 else along)
        mechanism = "named"
    propensity = _propensity(follows, positive, frequency, rng)
    of_positives = propensity[positive]
    unevenness = float(of_positives.std() / of_positives.mean())
    mechanism = "random" if unevenness < 1e-9 else mechanism
    return X, positive & (rng.random(n) < propensity), named, followed, unevenness, mechanism


def _with_access(X: Rows, along: Rows, rng: np.random.Generator) -> tuple[Rows, NDArray[np.intp]]:
    """The table with columns of access, which are new and perhaps go with the class, or some of its own."""
    n, p = X.shape
    count = int(rng.integers(1, 5))
    if p >= 4 and rng.random() < 0.3:
        return X, np.sort(rng.permutation(p)[: min(count, p - 2)])
    mixed = rng.uniform(0.0, 0.6) if rng.random() < 0.5 else 0.0
    access = (1.0 - mixed) * rng.normal(size=(n, count)) + mixed * along[:, None] * rng.choice([-1.0, 1.0], size=count)
    kind = rng.random()
    if kind < 0.4:
        access = np.round(access)
    elif kind < 0.6:
        access = (access > rng.normal(size=count)).astype(np.float64)
    return np.column_stack([X, access]), np.arange(p, p + count)


def _propensity(follows: Rows, positive: Mask, frequency: float, rng: np.random.Generator) -> Rows:
    """e(x) along a score, with this mean over the positives, and perhaps a ceiling and a floor."""
    z = np.clip((follows - follows[positive].mean()) / (follows[positive].std() + 1e-9), -6.0, 6.0)
    steep = float(np.exp(rng.uniform(np.log(0.3), np.log(4.0))))
    power, cut = rng.uniform(2.0, 10.0), rng.uniform(-1.0, 1.0)
    curves: list[Callable[[float], Any]] = [
        lambda a: expit(steep * z + a),
        lambda a: cauchy.cdf(steep * z + a),
        lambda a: expit(steep * z + a) ** power,
        lambda a: expit(np.where(z > cut, steep, -steep) + a),
        lambda a: expit(a - steep * z**2),
        lambda a: np.full(len(z), expit(a)),
    ]
    curve = curves[rng.choice(len(curves), p=[0.52, 0.08, 0.15, 0.08, 0.05, 0.12])]
    ceiling = rng.uniform(1.05 * frequency, 1.0) if rng.random() < 0.2 and frequency < 0.9 else 1.0
    floor = frequency * rng.uniform(0.0, 0.9) if rng.random() < 0.2 else 0.0

    def at(a: float) -> Rows:
        return np.asarray(floor + (ceiling - floor) * curve(a))

    return at(brentq(lambda a: float(at(a)[positive].mean()) - frequency, -400.0, 400.0))


def _share(rng: np.random.Generator, least: float) -> float:
    """Log-odds anywhere between two ends or, as often, any share."""
    share = float(expit(rng.uniform(-4.0, 2.5))) if rng.random() < 0.5 else rng.uniform(0.03, 0.95)
    return max(share, least)


def _frequency(rng: np.random.Generator, least: float) -> float:
    """The log-odds are normal or, in a fifth of the worlds, anything between two ends."""
    log_odds = rng.normal(-0.3, 1.5) if rng.random() < 0.8 else rng.uniform(-3.5, 3.0)
    return float(np.clip(expit(log_odds), least, 0.95))


def _is_large(positive: Mask) -> bool:
    return min(int(positive.sum()), int((~positive).sum())) >= _CLASS


def _standard(X: Rows) -> Rows:
    """Mean 0 and spread 1 along the rows; a constant becomes 0."""
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0))


def write_worlds(folder: Path, count: int, jobs: int = 1) -> None:
    """Write the worlds from 0 to `count`, but for files that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [start for start in range(0, count, TOGETHER) if not _path(folder, start).exists()]
    Parallel(n_jobs=jobs)(delayed(_write)(folder, start, min(start + TOGETHER, count)) for start in missing)


def _write(folder: Path, start: int, stop: int) -> None:
    arrays: dict[str, Any] = {}
    with threadpool_limits(1):
        for number in range(start, stop):
            arrays |= {
                f"{number} {name}": value for name, value in vars(draw_world(number)).items() if name != "number"
            }
    partial = folder / f"{start}.partial.npz"
    np.savez_compressed(partial, **arrays)
    # A file is whole or not there.
    partial.replace(_path(folder, start))


def read_worlds(folder: Path) -> list[World]:
    """The worlds of a folder, in the order of their numbers."""
    worlds = []
    for path in sorted(folder.glob("worlds-*.npz")):
        with np.load(path) as arrays:
            facts: dict[int, dict[str, Any]] = {}
            for key in arrays.files:
                number, name = key.split()
                value = arrays[key]
                facts.setdefault(int(number), {})[name] = value if value.ndim else value.item()
        worlds += [World(number=number, **fields) for number, fields in sorted(facts.items())]
    return worlds


def _path(folder: Path, start: int) -> Path:
    return folder / f"worlds-{start:06}.npz"


def main() -> None:
    """Simulate and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=4000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path(".worlds"))
    asked = parser.parse_args()
    write_worlds(asked.folder, asked.worlds, asked.jobs)


if __name__ == "__main__":
    # By its name: worker processes cannot take functions from a script.
    import worlds

    worlds.main()
