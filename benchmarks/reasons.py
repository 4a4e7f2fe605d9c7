"""What reasons of rows take, next to the fit: `python benchmarks/reasons.py`.

Tables of 14 columns, with curves and an interaction.
"""

import time
import warnings

import numpy as np

from propense import PUClassifier, reasons
from unseen import Mask, Rows

COUNTS = (50, 1000)


def draw(n: int, seed: int) -> tuple[Rows, Mask]:
    """A table, and which rows are labelled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 14))
    t = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 2 * (X[:, 3] > 0.5) - X[:, 4] ** 2
    return X, (rng.random(n) < 1 / (1 + np.exp(-t))) & (rng.random(n) < 0.4)


def measure(n: int, seed: int = 1) -> list[float]:
    """CPU seconds of a fit, and of the reasons of some of its rows."""
    warnings.simplefilter("ignore")
    X, labelled = draw(n, seed)
    seconds = [time.process_time()]
    model = PUClassifier(random_state=0).fit(X, labelled)
    seconds.append(time.process_time())
    for count in COUNTS:
        reasons(model, X, rows=np.arange(count))
        seconds.append(time.process_time())
    return list(np.diff(seconds))


def main() -> None:
    """Print a Markdown table."""
    print(f"| rows | CPU s of the fit |{''.join(f' for {count:,} rows |' for count in COUNTS)}")
    print(f"|{' ---: |' * (2 + len(COUNTS))}")
    for n in (1000, 4000, 12_000):
        print(f"| {n:,} | {' | '.join(f'{each:.2f}' for each in measure(n))} |")


if __name__ == "__main__":
    main()
