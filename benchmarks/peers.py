"""propense and other packages for positive and unlabelled data: accuracy, time, memory and how they grow.

Measures, in one run, every method of ``peer_methods.py`` whose package is installed, each in a process of its own, and
writes a page, a plot and the figures as CSV. ``make bench`` installs the packages of ``peers.txt``.

Run: ``python benchmarks/peers.py [--quick] [--seeds 10] [--limit 60] [--threads 2] [--out docs/benchmarks]``, on a
machine that does nothing else; otherwise one thread is disturbed less than two. ``--quick`` is a dry run of a minute
whose figures mean nothing, and writes only to the folder given by ``--out``. ``--accuracy NAME …`` prints the balanced
accuracies of some methods and writes nothing.
"""

import argparse
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, cast

from peer_measure import WORLDS, measure
from peer_methods import METHODS, PACKAGES, Method, method
from peer_page import write
from peer_results import Accuracy, Cost, Results

DOCS = Path(__file__).parents[1] / "docs" / "benchmarks"
# Seconds a process may take to start, beyond the limit.
START = 10.0


@dataclass(frozen=True)
class Sizes:
    """Where time and memory are measured: n grows at one p, p at one n."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    n: int
    p: int

    def all(self) -> list[tuple[int, int]]:
        """Each size once, from small to large."""
        return sorted(
            {*((n, self.p) for n in self.rows), *((self.n, p) for p in self.columns)}, key=lambda s: s[0] * s[1]
        )


FULL = Sizes((1000, 4000, 16_000, 64_000), (5, 20, 80, 320), 4000, 20)
QUICK = Sizes((500, 1000), (5, 10), 500, 5)
# One of each package.
FEW = ("LogisticRegression", "JERM()", "ElkanotoPuClassifier", "ElkanNotoClassifier", "CleanLearning")


def ask(what: str, each: Method, *rest: Any, limit: float, threads: int) -> tuple[list[dict[str, Any]], str]:
    """The results of a process of its own, and why it ended early, if it did."""
    # Every process is a copy of one that has loaded what all need and done nothing yet: loading takes longer than most.
    context = get_context("forkserver")
    context.set_forkserver_preload(["propense.datasets", "sklearn.linear_model", "sklearn.metrics"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(sender, threads, what, each.name, *rest))
    process.start()
    leader = cast(int, process.pid)
    sender.close()
    found: list[dict[str, Any]] = []
    ended = ""
    deadline = time.monotonic() + START + limit
    with suppress(EOFError):
        while not ended:
            if receiver.poll(max(deadline - time.monotonic(), 0)):
                found.append(receiver.recv())
            else:
                ended = f"over {limit:g} s"
                with suppress(ProcessLookupError):
                    # With the processes it started.
                    os.killpg(leader, signal.SIGKILL)
                process.kill()
    process.join()
    if not ended and (process.exitcode or not found):
        ended = f"the process ended with {process.exitcode}"
    if found and "error" in found[-1]:
        ended = found.pop()["error"]
    return found, ended


def score(each: Method, worlds: list[str], seeds: int, limit: float) -> list[Accuracy]:
    """The method in every scenario, or only in the first if one fit took longer than the limit there."""
    found: list[Accuracy] = []
    for world in worlds:
        lines, ended = ask("accuracy", each, world, seeds, limit=limit, threads=1)
        decisions = lines[0] if lines else [""]
        found += [Accuracy(each.name, d, world, tuple(line[d] for line in lines), ended) for d in decisions]
        if not lines:
            break
    print(f"{each.package}: {each.name}", *(f"{a.world} {a.shown()}" for a in found), sep="; ", flush=True)
    return found


def take_time(each: Method, sizes: Sizes, limit: float, threads: int) -> list[Cost]:
    """The method at every size, except those larger than one that took longer than the limit."""
    found: list[Cost] = []
    for n, p in sizes.all():
        if any(c.ended and c.n <= n and c.p <= p for c in found):
            continue
        lines, ended = ask("time", each, n, p, limit=limit, threads=threads)
        found.append(Cost(each.name, n, p, ended=ended, **(lines[0] if lines else {})))
        print(f"{each.package}: {each.name}, {n} × {p}: {found[-1].shown()}", flush=True)
    return found


def run(methods: list[Method], worlds: list[str], sizes: Sizes, options: argparse.Namespace) -> Results:
    """Everything. Accuracies first, as many at once as there are cores; then times, one after the other."""
    start, load = time.perf_counter(), os.getloadavg()[0]
    here = [each for each in methods if find_spec(PACKAGES[each.package])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        accuracies = [
            a for some in pool.map(lambda each: score(each, worlds, options.seeds, options.limit), here) for a in some
        ]
    costs = [
        c for each in here if each.name != "Oracle()" for c in take_time(each, sizes, options.limit, options.threads)
    ]
    minutes = (time.perf_counter() - start) / 60
    lines = sizes.rows, sizes.columns, sizes.n, sizes.p
    command = " ".join(["python", "benchmarks/peers.py", *sys.argv[1:]])
    return Results(
        accuracies, costs, *lines, options.seeds, options.limit, options.threads, date.today(), minutes, command, load
    )


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a dry run; writes to a temporary folder unless --out is given"
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a process may take")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of a fit whose time is taken")
    parser.add_argument("--accuracy", nargs="+", metavar="NAME", choices=[each.name for each in METHODS])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.accuracy:
        for name in options.accuracy:
            score(method(name), [*WORLDS], options.seeds, options.limit)
        return
    if options.quick:
        options.seeds = 2
        results = run([method(name) for name in FEW], [*WORLDS][:2], QUICK, options)
    else:
        results = run(METHODS, [*WORLDS], FULL, options)
    out = options.out or (Path(mkdtemp()) if options.quick else DOCS)
    out.mkdir(parents=True, exist_ok=True)
    write(results, out)
    print(f"{out / 'peers.md'}, after {results.minutes:.1f} minutes")


if __name__ == "__main__":
    main()
