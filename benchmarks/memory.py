"""Peak memory of JERM's fit, as a multiple of the size of X.

Each case runs in a process of its own. Counted is the growth of the process from just before the fit to its peak, plus
X itself; 1.0 would be a fit that needs nothing but the data.

Run: ``python benchmarks/memory.py`` (about a minute on 2 cores).
"""

import resource
import subprocess
import sys

import numpy as np

from propense import JERM

CASES = ("200000x100 float64", "200000x100 float32", "50000x512 float64")


def measure(n: int, p: int, dtype: str) -> None:
    """Fit once and print one line."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p), dtype=np.dtype(dtype).type)
    # A tenth labelled along two directions: the spy search takes 2·|L|·|U|·p flops whatever the labels.
    positive = X[:, 0] + rng.standard_normal(n) > 1
    s = positive & (X[:, 1] + rng.standard_normal(n) > 0)
    before = peak()
    model = JERM().fit(X, s)
    growth = peak() - before
    print(
        f"{n}x{p} {dtype}: X {X.nbytes / 2**20:.0f} MiB, fit takes {growth / 2**20:.0f} MiB more, "
        f"in all {1 + growth / X.nbytes:.2f} × X   ({model.n_iter_} rounds)",
        flush=True,
    )


def peak() -> int:
    """Peak memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Run every case in its own process, or the given one in this process."""
    if len(sys.argv) == 4:
        measure(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
        return
    for case in CASES:
        size, dtype = case.split()
        subprocess.run([sys.executable, __file__, *size.split("x"), dtype], check=True)


if __name__ == "__main__":
    main()
