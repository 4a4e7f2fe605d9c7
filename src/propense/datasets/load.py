"""Load a data set by its name, from the data home or OpenML."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.datasets.catalogue import CATALOGUE, Entry
from propense.datasets.home import data_path
from propense.datasets.images import check_split, fetch_features, read_features
from propense.datasets.tabular import Progress, check_table, fetch_table, load_wdbc, read_table
from propense.errors import DownloadFailed, InvalidOption

__all__ = ["Dataset", "describe", "is_available", "load", "names"]


@dataclass(frozen=True)
class Dataset:
    """A data set with its true classes.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        The features, unscaled; NaN means missing.
    y : bool ndarray of shape (n,)
        Which rows are positive.
    columns : list of str
        The names of the features.
    test : bool ndarray of shape (n,), or None
        The rows of the fixed test part, if there is one.
    entry : Entry
        The catalogue's entry.
    source : str
        Where the data were read from.
    """

    X: NDArray[Any]
    y: NDArray[np.bool_]
    columns: list[str]
    test: NDArray[np.bool_] | None
    entry: Entry
    source: str


def names() -> list[str]:
    """The names of the data sets, tables before images.

    Returns
    -------
    list of str
    """
    return list(CATALOGUE)


def describe(name: str) -> Entry:
    """The catalogue's entry of a data set.

    Parameters
    ----------
    name : str

    Returns
    -------
    Entry
    """
    if name == "nhanes":
        raise InvalidOption("nhanes has labels of its own. Load it with propense.datasets.load_nhanes().")
    if name not in CATALOGUE:
        raise InvalidOption(f"There is no data set {name!r}. Choose from: {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def is_available(name: str) -> bool:
    """Whether a data set can be loaded without a download.

    Parameters
    ----------
    name : str

    Returns
    -------
    bool
    """
    return name == "wdbc" or data_path(describe(name)).is_file()


def load(name: str, *, download: bool = True, progress: Progress | None = None) -> Dataset:
    """Load a data set from the data home, or download it from OpenML.

    Parameters
    ----------
    name : str
        A name of ``names()``.
    download : bool, default=True
        Whether to download the data set if it is not in the data home: the folder ``PROPENSE_DATA`` or, if that is not
        set, the user's cache.
    progress : callable, default=None
        Called during a download with the number of bytes received so far.

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
    # scikit-learn has wdbc with its rows in the order that the paper's authors used.
    if name == "wdbc":
        return Dataset(*load_wdbc(), None, entry, "scikit-learn")
    path = data_path(entry)
    here = path.is_file()
    if not here and not download:
        raise DownloadFailed(f"{name} is not in the data home ({path}), and download=False.")
    remedy = f"Delete {path} and fetch again."
    if not entry.images:
        table = read_table(path) if here else fetch_table(entry, progress)
        check_table(entry, table, remedy)
        return Dataset(*table, None, entry, str(path))
    split = read_features(path) if here else fetch_features(entry, progress)
    check_split(entry, split, remedy)
    X, y = np.concatenate([split.X_train, split.X_test]), np.concatenate([split.y_train, split.y_test])
    columns = [f"feature {i}" for i in range(X.shape[1])]
    return Dataset(X, y, columns, np.arange(len(y)) >= len(split.y_train), entry, str(path))
