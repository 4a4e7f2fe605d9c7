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
    return f"""# propense and other packages

Measured on {results.day.isoformat()} by `{results.command}` in {results.minutes:.0f} minutes.
{machine()}
Load before the run: {results.load:.1f}. If this is not near 0, the machine was also doing other work, and times are
upper bounds. `make bench` runs it with its defaults.
The figures of every seed and size: [peers.csv](peers.csv).

{packages()}

Every method gets the same rows, 1 for labelled and 0 for unlabelled, and is called as its documentation describes,
with its own defaults. If it takes a classifier, that is `LogisticRegression(max_iter=1000)`. Each is measured in a
process of its own, which is stopped after {results.limit:g} s. The methods of `studies/rivals` are those of other
authors, written from their papers; [a page of its own](rivals.md) sets them against published figures.

{callings(results)}

† is given a true value of the sample, which a user rarely knows and the other methods do not get.
Not measured: the methods of pu-toolbox that need torch, its PNU, which needs labelled negatives, and its KLDCE.

![Time against rows and columns, and balanced accuracy](peers.svg)

## Accuracy

Balanced accuracy (the mean of two shares: positives recognised and negatives recognised) on 20 000 new rows;
{N_SAMPLES} rows to fit, {N_FEATURES} columns, mean ± standard error over {results.seeds} seeds. y is the probability
that a row is positive, e that a positive row is labelled. In all scenarios both are logistic (`make_double_logistic`),
and about half of the positives are labelled:

- **easy**: steep classes, labelled at random (e = ½). A method that fails here does not fail because of e.
- **other features**: y on five columns, e on the other five.
- **class score**: log-odds of e = log-odds of y − 2.25: the clearer a positive, the likelier its label.
- **class score, weakly**: the same with slope 0.44, so that e rises less steeply.

{accuracy_table(results)}

Bold: the best of each scenario among the methods without †, the best among those with †, and all within two standard
errors of either.

- Which method is best depends on the scenario. `SAREM`, `LBE` and `JointMLE` maximise the likelihood and have the right
  model in all four, but where y and e rise together the data hardly distinguish the two. `JERM` relies on the clearest
  positives being labelled, which holds in *class score* and fails in *other features*.
- The scenarios are linear, which suits methods that assume so. `PUClassifier()`, whose trees need not assume it, is
  behind `PUClassifier(learners="linear")` in all four, and takes as long as hundreds of logistic regressions, or
  thousands if there are many columns. Where relations are curved or columns mixed, [the order is the other way
  round](../guides/first_choice.md).
- If labels follow the class score, even a method that treats the unlabelled as negatives puts the rows in the right
  order, and only the threshold is missing. The share of positives among the unlabelled (†) determines it: compare
  those lines with the oracle's rather than the others'.
- "balanced" puts the threshold at the estimated P(Y=1), not at ½. P(Y=1) = ½ in all scenarios, so this
  changes nothing for a method that estimates y well; it corrects a y that is too low or too high throughout.
- Only decisions are measured here, not the order of the rows. A method with the right order and a wrong threshold, such
  as any that treats the unlabelled as negatives in *easy*, looks bad in this table.
- pu-toolbox's `LBEClassifier` fits the same model as `LBE`. That model is symmetric: swapping y and e does not change
  the likelihood, and the start decides which of the two a fit finds. A balanced accuracy near or below ½ is a sign of
  the swap.

## Time

Seconds of the fastest of up to {REPEATS} fits within {BUDGET:g} s, and in brackets the same in units of one
`LogisticRegression` on the same rows, timed in alternation. Threads per fit: {results.threads}. Data: *other
features*.

{time_table(results)}

The last two columns are the exponents k in seconds ∝ nᵏ ({results.rows[0]} to {results.rows[-1]} rows,
{results.p} columns) and in seconds ∝ pᵏ ({results.columns[0]} to {results.columns[-1]} columns, {results.n} rows), by
least squares on the logarithms. The fixed cost of a call flattens the small end of both, so k understates the growth
at larger sizes: `JERM`, whose spy search compares every labelled row with every unlabelled one, tends to 2 in n. The
number of rounds until convergence varies with the data, and k includes that. Sizes that took too long are left out.

## Memory

Peak memory of a process during its first fit, minus what it used before (packages and data loaded), in MiB and as a
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
    """Versions and licences, also of the libraries they use."""
    rows = []
    for package in [*PACKAGES, "numpy", "scipy"]:
        if package in PACKAGES and not find_spec(PACKAGES[package]):
            rows.append((package, "not installed", "–"))
        elif package == "studies/rivals":
            rows.append((package, f"of propense {metadata.version('propense')}, not installed with it", "–"))
        else:
            rows.append((package, metadata.version(package), licence(metadata.metadata(package))))
    return table(("package", "version", "licence"), rows)


def licence(about: Any) -> str:
    """The name of a licence, wherever a package states it."""
    classified = [
        line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or [] if line.startswith("License")
    ]
    written = (about.get("License") or "").strip().partition("\n")[0]
    return str(about.get("License-Expression") or (classified and classified[-1]) or written or "unknown")


def callings(results: Results) -> str:
    """Notes on each method."""
    rows = []
    for each in results.methods():
        known = f"Given {each.known}. " if each.known else ""
        ends = {a.ended for a in results.accuracies if a.method == each.name and a.ended and not a.values}
        ends |= {c.ended for c in results.costs if c.method == each.name and c.ended and not c.ended.startswith("over")}
        rows.append(
            (each.package, label(each), " ".join([known + each.note, *(f"Stopped: {end}." for end in ends)]).strip())
        )
    return table(("package", "method", "note"), rows)


def label(each: Method) -> str:
    """The name of a method in a table."""
    return f"`{each.name}`{' †' if each.known else ''}"


def accuracy_table(results: Results) -> str:
    """Methods down, scenarios across; the best of each scenario bold."""
    worlds = [world for world in WORLDS if any(a.world == world for a in results.accuracies)]
    least = {(world, known): _nearly_best(results, world, known) for world in worlds for known in (False, True)}
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
            known = bool(method(name).known)
            best = a is not None and a.values and name != "Oracle()" and np.mean(a.values) >= least[world, known]
            row.append(f"**{text}**" if best else text)
        rows.append(row)
    return table(("package", "method", "threshold", *worlds), rows)


def _nearly_best(results: Results, world: str, known: bool) -> float:
    """The best mean of a scenario minus two of its standard errors, among the methods with † or the others."""
    here = [a for a in results.accuracies if a.world == world and a.values and a.method != "Oracle()"]
    some = [a.values for a in here if bool(method(a.method).known) == known]
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
    """Why a measurement ended, short enough for a cell."""
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
