"""JERM's fit against a lower bound measured in the same run.

The floor is the minimum for a method that needs a logistic fit and an exact spy search, without better arithmetic: one
``LogisticRegression(max_iter=1000)`` fit on the same rows, plus 2·|L|·|U|·p flops at this machine's own float64
matrix-product rate (float32 data: at the float32 rate). X is standard normal and a third of the rows is labelled, in
three ways. "At the limit" is the share of JERM's time that the passes over X, its cross-products and the spies'
products would take at the rates of plain matrix–vector and matrix–matrix products on this machine. Then the growth of
that time with n and with p.

Run: ``python benchmarks/speed.py`` (about ten minutes on 2 cores), or with sizes: ``… speed.py 5000x50:float32``.
"""

import os
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import propense
from propense import JERM
from propense._designs.dense import DenseDesign
from propense._maths.logistic import sigmoid
from propense._steps import learners
from propense.estimators import _jerm

SIZES = ("5000x50", "50000x30", "50000x512", "50000x512:float32", "500000x50")
# Above this many pairs of rows a search takes a minute: one way of labelling is enough.
MANY_PAIRS = 10**10


def random_labels(X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """A third of the rows, whatever their features."""
    return rng.random(len(X)) < 1 / 3


def double_logistic_labels(X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Two logistic models in unrelated directions."""
    beta, gamma = rng.standard_normal((2, X.shape[1])) / np.sqrt(X.shape[1])
    positive = rng.random(len(X)) < sigmoid(2 * X @ beta)
    return np.asarray(positive & (rng.random(len(X)) < sigmoid(X @ gamma + 0.75)))


def separable_labels(X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """The upper third of the first feature."""
    return np.asarray(X[:, 0] > np.quantile(X[:, 0], 2 / 3))


LABELS = {"random": random_labels, "double logistic": double_logistic_labels, "separable": separable_labels}


def fastest(work: Callable[[], Any], *, budget: float = 3.0) -> float:
    """The shortest of the runs that fit into `budget` seconds, at least two."""
    times: list[float] = []
    while len(times) < 2 or (sum(times) < budget and len(times) < 30):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def product_rate(dtype: Any = np.float64) -> float:
    """Flops per second of a matrix product."""
    a = np.random.default_rng(0).standard_normal((2500, 2500)).astype(dtype)
    return 2 * 2500**3 / fastest(lambda: a @ a, budget=1.0)


@contextmanager
def counter() -> Iterator[dict[str, int]]:
    """Passes over X by kind while the context lasts."""
    counts: dict[str, int] = defaultdict(int)

    def counted(name: str) -> Callable[..., Any]:
        method = getattr(DenseDesign, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return method(*args, **kwargs)

        return wrapper

    with ExitStack() as stack:
        for name in ("sweep", "matvec", "squares", "gram", "curve"):
            stack.enter_context(mock.patch.object(DenseDesign, name, counted(name)))
        yield counts


# The regression of the naive fit is also the one inside each fit of γ.
PARTS = [
    (_jerm, "find_spies", "spies"),
    (learners, "fit_logistic", "naive"),
    (_jerm, "fit_propensity_on", "gamma"),
    (_jerm, "mm_early", "mm steps"),
]
running: list[str] = []


@contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Seconds spent in the parts of JERM while the context lasts."""
    spent: dict[str, float] = defaultdict(float)
    with ExitStack() as stack:
        for module, part, name in PARTS:
            stack.enter_context(mock.patch.object(module, part, timed(getattr(module, part), spent, name)))
        yield spent


def timed(function: Callable[..., Any], spent: dict[str, float], name: str) -> Callable[..., Any]:
    """The function, with its seconds added up, but for calls from within another part."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if running:
            return function(*args, **kwargs)
        running.append(name)
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[name] += time.perf_counter() - start
            running.pop()

    return wrapper


def at_the_limit(X: NDArray[Any], s: NDArray[Any], counts: dict[str, int]) -> float:
    """Seconds that a fit's arithmetic takes at the rates of plain products."""
    n, p = X.shape
    once = fastest(lambda: X @ np.ones(p, dtype=X.dtype), budget=0.5)
    passes = counts["sweep"] + counts["matvec"] + counts["squares"]
    # A cross-product of a matrix with itself is half a product.
    squares = (counts["gram"] + counts["curve"]) * n * p**2 / product_rate()
    spies = 2 * int(s.sum()) * int((1 - s).sum()) * p / product_rate(np.float32)
    return float(passes * once + squares + spies)


def measure(size: str, kind: str) -> None:
    """One line: the floor, JERM, their ratio, and where JERM's time goes."""
    shape, _, dtype = size.partition(":")
    n, p = map(int, shape.split("x"))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)).astype(dtype or "float64")
    s = LABELS[kind](X, rng).astype(int)
    logistic = fastest(lambda: LogisticRegression(max_iter=1000).fit(X, s))
    # The rate before and after: a machine's speed changes within a run.
    before = product_rate(X.dtype)
    total = fastest(lambda: JERM().fit(X, s))
    rate = (before + product_rate(X.dtype)) / 2
    spies = 2 * int(s.sum()) * int((1 - s).sum()) * p / rate
    with stopwatch() as spent, counter() as counts:
        start = time.perf_counter()
        model = JERM().fit(X, s)
        watched = time.perf_counter() - start
    shares = ", ".join(f"{name} {seconds / watched:.0%}" for name, seconds in spent.items())
    print(
        f"{size:>17} {kind:<16} floor {logistic:.4f} + {spies:.4f} s   JERM {total:.4f} s   "
        f"ratio {total / (logistic + spies):5.2f}   at the limit {at_the_limit(X, s, counts) / total:.0%}   "
        f"rounds {model.n_iter_:>3}, passes {counts['sweep']:>3}   {shares}   ({rate / 1e9:.0f} GFlop/s)",
        flush=True,
    )


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """k of time ∝ sizeᵏ, by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth(name: str, shapes: list[tuple[int, int]], sizes: list[int], **options: Any) -> None:
    """How JERM's time grows over some shapes."""
    seconds = []
    for n, p in shapes:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, p))
        s = double_logistic_labels(X, rng)
        seconds.append(fastest(partial(JERM(random_state=0, **options).fit, X, s), budget=2.0))
    shown = ", ".join(f"{size}: {each:.3f} s" for size, each in zip(sizes, seconds, strict=True))
    print(f"growth with {name} {options or ''}: exponent {exponent(sizes, seconds):.2f}   ({shown})", flush=True)


def main() -> None:
    """Measure every size with every way of labelling."""
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"propense {propense.__version__}, scikit-learn {sklearn.__version__}", end=", ")
    print(f"numpy {np.__version__}, scipy {scipy.__version__}")
    for size in sys.argv[1:] or SIZES:
        for kind in LABELS if int(size.split("x")[0]) ** 2 < MANY_PAIRS else ("double logistic",):
            measure(size, kind)
    if not sys.argv[1:]:
        rows, columns = [5000, 10_000, 20_000, 40_000], [16, 32, 64, 128, 256]
        for options in ({}, {"spy_sample": 1000}):
            growth("n, p = 50", [(n, 50) for n in rows], rows, **options)
            growth("p, n = 20 000", [(20_000, p) for p in columns], columns, **options)


if __name__ == "__main__":
    main()
