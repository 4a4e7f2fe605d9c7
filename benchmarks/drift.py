"""How often the drift check of `propense score` speaks: where nothing has moved, and where one column has.

Each trial draws a table to fit and a table to score, with numbers (normal, skewed, discrete, some of them missing),
categories and truth values. In the trials that count false alarms both come from one distribution; in the others, one
column of the table to score is moved by some of its standard deviations. Printed are the share of the tables with a
word on any column, and the share with a word on the column that was moved.

Run as ``python benchmarks/drift.py [--trials 1000]``.
"""

import argparse
import os

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from propense.tables import Schema
from propense.tables.drift import DriftWatch, summarise_columns
from propense.tables.schema import Column

# Rows of fit, rows to score, columns, and what the first column is moved by.
SETTINGS = (
    *((fitted, scored, 15, 0.0) for fitted in (200, 2000) for scored in (20, 200, 2000)),
    (2000, 200, 100, 0.0),
    (100, 20, 15, 0.0),
    *((2000, scored, 15, shift) for scored in (20, 200, 2000) for shift in (0.25, 0.5, 1.0)),
    (200, 200, 15, 1.0),
    (2000, 200, 100, 1.0),
)
KINDS = ("normal", "skewed", "count", "category", "truth")


def columns_of(width: int) -> Schema:
    """A schema of so many columns, of each kind in turn."""
    columns = []
    for j in range(width):
        kind = KINDS[j % len(KINDS)]
        levels = ("a", "b", "c", "d", "(missing)") if kind == "category" else ()
        columns.append(Column(f"x{j}", {"category": "category", "truth": "truth"}.get(kind, "number"), levels))
    return Schema(tuple(columns))


def draw(rng: np.random.Generator, rows: int, width: int) -> NDArray[np.float64]:
    """An encoded table; a tenth of the numbers and truths is missing in every second column."""
    out = np.empty((rows, width))
    for j in range(width):
        kind = KINDS[j % len(KINDS)]
        if kind == "normal":
            values = rng.normal(50, 15, rows)
        elif kind == "skewed":
            values = rng.lognormal(0, 1, rows)
        elif kind == "count":
            values = rng.poisson(1.5, rows).astype(float)
        elif kind == "category":
            values = rng.choice(5, rows, p=[0.5, 0.25, 0.15, 0.05, 0.05]).astype(float)
        else:
            values = (rng.random(rows) < 0.3).astype(float)
        if kind != "category" and j % 2:
            values[rng.random(rows) < 0.1] = np.nan
        out[:, j] = values
    return out


def spoken(fitted: int, scored: int, width: int, shift: float, trials: int) -> tuple[float, float]:
    """The share of tables with a word on any column, and on the first, which is moved by `shift` deviations."""
    schema, any_column, first = columns_of(width), 0, 0
    rng = np.random.default_rng([fitted, scored, width])
    for _ in range(trials):
        watch = DriftWatch(schema, summarise_columns(schema, draw(rng, fitted, width)))
        rows = draw(rng, scored, width)
        rows[:, 0] += 15 * shift
        watch.add(rows)
        names = [column.name for column in watch.result().columns]
        any_column, first = any_column + bool(names), first + ("x0" in names)
    return any_column / trials, first / trials


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    trials = parser.parse_args().trials
    print("| rows of fit | rows to score | columns | moved by (sd) | a word on any column | on the one that moved |")
    print("| --- | --- | --- | --- | --- | --- |")
    found = Parallel(os.cpu_count())(delayed(spoken)(*setting, trials) for setting in SETTINGS)
    for (fitted, scored, width, shift), (anywhere, there) in zip(SETTINGS, found, strict=True):
        moved = f"{there:.1%}" if shift else ""
        print(f"| {fitted:,} | {scored:,} | {width} | {shift:g} | {anywhere:.1%} | {moved} |")


if __name__ == "__main__":
    main()
