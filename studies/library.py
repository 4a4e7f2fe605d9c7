"""The library of worlds that the package ships: `python studies/library.py --folder .worlds`.

Each world of the folder (``studies/worlds.py``) is summarised as a user's table is, a forest learns which summaries go
with which share of hidden positives, and everything goes into one file of arrays, src/propense/worlds/worlds.npz.
``--check`` writes nothing: it shows how often ranges hold the truth in worlds whose table was left out, or whose table
and way of labelling were. ``--tails`` shows which ends of the range of h make the narrowest ranges for lists.
"""

import argparse
import io
import zipfile
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.isotonic import IsotonicRegression
from threadpoolctl import threadpool_limits

import propense
from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._maths.logistic import logit, sigmoid
from propense._steps.named_pair import fit_named
from propense.worlds.answer import BLOCKS, Answer, Given
from propense.worlds.library import LEAF, Trees, Worlds
from propense.worlds.summary import named_values, summarise
from worlds import MECHANISMS, TABLES, World, read_worlds

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]
TARGET = Path(__file__).parents[1] / "src" / "propense" / "worlds" / "worlds.npz"
SOURCES = (*TABLES, "simulated")
# Bins of a summary; trees, the fewest worlds of a leaf, and the share of the summaries that a split chooses from.
_BINS, _TREES, _LEAF, _SUMMARIES = 100, 60, 10, 0.33
# The parts that are left out, one after the other, to check.
_PARTS = 5
# Ends of the range of h to compare, on one of so many worlds that were left out.
_TAILS, _OF_EACH = [(low, high) for low in (0.05, 0.1, 0.15, 0.2, 0.25) for high in (0.85, 0.9, 0.95, 0.98)], 5
# What the package has itself.
_NOT_WRITTEN = {"trees", "tails", "known_tails"}
# The share of worlds that are not called strange.
_NEARLY_ALL = 0.99


@dataclass(frozen=True)
class Known:
    """A world's summaries and truths, as in `propense.worlds.library.Worlds`, and what it was drawn from."""

    values: Rows
    share: float
    rate: float
    hidden: float
    curve: Rows
    unevenness: float
    rest: int
    source: int
    mechanism: int


def know(world: World, named: bool) -> Known:
    """A world as a user meets it who names its columns of access, or nothing."""
    with threadpool_limits(1):
        return _know(world, named)


def _know(world: World, named: bool) -> Known:
    scores = (world.others if named else world.scores).astype(np.float64).mean(axis=0)
    t = (scores - scores.mean()) / max(float(scores.std()), 1e-9)
    ones = np.ones(len(t))
    summary = summarise(t, world.labelled.astype(np.float64), ones, world.columns)
    values = np.append(summary.values, _of_names(world, t, ones)) if named else summary.values
    rest = ~world.labelled
    among = world.positive[rest]
    return Known(
        values,
        float(world.positive.mean()),
        summary.rate,
        float(logit((among.sum() + 0.5) / (len(among) + 1.0))),
        along_blocks(t[rest], among),
        world.unevenness,
        len(among),
        SOURCES.index(world.source),
        MECHANISMS.index(world.mechanism),
    )


def along_blocks(t: Rows, positive: Mask) -> Rows:
    """The share of positives in each block of unlabelled rows, never rising from the top down; ties share theirs."""
    _, where = np.unique(-t, return_inverse=True)
    rows = np.bincount(where)
    shares = np.bincount(where, positive) / rows
    falling = IsotonicRegression(increasing=False).fit_transform(np.arange(len(rows)), shares, sample_weight=rows)
    places, sums = np.append(0.0, np.cumsum(rows)), np.append(0.0, np.cumsum(falling * rows))
    return np.diff(np.interp(BLOCKS * len(t), places, sums)) / np.diff(BLOCKS) / len(t)


def _of_names(world: World, t: Rows, ones: Rows) -> Rows:
    design, count = as_design(world.access.astype(np.float64)), world.access.shape[1]
    fit = fit_named(Sample(design, world.labelled, None, None, propensity_columns=np.arange(count)), t)
    along = fit.level + fit.slope * t
    own = np.zeros(len(t)) if fit.own is None else np.asarray(fit.own.log_odds(design))
    e = np.asarray(fit.propensity.log_odds(design))
    return named_values(t, along + own, e, own, world.labelled, ones, len(fit.propensity.coef) - 1)


