"""JERM on a folder of Parquet files larger than the memory of its cluster, against reading the files once.

Two worker processes (``--workers``) of one thread and 1.5 GB each. Printed are the time to read the data once (the sum
of every block, the minimum for any pass), the progress of the fit, its time, its number of passes over the data, and
its time as a multiple of that many readings; then the bytes sent to the client and the peak memory of a worker. If the
data fit in this process, the coefficients are compared with those of NumPy, otherwise with the true direction. About an
eighth of the rows are labelled, and spies are searched for 2 000 of them.

Run: ``python benchmarks/dask_fit.py --folder DIR`` (4 GB of files, written first and reused; a quarter of an hour on
2 cores), or with ``--rows 200000 --columns 20 --pieces 10`` for a quick look.
"""

import argparse
import pickle
import resource
import time
from collections import Counter
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster
from sklearn.base import clone

from propense import JERM
from propense._progress import report_progress

_IN_MEMORY = 1 << 30
_PRINT_EVERY = 10.0


def write(folder: Path, rows: int, columns: int, pieces: int, labelled: int) -> None:
    """Standard normal features in float32; y = σ(3·x₀ − 1), and e = σ(x₁ + a) such that about `labelled` are."""
    if folder.exists():
        return
    part = folder.with_suffix(".part")
    part.mkdir(parents=True, exist_ok=True)
    for piece in range(pieces):
        rng = np.random.default_rng([piece, rows, columns])
        size = rows // pieces + (piece < rows % pieces)
        X = rng.standard_normal((columns, size), dtype=np.float32)
        positive = rng.random(size) < 1 / (1 + np.exp(1 - 3 * X[0]))
        # The mean of e^x₁ is e^½, and a third are positive.
        start = np.log(labelled / rows) - 0.5 + np.log(2.5)
        label = positive & (rng.random(size) < 1 / (1 + np.exp(-X[1] - start)))
        table = pa.table({**{f"x{number:03}": column for number, column in enumerate(X)}, "label": label})
        pq.write_table(table, part / f"{piece:04}.parquet", use_dictionary=False, row_group_size=size)
    part.rename(folder)


class Progress:
    """What a fit calls as it proceeds: the passes so far, printed when a stage begins and now and then."""

    def __init__(self) -> None:
        self.passes, self._stage, self._printed = 0, "", 0.0

    def __call__(self, stage: str, passes: int, seconds: float) -> None:
        """Take note, and print."""
        self.passes = passes
        if stage != self._stage or seconds > self._printed + _PRINT_EVERY:
            self._stage, self._printed = stage, seconds
            print(f"{stage or 'reading'}: {passes} passes, {seconds:.1f} s", flush=True)


def count_bytes(client: Client) -> Counter[str]:
    """Count from now on the bytes sent to the client."""
    counts: Counter[str] = Counter()
    gather = client.gather

    def counted_gather(*args: Any, **kwargs: Any) -> Any:
        out = gather(*args, **kwargs)
        counts["bytes"] += len(pickle.dumps(out))
        return out

    client.gather = counted_gather
    return counts


def read_once(X: Any, number: int) -> float:
    """Seconds to read every block and sum its entries; the number keeps Dask from reusing the last result."""
    begun = time.perf_counter()
    X.map_partitions(_total, number, meta=(None, float)).compute()
    return time.perf_counter() - begun


def _total(block: Any, number: int) -> float:
    return float(block.to_numpy().sum())


def peak() -> float:
    """Peak memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def compare(model: JERM, X: Any, label: Any, size: int) -> str:
    """How far the coefficients are from where they should be."""
    if size <= _IN_MEMORY:
        begun = time.perf_counter()
        plain = clone(model).fit(*dask.compute(X, label, scheduler="threads"))
        gap = max(
            np.abs(model.coef_ - plain.coef_).max(), np.abs(model.propensity_coef_ - plain.propensity_coef_).max()
        )
        return f"NumPy's coefficients in {time.perf_counter() - begun:.1f} s, {gap:.1e} away"
    slopes = model.coef_[0] / np.linalg.norm(model.coef_[0])
    return f"cosine of the slopes of y with the truth {slopes[0]:.4f}"


def main() -> None:
    """Write, read, fit, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, default=Path("dask-data"))
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--pieces", type=int, default=100)
    parser.add_argument("--labelled", type=int, default=5_000_000)
    parser.add_argument("--spy-sample", type=int, default=2000)
    parser.add_argument("--max-iter", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    a = parser.parse_args()
    folder = a.folder / f"{a.rows}x{a.columns}-{a.pieces}-{a.labelled}"
    write(folder, a.rows, a.columns, a.pieces, a.labelled)
    with (
        LocalCluster(
            n_workers=a.workers, threads_per_worker=1, memory_limit="1.5GB", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        table = dd.read_parquet(folder)
        X, label = table.drop(columns="label"), table["label"]
        once = float(np.median([read_once(X, number) for number in range(3)]))
        print(f"read once {once:.2f} s", flush=True)
        counts, progress = count_bytes(client), Progress()
        model = JERM(max_iter=a.max_iter, spy_sample=a.spy_sample, random_state=0)
        begun = time.perf_counter()
        with report_progress(progress):
            model.fit(X, label)
        wall = time.perf_counter() - begun
        passes, size = progress.passes, a.rows * a.columns * 4
        print(
            f"{a.rows} × {a.columns} float32, {size / 1e9:.2f} GB in {a.pieces} files, {label.sum().compute()} labelled"
        )
        print(f"fit {wall:.1f} s, {model.n_iter_} rounds, {passes} passes")
        print(f"fit / (passes × read once) = {wall / (passes * once):.2f}")
        print(f"to the client {counts['bytes'] / 1e6:.2f} MB; peak of a worker {max(client.run(peak).values()):.0f} MB")
    # Without the cluster, whose workers could not hold X in one piece.
    print(compare(model, X, label, size), flush=True)


if __name__ == "__main__":
    main()
