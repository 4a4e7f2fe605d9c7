"""Passes over the features of a Dask array, told to whoever wants to know."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["begin_pass", "observe_passes"]

_observer: ContextVar[Callable[[], None] | None] = ContextVar("observer", default=None)


def begin_pass() -> None:
    """Say that a pass over the features begins."""
    observer = _observer.get()
    if observer is not None:
        observer()


@contextmanager
def observe_passes(observer: Callable[[], None]) -> Iterator[None]:
    """Call `observer` at the beginning of each pass that this thread makes inside `with`."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)
