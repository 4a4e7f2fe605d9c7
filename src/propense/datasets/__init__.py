"""The twenty data sets of the paper, a health survey with labels of its own, and simulated data."""

from propense.datasets.catalogue import CATALOGUE, Entry
from propense.datasets.load import Dataset, describe, is_available, load, names
from propense.datasets.nhanes import NaturalDataset, load_nhanes
from propense.datasets.nhanes_table import NaturalTask
from propense.datasets.synthetic import DoubleLogistic, make_double_logistic

__all__ = [
    "CATALOGUE",
    "Dataset",
    "DoubleLogistic",
    "Entry",
    "NaturalDataset",
    "NaturalTask",
    "describe",
    "is_available",
    "load",
    "load_nhanes",
    "make_double_logistic",
    "names",
]
