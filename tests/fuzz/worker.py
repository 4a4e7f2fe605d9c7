"""A process that tries one case after another, and reports each before it starts and after it has ended."""

import os
import shutil
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fuzz.case import ALLOWANCE, PER_BYTE

# Beyond this a process gets no memory: a case that takes all of it must not take the machine.
_MOST = 8 << 30
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Ended(NamedTuple):
    """How a case ended: what was wrong or "", and what it took."""

    number: int
    problem: str
    seconds: float
    peak: int


def work(connection, make, seed, numbers, folder):
    """Try the cases of these numbers. Their files lie in `folder`, and stay there only if a case was not fine."""
    _bound_memory()
    for number in numbers:
        place = Path(folder, str(number))
        place.mkdir(parents=True)
        case = make(np.random.default_rng([seed, number]))
        for name, data in case.files.items():
            (place / name).write_bytes(data)
        connection.send(number)
        ended = _try(case, number, place)
        if not ended.problem:
            shutil.rmtree(place)
        connection.send(ended)


def _try(case, number, place):
    home, problem = Path.cwd(), ""
    _forget_peak()
    before = _peak()
    start = time.perf_counter()
    os.chdir(place)
    try:
        case.use()
    except BaseException:
        problem = traceback.format_exc()
    finally:
        os.chdir(home)
    seconds, peak = time.perf_counter() - start, _peak() - before
    left = [str(each.relative_to(place)) for each in place.rglob(".partial-*")]
    most = PER_BYTE * case.size + ALLOWANCE
    if left:
        problem += f"left over: {', '.join(left)}\n"
    if peak > most:
        problem += f"took {peak / 1e6:.0f} MB of memory; {case.size} bytes of input may take {most / 1e6:.0f} MB\n"
    return Ended(number, problem, seconds, peak)


def _bound_memory():
    # Not on Windows.
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _forget_peak():
    with suppress(OSError):
        _CLEAR.write_text("5")


def _peak():
    """The most memory that the process has held since it was last forgotten, in bytes; 0 where that is not known."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return 0
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
