"""Kernels for the two expensive parts of the search for neighbours: bounds, and exact distances within blocks."""

from typing import Any

import torch
import triton
import triton.language as tl

from propense._designs.torch.neighbours import BLOCK, Operand, Space

__all__ = ["lowest", "measure"]

Tensor = Any

# Queries in a tile of bounds, columns multiplied at a time, and tiles of queries that share a block in cache.
HEIGHT, DEPTH, GROUP = 128, 64, 32
WARPS, STAGES = 8, 3
# Columns of X subtracted at a time.
_COLUMNS = 16


def lowest(queries: Operand, candidates: Operand, out: Tensor) -> None:
    """Fill `out` with the lowest bound of each query in each block; no other bound is ever written."""
    tiles, blocks = len(queries.rows) // HEIGHT, out.shape[1]
    _lowest_kernel[(tiles * blocks,)](
        queries.rows,
        candidates.rows,
        queries.scale,
        candidates.scale,
        candidates.bias,
        out,
        out.stride(0),
        queries.count,
        tiles,
        blocks,
        queries.rows.shape[1],
        height=HEIGHT,
        block=BLOCK,
        depth=DEPTH,
        group=GROUP,
        num_warps=WARPS,
        num_stages=STAGES,
    )


def measure(space: Space, query: Tensor, blocks: Tensor) -> tuple[Tensor, Tensor]:
    """The least squared distance of each query within its block, and the first position that has it."""
    features = space.features
    distances = torch.empty(len(query), dtype=torch.float64, device=features.device)
    positions = torch.empty(len(query), dtype=torch.int64, device=features.device)
    _measure_kernel[(len(query),)](
        features,
        features.stride(0),
        features.stride(1),
        space.queries,
        query,
        space.pool,
        blocks,
        # As a tensor: a number would be passed as float32.
        torch.tensor([space.unit], dtype=torch.float64, device=features.device),
        distances,
        positions,
        len(space.pool),
        features.shape[1],
        block=BLOCK,
        columns=_COLUMNS,
        num_warps=8,
    )
    return distances, positions


@triton.jit(do_not_specialize=["stride", "count", "tiles", "blocks"])
def _lowest_kernel(
    left,
    right,
    left_scale,
    right_scale,
    bias,
    out,
    stride,
    count,
    tiles,
    blocks,
    width,
    height: tl.constexpr,
    block: tl.constexpr,
    depth: tl.constexpr,
    group: tl.constexpr,
):
    # Programs that run together share some tiles of queries and walk through the blocks.
    number = tl.program_id(0)
    first = number // (group * blocks) * group
    together = tl.minimum(tiles - first, group)
    tile = first + number % (group * blocks) % together
    which = number % (group * blocks) // together
    query = tile * height + tl.arange(0, height)
    candidate = which * block + tl.arange(0, block)
    columns = tl.arange(0, depth)
    a = left + query[:, None] * width + columns[None, :]
    b = right + candidate[None, :] * width + columns[:, None]
    products = tl.zeros((height, block), dtype=tl.float32)
    for _ in range(0, width, depth):
        products = tl.dot(tl.load(a), tl.load(b), products)
        a += depth
        b += depth
    bounds = products * tl.load(left_scale + query)[:, None] * tl.load(right_scale + candidate)[None, :]
    bounds += tl.load(bias + candidate)[None, :]
    tl.store(out + query.to(tl.int64) * stride + which, tl.min(bounds, axis=1), mask=query < count)


@triton.jit(do_not_specialize=["size"])
def _measure_kernel(
    features,
    row_stride,
    column_stride,
    queries,
    numbers,
    pool,
    blocks,
    unit,
    distances,
    positions,
    size,
    width,
    block: tl.constexpr,
    columns: tl.constexpr,
):
    pair = tl.program_id(0)
    query = tl.load(queries + tl.load(numbers + pair))
    where = tl.load(blocks + pair) * block + tl.arange(0, block)
    there = where < size
    row = tl.load(pool + where, mask=there, other=0)
    scale = tl.load(unit)
    sums = tl.zeros((block, columns), dtype=tl.float64)
    for start in range(0, width, columns):
        column = start + tl.arange(0, columns)
        inside = column < width
        place = features + column.to(tl.int64) * column_stride
        query_part = tl.load(place + query * row_stride, mask=inside, other=0.0).to(tl.float64)
        u = tl.load(place[None, :] + row[:, None] * row_stride, mask=there[:, None] & inside[None, :], other=0.0).to(
            tl.float64
        )
        gap = (query_part[None, :] - u) * scale
        sums += gap * gap
    distance = tl.where(there, tl.sum(sums, axis=1), float("inf"))
    least = tl.min(distance, axis=0)
    tl.store(distances + pair, least)
    tl.store(positions + pair, tl.min(tl.where(distance == least, where, size), axis=0))
