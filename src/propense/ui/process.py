"""A worker process, as the server sees it."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from propense.errors import PropenseError, WorkerDied

__all__ = ["Reader", "TaskFailed", "Worker"]


class TaskFailed(PropenseError):
    """A task could not be done, for a reason that the user should know."""


class Worker:
    """A process that does one task after another.

    Parameters
    ----------
    log : Path
        Where it writes what nobody expected.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                # -P: no module is taken from the folder that the server was started in.
                [sys.executable, "-P", "-m", "propense.ui.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                encoding="utf-8",
                # A group of its own: Ctrl-C is for the server, and stopping ends all that it started.
                start_new_session=os.name != "nt",
            )

    def ask(
        self,
        task: str,
        *,
        on_step: Callable[[str, int, int], None] | None = None,
        seconds: float | None = None,
        **arguments: Any,
    ) -> Any:
        """What the task gives; `TaskFailed` with one line if it fails, `WorkerDied` if the process ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            self.kill()

        timer = threading.Timer(seconds or 0.0, end)
        if seconds is not None:
            timer.start()
        try:
            self._process.stdin.write(json.dumps({"task": task, "arguments": arguments}) + "\n")
            self._process.stdin.flush()
            for line in self._process.stdout:
                words = json.loads(line)
                if "step" in words:
                    if on_step is not None:
                        on_step(*words["step"])
                elif "done" in words:
                    return words["done"]
                elif "error" in words:
                    raise TaskFailed(words["error"])
                else:
                    raise TaskFailed(f"Something went wrong that should not: {words['fault']}. Details: {self._log}")
        except (BrokenPipeError, ValueError):
            pass
        finally:
            timer.cancel()
        if late.is_set():
            raise TaskFailed(f"It took longer than {seconds:g} seconds and was stopped.")
        raise WorkerDied("The process that reads tables ended. Perhaps the table is too large for the memory.")

    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process and all that it started, now."""
        with suppress(OSError):
            if os.name == "nt":
                self._process.kill()
            else:
                os.killpg(self._process.pid, 9)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)

    def close(self) -> None:
        """End the process, and give back what it held."""
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()


class Reader:
    """One worker for short tasks, started when the first comes and again whenever it has ended.

    Parameters
    ----------
    log : Path
    """

    # A task that takes longer has met a table that is made to take long.
    _SECONDS = 300.0
    # After a larger file the process is ended, since it keeps the memory.
    _LARGE = 64 << 20

    def __init__(self, log: Path) -> None:
        self._log, self._lock = log, threading.Lock()
        self._worker: Worker | None = None

    def warm(self) -> None:
        """Start the process, so that the first task need not wait."""
        with self._lock:
            self._ready()

    def ask(self, task: str, table: Path, **arguments: Any) -> Any:
        """What the task gives of a table; `TaskFailed` with one line otherwise."""
        with self._lock:
            # With the lock held: whoever had it before may have ended the process.
            worker = self._ready()
            try:
                return worker.ask(task, seconds=self._SECONDS, table=str(table), **arguments)
            except WorkerDied as error:
                raise TaskFailed(str(error)) from None
            finally:
                # A table that is gone was deleted meanwhile.
                if not worker.alive() or not table.exists() or table.stat().st_size > self._LARGE:
                    self.close()

    def _ready(self) -> Worker:
        """The process, started if there is none; the lock must be held."""
        if self._worker is None or not self._worker.alive():
            self.close()
            self._worker = Worker(self._log)
        return self._worker

    def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
