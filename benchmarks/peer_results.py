"""What ``peers.py`` measured, and what is computed from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from peer_methods import METHODS, Method, method

__all__ = ["Accuracy", "Cost", "Results", "exponent", "figures", "mean_and_error", "number", "standard_error"]


@dataclass(frozen=True)
class Accuracy:
    """Balanced accuracies of a method in a scenario, one for each seed; why it ended early, if it did."""

    method: str
    decision: str
    world: str
    values: tuple[float, ...]
    ended: str = ""

    def shown(self) -> str:
        """Mean ± its standard error."""
        return mean_and_error(self.values) if self.values else self.ended


@dataclass(frozen=True)
class Cost:
    """Seconds of a fit and of the unit, and the bytes that the fit and the data needed, at one size."""

    method: str
    n: int
    p: int
    seconds: float = np.nan
    unit: float = np.nan
    bytes: float = np.nan
    data: float = np.nan
    ended: str = ""

    def shown(self) -> str:
        """Seconds and units."""
        return self.ended or f"{number(self.seconds)} s, {number(self.seconds / self.unit)} ×"


@dataclass(frozen=True)
class Results:
    """The results of a run, and its settings."""

    accuracies: list[Accuracy]
    costs: list[Cost]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    n: int
    p: int
    seeds: int
    limit: float
    threads: int
    day: date
    minutes: float
    command: str
    load: float

    def growth(self, name: str, along: str) -> tuple[list[int], list[float]]:
        """Sizes and seconds of a method as n grows, or p."""
        some = [c for c in self.costs if c.method == name and not c.ended]
        if along == "n":
            return [c.n for c in some if c.p == self.p], [c.seconds for c in some if c.p == self.p]
        return [c.p for c in some if c.n == self.n], [c.seconds for c in some if c.n == self.n]

    def methods(self) -> list[Method]:
        """The methods with any result, in the order of the list."""
        names = {a.method for a in self.accuracies}
        return [each for each in METHODS if each.name in names]


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """k of seconds ∝ sizeᵏ by least squares on the logarithms; NaN if fewer than three are known."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]) if len(sizes) > 2 else np.nan


def mean_and_error(values: Sequence[float]) -> str:
    """Mean ± standard error of the mean."""
    if len(values) < 2:
        return f"{np.mean(values):.3f}"
    return f"{np.mean(values):.3f} ± {standard_error(values):.3f}"


def standard_error(values: Sequence[float]) -> float:
    """The standard error of the mean; NaN for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def number(value: float) -> str:
    """Two significant digits, without an exponent; – if unknown."""
    if not np.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    decimals = max(0, 1 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{decimals}f}".replace(",", " ")


def figures(results: Results) -> list[tuple[str, str, str, str, str]]:
    """Every figure, one per row."""
    rows = []
    for a in results.accuracies:
        measure = "balanced accuracy" + (f", decision={a.decision}" if a.decision else "")
        at = [f"{a.world}, seed {seed}" for seed in range(len(a.values))]
        rows += [
            (method(a.method).package, a.method, measure, *each)
            for each in zip(at, (f"{v:.6g}" for v in a.values), strict=True)
        ]
    for c in results.costs:
        for measure in ("seconds", "unit", "bytes"):
            value = c.ended or f"{getattr(c, measure):.6g}"
            rows.append((method(c.method).package, c.method, measure, f"{c.n} × {c.p}", value))
    return rows
