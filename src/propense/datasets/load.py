"""A data set by its name, from wherever it is to be had."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.datasets.catalogue import CATALOGUE, Entry
from propense.datasets.home import data_home, find_file
from propense.datasets.images import Split, check_split, fetch_features, read_features
from propense.datasets.tabular import Progress, Table, check_table, fetch_table, load_wdbc, read_table
from propense.errors import DownloadFailed, InvalidOption

__all__ = ["Dataset", "describe", "is_available", "load", "names"]


@dataclass(frozen=True)
class Dataset:
    """A data set with its true classes.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        The features, raw; NaN is missing.
    y : bool ndarray of shape (n,)
        Who is positive.
    columns : list of str
        The names of the features.
    test : bool ndarray of shape (n,), or None
        The rows of the fixed test part, where there is one.
    entry : Entry
        Its row of the catalogue.
    source : str
        Where it was read from.
    """

    X: NDArray[Any]
    y: NDArray[np.bool_]
    columns: list[str]
    test: NDArray[np.bool_] | None
    entry: Entry
    source: str


def names() -> list[str]:
    """The names of the data sets, tables first.

    Returns
    -------
    list of str
    """
    return list(CATALOGUE)


def describe(name: str) -> Entry:
    """What the catalogue says of a data set.

    Parameters
    ----------
    name : str

    Returns
    -------
    Entry
    """
    if name not in CATALOGUE:
        raise InvalidOption(f"There is no data set {name!r}. There are: {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def is_available(name: str) -> bool:
    """Whether a data set can be loaded without a network.

    Parameters
    ----------
    name : str

    Returns
    -------
    bool
    """
    return name == "wdbc" or find_file(_relative(describe(name))) is not None


def load(name: str, *, download: bool = True, progress: Progress | None = None) -> Dataset:
    """A data set, from the data home or else from the network.

    Parameters
    ----------
    name : str
        A name of ``names()``.
    download : bool, default=True
        Whether to fetch it from OpenML, into the data home (the folder ``PROPENSE_DATA``, else the user's cache), if it
        is not there.
    progress : callable, default=None
        Called with the number of bytes that have arrived, while they do.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from propense.datasets import load
    >>> data = load("wdbc")
    >>> data.X.shape, int(data.y.sum()), data.entry.rule
    ((569, 30), 212, 'malignant')
    """
    entry = describe(name)
    relative = _relative(entry)
    path = find_file(relative)
    if not is_available(name) and not download:
        raise DownloadFailed(f"{name} is not in the data home ({data_home() / relative}), and download=False.")
    way_out = f"Delete {path} and fetch again."
    if entry.images:
        split = fetch_features(entry, progress) if path is None else read_features(path)
        check_split(entry, split, way_out)
        return _from_split(entry, split, str(path or data_home() / relative))
    # Wdbc's rows in scikit-learn are in the order of the paper's authors, and need no file.
    if name == "wdbc":
        return _from_table(entry, load_wdbc(), "scikit-learn")
    table = fetch_table(entry, progress) if path is None else read_table(path)
    check_table(entry, table, way_out)
    return _from_table(entry, table, str(path or data_home() / relative))


def _relative(entry: Entry) -> str:
    """Its file in the data home."""
    return f"features/{entry.name}.npz" if entry.images else f"tabular/{entry.name}.csv.gz"


def _from_table(entry: Entry, table: Table, source: str) -> Dataset:
    X, y, columns = table
    return Dataset(X, y, columns, None, entry, source)


def _from_split(entry: Entry, split: Split, source: str) -> Dataset:
    X, y = np.concatenate([split.X_train, split.X_test]), np.concatenate([split.y_train, split.y_test])
    columns = [f"feature {i}" for i in range(X.shape[1])]
    return Dataset(X, y, columns, np.arange(len(y)) >= len(split.y_train), entry, source)
