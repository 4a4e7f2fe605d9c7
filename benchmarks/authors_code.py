"""JERM as its authors published it, beside ours, on the same rows and on one thread.

Their code is not part of propense. Fetch it, and what it needs, then name the folder:

    git clone https://github.com/teisseyrep/JERM theirs && pip install cvxopt
    OMP_NUM_THREADS=1 python benchmarks/authors_code.py theirs
"""

import argparse
import importlib
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from sklearn.linear_model import LogisticRegression

from propense import JERM
from propense.datasets import make_double_logistic
from propense.errors import DoubtfulFit


def seconds(fit: Callable[[], object], times: int) -> float:
    """The least processor time of some fits: other work on the machine does not count."""
    spent = []
    for _ in range(times):
        begun = time.process_time()
        fit()
        spent.append(time.process_time() - begun)
    return min(spent)


def main() -> None:
    """Fit both and print their seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the authors' repository")
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--columns", type=int, default=50)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DoubtfulFit)
    sys.path.insert(0, str(asked.folder))
    theirs = importlib.import_module("jerm").JERM
    data = make_double_logistic(asked.rows, n_features=asked.columns, random_state=0)
    X, labelled = data.X, data.labelled.astype(int)
    JERM().fit(X, labelled)
    print(f"{asked.rows} × {asked.columns}, processor seconds")
    print(f"JERM()                 {seconds(lambda: JERM().fit(X, labelled), 5):.3f}", flush=True)
    print(f"JERM(variant='paper')  {seconds(lambda: JERM(variant='paper').fit(X, labelled), 5):.3f}", flush=True)
    one = theirs(LogisticRegression(), LogisticRegression(), epochs=100)
    print(f"the authors' code      {seconds(lambda: one.fit(X, labelled), 1):.1f}")


if __name__ == "__main__":
    main()
