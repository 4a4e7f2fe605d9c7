"""The cost of a record of the paper's study without its fit: preparing the split, drawing labels, scoring, recording.

The tabular plan with seven quick methods in place of the paper's, one process: wall time minus the time in fits, per
record. The data sets come from the data folder, `PROPENSE_DATA`; without it only Wdbc is measured.

Run as ``python benchmarks/record_cost.py [--repeats 3]``.
"""

import argparse
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from propense.datasets import is_available
from propense.study import Cell, Ledger, Method, Record, Study, run

PLAN = Path(__file__).parents[1] / "studies" / "tabular.toml"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    plan = Study.from_toml(PLAN)
    quick = tuple(Method(f"naive {i}", "propense.Naive") for i in range(7))
    sets = tuple(name for name in plan.datasets if is_available(name))
    study = Study(sets, plan.mechanisms, plan.frequencies, quick, options.repeats)
    last = time.perf_counter()
    beyond: dict[str, list[float]] = defaultdict(list)

    def note(cell: Cell, record: Record) -> None:
        nonlocal last
        now = time.perf_counter()
        beyond[cell.dataset].append(now - last - (record.seconds or 0.0))
        last = now

    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger") as ledger:
        run(study, ledger, on_record=note)
    print(
        "| data | records | ms beyond the fit, mean | the first record (reads and chooses columns) | mean of the rest |"
    )
    print("| --- | --- | --- | --- | --- |")
    for name, costs in beyond.items():
        first, *rest = (1000.0 * cost for cost in costs)
        mean = sum(rest) / len(rest)
        print(f"| {name} | {len(costs)} | {(first + sum(rest)) / len(costs):.2f} | {first:.0f} | {mean:.2f} |")
    every = [1000.0 * cost for costs in beyond.values() for cost in costs]
    print(f"| all | {len(every)} | {sum(every) / len(every):.2f} | | |")


if __name__ == "__main__":
    main()
