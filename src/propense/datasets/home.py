"""The folder in which data sets are stored."""

import os
from contextlib import AbstractContextManager
from pathlib import Path

from propense._files import write_atomically
from propense.errors import DownloadFailed

__all__ = ["data_home", "find_file", "write_file"]


def data_home() -> Path:
    """The folder to read data sets from and download them to: `PROPENSE_DATA` if it is set, else the user's cache."""
    named = os.environ.get("PROPENSE_DATA")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "propense"


def find_file(relative: str) -> Path | None:
    """The path of a file in the data home, or None if it does not exist."""
    path = data_home() / relative
    return path if path.is_file() else None


def write_file(relative: str) -> AbstractContextManager[Path]:
    """A path to write to; the file appears in the data home whole, or not at all."""
    target = data_home() / relative
    target.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(target, DownloadFailed)
