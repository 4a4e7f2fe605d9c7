"""The file of an unfinished fit: the parts that it has finished, and whose they are. Arrays only, no code."""

import glob
import io
import json
import math
import os
import shutil
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._files import write_atomically
from propense.errors import CheckpointError

__all__ = ["Checkpoint", "Part"]

Part = dict[str, NDArray[Any]]

_FACTS, _SO_FAR = "facts", "so far"
_WAY_OUT = "Delete it to start from the beginning, or name another file"
# The most characters of a parameter that an error shows.
_SHOWN = 80
# Sums of the same rows in other blocks differ by rounding.
_ROUNDING = 1e-9


class Checkpoint:
    """The finished parts of one fit, in a file (NumPy's .npz) that is replaced whole after each of them.

    Parameters
    ----------
    path : Path
        Read if it exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._facts: dict[str, str] = {}
        self._parts: dict[str, Part] = {}
        self._passes, self._seconds = 0, 0.0
        if _exists(path):
            self._facts, self._parts, self._passes, self._seconds = _read(path)

    @property
    def so_far(self) -> tuple[int, float]:
        """The passes and the seconds until the last part."""
        return self._passes, self._seconds

    def claim(self, facts: Mapping[str, str]) -> None:
        """Refuse the file if it belongs to another fit; `facts` are what makes a fit this one."""
        for name, now in facts.items():
            before = self._facts.setdefault(name, now)
            if before != now:
                same = next((i for i, (one, other) in enumerate(zip(before, now, strict=False)) if one != other), 0)
                raise CheckpointError(
                    f"{self.path} belongs to another fit: {name} was {_from_where(same, before)} and is "
                    f"{_from_where(same, now)} now. {_WAY_OUT}."
                )

    def claim_sums(self, sums: NDArray[np.float64], so_far: tuple[int, float]) -> None:
        """Refuse the file if its sums over the rows are not these, up to rounding."""
        found = self.get("data")
        if found is None:
            self.keep("data", {"sums": sums}, so_far)
        elif found["sums"].shape != sums.shape or not np.allclose(found["sums"], sums, _ROUNDING, 0.0):
            raise CheckpointError(
                f"{self.path} belongs to another fit: the values of the rows or their order are not the same. "
                f"{_WAY_OUT}."
            )

    def get(self, name: str) -> Part | None:
        """A part, if it was kept."""
        return self._parts.get(name)

    def keep(self, part: str, values: Mapping[str, Any], so_far: tuple[int, float]) -> None:
        """Keep a part, in place of one of the same name, and write the file."""
        self._parts[part] = {key: np.array(value) for key, value in values.items()}
        self._passes, self._seconds = so_far
        arrays: dict[str, Any] = {_FACTS: np.array(json.dumps(self._facts)), _SO_FAR: np.array(so_far, dtype=float)}
        arrays |= {f"{name}/{key}": array for name, part in self._parts.items() for key, array in part.items()}
        # Two runs that share a file write to places of their own.
        with write_atomically(self.path, CheckpointError) as partial, partial.open("wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())

    def drop(self, *names: str) -> None:
        """Forget parts; the file follows when the next one is kept."""
        for name in names:
            self._parts.pop(name, None)

    def remove(self) -> None:
        """Remove the file, and what a process has left that was killed while it wrote: the fit is complete."""
        # Written as `write_atomically` does: a link stays, and what it points to goes.
        real = Path(os.path.realpath(self.path))
        real.unlink(missing_ok=True)
        for left in real.parent.glob(f".partial-*/{glob.escape(self.path.name)}"):
            shutil.rmtree(left.parent, ignore_errors=True)


def _exists(path: Path) -> bool:
    """Whether there is a regular file; an error if there is something else, or no file can have this name."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be opened: {error}. Check its name and permissions.") from None
    # Before it is opened: opening a pipe would wait for a writer.
    if not stat.S_ISREG(mode):
        raise CheckpointError(f"{path} is not a regular file. Give the name of a file for the checkpoint.")
    return True


def _read(path: Path) -> tuple[dict[str, str], dict[str, Part], int, float]:
    """What makes the fit this one, its parts, and the passes and seconds so far."""
    parts: dict[str, Part] = {}
    try:
        with path.open("rb") as opened, zipfile.ZipFile(opened) as file:
            _check_members(file, path.stat().st_size)
            arrays = {name.removesuffix(".npy"): _array(file.read(name)) for name in file.namelist()}
        facts = json.loads(str(arrays.pop(_FACTS)))
        passes, seconds = arrays.pop(_SO_FAR).tolist()
        if not facts or not math.isfinite(seconds):
            raise ValueError("facts or seconds")
        for place, array in arrays.items():
            name, _, key = place.rpartition("/")
            parts.setdefault(name, {})[key] = array
        return {str(name): str(value) for name, value in facts.items()}, parts, int(passes), float(seconds)
    except PermissionError:
        raise CheckpointError(f"{path} cannot be read. Check its permissions.") from None
    # What a damaged or foreign file makes json, NumPy and zipfile raise has no common class.
    except Exception:
        raise CheckpointError(f"{path} is damaged, or is not the checkpoint of a fit. {_WAY_OUT}.") from None


def _check_members(file: zipfile.ZipFile, size: int) -> None:
    """Refuse what would take more memory than the file is large: members are stored as they are, each once."""
    members = file.infolist()
    stored = all(each.compress_type == zipfile.ZIP_STORED for each in members)
    if not stored or sum(each.file_size for each in members) > size:
        raise ValueError("compressed members")


def _array(data: bytes) -> NDArray[Any]:
    """The array of a member, which may not be larger than the member."""
    header = io.BytesIO(data)
    version = np.lib.format.read_magic(header)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(header)
    if math.prod(shape) * dtype.itemsize > len(data):
        raise ValueError("a shape larger than the data")
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)


def _from_where(same: int, text: str) -> str:
    """A text, or of a long one the part around the first character that differs."""
    if len(text) <= _SHOWN:
        return text
    first = max(0, min(same - _SHOWN // 2, len(text) - _SHOWN))
    return f"{'…' if first else ''}{text[first : first + _SHOWN]}{'…' if first + _SHOWN < len(text) else ''}"
