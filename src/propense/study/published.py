"""The paper's numbers: 1 680 means and standard deviations of balanced accuracy."""

import csv
from functools import cache
from importlib.resources import files

from propense.study.summaries import Summary

__all__ = ["published"]


@cache
def published() -> tuple[Summary, ...]:
    """Every cell of the paper's twelve tables."""
    with files("propense.study").joinpath("published.csv").open() as file:
        return tuple(
            Summary(
                row["dataset"],
                row["mechanism"],
                float(row["frequency"]),
                row["method"],
                float(row["mean"]),
                float(row["sd"]),
                10,
            )
            for row in csv.DictReader(file)
        )
