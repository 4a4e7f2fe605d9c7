"""The twenty data sets of the paper, and simulated data."""

from propense.datasets.catalogue import CATALOGUE, Entry
from propense.datasets.load import Dataset, describe, is_available, load, names
from propense.datasets.synthetic import DoubleLogistic, make_double_logistic

__all__ = [
    "CATALOGUE",
    "Dataset",
    "DoubleLogistic",
    "Entry",
    "describe",
    "is_available",
    "load",
    "make_double_logistic",
    "names",
]
