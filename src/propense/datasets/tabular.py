"""Data sets that are tables: read from the data home, or fetched from OpenML and kept there."""

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
from sklearn.datasets import fetch_openml, load_breast_cancer

from propense.datasets.catalogue import Entry
from propense.datasets.home import into_place
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

# Called now and then with the number of bytes that have arrived.
Progress = Callable[[int], None]
# Features, who is positive, names of the columns.
Table = tuple[NDArray[np.float64], NDArray[np.bool_], list[str]]


def read_table(path: Path) -> Table:
    """A table as `write_table` writes it: named columns, the last of which is y; an empty cell is missing."""
    try:
        with gzip.open(path, "rt", newline="") as file:
            rows = list(csv.reader(file))
        numbers = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows[1:]])
        if rows[0][-1] != "y" or numbers.shape[1] != len(rows[0]) or not np.isin(numbers[:, -1], (0, 1)).all():
            raise ValueError("the last column is not y, or not 0 and 1")
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
    """Wdbc, which scikit-learn brings with it."""
    data = load_breast_cancer()
    return data.data, data.target == 0, [str(name) for name in data.feature_names]


def fetch_table(entry: Entry, progress: Progress | None = None) -> Table:
    """Download a table from OpenML; what does not match the catalogue is not kept."""
    data = download_openml(entry, progress)
    kept = [i for i, name in enumerate(data.feature_names) if name not in entry.dropped]
    try:
        X = np.asarray(data.data[:, kept], dtype=np.float64)
    except (TypeError, ValueError):
        raise DatasetMismatch(
            f"{entry.name} (OpenML {entry.openml_id}) holds columns that are no numbers, which the catalogue does not "
            "know of. Is the number right?"
        ) from None
    table = X, np.isin(np.asarray(data.target, dtype=str), entry.positive), [data.feature_names[i] for i in kept]
    check_table(entry, table, f"It came from OpenML, number {entry.openml_id}, and was not kept.")
    with into_place(f"tabular/{entry.name}.csv.gz") as path:
        write_table(path, table)
    return table


def check_table(entry: Entry, table: Table, way_out: str) -> None:
    """Refuse a table that is not what the catalogue says."""
    X, y, _ = table
    for what, found, expected in (
        ("rows", X.shape[0], entry.n),
        ("columns", X.shape[1], entry.p),
        ("positives", int(y.sum()), entry.positives),
    ):
        if found != expected:
            raise DatasetMismatch(f"{entry.name} has {found} {what} where the catalogue says {expected}. {way_out}")


def download_openml(entry: Entry, progress: Progress | None = None) -> Any:
    """OpenML's table, by scikit-learn, which retries and checks the sum of the file; `progress` sees bytes arrive."""
    with TemporaryDirectory(prefix="propense-") as folder, _watch(Path(folder), progress):
        try:
            return fetch_openml(
                data_id=entry.openml_id,
                as_frame=False,
                # The reader that needs no pandas holds every number as an object: too much for images.
                parser="pandas" if entry.images and find_spec("pandas") else "liac-arff",
                data_home=folder,
                n_retries=_RETRIES,
                delay=_DELAY,
            )
        except (OSError, TypeError, ValueError) as error:
            raise DownloadFailed(
                f"{entry.name} (OpenML {entry.openml_id}) could not be fetched: {error}. Try again later, or put the "
                f"file into the data home (PROPENSE_DATA) by hand."
            ) from error


@contextmanager
def _watch(folder: Path, progress: Progress | None) -> Iterator[None]:
    """While it lasts, a thread tells `progress` how much lies in a folder."""
    if progress is None:
        yield
        return
    done = Event()

    def look() -> None:
        ended = False
        while not ended:
            # Once more after the end, so that the last word is the whole.
            ended = done.wait(0.2)
            with suppress(FileNotFoundError):  # Files are moved into place meanwhile.
                progress(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()))

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
