"""JERM and the other methods on wide sparse data, in units of one LogisticRegression on the same matrix.

50 000 rows, 500 000 columns, 50 terms per row on average: columns drawn evenly, or with the frequencies of words
(some in nearly every row); values are TF-IDF with rows of length 1, or counts. Each fit runs in a process of its own.
Memory is the peak of the whole process, including the interpreter, the libraries and the creation of the matrix.

Run: ``python benchmarks/wide_sparse.py`` (about ten minutes on 2 cores); ``--all`` adds the other methods, and
``--rows 5000 --columns 50000`` makes it smaller.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from propense import JERM, LBE, SAREM, TM, JointMLE, KnownPropensity, Naive, PGLin
from propense.estimators import _jerm
from speed import PARTS, timed

KINDS = ("even TF-IDF", "even counts", "words TF-IDF", "words counts")
FITS: dict[str, Callable[[], Any]] = {
    "LogisticRegression(lbfgs)": lambda: LogisticRegression(max_iter=1000),
    "LogisticRegression(saga)": lambda: LogisticRegression(solver="saga", max_iter=100),
    "JERM()": JERM,
}
OTHERS: dict[str, Callable[[], Any]] = {
    "JERM(variant='paper')": lambda: JERM(variant="paper"),
    "Naive()": Naive,
    "PGLin()": PGLin,
    "KnownPropensity()": KnownPropensity,
    "TM(max_iter=10)": lambda: TM(max_iter=10),
    "SAREM(max_iter=10)": lambda: SAREM(max_iter=10),
    "LBE(max_iter=10)": lambda: LBE(max_iter=10),
    "LBE(variant='published', max_iter=1)": lambda: LBE(variant="published", max_iter=1, random_state=0),
    "JointMLE(n_starts=1)": lambda: JointMLE(n_starts=1),
}
TERMS = 50


def make(kind: str, n: int, p: int) -> tuple[Any, NDArray[np.bool_]]:
    """The matrix and the labels: about a fifth of the rows, half of the positives, by two directions."""
    rng = np.random.default_rng(0)
    lengths = np.maximum(rng.poisson(TERMS, n), 1)
    if kind.startswith("words"):
        chances = np.cumsum(1.0 / np.arange(1, p + 1) ** 1.05)
        columns = np.searchsorted(chances / chances[-1], rng.random(lengths.sum())).astype(np.int32)
    else:
        columns = rng.integers(0, p, lengths.sum(), dtype=np.int32)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    X = sp.csr_array((np.ones(len(columns)), columns, indptr), shape=(n, p))
    X.sum_duplicates()
    if kind.endswith("TF-IDF"):
        X.data *= (np.log((1 + n) / (1 + np.bincount(X.indices, minlength=p))) + 1)[X.indices]
        X.data /= np.repeat(np.sqrt(X.multiply(X) @ np.ones(p)), np.diff(X.indptr))
    scores = [X @ rng.standard_normal(p) for _ in range(2)]
    a, b = ((score - score.mean()) / score.std() for score in scores)
    positive = rng.random(n) < 1 / (1 + np.exp(1 - 3 * a))
    return X, positive & (rng.random(n) < 1 / (1 + np.exp(-b)))


def measure(kind: str, name: str, n: int, p: int) -> None:
    """Fit once and print what it took, as JSON."""
    X, s = make(kind, n, p)
    parts: dict[str, float] = defaultdict(float)
    for module, function, part in PARTS[:3]:
        mock.patch.object(module, function, timed(getattr(module, function), parts, part)).start()
    solver = _jerm.JERM._solver
    mock.patch.object(_jerm.JERM, "_solver", lambda jerm: timed(solver(jerm), parts, "beta")).start()
    model = {**FITS, **OTHERS}[name]()
    known = {"propensity": 0.5} if isinstance(model, KnownPropensity) else {}
    before = peak()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Fits are stopped early here.
        model.fit(X, s, **known)
    seconds = time.perf_counter() - start
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    rounds = int(np.max(model.n_iter_))
    print(json.dumps({"seconds": seconds, "before": before, "peak": peak(), "size": size, "rounds": rounds, **parts}))


def peak() -> int:
    """Peak memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Run every fit in its own process, or the given one in this process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=500_000)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--one", nargs=2)
    chosen = parser.parse_args()
    if chosen.one:
        kind, name = chosen.one
        measure(kind, name, chosen.rows, chosen.columns)
        return
    print(f"{chosen.rows} × {chosen.columns}, {TERMS} terms a row\n")
    print("| data | fit | seconds | ratio | rounds | peak, MiB | above X, × X | spies, naive, β, γ: s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    size = ["--rows", str(chosen.rows), "--columns", str(chosen.columns)]
    for kind in chosen.kinds:
        floor = None
        for name in {**FITS, **(OTHERS if chosen.all else {})}:
            command = [sys.executable, __file__, *size, "--one", kind, name]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            floor = floor or found["seconds"]
            parts = ", ".join(f"{found[part]:.1f}" for part in ("spies", "naive", "beta", "gamma") if part in found)
            print(
                f"| {kind} | `{name}` | {found['seconds']:.1f} | {found['seconds'] / floor:.2f} | {found['rounds']} | "
                f"{found['peak'] / 2**20:.0f} | {(found['peak'] - found['before']) / found['size']:.1f} | {parts} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
