"""Signals that end a command."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["ended_by_signals"]

# SIGHUP, which a closed terminal sends, does not exist on Windows.
_ENDING = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt as Ctrl-C does, so that unfinished files are removed; exit with 128 + signal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    process, received = os.getpid(), []
    # A signal that is ignored, as under nohup, stays ignored.
    replaced = [number for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL]

    def interrupt(number: int, _: FrameType | None) -> None:
        if os.getpid() != process:
            # A worker that was forked from here ends as if there were no handler.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        # A second signal must not interrupt the removal of files: a closed terminal may send two.
        for each in replaced:
            signal.signal(each, signal.SIG_IGN)
        received.append(number)
        raise KeyboardInterrupt

    for number in replaced:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)
        if received:
            sys.exit(128 + received[0])
