"""PUClassifier beside JERM and EM where the truth is known, and what it costs: `python benchmarks/first_choice.py`.

2 000 rows of ten normal features for fit, 20 000 fresh ones for balanced accuracy; y(x) is logistic in five of the
features. The ways of labelling: e(x) on the other five; steeply or weakly along the class score; constant; falling with
the class score. Then seconds beside one logistic regression of scikit-learn's on the same 50 000 × 30 rows, in turns.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
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
    "JERM()": JERM,
    "JERM(decision='balanced')": lambda: JERM(decision="balanced"),
    "SAREM()": SAREM,
    "SAREM(decision='balanced')": lambda: SAREM(decision="balanced"),
    "PGLin(decision='balanced')": lambda: PGLin(decision="balanced"),
    "Oracle(decision='balanced')": lambda: Oracle(decision="balanced"),
}


def accuracy(make: Callable[[], Any], world: str, seed: int) -> float:
    """Balanced accuracy on fresh rows."""
    data, fresh = (
        make_double_logistic(n, P, random_state=each, **WORLDS[world])
        for n, each in ((2000, seed), (20_000, 999 + seed))
    )
    model = make()
    model.fit(data.X, data.positive if isinstance(model, Oracle) else data.labelled)
    return float(balanced_accuracy_score(fresh.positive, model.predict(fresh.X)))


def seconds(work: Callable[[], object]) -> float:
    """What `work` takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def cost(n: int, p: int, turns: int) -> None:
    """The least seconds of each, over turns."""
    data = make_double_logistic(n, p, random_state=0)
    pairs = [
        (
            seconds(lambda: LogisticRegression().fit(data.X, data.labelled)),
            seconds(lambda: PUClassifier(random_state=0).fit(data.X, data.labelled)),
        )
        for _ in range(turns)
    ]
    unit, ours = np.min(pairs, axis=0)
    print(f"{n} × {p}: {ours:.2f} s, {ours / unit:.1f} × LogisticRegression ({unit:.3f} s)")


def main() -> None:
    """Print a Markdown table and the cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DoubtfulFit)
    print(f"| | {' | '.join(WORLDS)} |")
    print(f"| --- |{' ---: |' * len(WORLDS)}")
    for name, make in METHODS.items():
        means = [np.mean([accuracy(make, world, seed) for seed in range(asked.seeds)]) for world in WORLDS]
        print(f"| `{name}` | {' | '.join(f'{mean:.3f}'.lstrip('0') for mean in means)} |", flush=True)
    cost(50_000, 30, asked.turns)


if __name__ == "__main__":
    main()
