"""PUClassifier compared with JERM and EM on a known truth, and its cost: `python benchmarks/first_choice.py`.

2 000 rows of ten normal features to fit, 20 000 new ones for balanced accuracy; y(x) is logistic in five of the
features. Labelling: e(x) depends on the other five; rises steeply or weakly with the class score; is constant; falls
with the class score. Then the processor time of a fit, and of scikit-learn's logistic regression and boosted trees of
the labels, in alternation, on the same 50 000 × 30 rows. ``--seeds 0`` measures only the cost; OMP_NUM_THREADS=1 gives
all of them one thread.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from propense import JERM, SAREM, Oracle, PGLin, PUClassifier
from propense.datasets import make_double_logistic
from propense.errors import DoubtfulFit

P = 10
SLOPES = make_double_logistic(1, P, random_state=0).coef[1:]
WORLDS: dict[str, dict[str, Any]] = {
    "other features": {},
    "class score": {"propensity_coef": np.append(-2.25, SLOPES)},
    "class score, weakly": {"propensity_coef": np.append(-1.1, 0.44 * SLOPES)},
    "constant": {"propensity_coef": np.append(-0.4, np.zeros(P))},
    "falling": {"propensity_coef": np.append(1.1, -0.44 * SLOPES)},
}
METHODS: dict[str, Callable[[], Any]] = {
    "PUClassifier()": lambda: PUClassifier(random_state=0),
    "PUClassifier(learners='linear')": lambda: PUClassifier(learners="linear", random_state=0),
    "JERM()": JERM,
    "JERM(decision='balanced')": lambda: JERM(decision="balanced"),
    "SAREM()": SAREM,
    "SAREM(decision='balanced')": lambda: SAREM(decision="balanced"),
    "PGLin(decision='balanced')": lambda: PGLin(decision="balanced"),
    "Oracle(decision='balanced')": lambda: Oracle(decision="balanced"),
}


def accuracy(make: Callable[[], Any], world: str, seed: int) -> float:
    """Balanced accuracy on new rows."""
    data, fresh = (
        make_double_logistic(n, P, random_state=each, **WORLDS[world])
        for n, each in ((2000, seed), (20_000, 999 + seed))
    )
    model = make()
    model.fit(data.X, data.positive if isinstance(model, Oracle) else data.labelled)
    return float(balanced_accuracy_score(fresh.positive, model.predict(fresh.X)))


def seconds(work: Callable[[], object]) -> float:
    """The processor time that `work` takes, of all its threads: other work on the machine hardly changes it."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _fit(make: Callable[[], Any], data: Any) -> None:
    make().fit(data.X, data.labelled)


def cost(n: int, p: int, turns: int) -> None:
    """The fewest seconds of each, over the repeats."""
    data = make_double_logistic(n, p, random_state=0)
    turn = {
        "LogisticRegression": lambda: LogisticRegression(),
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(),
        "learners='linear'": lambda: PUClassifier(learners="linear", random_state=0),
        "learners='auto'": lambda: PUClassifier(random_state=0),
    }
    found = [[seconds(partial(_fit, make, data)) for make in turn.values()] for _ in range(turns)]
    logistic, boosted, linear, auto = np.min(found, axis=0)
    print(
        f"{n} × {p}: learners='linear' {linear:.2f} s, {linear / logistic:.1f} × LogisticRegression ({logistic:.3f} s)"
    )
    print(f"{n} × {p}: learners='auto' {auto:.2f} s, {auto / boosted:.1f} × HistGradientBoosting ({boosted:.2f} s)")


def main() -> None:
    """Print a Markdown table and the cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DoubtfulFit)
    if asked.seeds:
        print(f"| | {' | '.join(WORLDS)} |")
        print(f"| --- |{' ---: |' * len(WORLDS)}")
    for name, make in METHODS.items() if asked.seeds else ():
        means = [np.mean([accuracy(make, world, seed) for seed in range(asked.seeds)]) for world in WORLDS]
        print(f"| `{name}` | {' | '.join(f'{mean:.3f}'.lstrip('0') for mean in means)} |", flush=True)
    if asked.turns:
        cost(50_000, 30, asked.turns)


if __name__ == "__main__":
    main()
