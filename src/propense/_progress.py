"""The stages of a long fit, and its passes over the features of a Dask array, told to whoever wants to know."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from threading import Lock
from typing import Any

__all__ = ["Progress", "begin_pass", "begin_stage", "report_progress", "reported_here"]

# Called with the stage, the number of passes so far, and the seconds so far.
Progress = Callable[[str, int, float], None]


class _Reporter:
    """What one fit has come to."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._start, self._lock = progress, time.perf_counter(), Lock()
        self._stage, self._passes = "", 0

    def begin(self, stage: str | None = None) -> None:
        """A stage or, without one, a pass."""
        with self._lock:
            if stage is None:
                self._passes += 1
            else:
                self._stage = stage
            self._progress(self._stage, self._passes, time.perf_counter() - self._start)


_reporter: ContextVar[_Reporter | None] = ContextVar("reporter", default=None)


def begin_stage(name: str) -> None:
    """Say that a stage of a fit begins."""
    if (reporter := _reporter.get()) is not None:
        reporter.begin(name)


def begin_pass() -> None:
    """Say that a pass over the features begins."""
    if (reporter := _reporter.get()) is not None:
        reporter.begin()


@contextmanager
def report_progress(progress: Progress | None) -> Iterator[None]:
    """Call `progress` at the beginning of each stage and pass inside `with`."""
    token = _reporter.set(None if progress is None else _Reporter(progress))
    try:
        yield
    finally:
        _reporter.reset(token)


def reported_here(work: Callable[..., Any]) -> Callable[..., Any]:
    """`work`, for one call in another thread, whose passes then count as those of this thread."""
    return work if _reporter.get() is None else partial(copy_context().run, work)
