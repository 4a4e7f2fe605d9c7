"""Scoring a CSV file that should not be held in memory: rows per second and peak memory of `propense score`.

A model is fitted by `propense fit` on a small table of the same columns (numbers, true/false, two categories, missing
cells). Reading the file once in this process shows the speed of the disk.

Run as ``python benchmarks/score_file.py [--gigabytes 2] [--folder DIR]``.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv


def rows(n: int, seed: int) -> pa.Table:
    """Some rows, with a twentieth of the numbers missing."""
    rng = np.random.default_rng(seed)
    numbers = {f"x{j}": pa.array(rng.normal(size=n).round(6), mask=rng.random(n) < 0.05) for j in range(8)}
    words = {"sex": rng.choice(["f", "m"], n), "region": rng.choice(["north", "south", "east", "west"], n)}
    chance = 1 / (1 + np.exp(-2 * np.nan_to_num(numbers["x0"].to_numpy(zero_copy_only=False))))
    labelled = (rng.random(n) < chance) & (rng.random(n) < 0.4)
    ids = pa.array(np.arange(seed * n, (seed + 1) * n))
    return pa.table({"id": ids, **numbers, **words, "flag": rng.random(n) < 0.5, "reported": labelled})


def write(path: Path, size: float) -> int:
    """A CSV file of about `size` bytes; how many rows it has."""
    block = rows(200_000, 0)
    count = 0
    with csv.CSVWriter(path, block.schema) as writer:
        while not path.exists() or path.stat().st_size < size:
            writer.write_table(block)
            count += len(block)
    return count


def propense(*arguments: object) -> None:
    """The command, in a process of its own."""
    subprocess.run([sys.executable, "-m", "propense", *map(str, arguments)], check=True)


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        table, model, out = (Path(folder) / name for name in ("big.csv", "m.propense", "out.csv"))
        small = Path(folder) / "small.csv"
        csv.write_csv(rows(20_000, 0), small)
        # The speed of trees would hide that of reading and writing.
        propense("fit", small, "--label", "reported", "--id", "id", "--learners", "linear", "--model", model)
        count = write(table, options.gigabytes * 1e9)
        start = time.perf_counter()
        with table.open("rb") as file:
            while file.read(1 << 24):
                pass
        reading = time.perf_counter() - start
        # The fit of the small table is a child too; the larger of the two peaks is what is reported.
        start = time.perf_counter()
        propense("score", table, "--model", model, "--out", out)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        size = table.stat().st_size / 1e9
        print(
            f"{count:,} rows, {size:.2f} GB: {seconds:.0f} s, {count / seconds:,.0f} rows a second, "
            f"{1000 * size / seconds:.0f} MB a second; peak {peak:.0f} MiB; reading alone {reading:.1f} s."
        )


if __name__ == "__main__":
    main()
