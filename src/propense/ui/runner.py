"""Long work, one after another, each in a process of its own: so it can be stopped, and its memory is given back."""

import shutil
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from propense.errors import PropenseError, WorkerDied
from propense.ui.folder import read_json, write_json
from propense.ui.process import TaskFailed, Worker
from propense.ui.words import in_fields

__all__ = ["Runner", "Work"]


@dataclass(eq=False)
class Work:
    """A task, and where it stands.

    Attributes
    ----------
    folder : Path
        The folder whose status.json says how it went; its log is there too.
    task : str
    arguments : dict
    paths : dict of str to str
        What messages should call paths.
    """

    folder: Path
    task: str
    arguments: dict[str, Any]
    paths: dict[str, str]
    step: tuple[str, int, int] = ("wait", 0, 0)
    started: float = 0.0
    stopped: bool = False
    worker: Worker | None = field(default=None, repr=False)

    def say(self, what: str, done: int, total: int) -> None:
        """Remember how far it is."""
        self.step = what, done, total


class Runner:
    """Does work in the order in which it came, one at a time."""

    def __init__(self) -> None:
        self._waiting: deque[Work] = deque()
        self._now: Work | None = None
        self._change = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> None:
        """Do this after all that waits; nothing happens if it waits or runs already."""
        with self._change:
            if self._find(work.folder) is None:
                write_json(work.folder / "status.json", {"state": "queued", "task": work.task})
                self._waiting.append(work)
                self._change.notify()

    def stop(self, folder: Path) -> None:
        """Stop the work of a folder, whether it waits or runs, and return when it has ended."""
        with self._change:
            work = self._find(folder)
            if work is None:
                return
            work.stopped = True
            if work in self._waiting:
                self._waiting.remove(work)
                self._end(work, "stopped", "")
                return
            if work.worker is not None:
                work.worker.kill()
            self._change.wait_for(lambda: self._now is not work, timeout=30)

    def progress(self, folder: Path) -> dict[str, Any]:
        """How the work of a folder stands: its status, and while it runs the step, its parts, and seconds."""
        with self._change:
            work = self._find(folder)
            status = dict(read_json(folder / "status.json") or {"state": "new"})
            if work is None:
                return status
            if work in self._waiting:
                return {**status, "ahead": self._waiting.index(work) + (self._now is not None)}
            what, done, total = work.step
            return {**status, "what": what, "done": done, "total": total, "seconds": time.monotonic() - work.started}

    def close(self) -> None:
        """Stop everything; what waits or runs can be run again later."""
        with self._change:
            self._closed = True
            folders = [each.folder for each in (*self._waiting, *([self._now] if self._now else []))]
            self._change.notify_all()
        for folder in folders:
            self.stop(folder)
        self._thread.join(30)

    def _find(self, folder: Path) -> Work | None:
        known = [*self._waiting, *([self._now] if self._now else [])]
        return next((each for each in known if each.folder == folder), None)

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._closed or self._waiting)
                if self._closed:
                    return
                work = self._now = self._waiting.popleft()
                work.started = time.monotonic()
            state, error = "failed", "It could not be started."
            try:
                state, error = self._do(work)
            except OSError as problem:
                error = f"{problem.strerror}."
            except PropenseError as problem:
                # The state cannot be written, say on a full disk: the next work still gets its turn.
                error = in_fields(str(problem), work.paths)
            finally:
                with self._change:
                    self._end(work, "stopped" if work.stopped else state, "" if work.stopped else error)
                    self._now = None
                    self._change.notify_all()

    def _do(self, work: Work) -> tuple[str, str]:
        """Do it; the state and the error that it ends with."""
        write_json(work.folder / "status.json", {"state": "running", "task": work.task})
        worker = Worker(work.folder / "log.txt")
        with self._change:
            work.worker = worker
            if work.stopped:
                worker.kill()
        try:
            worker.ask(work.task, on_step=work.say, **work.arguments)
        except (TaskFailed, WorkerDied) as error:
            return "failed", in_fields(str(error), work.paths)
        finally:
            worker.close()
        return "done", ""

    def _end(self, work: Work, state: str, error: str) -> None:
        for left in (work.folder / ".run", *work.folder.glob(".partial-*")):
            shutil.rmtree(left, ignore_errors=True)
        try:
            seconds = time.monotonic() - work.started if work.started else 0.0
            status = {"state": state, "task": work.task, "error": error, "seconds": seconds}
            write_json(work.folder / "status.json", status)
        except PropenseError:
            # The disk is full: the next start finds it running, and says stopped.
            return
