"""Compare our numbers with the published ones."""

import csv
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from propense.datasets import describe, is_available, load
from propense.study.grids import Grid
from propense.study.plan import PAPER_METHODS, Study
from propense.study.summaries import Summary

__all__ = ["Difference", "caveats", "compare", "difference_grids", "per_method", "published", "published_methods"]


@dataclass(frozen=True)
class Difference:
    """A cell that the paper reports: our mean and sd, and the paper's."""

    dataset: str
    mechanism: str
    frequency: float | None
    method: str
    mean: float
    sd: float
    published_mean: float
    published_sd: float

    @property
    def difference(self) -> float:
        """Our mean minus the paper's."""
        return self.mean - self.published_mean


@cache
def published() -> tuple[Summary, ...]:
    """Every cell of the paper's twelve tables: 1 680 means and standard deviations of balanced accuracy."""
    with files("propense.study").joinpath("published.csv").open() as file:
        _, *lines = csv.reader(file)
    return tuple(
        Summary(dataset, mechanism, float(frequency), method, float(mean), float(sd), 10)
        for dataset, mechanism, frequency, method, mean, sd in lines
    )


def published_methods(study: Study) -> list[str]:
    """The methods of a study that the paper has too, in the variants that produced its numbers."""
    return [method.name for method in study.methods if PAPER_METHODS.get(method.name) == method]


def caveats(study: Study) -> list[str]:
    """Sentences that say why a study's numbers may differ from the paper's."""
    found = []
    if study.protocol != "paper":
        found.append(f"The protocol is {study.protocol}; the paper's numbers come from another one.")
    others = [method.name for method in study.methods if method.name not in published_methods(study)]
    variants = [name for name in others if f"{name}-published" in PAPER_METHODS]
    found += [
        f"{name} is not compared: use {name}-published, the variant behind the paper's numbers." for name in variants
    ]
    unknown = [name for name in others if name not in variants]
    if unknown:
        found.append(f"Not compared, because the paper does not have them: {', '.join(unknown)}.")
    foreign = [name for name in study.datasets if study.protocol != "natural" and _has_other_features(name)]
    if foreign:
        found.append(
            f"The features of {', '.join(foreign)} come from a network other than the paper's ResNet-18, so its "
            "numbers cannot be reproduced there."
        )
    return found


def _has_other_features(name: str) -> bool:
    """Whether the features of this image data set are not the paper's."""
    entry = describe(name)
    return entry.images and is_available(name) and bool(load(name, download=False).X.shape[1] != entry.p)


def compare(summaries: Sequence[Summary], methods: Collection[str] = tuple(PAPER_METHODS)) -> list[Difference]:
    """The cells of these methods that the paper reports too."""
    theirs = {(each.dataset, each.setting, each.method): each for each in published()}
    pairs = ((each, theirs.get((each.dataset, each.setting, each.method))) for each in summaries)
    return [
        Difference(ours.dataset, ours.mechanism, ours.frequency, ours.method, ours.mean, ours.sd, other.mean, other.sd)
        for ours, other in pairs
        if other is not None and ours.method in methods
    ]


def per_method(differences: Sequence[Difference]) -> dict[str, tuple[float, float, int]]:
    """For each method: the mean absolute difference from the paper, the mean difference, and the number of cells."""
    found: dict[str, list[float]] = defaultdict(list)
    for each in differences:
        found[each.method].append(each.difference)
    return {name: (float(np.abs(each).mean()), float(np.mean(each)), len(each)) for name, each in found.items()}


def difference_grids(differences: Sequence[Difference], most: int) -> list[Grid]:
    """The differences by method, and the cells that differ most; empty if there are none."""
    methods = [
        [method, str(cells), f"{size:.4f}", f"{mean:+.4f}"]
        for method, (size, mean, cells) in per_method(differences).items()
    ]
    lines = [
        [
            f"{each.dataset} {each.mechanism} {each.frequency} {each.method}",
            f"{each.mean:.3f} ± {each.sd:.3f}",
            f"{each.published_mean:.3f} ± {each.published_sd:.3f}",
            f"{each.difference:+.3f}",
        ]
        for each in sorted(differences, key=lambda each: -abs(each.difference))[:most]
    ]
    grids = [
        Grid("Balanced accuracy, ours − paper", ["method", "cells", "mean |difference|", "mean difference"], methods),
        Grid("The largest differences", ["cell", "ours", "paper", "difference"], lines),
    ]
    return grids if differences else []
