"""Which columns `SparseJoint` finds among 1 000, and the cost of a path of 50 alphas relative to one fit.

5 000 rows; five columns for y, five for e; two are shared in the last setting. F1 of the columns found for y, for e and
for either, by both ways of choosing alpha, means over seeds; then CPU seconds of a path, of one cold fit at the chosen
alpha, and of the whole fit with its folds, and the mean absolute errors of y and of the prior with and
without the refit. Run: ``python benchmarks/sparse_path.py [--seeds 5]
[--plain 2]``.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propense import SparseJoint
from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._maths.logistic import sigmoid
from propense._steps.sparse_path import Path, PathOptions

ROWS, COLUMNS = 5000, 1000


@dataclass(frozen=True)
class Setting:
    """Slopes of y and of e, how many columns they share, and the correlation of neighbouring columns."""

    slope: float
    propensity_slope: float
    shared: int = 0
    correlation: float = 0.0

    def __str__(self) -> str:
        shared = f", {self.shared} columns shared, neighbours correlated {self.correlation:g}" if self.shared else ""
        return f"slopes ±{self.slope:g} of y, ±{self.propensity_slope:g} of e{shared}"


SETTINGS = [Setting(1.5, 1.0), Setting(1.0, 0.75), Setting(1.5, 1.0, shared=2, correlation=0.5)]


@dataclass(frozen=True)
class Drawn:
    """Features, labels, the true y(x), and the columns of y and of e."""

    X: NDArray[np.float64]
    labelled: NDArray[np.bool_]
    posterior: NDArray[np.float64]
    columns: list[set[int]]


def draw(setting: Setting, seed: int) -> Drawn:
    """A sample of a setting."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, COLUMNS))
    rho = setting.correlation
    for j in range(1, COLUMNS if rho else 0):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    some = rng.permutation(COLUMNS)
    beta, gamma = np.zeros(COLUMNS), np.zeros(COLUMNS)
    beta[some[:5]] = setting.slope * np.array([1, -1, 1, -1, 1])
    gamma[some[5 - setting.shared : 10 - setting.shared]] = setting.propensity_slope * np.array([1, 1, -1, 1, 1])
    posterior = sigmoid(X @ beta)
    labelled = (rng.random(ROWS) < posterior) & (rng.random(ROWS) < sigmoid(X @ gamma))
    return Drawn(X, labelled, posterior, [set(np.flatnonzero(each).tolist()) for each in (beta, gamma)])


def f1(found: set[int], true: set[int]) -> float:
    """2·hits / (found + true)."""
    return 2 * len(found & true) / (len(found) + len(true))


def scores(model: SparseJoint, k: int, true: list[set[int]]) -> list[float]:
    """F1 of y, of e and of either, and how many columns, of the k-th model of the path."""
    paths = model.coefs_path_, model.propensity_coefs_path_
    found = [set(model.path_features_[path[k] != 0].tolist()) for path in paths]
    pairs = [*zip(found, true, strict=True), (found[0] | found[1], true[0] | true[1])]
    return [*(f1(*pair) for pair in pairs), float(len(found[0] | found[1]))]


def cost(drawn: Drawn, model: SparseJoint) -> list[float]:
    """CPU seconds of the whole path and of one cold fit; errors of y and the prior with the refit and without."""
    options = PathOptions(1.0, 1.0, model.variant == "adaptive", model.tol, model.max_iter)
    sample = Sample(as_design(drawn.X), drawn.labelled, None, None)
    begun = time.process_time()
    Path(sample, options).follow(model.alphas_)
    path = time.process_time() - begun
    begun = time.process_time()
    one = SparseJoint(alpha=model.alpha_, variant=model.variant).fit(drawn.X, drawn.labelled)
    seconds = [path, time.process_time() - begun]
    shrunk = SparseJoint(alpha=model.alpha_, variant=model.variant, refit=False).fit(drawn.X, drawn.labelled)
    for each in (one, shrunk):
        seconds.append(float(np.abs(each.predict_proba(drawn.X)[:, 1] - drawn.posterior).mean()))
        seconds.append(abs(each.prior_ - float(drawn.posterior.mean())))
    return seconds


def measure(model: SparseJoint, setting: Setting, seeds: int) -> None:
    """Print a setting's rows of the table, and its costs and errors."""
    table, costs = [], []
    for seed in range(seeds):
        drawn = draw(setting, seed)
        begun = time.process_time()
        model.fit(drawn.X, drawn.labelled)
        whole = time.process_time() - begun
        chosen = int(np.argmax(model.alphas_ == model.alpha_))
        best = int(np.argmin(model.held_out_risk_))
        table.append([scores(model, chosen, drawn.columns), scores(model, best, drawn.columns)])
        costs.append([whole, *cost(drawn, model)])
    for rule, (y, e, either, count) in zip(("one_se", "min"), np.mean(table, axis=0), strict=True):
        worst = np.min([row[rule == "min"][:3] for row in table])
        print(
            f"| {setting} | {model.variant} | {rule} | {y:.2f} | {e:.2f} | {either:.2f} | {worst:.2f} | {count:.1f} |"
        )
    whole, path, one, *errors = np.mean(costs, axis=0)
    ratio = max(each[1] / each[2] for each in costs)
    print(f"  path {path:.2f} s, one fit {one:.2f} s, path / one at most {ratio:.1f}, whole fit {whole:.1f} s")
    print("  errors of y and the prior: refit {:.3f} {:.3f}, without {:.3f} {:.3f}".format(*errors), flush=True)


def main() -> None:
    """Print a Markdown table with a line of costs under each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--plain", type=int, default=2, help="seeds for variant='plain', which is slow")
    given = parser.parse_args()
    print("| | variant | selection | F1 of y | F1 of e | F1 of either | worst | columns found |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for setting in SETTINGS:
        measure(SparseJoint(random_state=0), setting, given.seeds)
    if given.plain:
        measure(SparseJoint(variant="plain", eps=0.05, random_state=0), SETTINGS[0], given.plain)


if __name__ == "__main__":
    main()
