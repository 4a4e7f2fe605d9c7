"""One method, measured in a process of its own so that methods cannot disturb each other; ``peers.py`` starts it."""

import multiprocessing
import os
import resource
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score
from threadpoolctl import threadpool_limits

from peer_methods import LOGISTIC, Known, Method, fit, method, predict
from propense.datasets import make_double_logistic

__all__ = ["BUDGET", "N_FEATURES", "N_SAMPLES", "REPEATS", "WORLDS", "measure"]

N_SAMPLES, N_FEATURES, N_FRESH = 2000, 10, 20_000
# The most repeats of a fit, and the seconds after which there are no more.
REPEATS, BUDGET = 100, 1.0

_TRUE = make_double_logistic(1, N_FEATURES, random_state=0).coef


def _along_class(slope: float, intercept: float) -> NDArray[np.float64]:
    """γ of a propensity that follows the log-odds of being positive."""
    return np.append(intercept, slope * _TRUE[1:])


# About half of the positives are labelled in each. The first shows whether a method is called correctly.
WORLDS: dict[str, dict[str, Any]] = {
    "easy": {"coef": 4 * _TRUE, "propensity_coef": np.zeros(N_FEATURES + 1)},
    "other features": {},
    "class score": {"propensity_coef": _along_class(1.0, -2.25)},
    "class score, weakly": {"propensity_coef": _along_class(0.44, -1.1)},
}


def accuracies(each: Method, world: str, seed: int) -> dict[str, float]:
    """Balanced accuracy against the true classes of new rows; for both decisions if there are two."""
    data = make_double_logistic(N_SAMPLES, N_FEATURES, random_state=seed, **WORLDS[world])
    fresh = make_double_logistic(N_FRESH, N_FEATURES, random_state=10_000 + seed, **WORLDS[world])
    model = fit(each, data)
    found = {}
    for decision in ("posterior", "balanced") if each.is_ours else ("",):
        if decision:
            model.set_params(decision=decision)
        found[decision] = float(balanced_accuracy_score(fresh.positive, predict(each, model, fresh.X, N_SAMPLES)))
    return found


def cost(each: Method, n: int, p: int) -> dict[str, float]:
    """Seconds of a fit and of the unit on the same rows, and the bytes that the first fit needed."""
    data = make_double_logistic(n, p, random_state=0)
    # Load what every fit needs, so that only the fit's own growth is measured.
    fit(LOGISTIC, make_double_logistic(200, p, random_state=0))
    each.make(Known.of(data))
    before = resident()
    times = [seconds(lambda: fit(each, data))]
    grown = max(peak() - before, 0)
    units: list[float] = []
    # In alternation: a machine's speed changes within a run.
    while len(units) < 5 or (sum(times) < BUDGET and len(times) < REPEATS):
        units.append(seconds(lambda: fit(LOGISTIC, data)))
        if sum(times) < BUDGET:
            times.append(seconds(lambda: fit(each, data)))
    if each is LOGISTIC:
        times = units = times + units
    return {"seconds": min(times), "unit": min(units), "bytes": grown, "data": data.X.nbytes}


def seconds(work: Callable[[], object]) -> float:
    """The seconds that `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def resident() -> int:
    """The bytes this process uses; its peak is reset if the system allows that."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return peak()


def peak() -> int:
    """Peak memory of this process, in bytes."""
    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _status(name: str) -> int:
    """A size in /proc/self/status, which gives kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) * 1024


def measure(sender: Connection, threads: int, what: str, name: str, *rest: Any) -> None:
    """Send the results: a dictionary for each seed, or one; an error as a sentence rather than a traceback."""
    # The leader of a group, so that the processes it starts end with it; the output of packages is discarded.
    os.setsid()
    # A method's own processes start as they would for a user; as this one was started, cleanlab's cannot.
    multiprocessing.set_start_method(None, force=True)
    warnings.simplefilter("ignore")
    with (
        open(os.devnull, "w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        threadpool_limits(threads),
    ):
        try:
            if what == "time":
                sender.send(cost(method(name), *rest))
                return
            world, seeds = rest
            for seed in range(seeds):
                sender.send(accuracies(method(name), world, seed))
        except Exception as error:
            words = " ".join(str(error).split()) or "no message"
            sender.send({"error": f"{type(error).__name__}: {words[:300]}"})
