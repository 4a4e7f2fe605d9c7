"""Compare our means with the published ones, under the paper's protocol, on selected cells.

There are ten splits, and several draws of the labels in each, because the authors' draws are not known. The table shows
the mean over the draws, and how much the mean of ten splits varies between draws. Data sets other than Wdbc come from
the data home, `PROPENSE_DATA`.

Run as ``python benchmarks/protocol.py [--draws 10] [--jobs 2]``.
"""

import argparse
import os

import numpy as np
from joblib import Parallel, delayed

from propense.study import PAPER_METHODS, Cell, measure
from propense.study.compare import Difference, compare
from propense.study.summaries import Summary

# The selected cells: method, data set, strategy, label frequency.
SETTINGS = [
    ("sar-em-published", "breast-w", "S1", 0.3),
    ("sar-em-published", "breast-w", "S2", 0.3),
    ("sar-em-published", "wdbc", "S1", 0.5),
    ("sar-em-published", "heart", "S1", 0.5),
    ("lbe-published", "breast-w", "S2", 0.3),
    ("lbe-published", "breast-w", "S1", 0.5),
    ("lbe-published", "wdbc", "S1", 0.5),
    ("pglin", "breast-w", "S1", 0.5),
    ("pglin", "breast-w", "S2", 0.3),
    ("pglin", "diabetes", "S1", 0.3),
    ("tm", "heart", "S1", 0.5),
    ("tm", "wdbc", "S1", 0.5),
    ("jerm", "wdbc", "S4", 0.3),
    ("jerm", "wdbc", "S2", 0.3),
    ("jerm", "wdbc", "S1", 0.5),
]


def accuracies(method: str, dataset: str, mechanism: str, frequency: float, draw: int) -> list[float]:
    """Balanced accuracy on each of the ten splits, with one draw of the labels in each."""
    cells = [Cell(dataset, mechanism, frequency, PAPER_METHODS[method], split, "paper", draw) for split in range(10)]
    records = [measure(cell) for cell in cells]
    wrong = next((record.error for record in records if record.error is not None), None)
    if wrong is not None:
        raise RuntimeError(f"{method} on {dataset}: {wrong}")
    return [record.balanced_accuracy for record in records if record.balanced_accuracy is not None]


def compare_means(setting: tuple[str, str, str, float], means: list[float]) -> Difference:
    """Compare the means of ten splits, one mean for each draw, with the paper's; sd is between draws."""
    method, dataset, mechanism, frequency = setting
    ours = Summary(dataset, mechanism, frequency, method, float(np.mean(means)), float(np.std(means)), len(means))
    (difference,) = compare([ours])
    return difference


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    print("| method | data | labels | published | ours | ours − published | sd between draws |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for setting in SETTINGS:
        found = Parallel(options.jobs)(delayed(accuracies)(*setting, draw) for draw in range(options.draws))
        each = compare_means(setting, np.mean(found, axis=1).tolist())
        print(
            f"| {each.method} | {each.dataset} | {each.mechanism} {each.frequency} | {each.published_mean:.3f} "
            f"| {each.mean:.3f} | {each.difference:+.3f} | {each.sd:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
