"""Threads of our own around a BLAS held to one.

A product with a short inner side, split by BLAS between its threads, spends much of its time on their meetings (seen:
two threads slower than one), and what lies between products runs on one core. Work cut into parts, each with products
of its own, meets once.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

# Comes with scikit-learn, which cannot do without it.
from threadpoolctl import ThreadpoolController

__all__ = ["map_in_threads", "one_blas_thread", "one_thread", "slices"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def slices(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` (at least one) of n rows."""
    size = max(size, 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Hold BLAS to one thread; yields how many it would have used, which is how many of our own may run."""
    with _holds:
        yield 1 if getattr(_here, "alone", False) else _holds.workers


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep what is called within to this thread: for tasks of which as many run at once as there are cores."""
    before = getattr(_here, "alone", False)
    _here.alone = True
    try:
        with _holds:
            yield
    finally:
        _here.alone = before


class _Holds:
    """A limit shared by all fits under way: the first sets it, the last lifts it.

    One limit each would not do: of two fits in two threads, the one that began second would save the limit of the
    first as the state to restore, and leave BLAS at one thread for good.
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
    # Made anew each time: 0.2 ms, and nothing that a forked process would inherit half dead.
    with ThreadPoolExecutor(min(workers, len(items))) as pool:
        return list(pool.map(work, items))


@cache
def _blas() -> Any:
    """The BLAS libraries loaded; looking for them takes ten milliseconds, so it is done once."""
    return ThreadpoolController().select(user_api="blas")
