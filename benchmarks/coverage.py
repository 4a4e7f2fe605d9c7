"""How often does the range of P(Y=1) hold the truth, and that of a list's yield? `python benchmarks/coverage.py`.

Worlds with a known truth, in tables that scikit-learn bundles or generates and that no world of the library was drawn
from. The chance of a label is constant; rises with the class score (of boosted trees, out of fold), steeply, or falls;
follows a random direction, one column, or all three. Then three columns of access are added, and labelling follows
them wholly, to 70 % or to 30 %, otherwise the class score; a user names them, or nothing. Lists are the first 5, 10 and
20 % of the unlabelled rows. The score of a 90 % range is its width and 20 times the distance by which it misses.
`--rivals` adds what others estimate. A run that was stopped goes on where it was; what was measured with another
library of worlds is measured again.
"""

import argparse
import json
import sqlite3
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import brentq
from sklearn.datasets import load_diabetes, make_friedman1, make_gaussian_quantiles
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

import propense.worlds
from coverage_page import draw_figure, page
from patients import first, list_order
from propense import PUClassifier
from propense._maths.logistic import sigmoid
from propense.tables.promise import Promise, add_up
from unseen import Mask, Rows, sets

ROOT = Path(__file__).parents[1]
# The rivals are not part of the package.
sys.path.append(str(ROOT / "studies"))
FREQUENCIES, MORE, SIZES, TOPS = (0.15, 0.4), (0.1, 0.2, 0.6), (500, 0), (0.05, 0.1, 0.2)
# The fewest labelled rows of a world.
_FEWEST = 5

