"""The methods of others in studies/rivals, set against a figure that their authors published or their code returns.

A figure of a paper is repeated on new draws of the data that it describes. Where a paper's data are not at hand, its
authors' code was run once on the draws of `rival_worlds.py`, and what it returned stands here as the published figure.
The repository and its commit are named. Spambase comes from the data home, `PROPENSE_DATA`.

Run: ``python benchmarks/rival_figures.py [--quick]``. ``--quick`` leaves out what takes more than some seconds.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rival_worlds import dedpul, detm, elkan_noto, nnpu, ntc_tmi, pulsnar, pusb


@dataclass(frozen=True)
class Figure:
    """What a rival is measured by, what was published, how far ours may be from it, and why it is further, if it is."""

    rival: str
    what: str
    source: str
    published: tuple[float, ...]
    tolerance: float
    measure: Callable[[], list[float]]
    quick: bool = False
    why_not: str = ""

    def met(self, ours: list[float]) -> bool:
        """Whether each value is within the tolerance."""
        return bool(np.all(np.abs(np.subtract(ours, self.published)) <= self.tolerance))

    def row(self, ours: list[float], seconds: float) -> str:
        """A row of the table."""
        published, measured = (", ".join(f"{value:.3f}" for value in values) for values in (self.published, ours))
        cells = self.rival, self.what, self.source, published, measured, f"{self.tolerance:g}"
        return f"| {' | '.join(cells)} | {'yes' if self.met(ours) else 'no'} | {seconds:.0f} |"


FIGURES = [
    Figure(
        "NTC-tMI",
        "balanced accuracy, wdbc, five splits",
        "code, TimoM99/PUBiasCalibration ae378c1, `PUthreshold`",
        (0.835577, 0.853977, 0.746433, 0.835045, 0.734127),
        1e-6,
        ntc_tmi,
        quick=True,
    ),
    Figure(
        "Elkan and Noto",
        "share of positives by c, Laplace mixtures, three distances",
        "Ivanov's results, dimonenka/DEDPUL 04c0281, `e1_en`",
        (0.8953, 0.7463, 0.5917),
        0.03,
        elkan_noto,
        quick=True,
    ),
    Figure(
        "PUSB",
        "error, spambase, 20, 40 and 60% positives",
        "code, MasaKat0/PUlearning 3401b77, `PU.minimize` on columns with λ = 0.1",
        (0.1374, 0.1854, 0.2022),
        0.005,
        lambda: pusb(0.1),
    ),
    Figure(
        "PUSB",
        "the same",
        "the same with λ = 0.001",
        (0.1406, 0.1858, 0.2018),
        0.005,
        lambda: pusb(0.001),
        why_not="Their code stops before the minimum of its risk: its gradient has half of the penalty.",
    ),
    Figure(
        "nnPU",
        "error, digits, five draws",
        "code, kiryor/nnPUlearning 3d9769e, `LinearClassifier`, 400 steps of 0.05 on all rows",
        (0.1139, 0.1256, 0.1374, 0.1206, 0.1156),
        0.01,
        nnpu,
        quick=True,
    ),
    Figure(
        "DEDPUL",
        "error of the share of positives, Laplace mixtures, three distances",
        "the paper's results, dimonenka/DEDPUL 04c0281",
        (0.0275, 0.0143, 0.0095),
        0.01,
        dedpul,
    ),
    Figure(
        "DETM",
        "share of positives, normal groups, 0.3 and 0.7 in truth",
        "code, SiyanLiu-stat/PUEM fa50018, `PUfit` started at the truth",
        (0.2951, 0.6794),
        0.02,
        lambda: detm(0.3, 0.7),
        quick=True,
    ),
    Figure(
        "DETM",
        "the same, 0.05 in truth",
        "the same",
        (0.0986,),
        0.02,
        lambda: detm(0.05),
        quick=True,
        why_not="Their code starts at the truth; ours finds other maxima of the likelihood, once with swapped groups.",
    ),
    Figure(
        "PULSNAR",
        "share of positives, labels at random; in truth 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5",
        "the paper's results, unmtransinfo/PULSNAR 603be23, PULSCAR",
        (0.0105, 0.0528, 0.1081, 0.2039, 0.3115, 0.4320, 0.5150),
        0.03,
        lambda: pulsnar(1, 5, max_clusters=1, narrowest=0.05),
    ),
    Figure(
        "PULSNAR",
        "share of positives, five kinds of positives; in truth as above",
        "the paper's results, unmtransinfo/PULSNAR 603be23",
        (0.0105, 0.0563, 0.1063, 0.2147, 0.3016, 0.4102, 0.4779),
        0.06,
        lambda: pulsnar(5, 3, narrowest=0.015),
    ),
]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out what takes more than some seconds")
    asked = parser.parse_args()
    print("| rival | figure | source | published | ours | tolerance | met | s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for figure in FIGURES:
        if figure.quick or not asked.quick:
            start = time.perf_counter()
            print(figure.row(figure.measure(), time.perf_counter() - start), flush=True)


if __name__ == "__main__":
    main()