def build(known: list[Known], seed: int = 0) -> Worlds:
    """The library of these worlds, in which no table is too far."""
    values, hidden = (np.array([getattr(each, name) for each in known]) for name in ("values", "hidden"))
    edges = np.quantile(values, np.arange(1, _BINS) / _BINS, axis=0).T.astype(np.float32).astype(np.float64)
    bins = np.array([np.searchsorted(e, v) for e, v in zip(edges, values.T, strict=True)], dtype=np.uint8).T
    forest = RandomForestRegressor(_TREES, min_samples_leaf=_LEAF, max_features=_SUMMARIES, random_state=seed)
    return Worlds(
        edges=edges,
        bins=bins,
        trees=_trees(forest.fit(bins, hidden)),
        hidden=hidden,
        unevenness=np.array([each.unevenness for each in known]),
        curve=np.round(255.0 * np.array([each.curve for each in known])).astype(np.uint8),
        far=np.inf,
    )


def _trees(forest: RandomForestRegressor) -> Trees:
    trees = [each.tree_ for each in forest.estimators_]
    feature, threshold, left, right = (
        np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("feature", "threshold", "children_left", "children_right")
    )
    starts = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
    leaf = left < 0
    # The left side of a node is the next node.
    within = np.arange(len(left)) - np.repeat(starts, [tree.node_count for tree in trees])
    assert (left[~leaf] == within[~leaf] + 1).all()
    return Trees(
        starts.astype(np.int32),
        np.where(leaf, LEAF, feature).astype(np.uint8),
        np.where(leaf, 0, np.floor(threshold)).astype(np.uint8),
        np.where(leaf, 0, right).astype(np.uint16),
    )


def how_far(worlds: Worlds, sources: NDArray[np.int64]) -> float:
    """The distance from the nearest world of another table that nearly all worlds have at most."""
    far = np.empty(len(sources))
    for place, (bins, source) in enumerate(zip(worlds.bins.astype(np.int16), sources, strict=True)):
        others = worlds.bins[sources != source].astype(np.int16)
        far[place] = np.abs(others - bins).mean(axis=1).min() / (worlds.edges.shape[1] + 1)
    return float(np.quantile(far, _NEARLY_ALL))


def write(path: Path, libraries: dict[str, Worlds], recipe: str) -> None:
    """Write libraries under their names, the same bytes for the same worlds."""
    arrays: dict[str, Any] = {"recipe": np.array(recipe)}
    for kind, worlds in libraries.items():
        facts = {**vars(worlds), **vars(worlds.trees)}
        for name in sorted(
            {*Worlds.__dataclass_fields__, *Trees.__dataclass_fields__} - {"trees", "tails", "known_tails"}
        ):
            value = np.asarray(facts[name])
            arrays[f"{kind} {name}"] = value.astype(np.float32) if value.dtype.kind == "f" else value
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in arrays.items():
            held = io.BytesIO()
            np.save(held, value, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), held.getvalue(), zipfile.ZIP_DEFLATED, 9)


def check(known: list[Known], several: bool, jobs: int) -> None:
    """Print how often ranges hold the truth in worlds whose table was left out, and with `several`, their mechanism."""
    parts = np.array([each.source for each in known]) % _PARTS
    mechanisms = np.array([each.mechanism for each in known])
    splits = []
    for part, mechanism in product(range(_PARTS), range(len(MECHANISMS)) if several else (None,)):
        left = (parts == part) & (mechanism is None or mechanisms == mechanism)
        kept = (parts != part) & (mechanism is None or mechanisms != mechanism)
        splits.append([[known[place] for place in np.flatnonzero(which)] for which in (kept, left)])
    found = Parallel(n_jobs=jobs)(delayed(_left_out)(*split) for split in splits)
    rows = np.array([row for some in found for row in some])
    print("| way of labelling | worlds | P(Y=1) held | width | off by | yields held | width |")
    print("| --- |" + " ---: |" * 6)
    for place, name in enumerate((*MECHANISMS, "all")):
        which = (rows[:, 0] == place) | (name == "all")
        if not which.any():
            continue
        shown = " | ".join(f"{each:.3f}".lstrip("0") for each in rows[which, 1:].mean(axis=0))
        print(f"| {name} | {which.sum()} | {shown} |")