# Log-odds of a label, up to a constant, from the class score, a direction and a column, all standardised.
MECHANISMS: dict[str, Callable[[Rows, Rows, Rows], Rows]] = {
    "constant": lambda score, direction, column: 0.0 * score,
    "rising": lambda score, direction, column: 1.5 * score,
    "steeply rising": lambda score, direction, column: 2.0 * score,
    "falling": lambda score, direction, column: -1.5 * score,
    "a direction": lambda score, direction, column: 2.0 * direction,
    "one column": lambda score, direction, column: 2.0 * column,
    "a mixture": lambda score, direction, column: scale(score + direction + column) * 1.5,
}
# How far labelling follows the columns of access.
FOLLOWED = {"access, wholly": 1.0, "access, to 70 %": 0.7, "access, to 30 %": 0.3}
OURS, NAMED = "PUClassifier", "PUClassifier, named"
# What else estimates P(Y=1), where it is installed; those of pulearn assume labels at random.
RIVALS = {
    "DETM": "rivals.DETM",
    "PGLin": "propense.PGLin",
    "JERM": "propense.JERM",
    "SAREM": "propense.SAREM",
    "Elkan and Noto": "rivals.ElkanNoto",
    "DEDPUL": "rivals.DEDPUL",
    "PULSNAR": "rivals.PULSNAR",
    "pulearn, histograms": "pulearn.priors.HistogramMatchPriorEstimator",
    "pulearn, EM": "pulearn.priors.ScarEMPriorEstimator",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """A table, so many of its rows (0: all of them), and a seed: the worlds in it share their class score."""

    table: str
    rows: int
    seed: int


def tables() -> dict[str, tuple[Rows, Mask]]:
    """Features, and which rows are positive. The tumours of scikit-learn are among the tables of the library."""
    found = {name: (X, positive) for name, X, positive in sets() if name != "malignant"}
    X, progress = load_diabetes(return_X_y=True)
    found["progress"] = X, progress > 200.0
    X, value = make_friedman1(3000, 15, noise=1.0, random_state=0)
    found["friedman"] = X, value > np.quantile(value, 0.8)
    X, shell = make_gaussian_quantiles(n_samples=3000, n_features=6, n_classes=2, random_state=0)
    found["shells"] = X, shell == 1
    return found


def places(asked: Sequence[str], seeds: int) -> list[Place]:
    """Tables of no more rows than a size are there once. In a fixed order that mixes them: any part is a fair one."""
    made = [
        Place(name, rows, seed)
        for name, (X, _) in tables().items()
        for rows, seed in product(SIZES, range(seeds))
        if rows < len(X) and name in (asked or [name])
    ]
    return sorted(made, key=lambda each: zlib.crc32(repr(each).encode()))


def propensity(log_odds: Rows, positive: Mask, c: float, power: int = 1) -> Rows:
    """e(x) = σ(a + log-odds)^power, with mean c over the positives."""
    shift = brentq(lambda a: float((sigmoid(log_odds[positive] + a) ** power).mean()) - c, -200.0, 200.0)
    return np.asarray(sigmoid(log_odds + shift) ** power)


def worlds_of(place: Place, cs: Sequence[float]) -> Iterator[tuple[Row, Rows, Mask, Mask, list[int]]]:
    """Facts, X, who is positive, who is labelled, and the columns of access, of each world."""
    X, positive = tables()[place.table]
    rng = np.random.default_rng([place.seed, zlib.crc32(place.table.encode())])
    chosen = rng.permutation(len(X))[: place.rows or len(X)]
    X, positive = np.asarray(X[chosen], dtype=np.float64), positive[chosen]
    trees = HistGradientBoostingClassifier(max_iter=80, max_leaf_nodes=8, random_state=0)
    score = scale(cross_val_predict(trees, X, positive, method="decision_function"))
    standard, access = scale(X), rng.normal(size=(len(X), 3))
    direction = scale(standard @ rng.normal(size=X.shape[1]))
    column = standard[:, rng.choice(np.flatnonzero(standard.std(axis=0) > 0.5))]
    follows = {kind: (curve(score, direction, column), X) for kind, curve in MECHANISMS.items()}
    for kind, part in FOLLOWED.items():
        mixed = part * scale(access.sum(axis=1)) + (1.0 - part) * score
        follows[kind] = 1.5 * scale(mixed), np.hstack([X, access])
    for (kind, (log_odds, own)), c in product(follows.items(), cs):
        facts = {**vars(place), "mechanism": kind, "c": c, "truth": float(positive.mean())}
        # The labels of a world do not depend on which others are drawn.
        rng = np.random.default_rng(zlib.crc32(repr(facts).encode()))
        e, labelled = propensity(log_odds, positive, c, 10 if kind == "steeply rising" else 1), np.zeros_like(positive)
        while labelled.sum() < _FEWEST:
            labelled = positive & (rng.random(len(e)) < e)
        yield facts, own, positive, labelled, list(range(X.shape[1], own.shape[1]))


def ours(X: Rows, labelled: Mask, positive: Mask, named: list[int]) -> Row:
    """What PUClassifier says of P(Y=1), and of lists: low, expected, high, and found, as shares of the list."""
    model = PUClassifier(propensity_features=named or None, random_state=0).fit(X, labelled)
    lists = []
    for top in TOPS:
        listed = first(list_order(model), labelled, max(round(top * (~labelled).sum()), 1))
        promise = Promise.of(add_up(model.oof_hidden_[listed], model.oof_hidden_range_[listed]))
        counts = promise.low, promise.expected, promise.high, float(positive[listed].sum())
        lists.append([each / len(listed) for each in counts])
    low, high = model.diagnosis_.range()
    doubts = [doubt.kind for doubt in model.doubts_]
    return {"estimate": model.prior_, "low": low, "high": high, "lists": lists, "doubts": doubts}


def is_installed(path: str) -> bool:
    """Whether a method can be imported."""
    module, _, name = path.rpartition(".")
    try:
        return hasattr(import_module(module), name)
    except ImportError:
        return False


def rival(path: str, X: Rows, labelled: Mask) -> Row:
    """What another method says of P(Y=1), in standardised columns."""
    module, _, name = path.rpartition(".")
    made = getattr(import_module(module), name)()
    if "random_state" in made.get_params():
        made.set_params(random_state=0)
    model = made.fit(scale(X), labelled.astype(np.int64))
    low, high = model.prior_interval(0.9) if hasattr(model, "prior_interval") else (np.nan, np.nan)
    return {"estimate": float(model.prior_ if hasattr(model, "prior_") else model.pi_), "low": low, "high": high}


def measure(place: Place, cs: Sequence[float], rivals: Sequence[str], known: set[tuple[str, str]], end: float) -> Any:
    """World, method and findings, of all that is not known; nothing after the time `end`."""
    warnings.simplefilter("ignore")
    found: list[tuple[str, str, Row]] = []
    if time.time() > end:
        return found
    with threadpool_limits(1):
        for facts, X, positive, labelled, named in worlds_of(place, cs):
            world = " ".join(str(facts[name]) for name in ("table", "rows", "seed", "mechanism", "c"))
            # Rivals are asked where nothing is named.
            for method in (OURS, NAMED) if named else (OURS, *rivals):
                if (world, method) in known:
                    continue
                try:
                    says = (
                        rival(RIVALS[method], X, labelled)
                        if method in RIVALS
                        else ours(X, labelled, positive, named if method == NAMED else [])
                    )
                except (ValueError, np.linalg.LinAlgError) as error:
                    if method not in RIVALS:
                        raise
                    # It is tried again in the next run.
                    print(f"{world}: {method}: {error}", file=sys.stderr)
                    continue
                found.append((world, method, {**facts, "method": method, **says}))
    return found


class Kept:
    """The findings on disk: one for each world and method, ours for each library of worlds."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._store = sqlite3.connect(file)
        self._store.execute("CREATE TABLE IF NOT EXISTS found (world, method, library, facts, UNIQUE(world, method))")
        folder = Path(propense.worlds.__path__[0])
        parts = [each.read_bytes() for each in sorted(folder.iterdir()) if each.suffix in (".py", ".npz")]
        self._library = zlib.crc32(b"".join(parts))

    def rows(self) -> dict[tuple[str, str], Row]:
        """What was found, by world and method."""
        ask = "SELECT world, method, facts FROM found WHERE library = ? OR method NOT IN (?, ?)"
        found = self._store.execute(ask, (self._library, OURS, NAMED))
        return {(world, method): json.loads(facts) for world, method, facts in found}

    def keep(self, found: list[tuple[str, str, Row]]) -> None:
        """Keep what was found in one place."""
        rows = [(world, method, self._library, json.dumps(facts)) for world, method, facts in found]
        with self._store:
            self._store.executemany("INSERT OR REPLACE INTO found VALUES (?, ?, ?, ?)", rows)


def main() -> None:
    """Measure, print Markdown tables, draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="more label frequencies")
    parser.add_argument("--rivals", action="store_true", help="other estimators of P(Y=1), too")
    parser.add_argument("--tables", nargs="*", default=[], help="only these")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=np.inf, help="start nothing after; the next run goes on")
    parser.add_argument("--store", type=Path, default=ROOT / ".bench" / "coverage.sqlite")
    parser.add_argument("--figure", type=Path, help="draw the errors into this file")
    asked = parser.parse_args()
    rivals = [name for name, path in RIVALS.items() if is_installed(path)] if asked.rivals else []
    if asked.rivals and len(rivals) < len(RIVALS):
        print(f"Not installed: {', '.join(name for name in RIVALS if name not in rivals)}.\n")
    kept, end = Kept(asked.store), time.time() + 60.0 * asked.minutes
    known, cs = set(kept.rows()), FREQUENCIES + (MORE if asked.all else ())
    tasks = (delayed(measure)(each, cs, rivals, known, end) for each in places(asked.tables, asked.seeds))
    for found in Parallel(n_jobs=asked.jobs, return_as="generator_unordered")(tasks):
        kept.keep(found)
    rows = list(kept.rows().values())
    print(page(rows, tuple(MECHANISMS), tuple(FOLLOWED), (OURS, *RIVALS)))
    if asked.figure is not None:
        draw_figure(asked.figure, rows, tuple(MECHANISMS), (OURS, *RIVALS))


if __name__ == "__main__":
    main()
