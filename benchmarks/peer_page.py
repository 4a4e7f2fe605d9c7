"""The page, the plot and the CSV of ``peers.py``."""

import csv
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from peer_measure import BUDGET, N_FEATURES, N_SAMPLES, REPEATS, WORLDS
from peer_methods import PACKAGES, Method, method
from peer_plot import draw
from peer_results import Cost, Results, exponent, figures, number, standard_error

__all__ = ["table", "write"]

MIB = 2**20


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def write(results: Results, out: Path) -> None:
    """peers.md, peers.svg and peers.csv."""
    (out / "peers.md").write_text(page(results))
    with (out / "peers.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("package", "method", "measure", "at", "value"), *figures(results)])
    draw(results, out / "peers.svg")


def page(results: Results) -> str:
    """The page: what was measured, on what, and what the figures mean."""
    return f"""# propense beside other packages

Measured on {results.day.isoformat()} by `{results.command}` in {results.minutes:.0f} minutes.
{machine()}
Load before the run: {results.load:.1f}. Where that is not near 0, other work went on beside it, and times are upper
bounds. `make bench` runs it with its defaults.
The figures of every seed and size: [peers.csv](peers.csv).

{packages()}

Every method sees the same rows, 1 for labelled and 0 for unlabelled, and is called as its documentation says, with its
own defaults; where it takes a classifier, that is `LogisticRegression(max_iter=1000)`. Each is measured in a process of
its own, which is ended after {results.limit:g} s.

{callings(results)}

† is told the truth of the sample at hand, which a user seldom knows and the other methods are not told.
Not measured: the methods of pu-toolbox that need torch, its PNU, which needs labelled negatives, and its KLDCE.

![Time against rows and columns, and balanced accuracy](peers.svg)

## Accuracy

Balanced accuracy against the true classes of 20 000 fresh rows; {N_SAMPLES} rows of fit, {N_FEATURES} columns, mean ±
standard error over {results.seeds} seeds. All worlds are double-logistic (`make_double_logistic`), with about half of
the positives labelled:

- **easy**: steep classes, labelled at random (e = ½). Who fails here fails as it is called here, whatever e does.
- **other features**: y on five columns, e on the other five.
- **class score**: log-odds of e = log-odds of y − 2.25: the clearer a positive, the likelier its label.
- **class score, weakly**: the same with slope 0.44, so that e rises less steeply.

{accuracy_table(results)}

Bold: the best of each world among the methods that are told nothing, the best among those that are told (†), and what
lies within two standard errors of its best.

- Which method is best is a matter of the world. `SAREM`, `LBE` and `JointMLE` follow the likelihood and have the right
  model in all four, but where y and e rise together the data hardly tell the two apart. `JERM` leans on the clearest
  positives being labelled, which holds in *class score* and fails in *other features*.
- Where labels follow the class score, even a method that takes the unlabelled for negatives puts the rows in the right
  order, and only the cut is left to find. To be told how many of the unlabelled are positive (†) is to be told the cut:
  read those rows beside the oracle's rather than the others'.
- "balanced" cuts at the estimated P(Y=1) instead of ½. All worlds have P(Y=1) = ½, so that it changes nothing for who
  estimates y well, and makes up for a y that is too low or too high throughout.
- Only decisions are measured here, not the order of the rows: a method whose order is right and whose cut is not, as
  any that takes the unlabelled for negatives in *easy*, looks bad in this table.
- pu-toolbox's `LBEClassifier` fits the same model as `LBE`. That model is symmetric: y and e may be exchanged without
  any change of the likelihood, and in which of the two a fit ends is a matter of its start. A balanced accuracy near or
  below ½ is the sign of the exchange.

## Time

Seconds of the best of up to {REPEATS} fits within {BUDGET:g} s, and in brackets the same in units of one
`LogisticRegression` on the same rows, timed in turns with it. Threads of a fit: {results.threads}. Data: *other
features*.

{time_table(results)}

The last two columns are the k of seconds ∝ nᵏ ({results.rows[0]} to {results.rows[-1]} rows, {results.p} columns)
and of seconds ∝ pᵏ ({results.columns[0]} to {results.columns[-1]} columns, {results.n} rows), by least squares on the
logarithms. What a call costs in itself flattens the small end of both, so that k understates the growth beyond: that of
`JERM`, whose spy search compares every labelled row with every unlabelled one, tends to 2 in n. Rounds until
convergence vary with the data, and k includes that. Sizes that took too long are left out of it.

## Memory

The most a process held during its first fit beyond what it held before it (packages and data loaded), in MiB and as a
multiple of X. Processes that a method starts (cleanlab does) are not counted.

{memory_table(results)}
"""


def machine() -> str:
    """Processor, cores, memory, system, Python."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        processor = lines[0].partition(":")[2].strip() if lines else processor
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{processor}, {os.cpu_count()} cores, {gib:.0f} GiB; {platform.system()}, Python {platform.python_version()}."
    )


def packages() -> str:
    """Versions and licences, also of what they stand on."""
    rows = []
    for package in [*PACKAGES, "numpy", "scipy"]:
        if package in PACKAGES and not find_spec(PACKAGES[package]):
            rows.append((package, "not installed", "–"))
        else:
            rows.append((package, metadata.version(package), licence(metadata.metadata(package))))
    return table(("package", "version", "licence"), rows)


def licence(about: Any) -> str:
    """The name of a licence, wherever a package says it."""
    classified = [
        line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or [] if line.startswith("License")
    ]
    written = (about.get("License") or "").strip().partition("\n")[0]
    return str(about.get("License-Expression") or (classified and classified[-1]) or written or "unknown")


def callings(results: Results) -> str:
    """What is to be known about each method."""
    rows = []
    for each in results.methods():
        told = f"Told {each.told}. " if each.told else ""
        ends = {a.ended for a in results.accuracies if a.method == each.name and a.ended and not a.values}
        ends |= {c.ended for c in results.costs if c.method == each.name and c.ended and not c.ended.startswith("over")}
        rows.append(
            (each.package, label(each), " ".join([told + each.note, *(f"Ended: {end}." for end in ends)]).strip())
        )
    return table(("package", "method", "note"), rows)


def label(each: Method) -> str:
    """How a table calls a method."""
    return f"`{each.name}`{' †' if each.told else ''}"


def accuracy_table(results: Results) -> str:
    """Methods down, worlds across; the best of each world bold."""
    worlds = [world for world in WORLDS if any(a.world == world for a in results.accuracies)]
    least = {(world, told): _nearly_best(results, world, told) for world in worlds for told in (False, True)}
    found = {(a.method, a.decision, a.world): a for a in results.accuracies}
    rows = []
    for name, decision in dict.fromkeys((a.method, a.decision) for a in results.accuracies):
        row = [
            method(name).package,
            label(method(name)),
            {"posterior": "½", "balanced": "balanced"}.get(decision, "its own"),
        ]
        for world in worlds:
            a = found.get((name, decision, world))
            text = "not run" if a is None else a.shown()
            if a is not None and 0 < len(a.values) < results.seeds:
                text += f" ({len(a.values)} of {results.seeds} seeds, then {short(a.ended)})"
            told = bool(method(name).told)
            best = a is not None and a.values and name != "Oracle()" and np.mean(a.values) >= least[world, told]
            row.append(f"**{text}**" if best else text)
        rows.append(row)
    return table(("package", "method", "cut", *worlds), rows)


def _nearly_best(results: Results, world: str, told: bool) -> float:
    """The best mean of a world less two of its standard errors, among those told or the others."""
    here = [a for a in results.accuracies if a.world == world and a.values and a.method != "Oracle()"]
    some = [a.values for a in here if bool(method(a.method).told) == told]
    best = max(some, key=lambda values: float(np.mean(values)), default=(np.nan,))
    return float(np.mean(best) - 2 * standard_error(best)) if len(best) > 1 else float(np.mean(best))


def _corners(results: Results) -> list[tuple[int, int]]:
    """The sizes shown: where both lines cross, and their ends."""
    return [(results.n, results.p), (results.rows[-1], results.p), (results.n, results.columns[-1])]


def _costs(results: Results) -> list[tuple[Method, list[Cost | None]]]:
    """Each method's costs at the sizes shown."""
    found = {(c.method, c.n, c.p): c for c in results.costs}
    return [
        (each, [found.get((each.name, *size)) for size in _corners(results)])
        for each in results.methods()
        if each.name != "Oracle()"
    ]


def time_table(results: Results) -> str:
    """Seconds, units and exponents."""
    rows = []
    for each, costs in _costs(results):
        cells = []
        for c in costs:
            if c is None or c.ended:
                cells.append("not run, a smaller size was too slow" if c is None else short(c.ended))
            else:
                cells.append(f"{number(c.seconds)} ({number(c.seconds / c.unit)})")
        growths = [exponent(*results.growth(each.name, along)) for along in "np"]
        rows.append([each.package, label(each), *cells, *("–" if np.isnan(k) else f"{k:.2f}" for k in growths)])
    sizes = [f"{n} × {p}" for n, p in _corners(results)]
    return table(("package", "method", *sizes, "growth with n", "growth with p"), rows)


def short(ended: str) -> str:
    """Why a measurement ended, as short as a cell."""
    return ended if ended.startswith("over") else "failed, see above"


def memory_table(results: Results) -> str:
    """MiB and multiples of X."""
    rows = []
    for each, costs in _costs(results):
        cells = [
            "–" if c is None or c.ended else f"{c.bytes / MIB:.1f} ({c.bytes / c.data:.1f} × X)" for c in costs[1:]
        ]
        rows.append([each.package, label(each), *cells])
    return table(("package", "method", *(f"{n} × {p}" for n, p in _corners(results)[1:])), rows)
