"""Every benchmark, one after the other: `make bench`, or `python benchmarks/run_all.py [NAME …]`.

What each prints is kept in a folder, with the seconds it took, the load of the machine before it and its exit status.
A run that was stopped goes on with the benchmarks that are not on record; `--again` measures all of them anew. `--page`
writes the summary of the run, docs/benchmarks/run.md. The exit status is 1 if any benchmark failed.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
PAGE = ROOT / "docs" / "benchmarks" / "run.md"

# Timings first, while nothing else has warmed the machine; a name is what the output is kept as.
COMMANDS = {
    "speed": "speed.py",
    "methods": "methods.py",
    "parts": "parts.py",
    "memory": "memory.py",
    "everyday": "everyday.py",
    "record_cost": "record_cost.py",
    "first_choice": "first_choice.py",
    "reasons": "reasons.py",
    "score_file": "score_file.py",
    "wide_sparse": "wide_sparse.py",
    "images": "images.py",
    "dask_fit": "dask_fit.py --folder {folder}/dask --rows 2000000 --pieces 10 --labelled 500000",
    "peers": "peers.py --threads 1 --limit 30",
    "protocol": "protocol.py",
    "recovery": "recovery.py",
    "excess_risk": "excess_risk.py",
    "unseen": "unseen.py",
    "coverage": "coverage.py --rivals",
    "review_lists": "review_lists.py",
    "review_lists_paper": "review_lists.py --paper",
    "capacity": "capacity.py",
    "capacity_logistic": "capacity.py --logistic",
    "group_shares": "group_shares.py",
    "group_shares_paper": "group_shares.py --paper",
    "drift": "drift.py",
    "label_learners": "label_learners.py",
    "boosting_sizes": "boosting_sizes.py",
    "named_columns": "named_columns.py",
    "natural": "natural.py",
    "patients": "patients.py --draws 200",
    "doubts": "doubts.py",
    "scar_size_power": "scar_size_power.py",
    "sparse_path": "sparse_path.py",
    "interval_coverage": "interval_coverage.py",
    "survey_coverage": "survey_coverage.py",
    "bound_coverage": "bound_coverage.py",
    "sources": "sources.py",
    "scorers": "scorers.py",
    "audit": "audit.py",
    "audit_promises": "audit_promises.py",
    "audit_promises_paper": "audit_promises.py --paper",
    "audit_promises_natural": "audit_promises.py --natural",
    "rival_figures": "rival_figures.py",
}


@dataclass(frozen=True)
class Record:
    """One benchmark that ran to its end: what was run, when, where and for how long."""

    name: str
    command: str
    status: int
    seconds: float
    load: float
    day: str
    machine: str


def machine() -> str:
    """The machine and the releases that its figures depend on, in one line."""
    model = next(
        (line.split(":")[1].strip() for line in _lines(Path("/proc/cpuinfo")) if line.startswith("model name")),
        platform.processor() or platform.machine(),
    )
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {packages}"


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def measure(name: str, folder: Path) -> Record:
    """Run one benchmark; what it printed, complete or not, and its warnings are in the folder afterwards."""
    command = COMMANDS[name].format(folder=folder)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    begun = time.perf_counter()
    with (
        (folder / f"{name}.txt").open("w", encoding="utf-8") as output,
        (folder / f"{name}.err").open("w", encoding="utf-8") as errors,
    ):
        call = [sys.executable, "-u", *shlex.split(f"{HERE.name}/{command}")]
        done = subprocess.run(call, cwd=ROOT, stdout=output, stderr=errors, check=False)
    seconds = time.perf_counter() - begun
    record = Record(
        name,
        f"python benchmarks/{COMMANDS[name].format(folder='DIR')}",
        done.returncode,
        round(seconds, 1),
        round(load, 2),
        date.today().isoformat(),
        machine(),
    )
    # Written last, by a rename: a benchmark that was killed has no record and is run again.
    (folder / f"{name}.part").write_text(json.dumps(asdict(record)), encoding="utf-8")
    (folder / f"{name}.part").replace(folder / f"{name}.json")
    return record


def on_record(folder: Path) -> dict[str, Record]:
    """What was measured before, without what failed, in the order of the list."""
    files = (folder / f"{name}.json" for name in COMMANDS)
    records = [Record(**json.loads(file.read_text(encoding="utf-8"))) for file in files if file.exists()]
    return {record.name: record for record in records if record.status == 0}


def page(folder: Path) -> str:
    """The summary of a run, in Markdown, with what every benchmark printed."""
    records = on_record(folder)
    missing = [name for name in COMMANDS if name not in records]
    machines: dict[str, list[str]] = {record.machine: [] for record in records.values()}
    for record in records.values():
        machines[record.machine].append(record.name)
    lines = [
        "# The whole run",
        "",
        "What `make bench` printed. The other pages of this section quote and explain it. *Load* is the mean number of",
        "busy processes in the minute before a benchmark began: if it is not near zero, other work was under way, and",
        "only ratios measured within one benchmark should be compared.",
        "",
    ]
    for each, names in machines.items():
        lines.append(f"- {each}: {', '.join(names) if len(machines) > 1 else 'all'}.")
    if missing:
        lines += ["", f"Not measured: {', '.join(missing)}."]
    lines += ["", "| benchmark | seconds | load | day |", "| --- | ---: | ---: | --- |"]
    lines += [
        f"| [`{r.command}`](#{_anchor(r.name)}) | {r.seconds:,.0f} | {r.load:.1f} | {r.day} |" for r in records.values()
    ]
    for record in records.values():
        output = (folder / f"{record.name}.txt").read_text(encoding="utf-8").strip()
        lines += ["", f"## {record.name.replace('_', ' ')}", "", "```text", f"$ {record.command}", output, "```"]
    return "\n".join(lines) + "\n"


def _anchor(name: str) -> str:
    return name.replace("_", "-")


def main() -> int:
    """Run what was asked for, and say what failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; all if none is named")
    parser.add_argument("--folder", type=Path, default=ROOT / ".bench", help="where outputs are kept")
    parser.add_argument("--again", action="store_true", help="measure also what is on record")
    parser.add_argument("--workers", type=int, default=1, help="so many at a time: for what measures no time")
    parser.add_argument(
        "--page", action="store_true", help=f"write {PAGE.relative_to(ROOT)} from the records, run nothing"
    )
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in COMMANDS]:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(COMMANDS)}")
    asked.folder.mkdir(parents=True, exist_ok=True)
    folder = asked.folder.resolve()
    if asked.page:
        PAGE.write_text(page(folder), encoding="utf-8")
        print(PAGE.relative_to(ROOT))
        return 0
    known = {} if asked.again else on_record(folder)
    todo = [name for name in asked.names or COMMANDS if name not in known]
    print(f"{len(todo)} of {len(COMMANDS)} benchmarks to run; outputs in {folder}", flush=True)
    failed = []
    with ThreadPoolExecutor(asked.workers) as pool:
        for record in pool.map(lambda name: measure(name, folder), todo):
            print(f"{record.name}: {record.seconds:.0f} s{', FAILED' if record.status else ''}", flush=True)
            failed += [record.name] if record.status else []
    if failed:
        print(f"Failed: {', '.join(failed)}. See their .err in {folder}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
