"""JERM and PUClassifier on a device: complete fits, JERM in its parts, the speed of a pass over X, and exactness.

X is standard normal in float32; the labels are those of two logistic models in unrelated directions. The share of a
pass is the bytes of X over its time, against the bytes read and written per second by a copy on the same device.
Exactness is checked first, against NumPy on the same numbers; if a check fails, the command fails. On a tensor,
``PUClassifier()`` learns the labels by logistic regression alone, where on a NumPy array it adds trees. It is therefore
compared with itself on a tensor in the memory of this machine, and its distance from NumPy's is printed as a figure.

Run: ``python benchmarks/gpu.py --out gpu.md`` on a machine with CUDA (a few minutes on an H200), or anywhere on a
smaller scale: ``python benchmarks/gpu.py --rows 20000 --columns 32 --labelled 1000``.
"""

import argparse
import math
import platform
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import sklearn
import torch
from sklearn.base import clone

import propense
from propense import JERM, PUClassifier
from propense._designs import as_design
from propense._designs.torch.design import TorchDesign
from propense._maths.arrays import to_host
from propense._maths.double_logistic import class_log_odds_shift
from propense._maths.formulas import JOINT, LOGISTIC
from propense._steps import learners
from propense.estimators import _jerm

Tensor = Any

# A fit that takes longer than this many seconds is not repeated.
_LONG = 45.0

_PARTS = ["checks", "passes", "spies", "fit", "first choice"]


