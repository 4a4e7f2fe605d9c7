"""Data sets whose labels are natural, split by time: methods are fitted to the past and tested on what followed."""

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from propense.datasets import NaturalDataset, load_nhanes
from propense.datasets.nhanes_table import nhanes_path

__all__ = ["NATURAL", "YEARS", "NaturalSplit", "is_available", "setting_before", "split_natural"]

# Each natural data set with the task of the survey NHANES that it is.
NATURAL = {"nhanes-diabetes": "diabetes", "nhanes-hypertension": "hypertension"}
# The cycles of the survey that can be tested: the first one has no past.
YEARS = (2007, 2009, 2011, 2013)
# Groups of rows whose true share of labelled positives is compared with e(x): all values of the first two columns, and
# quarters of the third.
_VALUES, _QUARTERS = ("visits", "insured"), "age"
_BEFORE = "before "

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class NaturalSplit:
    """Rows of the years before a cycle, to fit; and the rows of that cycle, to test.

    Attributes
    ----------
    X, X_test : ndarray of shape (n, p)
        NaN where a value is missing.
    labelled, positive, labelled_test, positive_test : bool ndarray of shape (n,)
    access : int ndarray
        The columns of access to care.
    groups : dict of str to bool ndarray of shape (n,)
        Rows of fit that belong together.
    """

    X: Rows
    labelled: Mask
    positive: Mask
    X_test: Rows
    labelled_test: Mask
    positive_test: Mask
    access: NDArray[np.intp]
    groups: dict[str, Mask]

    @property
    def filled(self) -> tuple[Rows, Rows]:
        """The rows to fit and to test for methods that take no missing values: medians, then z-scores."""
        medians = np.nanmedian(self.X, axis=0)
        X, X_test = (np.where(np.isnan(each), medians, each) for each in (self.X, self.X_test))
        mean, spread = X.mean(axis=0), X.std(axis=0)
        spread = np.where(spread == 0, 1.0, spread)
        return (X - mean) / spread, (X_test - mean) / spread


def setting_before(year: int) -> str:
    """How a cell says that a method is fitted to the rows before this year."""
    return f"{_BEFORE}{year}"


def is_available() -> bool:
    """Whether the survey is in the data home."""
    return nhanes_path().is_file()


@lru_cache(maxsize=2)
def split_natural(dataset: str, setting: str) -> NaturalSplit:
    """The split of a data set that a setting says."""
    data = _load(NATURAL[dataset])
    year = int(setting.removeprefix(_BEFORE))
    past, present = data.cycle < year, data.cycle == year
    X, names = data.X[past], list(data.columns)
    split = NaturalSplit(
        X,
        data.labelled[past],
        data.positive[past],
        data.X[present],
        data.labelled[present],
        data.positive[present],
        np.array([names.index(name) for name in data.propensity_features]),
        _groups({name: X[:, names.index(name)] for name in (*_VALUES, _QUARTERS)}),
    )
    for each in fields(split):
        values = getattr(split, each.name)
        for array in values.values() if isinstance(values, dict) else [values]:
            # Shared by all cells: a method that writes into its input fails only its own cell.
            array.setflags(write=False)
    return split


def _groups(columns: dict[str, Rows]) -> dict[str, Mask]:
    """Rows with the same value of a column, and quarters of the last column."""
    groups: dict[str, Mask] = {}
    for name in _VALUES:
        values = columns[name]
        groups |= {f"{name}_{value:g}": values == value for value in np.unique(values[~np.isnan(values)])}
    age = columns[_QUARTERS]
    ends = np.nanquantile(age, (0.25, 0.5, 0.75))
    quarter = np.searchsorted(ends, age, side="left")
    return groups | {f"{_QUARTERS}_quarter_{k + 1}": (quarter == k) & ~np.isnan(age) for k in range(4)}


@lru_cache(maxsize=2)
def _load(task: str) -> NaturalDataset:
    return load_nhanes(task, download=False)
