"""Where data sets lie on this machine."""

import os
from contextlib import AbstractContextManager
from pathlib import Path

from propense._files import write_atomically
from propense.errors import DownloadFailed

__all__ = ["data_home", "find_file", "into_place"]


def data_home() -> Path:
    """The folder of data sets, to which downloads go too: `PROPENSE_DATA` where it is set, else the user's cache."""
    named = os.environ.get("PROPENSE_DATA")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "propense"


def find_file(relative: str) -> Path | None:
    """The file of this name in the data home, or None."""
    path = data_home() / relative
    return path if path.is_file() else None


def into_place(relative: str) -> AbstractContextManager[Path]:
    """A path to write to; the file appears in the data home whole, or not at all."""
    target = data_home() / relative
    target.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(target, DownloadFailed)
