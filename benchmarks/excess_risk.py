"""Theorem 1 of the paper by simulation: the excess risk Q(θ̂) − Q(θ*) of eq. (8) against √(log p / n).

Double-logistic data in which y depends on five features and e on five others, whatever p; θ̂ minimises Qₙ over the ℓ1
ball whose radius is |θ*|₁. The excess is the mean over new rows of the divergence between the true probability of a
label and the estimated one, which is Q(θ̂) − Q(θ*) without the noise of drawn labels.

Run as ``python benchmarks/excess_risk.py [--repeats 10] [--out docs/benchmarks]``; the plot needs matplotlib.
"""

import argparse
import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from propense import JointMLE
from propense._maths.double_logistic import joint_loss
from propense.datasets import make_double_logistic

ROWS = [500 * 2**k for k in range(9)]
COLUMNS = [10, 40, 160]
FRESH = 50_000
# |β*| = 3.4 gives a best balanced accuracy of about .85.
SLOPES, PROPENSITY_SLOPES = (
    3.4 / np.sqrt(5) * np.array([1, -1, 1, -1, 1]),
    1.5 / np.sqrt(5) * np.array([1, -1, 1, -1, 1]),
)


def truth(p: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """β* and γ*, intercepts first."""
    beta, gamma = np.zeros((2, p + 1))
    beta[1:6], gamma[6:11] = SLOPES, PROPENSITY_SLOPES
    return beta, gamma


def excess_risk(n: int, p: int, seed: int) -> float:
    """Q(θ̂) − Q(θ*) of one sample."""
    beta, gamma = truth(p)
    data = make_double_logistic(n, p, coef=beta, propensity_coef=gamma, random_state=seed)
    radius = float(np.abs(beta).sum() + np.abs(gamma).sum())
    model = JointMLE(radius=radius, ridge=0.0, n_starts=3, tol=1e-6, random_state=seed).fit(data.X, data.labelled)
    X = np.random.default_rng([seed, n, p]).normal(size=(FRESH, p))
    pairs = [
        (X @ beta[1:] + beta[0], X @ gamma[1:] + gamma[0]),
        (X @ model.coef_[0] + model.intercept_, X @ model.propensity_coef_[0] + model.propensity_intercept_),
    ]
    # E φ(a, b, S) given x, where S is 1 with the true probability.
    chance = 1 / (1 + np.exp(-pairs[0][0])) / (1 + np.exp(-pairs[0][1]))
    yes, no = np.ones(FRESH, dtype=bool), np.zeros(FRESH, dtype=bool)
    best, ours = (chance * joint_loss(a, b, yes) + (1 - chance) * joint_loss(a, b, no) for a, b in pairs)
    return float((ours - best).mean())


@dataclass(frozen=True)
class Point:
    """The excess risk at one size, over the repeats."""

    n: int
    p: int
    mean: float
    sd: float

    @property
    def rate(self) -> float:
        """√(log p / n)."""
        return float(np.sqrt(np.log(self.p) / self.n))


def draw(points: list[Point], path: Path) -> None:
    """Excess against √(log p / n), both axes logarithmic, under a line that rises as the bound does."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.subplots()
    for p, marker in zip(COLUMNS, "os^", strict=True):
        some = [point for point in points if point.p == p]
        x, mean, sd = np.array([(point.rate, point.mean, point.sd) for point in some]).T
        axes.errorbar(x, mean, sd, marker=marker, capsize=2, label=f"p = {p}")
    ends = np.array([min(point.rate for point in points), max(point.rate for point in points)])
    height = max(point.mean / point.rate for point in points)
    axes.plot(ends, height * ends, "k:", label="∝ √(log p / n), the rate of the bound")
    axes.set(xscale="log", yscale="log", xlabel="√(log p / n)", ylabel="Q(θ̂) − Q(θ*)")
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Print the table, and write it and the plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "benchmarks")
    options = parser.parse_args()
    points = []
    print("| n | p | √(log p / n) | excess risk | sd | excess / rate |")
    print("| --- | --- | --- | --- | --- | --- |")
    for p in COLUMNS:
        for n in ROWS:
            found = Parallel(options.jobs)(delayed(excess_risk)(n, p, seed) for seed in range(options.repeats))
            point = Point(n, p, float(np.mean(found)), float(np.std(found)))
            points.append(point)
            shown = f"{point.mean:.6f} | {point.sd:.6f} | {point.mean / point.rate:.4f}"
            print(f"| {n} | {p} | {point.rate:.4f} | {shown} |", flush=True)
    rates, means = np.log([(point.rate, point.mean) for point in points]).T
    slope = np.polyfit(rates, means, 1)[0]
    print(f"\nThe excess falls as the rate to the power {slope:.2f}; the bound has 1.")
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / "excess_risk.csv").open("w", newline="") as file:
        rows = [(point.n, point.p, point.mean, point.sd) for point in points]
        csv.writer(file).writerows([("n", "p", "excess_risk", "sd"), *rows])
    draw(points, options.out / "excess_risk.svg")


if __name__ == "__main__":
    main()
