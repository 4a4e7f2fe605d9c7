"""Passes over a matrix on CUDA that read every row once, in Triton.

A program reads a few rows at a time with all their columns, computes their products with the coefficients and the
slopes of the loss, and adds slope × row to a gradient that it keeps in registers. Every product and sum is float64,
whatever type X is stored in. Each program takes every n-th tile and stores its sums, which are added in the order of
the programs, so that the result does not depend on which finished first.
"""

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl

__all__ = ["knows", "products", "suit", "sweep"]

Tensor = Any

# The widest rows whose gradient, one float64 per column and row of a tile, stays in registers.
_WIDEST = 1024
# Entries of X in a tile. One warp processes it: several would split a row, and each would compute its slope.
TILE, WARPS = 1024, 1
# Tiles being loaded or processed, and programs for each multiprocessor: the fastest of some two hundred
# configurations on an H200.
STAGES = 4
PROGRAMS = 16
# Rows that a program of the loss kernel reads at a time.
_ROWS = 1024

_LOGISTIC, _JOINT = 0, 1
_FORMULAS = {"logistic": _LOGISTIC, "joint": _JOINT}


def suit(features: Tensor) -> bool:
    """Whether the kernels can read a matrix: its rows are contiguous and not too wide."""
    return bool(features.stride(1) == 1 or features.shape[1] == 1) and features.shape[1] <= _WIDEST


def knows(name: str) -> bool:
    """Whether there is a kernel for a formula."""
    return name in _FORMULAS


def products(features: Tensor, slopes: Tensor) -> Tensor:
    """X @ slopes, without an intercept."""
    out = torch.empty(len(features), dtype=torch.float64, device=features.device)
    coef = torch.cat([slopes.new_zeros(1), slopes])
    _pass(features, coef, (), None, out, name="logistic", gradient=False, store=True)
    return out


def sweep(
    features: Tensor, name: str, coef: Tensor, rows: Sequence[Tensor], weights: Tensor | None, *, value: bool
) -> Tensor:
    """The sum of the losses, 0 without `value`, then its gradient, the intercept's first."""
    n = len(features)
    stored = torch.empty(n if value else 1, dtype=torch.float64, device=features.device)
    # The slope takes the last of the rows only: the target, or the joint formula's shift.
    sums = _pass(features, coef, rows[-1:], weights, stored, name=name, gradient=True, store=value)
    total = _losses(stored, name, rows, weights) if value else sums.new_zeros(1)
    return torch.cat([total, sums])