def _left_out(kept: list[Known], left: list[Known]) -> list[list[float]]:
    worlds = build(kept)
    return [_held(worlds, world) for world in left]


def _held(worlds: Worlds, world: Known) -> list[float]:
    """The mechanism; whether the range of P(Y=1) holds, its width, its middle's error; the first two of yields."""
    answer = worlds.like(world.rate, world.values, Given())
    low, high, middle = answer.three()
    lists = [_list_held(answer, world, share) for share in (0.05, 0.1, 0.2)]
    held = low <= world.share <= high
    return [world.mechanism, held, high - low, abs(middle - world.share), *np.mean(lists, axis=0)]


def _list_held(answer: Answer, world: Known, share: float) -> tuple[float, float]:
    rows = max(share * world.rest, 1.0)
    low, high, truth = (
        np.interp(share, BLOCKS, np.append(0.0, np.cumsum(each * np.diff(BLOCKS)))) / share
        for each in (sigmoid(answer.low), sigmoid(answer.high), world.curve)
    )
    # Chance adds what `propense.tables.promise` adds.
    low, high = low - 1.28 * np.sqrt(low * (1 - low) / rows), high + 1.28 * np.sqrt(high * (1 - high) / rows)
    return float(low <= truth <= high), float(min(high, 1.0) - max(low, 0.0))


def compare_tails(known: list[Known], jobs: int) -> None:
    """Print how often ranges of h hold the yields of lists, with the share of positives unknown and known."""
    parts = np.array([each.source for each in known]) % _PARTS
    splits = [[[known[i] for i in np.flatnonzero(which)] for which in (parts != p, parts == p)] for p in range(_PARTS)]
    found = Parallel(n_jobs=jobs)(delayed(_of_tails)(kept, left[::_OF_EACH]) for kept, left in splits)
    print("| tails | held | width | held, share known | width |\n| --- |" + " ---: |" * 4)
    for tails, row in zip(_TAILS, np.mean(np.concatenate(found, axis=1), axis=1), strict=True):
        print(f"| {tails[0]:.0%}, {tails[1]:.0%} | {' | '.join(f'{each:.3f}'.lstrip('0') for each in row)} |")


def _of_tails(kept: list[Known], left: list[Known]) -> Rows:
    """For each pair of tails and each world: held and width, with the share unknown and known."""
    worlds, rows = build(kept), []
    for tails in _TAILS:
        some = replace(worlds, tails=tails, known_tails=tails)
        rows.append(
            [[*_lists(some, each, Given()), *_lists(some, each, Given(each.share, each.share))] for each in left]
        )
    return np.array(rows)


def _lists(worlds: Worlds, world: Known, given: Given) -> Rows:
    answer = worlds.like(world.rate, world.values, given)
    return np.mean([_list_held(answer, world, share) for share in (0.05, 0.1, 0.2)], axis=0)


def main() -> None:
    """Build and write, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(".worlds"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tails", action="store_true")
    asked = parser.parse_args()
    worlds = read_worlds(asked.folder)
    libraries = {}
    for kind in ("plain", "named"):
        some = [each for each in worlds if kind == "plain" or each.access.shape[1]]
        known = Parallel(n_jobs=asked.jobs)(delayed(know)(each, kind == "named") for each in some)
        # Of the worlds with named columns, nearly all are labelled by these.
        for several in [False, True][: 2 if kind == "plain" else 1] if asked.check else ():
            print(f"\n{kind}; left out: the table{' and the way of labelling' if several else ''}\n", flush=True)
            check(known, several, asked.jobs)
        if asked.tails:
            compare_tails(known, asked.jobs)
            return
        library = build(known)
        libraries[kind] = replace(library, far=how_far(library, np.array([each.source for each in known])))
    if not asked.check:
        recipe = f"propense {propense.__version__}, studies/worlds.py, worlds 0 to {worlds[-1].number}"
        write(TARGET, libraries, recipe)
        print(f"{TARGET}: {TARGET.stat().st_size:,} bytes, {recipe}")


if __name__ == "__main__":
    # By its name: worker processes cannot take functions from a script.
    import library

    library.main()
