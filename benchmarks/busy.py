"""How much longer `propense fit` takes where other programs keep every core busy.

The command is run on tables of several sizes, in turn on an otherwise idle machine and next to one endless loop per
core. Printed are the seconds of the fastest turn of each and their ratio; 2 would be a fair share of the cores.

Run as ``python benchmarks/busy.py [--turns 2]``.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from propense.datasets import make_double_logistic

# Rows and columns.
SIZES = ((600, 4), (4000, 10), (20_000, 20))


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes that compute without end."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


def seconds(table: Path, model: Path) -> float:
    """The wall time of one fit, with the threads that a user would get."""
    command = [sys.executable, "-m", "propense", "fit", str(table), "--label", "label", "--no-scar-test"]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    begin = time.perf_counter()
    subprocess.run([*command, "--model", str(model)], env=environment, check=True, capture_output=True)
    return time.perf_counter() - begin


def main() -> None:
    """Measure every size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=2)
    turns = parser.parse_args().turns
    loops = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    print(f"{'rows':>8} {'columns':>8} {'idle, s':>8} {'busy, s':>8} {'ratio':>6}   ({loops} cores)")
    with TemporaryDirectory() as folder:
        table, model = Path(folder, "t.csv"), Path(folder, "m.propense")
        for n, p in SIZES:
            data = make_double_logistic(n, n_features=p, random_state=1)
            header = ",".join([*(f"x{j}" for j in range(p)), "label"])
            np.savetxt(table, np.column_stack([data.X, data.labelled]), "%.6g", ",", header=header, comments="")
            idle, loaded = [], []
            for _ in range(turns):
                idle.append(seconds(table, model))
                with busy(loops):
                    loaded.append(seconds(table, model))
            print(f"{n:8} {p:8} {min(idle):8.1f} {min(loaded):8.1f} {min(loaded) / min(idle):6.2f}", flush=True)


if __name__ == "__main__":
    main()
