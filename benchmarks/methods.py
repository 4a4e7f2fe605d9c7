"""The cost of each method relative to one ``LogisticRegression`` on the same rows, measured in the same run.

Double-logistic data, y and e on different features. Run: ``python benchmarks/methods.py [SIZE …]``, sizes as 5000x50.
"""

import sys
import warnings
from functools import partial

from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from propense import JERM, LBE, SAREM, TM, JointMLE, KnownPropensity, Naive, PGLin
from propense.datasets import make_double_logistic
from propense.estimators._base import BasePUClassifier
from speed import fastest

SIZES = ("5000x50", "50000x30")
METHODS: list[BasePUClassifier] = [
    Naive(),
    PGLin(),
    KnownPropensity(),
    JERM(),
    TM(),
    SAREM(),
    SAREM(variant="published"),
    LBE(),
    # A tenth of its budget, all of which is always used.
    LBE(variant="published", max_iter=10, random_state=0),
    JointMLE(n_starts=1),
    JointMLE(random_state=0),
    JointMLE(radius=20.0, ridge=0.0, n_starts=1),
]


def measure(n: int, p: int) -> None:
    """Print a Markdown table for one size."""
    data = make_double_logistic(n, p, random_state=0)
    floor = fastest(lambda: LogisticRegression(max_iter=1000).fit(data.X, data.labelled))
    print(f"\n{n} × {p}, one LogisticRegression: {floor:.4f} s\n")
    print("| method | rounds | × LogisticRegression | per round |\n| --- | --- | --- | --- |")

    def fit(model: BasePUClassifier) -> None:
        known = {"propensity": data.propensity} if isinstance(model, KnownPropensity) else {}
        with warnings.catch_warnings():
            # TM may not converge in a hundred rounds.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(data.X, data.labelled, **known)

    for model in METHODS:
        ratio = fastest(partial(fit, model)) / floor
        print(f"| `{model}` | {model.n_iter_} | {ratio:.1f} | {ratio / model.n_iter_:.2f} |", flush=True)


def main() -> None:
    """Every size."""
    for size in sys.argv[1:] or SIZES:
        measure(*map(int, size.split("x")))


if __name__ == "__main__":
    main()
