"""Boosted trees of the labels of a Dask array, by xgboost on the workers; imported only if X is one.

Columns are cut into at most 255 bins first. So one byte per cell is enough for xgboost, which holds its rows in the
memory of the workers, and its trees do not depend on how the rows are divided into blocks: xgboost's own bins do.
"""

import json
import math
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import get_scheduler, tokenize
from numpy.typing import NDArray

from propense._designs import Design, Predictor, as_design
from propense._designs.dask.blocks import Blocks, hold, layer, same
from propense._designs.dask.design import rows_of
from propense._inputs.sample import Sample
from propense._maths.arrays import Vector
from propense._maths.logistic import logit
from propense._steps.folds import Folds, given_folds
from propense._steps.label_learners import is_moderate
from propense._steps.small_trees import Tree, TreePredictor, as_tables
from propense.errors import MissingExtra

__all__ = ["BlockBooster", "hold_out_blocks", "log_odds_out_of_fold", "obstacle"]

# As many bins as scikit-learn's boosting has, from at most so many rows, and so many cells in all: they come here.
_BINS, _BIN_ROWS, _BIN_CELLS = 255, 50_000, 4_000_000
# The most cells, of one byte, that trees are fitted to: of more rows, a random part.
_MOST_CELLS = 200_000_000
# Trees are kept as tables, whose size doubles with each leaf: as many as learn about as much as larger ones in memory.
_ROUNDS, _LEAVES, _LEAF_ROWS, _RATE, _COLUMNS = 150, 8, 20, 0.1, 0.3


def obstacle(features: da.Array) -> str:
    """What keeps xgboost from the blocks, and the way out; empty if nothing does."""
    if sp.issparse(features._meta):
        return "the blocks of X are sparse. Make them dense to add boosted trees"
    if find_spec("xgboost") is None:
        return 'X is a Dask array and xgboost is not installed. Add boosted trees: pip install "propense[boost]"'
    if _client() is None:
        return "X is a Dask array and there is no cluster. Start one, distributed.Client(), to add boosted trees"
    return ""


def _client() -> Any | None:
    """The client that Dask computes with, if it does so on a cluster."""
    client = getattr(get_scheduler(cls=da.Array), "__self__", None)
    return client if hasattr(client, "scheduler_info") else None


def _check_workers() -> None:
    """Raise an error if a worker lacks xgboost: a fit would wait for it for ever."""
    client = _client()
    assert client is not None
    lacking = [worker for worker, there in client.run(_can_boost).items() if not there]
    if lacking:
        raise MissingExtra(
            f"The Dask worker {lacking[0]} cannot import xgboost. Install it on every worker: pip install "
            "\"propense[boost]\". Or pass learners='linear', which needs no trees."
        )


def _can_boost() -> bool:
    try:
        import_module("xgboost")
    except ImportError:
        return False
    return True


class BlockBooster:
    """Fits trees to the rows outside of each fold, on the cluster in use."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def fit(self, design: Design, labelled: da.Array, weights: Any, held: Sequence[da.Array]) -> Iterator[Predictor]:
        """The trees of each fold, one after the other."""
        _check_workers()
        features = design.features
        chance = hold(_chances(features, self._seed + 1))
        edges = _edges(features, chance)
        name = f"propense-bins-{tokenize(features.name, edges)}"
        codes = layer(name, partial(_code, edges), features, features.chunks, np.empty((0, 0), np.uint8))
        part = _MOST_CELLS / math.prod(features.shape)
        if part < 1.0:
            drawn = hold(chance < part)
            codes, labelled, weights, *held = _rows(drawn, codes, labelled, weights, *held)
        # All folds use them.
        codes = codes.persist()
        for mask in held:
            own, targets, loads = _rows(hold(~mask), codes, labelled, weights)
            yield self._fit_one(own, targets, loads, edges)

    def _fit_one(self, codes: da.Array, labelled: da.Array, weights: Any, edges: list[Vector]) -> TreePredictor:
        import xgboost
        from xgboost import dask as cluster

        total = float(codes.shape[0] if weights is None else weights.sum())
        mean = total / codes.shape[0]
        if weights is not None and not is_moderate(mean):
            weights, total = weights / mean, float(codes.shape[0])
        share = float((labelled if weights is None else weights * labelled).sum()) / total
        share = float(np.float32(min(max(share, 1e-6), 1.0 - 1e-6)))
        settings = _settings(codes.shape[1], share, self._seed)
        full = [None if each is None else _without_empty(each) for each in (codes, labelled, weights)]
        client = _client()
        with xgboost.config_context(verbosity=0):
            data = cluster.DaskQuantileDMatrix(client, full[0], full[1], weight=full[2], max_bin=_BINS + 1)
            found = cluster.train(client, settings, data, num_boost_round=_ROUNDS)["booster"]
        return as_tables(float(logit(share)), _trees(json.loads(bytes(found.save_raw("json"))), edges))


def _settings(width: int, share: float, seed: int) -> dict[str, Any]:
    """What boosting in memory is set to, in xgboost's words, where a share of the rows is labelled."""
    return {
        "objective": "binary:logistic",
        "base_score": share,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": 0,
        "max_leaves": _LEAVES,
        "max_bin": _BINS + 1,
        "learning_rate": _RATE,
        "reg_lambda": 5.0,
        # At least so many rows of an average chance.
        "min_child_weight": _LEAF_ROWS * share * (1.0 - share),
        # scikit-learn rounds the number of columns up, xgboost down.
        "colsample_bynode": min(1.0, (math.ceil(_COLUMNS * width) + 0.01) / width),
        "seed": seed,
    }


