"""How long everyday commands take, next to the script that one would write for the same table without propense.

The script reads the table with pandas, and fits scikit-learn's `HistGradientBoostingClassifier` once or scores by it.
Command and script run in turn; of each the fastest turn counts, in wall time and in processor time of all threads. The
last row is a fit next to one endless loop per core, compared with the same fit without them. *At most* is what a
command should take.

Run as ``python benchmarks/everyday.py [--turns 3]`` (three minutes).
"""

import argparse
import os
import resource
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
SIZES = ((600, 4), (20_000, 20))
# What a user has: compiled modules, and all threads.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "PYTHONDONTWRITEBYTECODE")
}
FIT = """
import pickle
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
table = pd.read_csv("t.csv")
labels = table.pop("label")
model = HistGradientBoostingClassifier().fit(table, labels)
with open("m.pickle", "wb") as file:
    pickle.dump(model, file)
"""
SCORE = """
import pickle
import pandas as pd
table = pd.read_csv("t.csv")
with open("m.pickle", "rb") as file:
    model = pickle.load(file)
table["chance"] = model.predict_proba(table.drop(columns="label"))[:, 1]
table.to_csv("s.csv", index=False)
"""
HEAD = ("command", "wall, s", "CPU, s", "script: wall, s", "CPU, s", "wall ratio", "CPU ratio", "at most", "model, kB")


@contextmanager
def busy() -> Iterator[None]:
    """One process for each core that computes without end."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


def seconds(code: str, folder: Path) -> tuple[float, float]:
    """Wall and processor time of a command or a script in a process of its own."""
    command = ["-m", *code.split()] if code.startswith("propense") else ["-c", code]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(name: str, command: str, script: str, most: str, folder: Path, turns: int, *, loaded: bool = False) -> None:
    """A row of the table: a command next to a script, or, if loaded, next to itself without endless loops."""
    times = []
    for _ in range(turns):
        of_script = seconds(script, folder)
        if loaded:
            with busy():
                times.append((seconds(command, folder), of_script))
        else:
            times.append((seconds(command, folder), of_script))
    own, other = np.min(times, axis=0)
    cells = [name, *(f"{each:.2f}" for each in (*own, *other, *(own / other))), most, ""]
    if "--model m.propense --report" in command:
        cells[-1] = " / ".join(f"{(folder / file).stat().st_size / 1000:.0f}" for file in ("m.propense", "m.pickle"))
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Make the tables and print a Markdown table; where a command writes a model, its size and that of the script's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    turns = parser.parse_args().turns
    print(f"| {' | '.join(HEAD)} |\n| --- |{' ---: |' * (len(HEAD) - 1)}")
    fit = "propense fit t.csv --label label --model m.propense --report r.html"
    with TemporaryDirectory() as name:
        folder = Path(name)
        show("`import propense`", "import propense", "import sklearn.linear_model", "", folder, turns)
        show("`propense --help`", "propense --help", "pass", "0.25 s", folder, turns)
        for (n, p), most in zip(SIZES, ("2", "6"), strict=True):
            data = make_double_logistic(n, n_features=p, random_state=1)
            header = ",".join([*(f"x{j}" for j in range(p)), "label"])
            cells = np.column_stack([data.X, data.labelled])
            np.savetxt(folder / "t.csv", cells, "%.6g", ",", header=header, comments="")
            size = f"{n:,} × {p}".replace(",", " ")
            show(f"`propense fit`, {size}", fit, FIT, most, folder, turns)
            score = "propense score t.csv --model m.propense --out s.csv"
            show(f"`propense score`, {size}", score, SCORE, "1.5", folder, turns)
            if n == SIZES[0][0]:
                show("`propense demo`", "propense demo", FIT, "8", folder, turns)
        show(f"`propense fit`, {size}, loaded", fit, fit, "2.5", folder, turns, loaded=True)


if __name__ == "__main__":
    main()
