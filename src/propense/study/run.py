"""Run a study: measure the cells that the ledger lacks, in parallel, and record each as soon as it is done."""

import os
import sys
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from threading import Thread

from joblib import Parallel, delayed, parallel_config

from propense._cluster import on_dask
from propense.datasets import is_available
from propense.datasets.home import data_home
from propense.errors import DownloadFailed, WorkerDied
from propense.study import natural_data
from propense.study.ledger import Ledger
from propense.study.measure import Record, measure
from propense.study.plan import Cell, Study

__all__ = ["RunProgress", "run"]


@dataclass
class RunProgress:
    """Counts of cells: in the plan, done (failures included), and failed."""

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
    on_start: Callable[[RunProgress], None] | None = None,
    on_record: Callable[[Cell, Record], None] | None = None,
) -> RunProgress:
    """Measure the cells that the ledger lacks.

    Parameters
    ----------
    study : Study
    ledger : Ledger
    jobs : int, default=1
        Number of processes.
    dask : str, default=None
        The address of a Dask scheduler. Its workers are used instead of local processes.
    retry : bool, default=False
        Whether to try failed cells again.
    again : list of str, default=()
        Methods whose cells are measured again, for instance after you changed your estimator.
    on_start : callable, default=None
        Called once with the progress so far, before the first cell is measured.
    on_record : callable, default=None
        Called with the cell and the record after each record is written.

    Returns
    -------
    RunProgress
    """
    for method in study.methods:
        # A method that cannot be created is refused here, once and before anything is measured.
        method.make()
    with ledger.running():
        done, failed = ledger.keys()
        cells = list(study.cells())
        skipped = done if retry else done | failed
        left = [cell for cell in cells if cell.key not in skipped or cell.method.name in again]
        known = failed - {cell.key for cell in left}
        progress = RunProgress(len(cells), len(cells) - len(left), sum(cell.key in known for cell in cells))
        _check_data(left)
        if on_start:
            on_start(progress)
        for cell, record in _measured(left, jobs, dask):
            ledger.write(cell, record)
            progress.done += 1
            progress.failed += record.error is not None
            if on_record:
                on_record(cell, record)
    return progress


def _check_data(cells: list[Cell]) -> None:
    """Raise once before the start if data sets are missing, instead of recording a failure for each cell."""
    wanted = dict.fromkeys(cell.dataset for cell in cells)
    if not natural_data.is_available() and any(name in natural_data.NATURAL for name in wanted):
        raise DownloadFailed(
            f"The survey NHANES is not in the data home ({data_home()}). Set PROPENSE_DATA to the folder that has it, "
            "or download it: propense datasets fetch nhanes"
        )
    missing = [name for name in wanted if name not in natural_data.NATURAL and not is_available(name)]
    if missing:
        raise DownloadFailed(
            f"Not in the data home ({data_home()}): {', '.join(missing)}. Set PROPENSE_DATA to the folder that holds "
            f"them, or download them: propense datasets fetch {' '.join(missing)}"
        )


def _measured(cells: list[Cell], jobs: int, dask: str | None) -> Iterator[tuple[Cell, Record]]:
    """Yield each cell with its record, in the order in which they finish."""
    if jobs == 1 and dask is None:
        for cell in cells:
            yield cell, measure(cell)
        return
    # Processes use one BLAS thread each.
    backend = {"backend": "loky", "inner_max_num_threads": 1} if dask is None else {"backend": "dask"}
    with nullcontext() if dask is None else on_dask(dask), parallel_config(**backend):
        # The workers of a cluster are not ours to end.
        parent = os.getpid() if dask is None else None
        tasks = (delayed(_measure_there)(cell, sys.path, parent) for cell in cells)
        try:
            yield from Parallel(n_jobs=jobs if dask is None else -1, return_as="generator_unordered")(tasks)
        except BrokenProcessPool:
            raise WorkerDied(
                "A worker process was killed, perhaps because memory ran out. The records so far are kept. Run again "
                "with fewer jobs, or with jobs=1 to find the cell that fails."
            ) from None


def _measure_there(cell: Cell, path: list[str], parent: int | None) -> tuple[Cell, Record]:
    """Measure in a worker process, with the parent's module search path so that the user's own methods are found."""
    # joblib may measure in this very process, for instance on one core.
    if parent not in (None, os.getpid()):
        _end_with(parent)
    sys.path[:] = [*sys.path, *(folder for folder in path if folder not in sys.path)]
    return cell, measure(cell)


@cache
def _end_with(parent: int) -> None:
    """Let this process end within a second after its parent, which may be killed without a chance to end it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
