"""A study run: the cells that are not in the ledger, measured in parallel, each recorded as it comes."""

import sys
from collections.abc import Callable, Collection, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed, parallel_config

from propense._cluster import on_dask
from propense.datasets import is_here
from propense.datasets.home import data_home
from propense.errors import DownloadFailed, WorkerDied
from propense.study.ledger import Ledger
from propense.study.measure import Record, measure
from propense.study.plan import Cell, Study

__all__ = ["Tally", "run"]

# Told after every record: the record's cell, the record.
Tell = Callable[[Cell, Record], None]


@dataclass
class Tally:
    """How far a run is: cells in the plan, those behind it (failures included), and the failures."""

    total: int
    done: int
    failed: int


def run(
    study: Study,
    ledger: Ledger,
    *,
    jobs: int = 1,
    dask: str | None = None,
    retry: bool = False,
    again: Collection[str] = (),
    begun: Callable[[Tally], None] | None = None,
    tell: Tell | None = None,
) -> Tally:
    """Measure what the ledger lacks.

    Parameters
    ----------
    study : Study
    ledger : Ledger
    jobs : int, default=1
        Processes.
    dask : str, default=None
        The address of a Dask scheduler, whose workers are used instead.
    retry : bool, default=False
        Whether cells that failed before are tried again.
    again : list of str, default=()
        Methods whose cells are measured anew, as after a change of one's own estimator.
    begun : callable, default=None
        Told once how far the study already is.
    tell : callable, default=None
        Told of every record as it is written.

    Returns
    -------
    Tally
    """
    with ledger.running():
        done, failed = ledger.keys(failed=False), ledger.keys(failed=True)
        cells = list(study.cells())
        skipped = done if retry else done | failed
        left = [cell for cell in cells if cell.key not in skipped or cell.method.name in again]
        known = failed - {cell.key for cell in left}
        tally = Tally(len(cells), len(cells) - len(left), sum(cell.key in known for cell in cells))
        _check_data(left)
        if begun:
            begun(tally)
        for cell, record in _measured(left, jobs, dask):
            ledger.write(cell, record)
            tally.done += 1
            tally.failed += record.error is not None
            if tell:
                tell(cell, record)
    return tally


def _check_data(cells: list[Cell]) -> None:
    """One word before the start, rather than a failure for every cell of a set that is not there."""
    missing = [name for name in dict.fromkeys(cell.dataset for cell in cells) if not is_here(name)]
    if missing:
        raise DownloadFailed(
            f"Not in the data home ({data_home()}): {', '.join(missing)}. Set PROPENSE_DATA to the folder that has "
            f"them, or fetch them: propense datasets fetch {' '.join(missing)}"
        )


def _measured(cells: list[Cell], jobs: int, dask: str | None) -> Iterator[tuple[Cell, Record]]:
    """Records as they are ready."""
    if jobs == 1 and dask is None:
        for cell in cells:
            yield cell, measure(cell)
        return
    with _workers(jobs, dask):
        tasks = (delayed(_measure_there)(cell, sys.path) for cell in cells)
        try:
            yield from Parallel(n_jobs=jobs if dask is None else -1, return_as="generator_unordered")(tasks)
        except BrokenProcessPool:
            raise WorkerDied(
                "A worker process was ended from outside, perhaps for want of memory. What was recorded is kept; run "
                "again with fewer --jobs, or with --jobs 1 to see where it ends."
            ) from None


def _measure_there(cell: Cell, path: list[str]) -> tuple[Cell, Record]:
    """In a worker: where the user's own modules are is told by the parent."""
    sys.path[:] = [*sys.path, *(place for place in path if place not in sys.path)]
    return cell, measure(cell)


@contextmanager
def _workers(jobs: int, dask: str | None) -> Iterator[Any]:
    """Processes of one BLAS thread each, or the workers of a Dask cluster."""
    if dask is None:
        with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
            yield
        return
    with on_dask(dask), parallel_config(backend="dask"):
        yield
