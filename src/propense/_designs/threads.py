"""Our own threads, with BLAS and OpenMP limited to one each.

If BLAS splits a product with a short inner dimension between its threads, much of the time goes into synchronising
them (two threads were seen to be slower than one), and the work between products runs on one core. Work that is split
into parts, each with its own products, synchronises once. Boosting by OpenMP waits for all of its threads in every
small step of every tree; where other programs keep a core busy, a fit of 6 s takes minutes.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, TypeVar

# A dependency of scikit-learn.
from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

__all__ = ["alone", "fits_at_once", "map_in_threads", "one_blas_thread", "one_thread", "slices", "threads_by_size"]

# The most multiplications in XᵀX for which BLAS gets one thread: 2 ms of work. Waking threads for the many smaller
# products of a fit takes more processor time than the products.
_SMALL = 1 << 26

Item = TypeVar("Item")
Result = TypeVar("Result")


def slices(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` (at least one) of n rows."""
    size = max(size, 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Limit BLAS to one thread; yields the number it would have used, which is how many of our own may run."""
    with _holds:
        yield 1 if getattr(_here, "alone", False) else _holds.workers


def threads_by_size(shape: tuple[int, int]) -> AbstractContextManager[object]:
    """One thread for BLAS within, if a matrix of this shape is too small to share; our own threads are not limited."""
    n, p = shape
    return one_blas_thread() if n * p**2 <= _SMALL else nullcontext()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run everything within in this thread: for tasks that run in parallel, one per core.

    OpenMP keeps a limit for each thread, so that of other threads stays as it is.
    """
    before = getattr(_here, "alone", False)
    _here.alone = True
    try:
        with _holds, _openmp().limit(limits=1):
            yield
    finally:
        _here.alone = before


def alone(work: Callable[[Item], Result], item: Item) -> Result:
    """`work` on the item in this thread alone."""
    with one_thread():
        return work(item)


def fits_at_once(n_jobs: int | None) -> int:
    """How many fits of one thread each may run at the same time.

    None means as many as OpenMP may use threads here, so that `OMP_NUM_THREADS` and limits of threadpoolctl count, or
    as many as joblib's `parallel_config` asks for.
    """
    if n_jobs is not None:
        return int(effective_n_jobs(n_jobs))
    allowed = max([library.num_threads for library in _openmp().lib_controllers], default=1)
    return int(max(effective_n_jobs(None), min(allowed, cpu_count())))


class _Holds:
    """A limit shared by all running fits: the first sets it, the last lifts it.

    A limit for each fit would not work: with two fits in two threads, the second would save the limit of the first as
    the state to restore, and leave BLAS at one thread for good.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._limit: Any = None
        self.workers = 1

    def __enter__(self) -> None:
        with self._lock:
            if self._count == 0:
                blas = _blas()
                self.workers = max([library.num_threads for library in blas.lib_controllers], default=1)
                self._limit = blas.limit(limits=1)
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                self._limit.restore_original_limits()


_holds = _Holds()
_here = threading.local()


def map_in_threads(work: Callable[[Item], Result], items: Iterable[Item], workers: int) -> list[Result]:
    """The results of `work` on every item, in order, `workers` at a time; the first error is raised."""
    items = list(items)
    if workers == 1 or len(items) < 2:
        return [work(item) for item in items]
    # A new pool each time: it costs 0.2 ms, and a forked process inherits no broken pool.
    with ThreadPoolExecutor(min(workers, len(items))) as pool:
        return list(pool.map(work, items))


@cache
def _blas() -> Any:
    """The BLAS libraries loaded; finding them takes ten milliseconds, so it is done once."""
    return ThreadpoolController().select(user_api="blas")


@cache
def _openmp() -> Any:
    """The OpenMP libraries loaded, likewise."""
    return ThreadpoolController().select(user_api="openmp")
