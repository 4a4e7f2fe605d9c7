"""Time the parts of JERM's fit one by one, and compare each with what the machine can do.

Run: ``python benchmarks/parts.py`` (about half a minute on 2 cores).
"""

import numpy as np

from propense._designs import as_design
from propense._designs.threads import one_blas_thread
from propense._maths.logistic import sigmoid
from propense._risks import JointRisk
from propense._steps.learners import fit_logistic
from speed import fastest

SIZES = ((5000, 50), (50000, 30), (50000, 512))


def measure(n: int, p: int) -> None:
    """A few lines for one size."""
    rng = np.random.default_rng(0)
    X, coef, rows = rng.standard_normal((n, p)), 0.1 * rng.standard_normal(p + 1), rng.standard_normal(n)
    labelled = rng.random(n) < sigmoid(X[:, 0] - 0.8)
    design = as_design(X)
    risk = JointRisk(design, labelled, X[:, 1].copy())
    step = fastest(lambda: risk.gradient(coef), budget=1.0)
    plain, plain_transposed = fastest(lambda: X @ coef[1:], budget=0.5), fastest(lambda: rows @ X, budget=0.5)
    hessian = fastest(lambda: risk.hessian(coef), budget=1.0)
    solved = fit_logistic(design, labelled, None, ridge=1.0).coef
    warm = fastest(lambda: fit_logistic(design, labelled, None, ridge=1.0, start=0.98 * solved), budget=1.0)
    spies = fastest(lambda: design.nearest(labelled, ~labelled), budget=2.0)
    pairs = int(labelled.sum()) * int((~labelled).sum())
    print(f"{n} × {p}")
    print(f"  MM pass          {1e3 * step:9.3f} ms   {X.nbytes / step / 1e9:5.1f} GB/s of X")
    print(f"  X @ coef         {1e3 * plain:9.3f} ms   {X.nbytes / plain / 1e9:5.1f} GB/s")
    print(f"  rows @ X         {1e3 * plain_transposed:9.3f} ms   {X.nbytes / plain_transposed / 1e9:5.1f} GB/s")
    print(f"  Hessian          {1e3 * hessian:9.3f} ms")
    print(f"  warm logistic fit{1e3 * warm:9.3f} ms")
    print(f"  spy search       {1e3 * spies:9.3f} ms   {1e9 * spies / pairs:5.2f} ns a pair", end="   ")
    print(f"{2 * pairs * p / spies / 1e9:.0f} GFlop/s", flush=True)


def main() -> None:
    """The float32 product rate, then each size."""
    a = np.random.default_rng(0).standard_normal((3000, 3000)).astype(np.float32)
    print(f"float32 matrix product: {2 * 3000**3 / fastest(lambda: a @ a, budget=1.0) / 1e9:.0f} GFlop/s", end=", ")
    with one_blas_thread():
        print(f"on one core {2 * 3000**3 / fastest(lambda: a @ a, budget=1.0) / 1e9:.0f}")
    for n, p in SIZES:
        measure(n, p)


if __name__ == "__main__":
    main()
