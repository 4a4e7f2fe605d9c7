"""Rows of a Dask array drawn by number, whatever the blocks: those held out, and those that trees learn from."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from propense._designs import Design, Predictor, as_design
from propense._designs.dask.blocks import Blocks, hold
from propense._inputs.sample import Sample
from propense._maths.arrays import Vector
from propense._steps.folds import Folds, fold_count, given_folds

__all__ = ["draw_blocks", "hold_out_blocks", "log_odds_out_of_fold"]


def hold_out_blocks(sample: Sample, cv: Folds, seed: int) -> list[da.Array]:
    """The masks of the rows held out: drawn row by row, whatever the blocks, or as given."""
    if isinstance(cv, Sequence):
        return [hold(sample.design.send(mask)) for mask in given_folds(sample, cv)]
    count = fold_count(sample.design.shape[0], int(sample.labelled.sum()), cv)
    numbers = hold((_chances(sample.design.features, seed) * count).astype(np.int64))
    return [hold(numbers == fold) for fold in range(count)]


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


def draw_blocks(
    design: Design, labelled: da.Array, weights: Any, held: Sequence[da.Array], parts: tuple[float, float], seed: int
) -> tuple[NDArray[np.floating], list[Any]]:
    """A part of the labelled rows and one of the others, in memory: features, labels, weights and who is held out."""
    rows = [labelled, _chances(design.features, seed + 1), *([] if weights is None else [weights]), *held]
    found = Blocks(design.features).all(partial(_drawn, parts), *rows)
    features, labels, *others = (np.concatenate(each) for each in zip(*found, strict=True))
    return features, [labels, *([None] if weights is None else []), *others]


def _drawn(parts: tuple[float, float], block: Any, labelled: Any, chance: Vector, *rows: Any) -> list[NDArray[Any]]:
    kept = np.flatnonzero(chance < np.where(labelled, *parts))
    return [np.asarray(each)[kept] for each in (block, labelled, *rows)]


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
