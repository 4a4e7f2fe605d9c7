"""The paper's timing: JERM and LBE on the features of CIFAR10 and MNIST, labels by S1, c = ½.

Both are fitted one after the other to the same rows, once with every column of the features and once with the thirty
that the protocol chooses. LBE is run in its published variant, with a budget of 21 000 gradient steps, and as the
complete EM. The features come from the data folder, `PROPENSE_DATA`.

Run as ``python benchmarks/images.py [NAME …]``.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from propense import JERM, LBE, Naive
from propense.datasets import is_available, load
from propense.labelling import simulate
from propense.study.measure import prepare

# Seconds of the authors' programs on their machine, from the paper's closing remarks.
PUBLISHED = {"cifar10": (120.23, 133.01), "mnist": (178.00, 164.15)}
METHODS = {
    "JERM": JERM(),
    "LBE published": LBE(variant="published", random_state=0),
    "LBE": LBE(),
    "naive": Naive(),
}


def measured(X: Any, s: Any, X_test: Any, y_test: Any) -> list[str]:
    """Seconds and balanced accuracy of each method."""
    cells = []
    for method in METHODS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            method.fit(X, s)
            seconds = time.perf_counter() - start
        cells.append(f"{seconds:.2f} ({balanced_accuracy_score(y_test, method.predict(X_test)):.3f})")
    return cells


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["cifar10", "mnist"])
    print(f"| data | rows × columns | {' | '.join(METHODS)} | the paper's JERM | LBE |")
    print("| --- | --- |" + " --- |" * (len(METHODS) + 2))
    for name in parser.parse_args().names:
        if not is_available(name):
            print(f"| {name} | not in the data home |" + " |" * (len(METHODS) + 2))
            continue
        data, some = load(name, download=False), prepare(name, "paper", 0, 0)
        assert data.test is not None
        drawn = simulate(some.X_train, some.y_train, "S1", 0.5, np.random.default_rng(0))
        theirs = " | ".join(f"{seconds:.0f}" for seconds in PUBLISHED.get(name, ()))
        for X, X_test in ((data.X[~data.test], data.X[data.test]), (some.X_train, some.X_test)):
            n, p = X.shape
            cells = measured(X, drawn.labelled, X_test, some.y_test)
            print(f"| {name} | {n} × {p} | {' | '.join(cells)} | {theirs} |", flush=True)


if __name__ == "__main__":
    main()