class Report:
    """Lines for the screen and for a file, and whether every check held."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.failed: list[str] = []

    def say(self, line: str) -> None:
        print(line, flush=True)
        self.lines.append(line)

    def head(self, *cells: str) -> None:
        self.say("")
        self.row(*cells)
        self.row(*("---" for _ in cells))

    def row(self, *cells: str) -> None:
        self.say("| " + " | ".join(cells) + " |")

    def check(self, name: str, figure: float, bound: float) -> None:
        held = bool(figure <= bound)
        self.row(name, f"{figure:.2g}", f"{bound:.2g}", "holds" if held else "FAILS")
        if not held:
            self.failed.append(name)


def wait(device: Any) -> None:
    """Wait until the device has finished."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(work: Callable[[], Any], device: Any, *, runs: int = 5) -> float:
    """The shortest of some runs, after one to warm up."""
    times = []
    for _ in range(runs + 1):
        wait(device)
        start = time.perf_counter()
        work()
        wait(device)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def make_problem(n: int, p: int, labelled: int, device: Any, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """X of float32, and about this many labels."""
    random = torch.Generator(device).manual_seed(seed)
    X = torch.randn((n, p), generator=random, device=device)
    beta, gamma = (torch.randn(p, generator=random, device=device) / math.sqrt(p) for _ in range(2))
    posterior, propensity = torch.sigmoid(2.0 * (X @ beta).double()), (X @ gamma).double()
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2.0
        too_many = float((posterior * torch.sigmoid(propensity + middle)).sum()) > labelled
        low, high = (low, middle) if too_many else (middle, high)
    chance = posterior * torch.sigmoid(propensity + low)
    return X, torch.rand(n, generator=random, device=device, dtype=torch.float64) < chance


def copy_rate(X: Tensor) -> float:
    """Bytes read and written per second by a copy as large as X."""
    from_, to = torch.empty_like(X), torch.empty_like(X)
    return 2 * int(X.nbytes) / seconds(lambda: to.copy_(from_), X.device, runs=10)


def formulas(design: TorchDesign, labelled: Tensor, coef: Any) -> dict[str, tuple[Any, list[Tensor]]]:
    """The sums that JERM computes, with its rows."""
    other = design.matvec(0.5 * coef)
    return {
        "logistic": (LOGISTIC, [labelled.double()]),
        "joint": (JOINT, [labelled, other, class_log_odds_shift(other, labelled)]),
    }


def measure_passes(report: Report, X: Tensor, labelled: Tensor) -> None:
    """Sweeps, products and grams, alone."""
    device, design = X.device, as_design(X)
    rate = copy_rate(X)
    report.say(f"\nX takes {X.nbytes / 1e9:.2f} GB; a copy moves {rate / 1e12:.2f} TB/s, read and written.")
    report.head("pass over X", "ms", "GB/s of X", "share of the copy")
    coef = np.random.default_rng(0).normal(size=X.shape[1] + 1) / math.sqrt(X.shape[1])
    weights = torch.rand(len(X), dtype=torch.float64, device=device)

    def line(name: str, work: Callable[[], Any], runs: int = 5) -> None:
        took = seconds(work, device, runs=runs)
        report.row(name, f"{1e3 * took:.2f}", f"{X.nbytes / took / 1e9:.0f}", f"{X.nbytes / took / rate:.0%}")

    assert isinstance(design, TorchDesign)
    for name, (formula, rows) in formulas(design, labelled, coef).items():
        line(f"{name}: gradient", partial(design.sweep, formula, coef, rows, value=False))
        line(f"{name}: value and gradient", partial(design.sweep, formula, coef, rows))
        line(f"{name}: weighted gradient", partial(design.sweep, formula, coef, rows, weights, value=False))
    line("products", lambda: design.matvec(coef))
    line("gram", lambda: design.gram(None), 2)
    line("Hessian (joint)", lambda: design.curve(JOINT, coef, rows), 2)


@contextmanager
def stopwatch(device: Any) -> Iterator[dict[str, list[float]]]:
    """The seconds of each call of the parts of JERM, and of the passes over X, while the context lasts."""
    spent: dict[str, list[float]] = defaultdict(list)

    def timed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            wait(device)
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                wait(device)
                spent[name].append(time.perf_counter() - start)

        return wrapper

    parts = {"find_spies": "spies", "fit_propensity_on": "γ", "mm_early": "β"}
    passes = {"sweep": "sweeps", "curve": "Hessians", "gram": "grams", "matvec": "products", "take": "rows copied"}
    with ExitStack() as stack:
        for part, name in parts.items():
            stack.enter_context(mock.patch.object(_jerm, part, timed(getattr(_jerm, part), name)))
        # The naive fit, and the one inside each fit of γ.
        fit = timed(learners.fit_logistic, "– regressions (naive, γ)")
        stack.enter_context(mock.patch.object(learners, "fit_logistic", fit))
        for part, name in passes.items():
            stack.enter_context(mock.patch.object(TorchDesign, part, timed(getattr(TorchDesign, part), f"– {name}")))
        yield spent


def time_fit(report: Report, model: Any, X: Tensor, labelled: Tensor) -> Any:
    """Fit a model, and again unless that takes long; report seconds, steps and memory."""
    device = X.device
    times: list[float] = []
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
    while not times or (len(times) == 1 and times[0] < _LONG):
        wait(device)
        start = time.perf_counter()
        model.fit(X, labelled)
        wait(device)
        times.append(time.perf_counter() - start)
    again = f" the first time, {times[1]:.2f} s again" if len(times) > 1 else ""
    report.say(
        f"\n{model}.fit: {times[0]:.2f} s{again}; {int(labelled.sum())} labelled, n_iter_ {model.n_iter_}, "
        f"converged: {model.converged_}."
    )
    if device.type == "cuda":
        peak = torch.cuda.max_memory_allocated(device) - before
        report.say(f"In addition to X ({X.nbytes / 1e9:.2f} GB), at most {peak / 1e9:.2f} GB were used on the device.")
    return model


def measure_first_choice(report: Report, X: Tensor, labelled: Tensor) -> None:
    """PUClassifier in both kinds: the seconds of a fit and of a prediction, and what was learned."""
    for choice in (PUClassifier(random_state=0), PUClassifier(learners="linear", random_state=0)):
        model = time_fit(report, choice, X, labelled)
        took = seconds(partial(model.predict_hidden, X), X.device, runs=1)
        report.say(f"predict_hidden of all rows: {took:.3f} s. The diagnosis:\n\n```text\n{model.diagnosis_}\n```")


def measure_fit(report: Report, X: Tensor, labelled: Tensor) -> None:
    """The complete fit, then once more with its parts timed."""
    device = X.device
    time_fit(report, JERM(), X, labelled)
    with stopwatch(device) as spent:
        start = time.perf_counter()
        JERM().fit(X, labelled)
        watched = time.perf_counter() - start
    report.head("part", "calls", "s", "ms a call", "share")
    for name, each in spent.items():
        report.row(name, str(len(each)), f"{sum(each):.2f}", f"{1e3 * np.mean(each):.2f}", f"{sum(each) / watched:.0%}")


def compare(report: Report, name: str, X: Tensor, labelled: Tensor, bound: float = 1e-6) -> None:
    """A fit on the device against NumPy's on the same numbers."""
    there, here = JERM().fit(X, labelled), JERM().fit(to_host(X), to_host(labelled))
    gap = max(np.abs(there.coef_ - here.coef_).max(), np.abs(there.propensity_coef_ - here.propensity_coef_).max())
    report.check(f"{name}: coefficients", float(gap), bound)
    report.check(f"{name}: spies that differ", float(not np.array_equal(there.spies_, here.spies_)), 0.0)
    chances = np.abs(to_host(there.predict_proba(X)) - here.predict_proba(to_host(X))).max()
    report.check(f"{name}: posterior", float(chances), bound)


def compare_first_choice(report: Report, X: Tensor, labelled: Tensor) -> None:
    """PUClassifier on the device: linear against NumPy's; the default against a tensor on the CPU."""
    size, host, labels = f"{X.shape[0]} × {X.shape[1]}", to_host(X), to_host(labelled)
    linear = PUClassifier(learners="linear", random_state=0)
    there, here = clone(linear).fit(X, labelled), clone(linear).fit(host, labels)
    gap = max(np.abs(there.coef_ - here.coef_).max(), np.abs(there.propensity_coef_ - here.propensity_coef_).max())
    report.check(f"linear PUClassifier {size}: coefficients", float(gap), 1e-6)
    gap = np.abs(to_host(there.predict_proba(X)) - here.predict_proba(host)).max()
    report.check(f"linear PUClassifier {size}: posterior", float(gap), 1e-6)
    there = PUClassifier(random_state=0).fit(X, labelled)
    here = PUClassifier(random_state=0).fit(X.cpu(), labelled.cpu())
    ours = to_host(there.predict_proba(X))[:, 1]
    gap = np.abs(ours - to_host(here.predict_proba(X.cpu()))[:, 1]).max()
    report.check(f"PUClassifier {size}: posterior, against a tensor on the CPU", float(gap), 1e-6)
    report.check(f"PUClassifier {size}: share of positives, the same", abs(there.prior_ - here.prior_), 1e-6)
    trees = PUClassifier(random_state=0).fit(host, labels)
    theirs = trees.predict_proba(host)[:, 1]
    figure = f"{np.corrcoef(ours, theirs)[0, 1]:.4f}"
    report.row(f"PUClassifier {size}: correlation of the posterior with NumPy's, which adds trees", figure, "", "")
    shares = f"{there.prior_:.3f} and {trees.prior_:.3f}"
    report.row(f"PUClassifier {size}: share of positives here and with trees", shares, "", "")


def compare_sweep(report: Report, X: Tensor, labelled: Tensor) -> None:
    """One sweep of each formula against NumPy's."""
    design, host = as_design(X), as_design(to_host(X))
    coef = np.random.default_rng(1).normal(size=X.shape[1] + 1) / math.sqrt(X.shape[1])
    assert isinstance(design, TorchDesign)
    for name, (formula, rows) in formulas(design, labelled, coef).items():
        value, gradient = design.sweep(formula, coef, rows)
        truth, slope = host.sweep(formula, coef, [to_host(row) for row in rows])
        report.check(f"{name} {X.shape[0]} × {X.shape[1]}: value, relative", abs(value / truth - 1.0), 1e-12)
        gap = np.abs(gradient - slope).max() / np.abs(slope).max()
        report.check(f"{name} {X.shape[0]} × {X.shape[1]}: gradient, relative", float(gap), 1e-11)
        again = design.sweep(formula, coef, rows)
        report.check(f"{name} {X.shape[0]} × {X.shape[1]}: repeats", float((again[1] != gradient).sum()), 0.0)


def check_exactness(report: Report, device: Any, scale: float) -> None:
    """Small problems of every storage and awkward shape."""
    report.head("check against NumPy", "found", "at most", "")
    for p in (3, 33, 512, 513, 1024, 1500):
        X, labelled = make_problem(int(20_001 * scale), p, int(3000 * scale), device, seed=p)
        compare_sweep(report, X, labelled)
    for n, p in ((50_000, 64), (20_000, 512)):
        X, labelled = make_problem(int(n * scale), p, int(n * scale / 10), device, seed=n)
        compare(report, f"float32 {len(X)} × {p}", X, labelled)
    for p in (3, 33, 513, 1500):
        X, labelled = make_problem(int(6000 * scale), p, int(1500 * scale), device, seed=p)
        compare(report, f"float32 {len(X)} × {p}", X, labelled)
    X, labelled = make_problem(int(8000 * scale), 40, int(1500 * scale), device)
    compare(report, "float64", X.double(), labelled)
    compare(report, "column-major", X.T.contiguous().T, labelled)
    compare(report, "columns apart", torch.repeat_interleave(X, 2, dim=1)[:, ::2], labelled)
    compare(report, "whole numbers, with ties", (2 * X[:, :4]).round(), labelled)
    X, labelled = make_problem(max(2000, int(20_000 * scale)), 20, max(500, int(5000 * scale)), device)
    compare_first_choice(report, X, labelled)


def tune(report: Report, X: Tensor, labelled: Tensor) -> None:
    """The sweep and the bounds of the neighbours in other shapes of their kernels."""
    from propense._designs.torch import kernels as kernels
    from propense._designs.torch import neighbour_kernels as bounds
    from propense._designs.torch.neighbours import BLOCK, Space, make_operand

    design, coef = as_design(X), np.zeros(X.shape[1] + 1)
    assert isinstance(design, TorchDesign)
    rows = formulas(design, labelled, coef)["joint"][1]
    report.head("tile", "warps", "stages", "programs", "ms of a joint gradient")
    for tile, warps in ((512, 1), (1024, 1), (2048, 1), (1024, 2), (4096, 4)):
        for stages in (2, 3, 4, 6):
            for programs in (9, 16, 32, 64):
                names: dict[str, Any] = {"TILE": tile, "WARPS": warps, "STAGES": stages, "PROGRAMS": programs}
                with mock.patch.multiple(kernels, **names):
                    try:
                        took = seconds(lambda: design.sweep(JOINT, coef, rows, value=False), X.device, runs=3)
                    except Exception as error:  # A shape that does not fit is a result, too.
                        report.row(*map(str, names.values()), type(error).__name__)
                        continue
                report.row(*map(str, names.values()), f"{1e3 * took:.2f}")
    pool, queries = (~labelled).nonzero().ravel(), labelled.nonzero().ravel()[:32768]
    space = Space(X, queries, pool)
    left, right = (
        make_operand(space, index[:65536], False, left=side) for index, side in ((queries, True), (pool, False))
    )
    out = torch.empty((left.count, len(right.rows) // BLOCK), device=X.device)
    report.head("queries", "depth", "group", "warps", "stages", "TFLOP/s of bounds")
    for height, depth, warps in ((128, 64, 8), (64, 64, 4), (128, 64, 4), (128, 32, 8)):
        for stages in (3, 4):
            for group in (8, 32):
                names = {"HEIGHT": height, "DEPTH": depth, "GROUP": group, "WARPS": warps, "STAGES": stages}
                with mock.patch.multiple(bounds, **names):
                    try:
                        took = seconds(lambda: bounds.lowest(left, right, out), X.device, runs=3)
                    except Exception as error:
                        report.row(*map(str, names.values()), type(error).__name__)
                        continue
                work = 2 * left.rows.numel() * len(right.rows)
                report.row(*map(str, names.values()), f"{work / took / 1e12:.0f}")


def measure_nearest(report: Report, X: Tensor, labelled: Tensor) -> None:
    """The complete search for spies, then the share of its parts."""
    design = as_design(X)
    took = seconds(lambda: design.nearest(labelled, ~labelled), X.device, runs=1)
    work = 2 * float(labelled.sum()) * float((~labelled).sum()) * X.shape[1]
    report.say(f"\nSpies: {took:.2f} s for {work / 1e12:.1f} TFLOP of bounds ({work / took / 1e12:.0f} TFLOP/s).")


def main() -> None:
    """Check, then measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--labelled", type=int, default=100_000)
    parser.add_argument("--out", type=Path, help="a file for the report, in Markdown")
    parser.add_argument("--tune", action="store_true", help="time the kernels in other shapes")
    parser.add_argument("--only", choices=_PARTS, action="append")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu", 0 if torch.cuda.is_available() else None)
    # Problems this small need not converge.
    warnings.simplefilter("ignore")
    report, only = Report(), options.only or _PARTS
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "CPU"
    report.say(f"# {options.rows} × {options.columns} float32 on {name}\n")
    versions = {"propense": propense.__version__, "torch": torch.__version__, "numpy": np.__version__}
    versions |= {"scikit-learn": sklearn.__version__, "Python": platform.python_version()}
    report.say(", ".join(f"{name} {version}" for name, version in versions.items()))
    if "checks" in only:
        check_exactness(report, device, 1.0 if device.type == "cuda" else 0.05)
    X, labelled = make_problem(options.rows, options.columns, options.labelled, device)
    measures = {
        "passes": measure_passes,
        "spies": measure_nearest,
        "fit": measure_fit,
        "first choice": measure_first_choice,
    }
    for part, measure in measures.items():
        if part in only:
            measure(report, X, labelled)
    if options.tune:
        tune(report, X, labelled)
    if report.failed:
        report.say(f"\nFAILED: {', '.join(report.failed)}")
    if options.out:
        options.out.write_text("\n".join(report.lines) + "\n", encoding="utf-8")
    sys.exit(bool(report.failed))


if __name__ == "__main__":
    main()
