"""Memory and time of a fit, beside one plain fit of boosted trees.

Each case runs in a process of its own. Memory is the growth of the process from just before the fit to its peak, plus X
itself, as a multiple of X: 1.0 would be a fit that needs nothing but the data. PUClassifier and scikit-learn's boosting
also score X.

Run: ``python benchmarks/memory.py`` (about two minutes on 2 cores); ``--case PUClassifier 200000x30 float32`` for one.
"""

import argparse
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from propense import JERM, PUClassifier
from propense.errors import DoubtfulFit

CASES = (
    ("JERM", "200000x100", "float64"),
    ("JERM", "200000x100", "float32"),
    ("JERM", "50000x512", "float64"),
    ("HistGradientBoosting", "1000000x30", "float32"),
    ("PUClassifier", "1000000x30", "float32"),
)
METHODS: dict[str, Any] = {
    "JERM": JERM,
    "HistGradientBoosting": HistGradientBoostingClassifier,
    "PUClassifier": PUClassifier,
}


def measure(method: str, size: str, dtype: str) -> None:
    """Fit once and print one line of a Markdown table."""
    n, p = map(int, size.split("x"))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p), dtype=np.dtype(dtype).type)
    # A tenth labelled along two directions: the spy search takes 2·|L|·|U|·p flops whatever the labels.
    positive = X[:, 0] + rng.standard_normal(n) > 1
    s = positive & (X[:, 1] + rng.standard_normal(n) > 0)
    warnings.simplefilter("ignore", DoubtfulFit)
    before, start = peak(), time.perf_counter()
    model = METHODS[method]().fit(X, s)
    growth, seconds = peak() - before, time.perf_counter() - start
    start = time.perf_counter()
    model.predict_proba(X)
    scored = time.perf_counter() - start
    memory = f"{X.nbytes / 2**20:.0f} | {growth / 2**20:.0f} | {1 + growth / X.nbytes:.2f}"
    print(f"| {method} | {size} {dtype} | {memory} | {seconds:.1f} | {scored:.2f} |", flush=True)


def peak() -> int:
    """Peak memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Run every case in its own process, or the given one in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs=3, metavar=("METHOD", "SIZE", "DTYPE"))
    asked = parser.parse_args()
    if asked.case:
        measure(*asked.case)
        return
    print("| method | X | MiB of X | MiB more | in all, × X | seconds to fit | to score X |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for case in CASES:
        subprocess.run([sys.executable, __file__, "--case", *case], check=True)


if __name__ == "__main__":
    main()
