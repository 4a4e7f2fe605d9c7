"""The exact Euclidean nearest neighbour of each query row within a pool of rows, on a device.

The idea is that of neighbours.py: with c a centre, l = query − c and u = candidate − c, the squared distance is
‖l‖² + (‖u‖² − 2 l·u). The bracket is bounded from below by one product in float16, with each row scaled by its own
power of two and the possible rounding error subtracted. A block of candidates whose lowest bound exceeds the distance
of the best one known contains none that is nearer. The other blocks are measured exactly, as Σ(query − candidate)² in
float64. Ties go to the lowest row.

Rows of few columns are close to each other relative to their norms. For these, and whenever many blocks are left, each
value is split into two float16 numbers, its rounding and the remainder, which is about as precise as float32.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch

from propense._designs.threads import slices

__all__ = ["BLOCK", "Operand", "Space", "make_operand", "nearest_tensor"]

Tensor = Any

# Candidates that share one bound. Operands are padded to whole blocks of rows and to multiples of _DEPTH columns.
BLOCK, _DEPTH = 256, 64
# Queries searched at a time, fewer at first to see how many blocks are left, and candidates prepared at a time.
_FIRST, _QUERIES, _CANDIDATES = 2048, 32768, 65536
# Entries of X copied at a time, 256 MiB of float64; lowest bounds kept at a time, 2 GiB; bounds computed at a time
# without a kernel.
_COPIED, _KEPT, _TILE = 1 << 25, 1 << 29, 1 << 28
# Pairs of a query and a block compared at a time.
_PAIRS = 1 << 24
# Values are split in two with at most this many columns, or with more than this many blocks left per query.
_FEW_COLUMNS, _MANY_LEFT = 64, 100
# Rows sampled for the centre.
_SAMPLE = 128


def nearest_tensor(features: Tensor, queries: Tensor, pool: Tensor) -> Tensor:
    """For each row number in `queries`, the number of its nearest row among those in `pool`, which are ascending."""
    space = Space(features, queries, pool)
    split, done = features.shape[1] <= _FEW_COLUMNS, 0
    size = max(min(_QUERIES, _KEPT // space.blocks, _COPIED // features.shape[1]), 1)
    found = []
    while done < len(queries):
        which = slice(done, min(done + (size if done else min(size, _FIRST)), len(queries)))
        positions, left = _search(space, which, split)
        found.append(positions)
        split = split or left > _MANY_LEFT * len(positions)
        done = which.stop
    return pool[torch.cat(found)]


def _search(space: "Space", which: slice, split: bool) -> tuple[Tensor, int]:
    """The position in the pool of the row nearest to each of some queries, and the number of further blocks read."""
    operand = make_operand(space, space.queries[which], split, left=True)
    lowest = space.lowest(operand, split)
    likely = lowest.argmin(1)
    distance, position = space.measure(torch.arange(which.start, which.stop, device=likely.device), likely)
    starts = torch.arange(space.blocks, device=likely.device) * BLOCK
    left = 0
    for some in slices(len(likely), _PAIRS // space.blocks):
        # Rounded up, so that a float32 comparison does not lose a candidate.
        ceiling = (distance[some] + operand.bias[some]).float().nextafter(distance.new_tensor(torch.inf).float())
        rivals = lowest[some] <= ceiling[:, None]
        rivals.scatter_(1, likely[some, None], False)
        # Nothing is nearer than 0, and the lowest row wins a tie at 0: later blocks are excluded.
        rivals &= (distance[some] > 0)[:, None] | (starts < position[some, None])
        query, blocks = rivals.nonzero(as_tuple=True)
        if len(query):
            found = space.measure(which.start + some.start + query, blocks)
            distance[some], position[some] = _better(distance[some], position[some], query, *found)
            left += len(query)
    return position, left


def _better(
    distance: Tensor, position: Tensor, query: Tensor, distances: Tensor, positions: Tensor
) -> tuple[Tensor, Tensor]:
    """The best for each query, given the distances and positions of rivals, each of one `query`; lowest row on ties."""
    best = distance.scatter_reduce(0, query, distances, "amin")
    nowhere = torch.iinfo(torch.int64).max
    held = torch.where(distance == best, position, nowhere)
    return best, held.scatter_reduce(0, query, torch.where(distances == best[query], positions, nowhere), "amin")


class Space:
    """The rows, and the unit and centre in which they are compared."""

    def __init__(self, features: Tensor, queries: Tensor, pool: Tensor) -> None:
        self.features, self.queries, self.pool = features, queries, pool
        self.blocks = -(-len(pool) // BLOCK)
        low, high = torch.aminmax(features)
        largest = math.frexp(max(abs(float(low)), abs(float(high))))
        # A power of two that brings the largest entry near 1: squares neither overflow nor vanish.
        self.unit = 2.0 ** min(-largest[1], 1000)
        # Any centre will do; unlike a mean, a median stays near the rows if one of them is far away.
        self.centre = (features[:: -(-len(features) // _SAMPLE)].double() * self.unit).median(0).values
        self._kernels = _kernels_for(features)

    def lowest(self, queries: "Operand", split: bool) -> Tensor:
        """The lowest bound of ‖u‖² − 2 l·u of each query within each block of candidates."""
        out = torch.empty((queries.count, self.blocks), dtype=torch.float32, device=self.features.device)
        fill = _lowest if self._kernels is None else self._kernels.lowest
        blocks = max(min(_CANDIDATES, _COPIED // self.features.shape[1]) // BLOCK, 1)
        for which in slices(len(self.pool), blocks * BLOCK):
            candidates = make_operand(self, self.pool[which], split, left=False)
            fill(queries, candidates, out[:, which.start // BLOCK : -(-which.stop // BLOCK)])
        return out

    def measure(self, query: Tensor, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """The least squared distance of each query within its block, and the first position that has it."""
        if self._kernels is not None:
            found: tuple[Tensor, Tensor] = self._kernels.measure(self, query, blocks)
            return found
        size = _COPIED // (BLOCK * self.features.shape[1])
        parts = [_measure(self, query[which], blocks[which]) for which in slices(len(query), size)]
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])


@dataclass(frozen=True)
class Operand:
    """Rows prepared for the products that give the bounds.

    Attributes
    ----------
    rows : float16 tensor of shape (m, k)
        x − c, each row divided by its scale and padded with zeros.
    scale : float32 tensor of shape (m,)
        The scales; for queries, times −2.
    bias : tensor
        For candidates, float32 of shape (m,): ‖u‖² minus their part of the possible rounding error, infinite for
        padding. For queries, float64 of shape (count,): their part of that error minus ‖l‖².
    count : int
        The number of rows without padding.
    """

    rows: Tensor
    scale: Tensor
    bias: Tensor
    count: int


def make_operand(space: Space, index: Tensor, split: bool, *, left: bool) -> Operand:
    """Some rows of X as an operand."""
    norm = torch.linalg.vector_norm
    x = space.features[index].double().mul_(space.unit)
    size, p = norm(x, dim=1), x.shape[1]
    shifted = x.sub_(space.centre)
    # Rounding errors: of the two factors, 2⁻¹¹ of each value or 2⁻²² of a split one; of the sum of their products on
    # tensor cores, at most 2⁻²² per term; of the bound, some 2⁻²⁴. As 2‖l‖‖u‖ ≤ ‖l‖² + ‖u‖², each side takes a part.
    slack = 1.1 * (2.0 ** (-20 if split else -10) + ((4 if split else 1) * p + 16) * 2.0**-22)
    reach = norm(shifted, dim=1)
    # The subtraction rounds at ε(‖x‖ + ‖c‖), however small x − c is; 1e-15 covers underflow.
    allowance = slack * (reach + (size + space.centre.norm()) * 2.0**-52 / slack + 1e-15).square()
    exponent = norm(shifted, ord=math.inf, dim=1).frexp().exponent.clamp(min=-100)
    # The largest entry of a row becomes at most 2¹⁴: what float16 then loses at its lower end is negligible.
    scale = torch.exp2(exponent.double() - 14.0)
    rows = _fill(_halves(shifted.div_(scale[:, None]), split, left=left), 0.0)
    if left:
        return Operand(rows, _fill(-2.0 * scale.float(), 0.0), allowance - reach.square(), len(index))
    return Operand(rows, _fill(scale.float(), 0.0), _fill((reach.square() - allowance).float(), math.inf), len(index))


def _halves(values: Tensor, split: bool, *, left: bool) -> Tensor:
    """The values in float16; if split, arranged so that one product sums all products of roundings and remainders."""
    top = values.half()
    if not split:
        return top
    rest = values.sub_(top).half()
    return torch.cat([top, top, rest, rest] if left else [top, rest, top, rest], dim=1)


def _fill(rows: Tensor, value: float) -> Tensor:
    """Pad rows, and columns if there are any, to whole blocks."""
    shape = [-(-size // whole) * whole for size, whole in zip(rows.shape, (BLOCK, _DEPTH), strict=False)]
    out = torch.full(shape, value, dtype=rows.dtype, device=rows.device)
    out[tuple(slice(0, size) for size in rows.shape)] = rows
    return out


def _lowest(queries: Operand, candidates: Operand, out: Tensor) -> None:
    """The lowest bound in each block, by matrix products in torch."""
    for which in slices(queries.count, _TILE // len(candidates.rows)):
        if queries.rows.device.type == "cuda":
            bounds = torch.mm(queries.rows[which], candidates.rows.T, out_dtype=torch.float32)
        else:
            # float16 is not faster on the CPU; the bounds are the same.
            bounds = queries.rows[which].float() @ candidates.rows.float().T
        bounds.mul_(queries.scale[which, None]).mul_(candidates.scale).add_(candidates.bias)
        out[which] = bounds.view(len(bounds), -1, BLOCK).amin(2)


def _measure(space: Space, query: Tensor, blocks: Tensor) -> tuple[Tensor, Tensor]:
    """The least distance in each block, by differences in torch."""
    where = blocks[:, None] * BLOCK + torch.arange(BLOCK, device=query.device)
    there = where < len(space.pool)
    rows = space.pool[where.clamp(max=len(space.pool) - 1)]
    gap = space.features[space.queries[query]].double()[:, None] - space.features[rows].double()
    distances = gap.mul_(space.unit).square_().sum(2).masked_fill_(~there, math.inf)
    least = distances.amin(1)
    # The first position, which a tensor's argmin need not return.
    first = torch.where(distances == least[:, None], where, torch.iinfo(torch.int64).max).amin(1)
    return least, first


def _kernels_for(features: Tensor) -> Any:
    """The module of kernels if there is one for the device, otherwise None."""
    if features.device.type != "cuda":
        return None
    try:
        from propense._designs.torch import neighbour_kernels
    except ImportError:
        return None
    return neighbour_kernels
