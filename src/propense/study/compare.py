"""Ours beside the published numbers."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from propense.study.published import published
from propense.study.tables import Summary

__all__ = ["Difference", "compare", "per_method"]


@dataclass(frozen=True)
class Difference:
    """A cell of the paper, and what we have there."""

    dataset: str
    mechanism: str
    frequency: float
    method: str
    mean: float
    sd: float
    published_mean: float
    published_sd: float

    @property
    def off(self) -> float:
        """Ours minus the paper's."""
        return self.mean - self.published_mean


def compare(summaries: Sequence[Summary]) -> list[Difference]:
    """The cells that the paper has too."""
    theirs = {(each.dataset, each.setting, each.method): each for each in published()}
    pairs = ((each, theirs.get((each.dataset, each.setting, each.method))) for each in summaries)
    return [
        Difference(ours.dataset, ours.mechanism, ours.frequency, ours.method, ours.mean, ours.sd, other.mean, other.sd)
        for ours, other in pairs
        if other is not None
    ]


def per_method(differences: Sequence[Difference]) -> dict[str, tuple[float, float, int]]:
    """For each method the mean of |ours − published|, the mean of ours − published, and over how many cells."""
    found: dict[str, list[float]] = defaultdict(list)
    for each in differences:
        found[each.method].append(each.off)
    return {method: (float(np.abs(offs).mean()), float(np.mean(offs)), len(offs)) for method, offs in found.items()}
