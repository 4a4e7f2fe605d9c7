"""How often the intervals of an audit hold the truth: `python benchmarks/audit.py`.

Ten worlds of unlabelled rows, in some of which the model is badly wrong. In each, many draws of 50, 200 and 1 000 rows:
how often the 95% intervals hold the share of positives, and the precision and the recall of a list half as long as
there are positives; and how wide the first is beside Wilson's interval of a simple random sample of as many rows. With
`--ppi`, beside `ppi_py.ppi_mean_ci` on the same simple random samples (pip install ppi-python).
"""

import argparse
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import norm

from propense._maths.logistic import sigmoid
from propense.audit import Audit, Draw, Findings, draw, read
from unseen import Mask, Rows

SIZES = (50, 200, 1000)
# Rows, level and slope of the true log-odds along a feature, and what the model makes of it.
Model = Callable[[Rows, np.random.Generator], Rows]
WORLDS: dict[str, tuple[int, float, float, Model]] = {
    "right, 4% positive": (7000, -4.0, 1.5, lambda x, rng: -4.0 + 1.5 * x),
    "right, 32% positive": (7000, -1.2, 2.0, lambda x, rng: -1.2 + 2.0 * x),
    "right, few rows": (1200, -2.0, 1.5, lambda x, rng: -2.0 + 1.5 * x),
    "five times too high": (7000, -4.0, 1.5, lambda x, rng: -2.0 + 1.5 * x),
    "far too low": (5000, 2.0, 1.5, lambda x, rng: -1.0 + 1.5 * x),
    "half as high": (3000, 0.0, 1.0, lambda x, rng: -0.9 + 0.8 * x),
    "too steep": (7000, -2.5, 1.0, lambda x, rng: -1.0 + 4.0 * x),
    "rare, 1% positive": (20_000, -6.0, 1.5, lambda x, rng: -3.0 + x),
    "knows nothing": (7000, -2.5, 1.0, lambda x, rng: -2.0 + 2.0 * rng.normal(size=len(x))),
    "upside down": (7000, -2.5, 1.0, lambda x, rng: -2.0 - 1.5 * x),
}


def make(name: str) -> tuple[Mask, Rows]:
    """Which rows of a world are positive, and what the model says of them."""
    rows, level, slope, model = WORLDS[name]
    rng = np.random.default_rng([0, list(WORLDS).index(name)])
    x = rng.normal(size=rows)
    return rng.random(rows) < sigmoid(level + slope * x), np.asarray(sigmoid(model(x, rng)))


def wilson_width(share: Rows, size: int, rows: int) -> Rows:
    """The width of Wilson's interval of the share of a simple random sample without replacement."""
    z = norm.ppf(0.975) * np.sqrt((rows - size) / (rows - 1))
    return np.asarray(2 * z / (1 + z**2 / size) * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2)))


def verdicts_on(drawn: Draw, positive: Mask, chances: Rows) -> Findings:
    """The findings if all rows drawn are checked."""
    return read(Audit(drawn, positive[drawn.rows].astype(float)), chances, labelled=np.zeros(len(positive)))


def measure(name: str, size: int, seeds: NDArray[np.intp]) -> list[list[float]]:
    """For each draw: whether three intervals hold, their widths, and Wilson's width of another sample."""
    positive, chances = make(name)
    length = max(int(positive.sum() / 2), 20)
    listed = np.argsort(-chances, kind="stable")[:length]
    truth = positive.mean(), positive[listed].mean(), positive[listed].sum() / positive.sum()
    out = []
    for seed in seeds:
        found = verdicts_on(
            draw(chances, size, labelled=np.zeros(len(positive)), random_state=int(seed)), positive, chances
        )
        first = found.at([length])[0]
        shares = found.positives, first.precision, first.recall
        simple = np.random.default_rng([1, seed]).choice(positive, size, replace=False).mean()
        held = [float(each.low - 1e-9 <= t <= each.high + 1e-9) for each, t in zip(shares, truth, strict=True)]
        widths = [each.high - each.low for each in shares]
        out.append([*held, *widths, wilson_width(simple, size, len(positive))])
    return out


def beside_ppi(name: str, size: int, seeds: NDArray[np.intp]) -> list[list[float]]:
    """On simple random samples: ours and ppi_py's estimate, width, and whether the interval holds."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    positive, chances = make(name)
    out = []
    for seed in seeds:
        rows = np.random.default_rng([2, seed]).choice(len(positive), size, replace=False)
        found = verdicts_on(Draw(rows, np.zeros(size, np.intp), np.array([len(positive)])), positive, chances)
        y, h = positive[rows].astype(float), chances[rows]
        rest = np.delete(chances, rows)
        theirs = float(ppi_mean_pointestimate(y, h, rest)[0])
        low, high = (float(each[0]) for each in ppi_mean_ci(y, h, rest, alpha=0.05))
        ours, truth = found.positives, positive.mean()
        out.append(
            [
                abs(ours.estimate - theirs),
                (ours.estimate - truth) ** 2,
                (theirs - truth) ** 2,
                ours.high - ours.low,
                high - low,
                float(ours.low <= truth <= ours.high),
                float(low <= truth <= high),
            ]
        )
    return out


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ppi", action="store_true")
    asked = parser.parse_args()
    ours = ("held: positives", "precision", "recall", "width: positives", "precision", "recall", "beside a simple draw")
    ppi = ("apart", "error", "error of ppi", "width", "width of ppi", "held", "held by ppi")
    print(f"| | verdicts | {' | '.join(ppi if asked.ppi else ours)} |\n| --- |{' ---: |' * 8}")
    cells = [(name, size) for name in WORLDS for size in SIZES if size <= WORLDS[name][0] // 2]
    parts = np.array_split(np.arange(asked.repeats), asked.jobs)
    with Parallel(n_jobs=asked.jobs) as pool:
        for name, size in cells:
            each = beside_ppi if asked.ppi else measure
            found = np.concatenate(pool(delayed(each)(name, size, part) for part in parts))
            shown = found.mean(axis=0)
            if asked.ppi:
                shown[1:3] = np.sqrt(shown[1:3])
            else:
                shown[6] = shown[3] / shown[6]
            print(f"| {name} | {size} | {' | '.join(f'{value:.3f}' for value in shown)} |", flush=True)


if __name__ == "__main__":
    main()
