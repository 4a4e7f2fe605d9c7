"""The survey's public files: downloaded once, kept in the data home, and read."""

import time
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from propense._files import write_atomically
from propense.datasets.home import data_home
from propense.datasets.nhanes_columns import TABLES
from propense.datasets.tabular import Progress
from propense.datasets.transport import FIRST_RECORD, Variables, read_transport
from propense.errors import DownloadFailed

__all__ = ["ADDRESS", "CYCLES", "files_folder", "read_cycle"]

# Where the National Center for Health Statistics keeps the files, as 2005/DataFiles/DEMO_D.xpt and so on.
ADDRESS = "https://wwwn.cdc.gov/Nchs/Data/Nhanes/Public"
# The first year of each cycle, and the letter that the names of its files end with.
CYCLES = {2005: "D", 2007: "E", 2009: "F", 2011: "G", 2013: "H"}
_TRIES, _DELAY, _TIMEOUT = 3, 1.0, 60.0
_CHUNK = 1 << 16


def files_folder() -> Path:
    """The folder of the data home in which the survey's files are kept."""
    return data_home() / "natural" / "nhanes"


def read_cycle(year: int, address: str, received: Progress) -> dict[str, Variables]:
    """The variables of each table of one cycle. Files that are not in the data home are downloaded first."""
    return {table: read_transport(_bring(year, table, address, received)) for table in TABLES}


def _bring(year: int, table: str, address: str, received: Progress) -> Path:
    """The path of a file, which is downloaded if it is not there."""
    folder, name = files_folder(), f"{table}_{CYCLES[year]}"
    # Browsers save the files with either ending.
    for path in (folder / f"{name}.xpt", folder / f"{name}.XPT"):
        if path.is_file():
            return path
    target = folder / f"{name}.xpt"
    url = f"{address.rstrip('/')}/{year}/DataFiles/{target.name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadFailed(f"{folder} cannot be made: {error.strerror}. Set PROPENSE_DATA to a folder.") from None
    for left in reversed(range(_TRIES)):
        try:
            with write_atomically(target, DownloadFailed) as path, path.open("wb") as file:
                for chunk in _receive(url):
                    file.write(chunk)
                    received(len(chunk))
            return target
        except _TryAgainError as problem:
            if not left:
                raise _failed(url, str(problem), target) from None
            time.sleep(_DELAY)
    raise AssertionError("the last try returns or raises")


class _TryAgainError(Exception):
    """Something that may be over in a second."""


def _receive(url: str) -> Iterator[bytes]:
    """The content of an address, piece by piece."""
    try:
        with urlopen(url, timeout=_TIMEOUT) as answer:
            expected, size = answer.headers.get("Content-Length"), 0
            while chunk := answer.read(_CHUNK):
                if not size and not chunk.startswith(FIRST_RECORD):
                    kind = answer.headers.get_content_type()
                    raise _failed(url, f"the answer ({kind}) is a page or another file, not a SAS transport file")
                size += len(chunk)
                yield chunk
    except HTTPError as error:
        problem = f"the server answered {error.code} {error.reason}"
        raise (_TryAgainError(problem) if error.code >= 500 else _failed(url, problem)) from None
    except DownloadFailed:
        raise
    except (OSError, HTTPException) as error:
        raise _TryAgainError(str(getattr(error, "reason", error)) or type(error).__name__) from None
    except ValueError as error:
        raise _failed(url, str(error)) from None
    if not size or (expected and expected.isdigit() and size < int(expected)):
        raise _TryAgainError(f"only {size} of {expected or 'unknown'} bytes arrived")


def _failed(url: str, problem: str, target: Path | None = None) -> DownloadFailed:
    folder = target.parent if target else files_folder()
    return DownloadFailed(
        f"{url} could not be downloaded: {problem}. Try again later: files that are here are not fetched again. Or put "
        f"the file into {folder} yourself, or pass the address of another copy as address=."
    )