def hold_out_blocks(sample: Sample, cv: Folds, seed: int) -> list[da.Array]:
    """The masks of the rows held out: drawn row by row, whatever the blocks, or as given."""
    if isinstance(cv, Sequence):
        return [hold(sample.design.send(mask)) for mask in given_folds(sample, cv)]
    numbers = hold((_chances(sample.design.features, seed) * cv).astype(np.int64))
    return [hold(numbers == fold) for fold in range(cv)]


def log_odds_out_of_fold(predictors: Sequence[Predictor], design: Design, held: Sequence[da.Array]) -> da.Array:
    """The log-odds of every row by the model that has not seen it; nothing is computed."""
    masks = [mask[:, np.newaxis] for mask in held]
    meta = np.empty(0)
    return da.map_blocks(partial(_each_fold, predictors), design.features, *masks, drop_axis=1, meta=meta)


def _each_fold(predictors: Sequence[Predictor], block: Any, *masks: NDArray[np.bool_]) -> Vector:
    out = np.empty(block.shape[0])
    for predictor, mask in zip(predictors, masks, strict=True):
        rows = np.flatnonzero(mask)
        out[rows] = predictor.log_odds(as_design(block[rows]))
    return out


def _chances(features: da.Array, seed: int) -> da.Array:
    """A random number from 0 to 1 for every row, which depends on its number and the seed alone."""
    numbers = da.arange(features.shape[0], chunks=features.chunks[:1], dtype=np.int64)
    return numbers.map_blocks(partial(_chance, seed), dtype=np.float64, meta=np.empty(0))


def _chance(seed: int, numbers: NDArray[np.int64]) -> Vector:
    """SplitMix64 (Steele, Lea and Flood 2014) of a row number; uint64 arrays wrap around."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = mixed + np.uint64((seed + 1) * 0xD1B54A32D192ED03 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11), dtype=np.float64) / 2.0**53


def _edges(features: da.Array, chance: da.Array) -> list[Vector]:
    """Where the bins of every column begin, without the first, from some rows."""
    n, p = features.shape
    part = min(_BIN_ROWS, max(_BIN_CELLS // p, 1000)) / n
    rows = np.concatenate(Blocks(features).all(partial(_drawn, part), chance))
    return [_edges_of(column) for column in rows.T]


def _drawn(part: float, block: NDArray[np.floating], chance: Vector) -> NDArray[np.floating]:
    return block[np.flatnonzero(chance < part)]


def _edges_of(column: NDArray[np.floating]) -> Vector:
    values = np.unique(column).astype(np.float64)
    if len(values) > _BINS:
        shares = np.linspace(0.0, 1.0, _BINS + 1)[1:-1]
        return np.unique(np.quantile(column.astype(np.float64), shares, method="midpoint"))
    # Halved first: their sum may be beyond float64. The middle of two neighbours may be the lower of them.
    middle = 0.5 * values[:-1] + 0.5 * values[1:]
    return np.asarray(np.where(middle > values[:-1], middle, values[1:]))


def _code(edges: list[Vector], block: NDArray[np.floating]) -> NDArray[np.uint8]:
    """The number of the bin of every cell."""
    out = np.empty(block.shape, dtype=np.uint8)
    for place, each in enumerate(edges):
        out[:, place] = np.searchsorted(each, block[:, place], side="right")
    return out


def _rows(mask: da.Array, *arrays: Any) -> list[Any]:
    """The rows of a mask of each array; None stays None."""
    counts = tuple(Blocks(mask).all(np.count_nonzero))
    return [None if each is None else rows_of(each, mask, counts) for each in arrays]


def _without_empty(array: da.Array) -> da.Array:
    """The blocks that have rows: xgboost does not take others."""
    lengths = array.chunks[0]
    kept = [number for number, length in enumerate(lengths) if length]
    chunks = tuple(lengths[number] for number in kept), *array.chunks[1:]
    return layer(f"propense-full-{tokenize(array.name)}", same, array, chunks, array._meta, kept)


def _trees(model: dict[str, Any], edges: list[Vector]) -> list[Tree]:
    """The trees of xgboost's own description, with thresholds in the units of the columns."""
    trees = []
    for each in model["learner"]["gradient_booster"]["model"]["trees"]:
        left, right, feature = (
            np.array(each[name], dtype=np.intp) for name in ("left_children", "right_children", "split_indices")
        )
        # The condition of a leaf is its value.
        condition = np.array(each["split_conditions"], dtype=np.float64)
        threshold = np.full(len(left), np.nan)
        for node in np.flatnonzero(left >= 0):
            threshold[node] = _threshold(edges[feature[node]], condition[node])
        trees.append(Tree(left, right, feature, threshold, condition))
    return trees


def _threshold(edges: Vector, condition: float) -> float:
    """The value below which cells are in a bin whose number is below the condition."""
    last = math.ceil(condition) - 1
    if last < 0:
        return -math.inf
    return float(edges[last]) if last < len(edges) else math.inf
