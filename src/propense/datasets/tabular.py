"""Tabular data sets: read from the data home, or downloaded from OpenML and stored there."""

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.datasets.catalogue import Entry
from propense.datasets.home import write_file
from propense.errors import DatasetMismatch, DownloadFailed

__all__ = [
    "Progress",
    "Table",
    "check_table",
    "download_openml",
    "fetch_table",
    "load_wdbc",
    "read_table",
    "write_table",
]

_RETRIES, _DELAY = 3, 1.0

# Called from time to time with the number of bytes received.
Progress = Callable[[int], None]
# Features, which rows are positive, column names.
Table = tuple[NDArray[np.float64], NDArray[np.bool_], list[str]]


def read_table(path: Path) -> Table:
    """Read a table as `write_table` writes it: named columns, y last; an empty cell is a missing value."""
    try:
        with gzip.open(path, "rt", newline="") as file:
            rows = list(csv.reader(file))
        numbers = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows[1:]])
        if rows[0][-1] != "y" or numbers.shape[1] != len(rows[0]) or not np.isin(numbers[:, -1], (0, 1)).all():
            raise ValueError("the last column must be y with values 0 and 1")
    except (OSError, EOFError, ValueError, IndexError, zlib.error, csv.Error) as error:
        raise DatasetMismatch(f"{path} cannot be read as a data set: {error}. Delete it and fetch again.") from None
    return numbers[:, :-1], numbers[:, -1] == 1, rows[0][:-1]


def write_table(path: Path, table: Table) -> None:
    """Write a table that `read_table` reads back bit for bit."""
    X, y, names = table
    with gzip.open(path, "wt", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, "y"])
        for row, positive in zip(X.tolist(), y.tolist(), strict=True):
            writer.writerow(["" if value != value else repr(value) for value in row] + [int(positive)])


def load_wdbc() -> Table:
    """Wdbc, which is part of scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    return data.data, data.target == 0, [str(name) for name in data.feature_names]


def fetch_table(entry: Entry, progress: Progress | None = None) -> Table:
    """Download a table from OpenML. It is not kept if it does not match the catalogue."""
    data = download_openml(entry, progress)
    kept = [i for i, name in enumerate(data.feature_names) if name not in entry.dropped]
    try:
        X = np.asarray(data.data[:, kept], dtype=np.float64)
    except (TypeError, ValueError):
        raise DatasetMismatch(
            f"{entry.name} (OpenML {entry.openml_id}) has columns that are not numeric and that the catalogue does not "
            "list. Check the OpenML number in the catalogue."
        ) from None
    table = X, np.isin(np.asarray(data.target, dtype=str), entry.positive), [data.feature_names[i] for i in kept]
    check_table(entry, table, f"It is data set {entry.openml_id} of OpenML and was not kept.")
    with write_file(entry) as path:
        write_table(path, table)
    return table


def check_table(entry: Entry, table: Table, remedy: str) -> None:
    """Raise if a table does not match the catalogue."""
    X, y, _ = table
    entry.check("rows", X.shape[0], entry.n, remedy)
    entry.check("columns", X.shape[1], entry.p, remedy)
    entry.check("positives", int(y.sum()), entry.positives, remedy)


def download_openml(entry: Entry, progress: Progress | None = None) -> Any:
    """Download OpenML's table with scikit-learn, which retries and verifies the checksum."""
    from sklearn.datasets import fetch_openml

    with TemporaryDirectory(prefix="propense-") as folder, _watch(Path(folder), progress):
        try:
            return fetch_openml(
                data_id=entry.openml_id,
                as_frame=False,
                # Without pandas, the reader holds every number as a Python object: too much memory for images.
                parser="pandas" if entry.images and find_spec("pandas") else "liac-arff",
                data_home=folder,
                n_retries=_RETRIES,
                delay=_DELAY,
            )
        except (OSError, TypeError, ValueError) as error:
            raise DownloadFailed(
                f"{entry.name} (OpenML {entry.openml_id}) could not be downloaded: {error}. Try again later, or put "
                f"the file into the data home (PROPENSE_DATA) yourself."
            ) from error


@contextmanager
def _watch(folder: Path, progress: Progress | None) -> Iterator[None]:
    """Report the size of a folder to `progress` from a thread, as long as the context is open."""
    if progress is None:
        yield
        return
    done = Event()

    def report() -> None:
        ended = False
        while not ended:
            # Once more after the end, so that the last report is the total.
            ended = done.wait(0.2)
            with suppress(FileNotFoundError):  # Files may be moved during the walk.
                progress(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()))

    thread = Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