def _pass(
    features: Tensor,
    coef: Tensor,
    rows: Sequence[Tensor],
    weights: Tensor | None,
    stored: Tensor,
    *,
    name: str,
    gradient: bool,
    store: bool,
) -> Tensor:
    """Run the kernel over X; returns the gradient, or zeros without `gradient`."""
    n, p = features.shape
    width = max(triton.next_power_of_2(p), 16)
    height = max(TILE // width, 1)
    programs = max(min(triton.cdiv(n, height), PROGRAMS * _processors(features.device)), 1)
    parts = torch.zeros((programs, p + 1), dtype=torch.float64, device=features.device)
    _sweep_kernel[(programs,)](
        features,
        features.stride(0),
        coef,
        rows[0] if rows else coef,
        coef if weights is None else weights,
        stored,
        parts,
        n,
        p,
        formula=_FORMULAS[name],
        weighted=weights is not None,
        gradient=gradient,
        store=store,
        height=height,
        width=width,
        stages=STAGES,
        num_warps=WARPS,
    )
    return parts.sum(0)


def _losses(products: Tensor, name: str, rows: Sequence[Tensor], weights: Tensor | None) -> Tensor:
    """Σwᵢ·lossᵢ for products computed before, as a tensor of one number."""
    n = len(products)
    programs = min(triton.cdiv(n, _ROWS), 8 * _processors(products.device))
    parts = torch.zeros(programs, dtype=torch.float64, device=products.device)
    # Booleans as bytes, which every version of Triton loads.
    first = rows[0].view(torch.uint8) if rows[0].dtype == torch.bool else rows[0]
    _loss_kernel[(programs,)](
        products,
        first,
        rows[1] if len(rows) > 1 else products,
        products if weights is None else weights,
        parts,
        n,
        formula=_FORMULAS[name],
        weighted=weights is not None,
        height=_ROWS,
        num_warps=4,
    )
    return parts.sum().reshape(1)


def _processors(device: Any) -> int:
    """The number of multiprocessors of a device; 2 if it is not a GPU."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 2


@triton.jit
def _slope(a, other, formula: tl.constexpr):
    """σ(a) − t for a target t, or σ(a) − σ(a − shift), to within 1e-130."""
    # Every thread of a row's warp computes this, so a second division would be noticeable. e³⁰⁰ squared is finite.
    down = tl.exp(tl.minimum(-a, 300.0))
    if formula == 0:
        return 1.0 / (1.0 + down) - other
    shifted = tl.exp(tl.minimum(other - a, 300.0))
    return (shifted - down) / ((1.0 + down) * (1.0 + shifted))


@triton.jit
def _log1p_exp(t):
    """log(1 + eᵗ) for t ≤ 0."""
    small = tl.exp(t)
    one = 1.0 + small
    # Corrects for the rounding of the sum above.
    return tl.log(one) - ((one - 1.0) - small) / one


@triton.jit
def _softplus(t):
    return tl.where(t > 0, t, 0.0) + _log1p_exp(-tl.abs(t))


# The kernel is not compiled for one number of rows: each fit has several.
@triton.jit(do_not_specialize=["n"])
def _sweep_kernel(
    features,
    stride,
    coef,
    rows,
    weights,
    stored,
    parts,
    n,
    p,
    formula: tl.constexpr,
    weighted: tl.constexpr,
    gradient: tl.constexpr,
    store: tl.constexpr,
    height: tl.constexpr,
    width: tl.constexpr,
    stages: tl.constexpr,
):
    columns = tl.arange(0, width)
    inside = columns < p
    slopes = tl.load(coef + 1 + columns, mask=inside, other=0.0)
    intercept = tl.load(coef)
    # One sum for each entry of a tile: within the loop, threads exchange only the products of a row.
    sums = tl.zeros((height, width), dtype=tl.float64)
    total = tl.zeros((height,), dtype=tl.float64)
    step = tl.num_programs(0) * height
    for start in tl.range(tl.program_id(0) * height, n, step, num_stages=stages):
        row = start + tl.arange(0, height)
        there = row < n
        place = features + row.to(tl.int64)[:, None] * stride + columns[None, :]
        x = tl.load(place, mask=there[:, None] & inside[None, :], other=0.0).to(tl.float64)
        a = tl.sum(x * slopes[None, :], axis=1) + intercept
        if store:
            tl.store(stored + row, a, mask=there)
        if gradient:
            other = tl.load(rows + row, mask=there, other=0.0)
            slope = _slope(a, other, formula)
            if weighted:
                slope = slope * tl.load(weights + row, mask=there, other=0.0)
            slope = tl.where(there, slope, 0.0)
            total += slope
            sums += x * slope[:, None]
    if gradient:
        out = parts + tl.program_id(0) * (p + 1)
        tl.store(out, tl.sum(total, axis=0))
        tl.store(out + 1 + columns, tl.sum(sums, axis=0), mask=inside)


@triton.jit(do_not_specialize=["n"])
def _loss_kernel(
    products, first, other, weights, parts, n, formula: tl.constexpr, weighted: tl.constexpr, height: tl.constexpr
):
    sums = tl.zeros((height,), dtype=tl.float64)
    for start in range(tl.program_id(0) * height, n, tl.num_programs(0) * height):
        row = start + tl.arange(0, height)
        there = row < n
        a = tl.load(products + row, mask=there, other=0.0)
        if formula == 0:
            target = tl.load(first + row, mask=there, other=0.0)
            loss = tl.where(a > 0, (1.0 - target) * a, target * -a) + _log1p_exp(-tl.abs(a))
        else:
            labelled = tl.load(first + row, mask=there, other=0) != 0
            b = tl.load(other + row, mask=there, other=0.0)
            # φ is softplus(−a) + softplus(−b) if labelled, otherwise softplus(z) with z the log-odds of a label,
            # −log(e⁻ᵃ + e⁻ᵇ + e⁻ᵃ⁻ᵇ): no cancellation at either end, and finite wherever the loss is.
            left = _softplus(-a)
            right = left - b
            z = -(tl.maximum(-a, right) + _log1p_exp(-tl.abs(a + right)))
            loss = _softplus(tl.where(labelled, -b, z)) + tl.where(labelled, left, 0.0)
        if weighted:
            loss = loss * tl.load(weights + row, mask=there, other=0.0)
        sums += tl.where(there, loss, 0.0)
    tl.store(parts + tl.program_id(0), tl.sum(sums, axis=0))
