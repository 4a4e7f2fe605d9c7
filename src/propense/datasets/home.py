"""The folder in which data sets are stored."""

import os
from contextlib import AbstractContextManager
from pathlib import Path

from propense._files import write_atomically
from propense.datasets.catalogue import Entry
from propense.errors import DownloadFailed

__all__ = ["data_home", "data_path", "write_file"]


def data_home() -> Path:
    """The folder to read data sets from and download them to: `PROPENSE_DATA` if it is set, else the user's cache."""
    named = os.environ.get("PROPENSE_DATA")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "propense"


def data_path(entry: Entry) -> Path:
    """The data set's file in the data home."""
    return data_home() / (f"features/{entry.name}.npz" if entry.images else f"tabular/{entry.name}.csv.gz")


def write_file(entry: Entry) -> AbstractContextManager[Path]:
    """A path to write to; the data set's file appears in the data home whole, or not at all."""
    target = data_path(entry)
    target.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(target, DownloadFailed)
