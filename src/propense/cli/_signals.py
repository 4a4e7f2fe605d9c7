"""Signals that end a command."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["ended_by_signals"]

# SIGHUP, which a closed terminal sends, and timers do not exist on Windows.
_USUAL = {
    number: usual
    for name, usual in [
        ("SIGINT", signal.default_int_handler),
        ("SIGTERM", signal.SIG_DFL),
        ("SIGHUP", signal.SIG_DFL),
        ("SIGALRM", signal.SIG_DFL),
    ]
    if (number := getattr(signal, name, None)) is not None
}
# Seconds after which an interrupt that got lost is raised again.
_AGAIN = 0.5


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """
    Let SIGTERM and SIGHUP interrupt as Ctrl-C does, so that unfinished files are removed; exit with 128 + signal.

    Python drops an exception that a handler raises within a destructor or the lock of an import, and a library may
    catch it: so it is raised again until the command ends. While it is on its way further signals change nothing,
    for a closed terminal may send two, and the second must not interrupt the removal of files.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    process, received = os.getpid(), list[int]()
    # A signal that is ignored, as under nohup, stays ignored.
    replaced = {number: usual for number, usual in _USUAL.items() if signal.getsignal(number) == usual}
    report = sys.unraisablehook

    def interrupt(number: int, _: FrameType | None) -> None:
        if os.getpid() != process:
            # A worker that was forked from here ends as if there were no handler.
            signal.signal(number, replaced[number])
            os.kill(os.getpid(), number)
            return
        received.append(number)
        _alarm(_AGAIN)
        if not _stopping(sys.exception()):
            raise KeyboardInterrupt

    def drop(lost: "sys.UnraisableHookArgs") -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            report(lost)

    for number in replaced:
        signal.signal(number, interrupt)
    sys.unraisablehook = drop
    try:
        yield
    finally:
        _alarm(0.0)
        for number, usual in replaced.items():
            # What is on its way out with a status of its own is not killed by a second signal.
            signal.signal(number, signal.SIG_IGN if received and number != signal.SIGINT else usual)
        sys.unraisablehook = report
        if received:
            sys.exit(128 + received[0])


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _stopping(error: BaseException | None) -> bool:
    """Whether an interrupt is on its way: it, or what was raised in its place, is being handled."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False
