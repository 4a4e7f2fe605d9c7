"""Runs cases in processes of their own, and survives whatever happens to them."""

import multiprocessing
import shutil
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.case import SECONDS
from fuzz.worker import Ended, work

# Cases per process, and seconds that a process may take to import propense and make its first case.
_BATCH, _START = 5000, 120.0


@dataclass
class Tally:
    """What was tried, what failed by its number, and what it took: seconds, of the slowest case too, and bytes."""

    tried: int = 0
    failed: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0
    slowest: float = 0.0
    peak: int = 0

    def add(self, ended):
        self.tried += 1
        self.slowest, self.peak = max(self.slowest, ended.seconds), max(self.peak, ended.peak)
        if ended.problem:
            self.failed[ended.number] = ended.problem

    def __str__(self):
        rate = self.tried / self.seconds if self.seconds else 0.0
        return (
            f"{self.tried} cases in {self.seconds:.0f} s ({rate:.0f} per second), {len(self.failed)} failed; the "
            f"slowest took {self.slowest:.1f} s, the largest {self.peak / 1e6:.0f} MB"
        )


def fuzz(make, *, seed, numbers, folder, limit=SECONDS, tell=lambda tally: None):
    """Try the cases that `make(rng)` makes of these numbers. The files of those that fail stay in `folder`/number.

    `tell` is called with the tally after each failure, and whenever a process is done.
    """
    left, tally, start = list(numbers), Tally(), time.perf_counter()
    while left:
        batch = left[:_BATCH]
        for number, ended in _run(make, seed, batch, Path(folder), limit):
            left.remove(number)
            tally.add(ended)
            tally.seconds = time.perf_counter() - start
            if ended.problem:
                tell(tally)
        tell(tally)
    return tally


def _run(make, seed, numbers, folder, limit):
    """Run cases in one process, until they are done or one of them ends it; yield each with how it ended."""
    # A new process, not a copy of this one: pytest's may have threads.
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=work, args=(there, make, seed, numbers, str(folder)), daemon=True)
    process.start()
    there.close()
    with closing(here):
        for number in numbers:
            try:
                # First that it starts, then how it ended.
                for seconds in (_START, limit):
                    if not here.poll(seconds):
                        raise TimeoutError
                    ended = here.recv()
            except (TimeoutError, EOFError) as error:
                process.join(0 if isinstance(error, TimeoutError) else 5)
                process.kill()
                process.join()
                words = f"took longer than {seconds:g} s" if isinstance(error, TimeoutError) else "ended the process"
                yield number, Ended(number, f"{words} (exit status {process.exitcode})\n", 0.0, 0)
                return
            yield number, ended
    process.join()


def complaint(tally, number, name, seed, folder):
    """What failed, in words, with the files and the command that repeats it."""
    return (
        f"{name} {number}: {tally.failed[number]}The files: {Path(folder, str(number))}. "
        f"Again: make fuzz KIND={name} SEED={seed} NUMBER={number}"
    )


def emptied(folder):
    """The folder, without what an earlier run left there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
