"""How well each method recovers a double-logistic truth, y and e on different features (ten columns).

Means over seeds: balanced accuracy on 20 000 new rows, threshold ½, and the mean absolute errors of y and e on the
fitted rows. Run: ``python benchmarks/recovery.py [--seeds 5]``.
"""

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score

from propense import JERM, LBE, SAREM, TM, JointMLE, Naive, Oracle, PGLin
from propense.datasets import make_double_logistic
from propense.estimators._base import BasePUClassifier

METHODS: list[BasePUClassifier] = [
    Oracle(),
    JointMLE(random_state=0),
    JointMLE(propensity_features=range(5, 10), random_state=0),
    SAREM(),
    LBE(),
    TM(),
    PGLin(),
    JERM(),
    Naive(),
]


def measure(model: BasePUClassifier, n: int, seed: int) -> tuple[float, float, float]:
    """Balanced accuracy, error of y, error of e."""
    data, fresh = make_double_logistic(n, random_state=seed), make_double_logistic(20_000, random_state=1000 + seed)
    with warnings.catch_warnings():
        # TM may not converge in a hundred rounds.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.X, data.positive if isinstance(model, Oracle) else data.labelled)
    return (
        float(balanced_accuracy_score(fresh.positive, model.predict(fresh.X))),
        float(np.abs(model.predict_proba(data.X)[:, 1] - data.posterior).mean()),
        float(np.abs(model.predict_propensity(data.X) - data.propensity).mean()),
    )


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    print("| n | method | balanced accuracy | error of y | error of e |")
    print("| --- | --- | --- | --- | --- |")
    for n in (2000, 20_000):
        for model in METHODS:
            accuracy, posterior, propensity = np.mean([measure(model, n, seed) for seed in seeds], axis=0)
            shown = "–" if isinstance(model, Oracle) else f"{propensity:.3f}"
            print(f"| {n} | `{model}` | {accuracy:.3f} | {posterior:.3f} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
