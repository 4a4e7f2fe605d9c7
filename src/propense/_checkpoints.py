"""The file of an unfinished fit: the parts that it has finished, and whose they are. Arrays only, no code."""

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.errors import CheckpointError

__all__ = ["Checkpoint", "Part"]

Part = dict[str, NDArray[Any]]

_FACTS, _SO_FAR = "facts", "so far"
_WAY_OUT = "Delete it to start from the beginning, or name another file"
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
        # Of a process that was killed while it wrote.
        self._partial = path.with_name(f"{path.name}.partial")
        if path.exists():
            self._facts, self._parts = _read(path)

    @property
    def so_far(self) -> tuple[int, float]:
        """The passes and the seconds until the last part."""
        found = self._parts.get(_SO_FAR)
        return (0, 0.0) if found is None else (int(found["passes"]), float(found["seconds"]))

    def claim(self, facts: Mapping[str, str]) -> None:
        """Refuse the file if it belongs to another fit; `facts` are what makes a fit this one."""
        for name, now in facts.items():
            before = self._facts.setdefault(name, now)
            if before != now:
                raise CheckpointError(
                    f"{self.path} belongs to another fit: {name} was {_short(before)} and is {_short(now)} now. "
                    f"{_WAY_OUT}."
                )

    def claim_sums(self, sums: NDArray[np.float64], so_far: tuple[int, float]) -> None:
        """Refuse the file if its sums over the rows are not these, up to rounding."""
        found = self.get("data")
        if found is None:
            self.keep("data", {"sums": sums}, so_far)
        elif found["sums"].shape != sums.shape or not np.allclose(found["sums"], sums, _ROUNDING, _ROUNDING):
            raise CheckpointError(
                f"{self.path} belongs to another fit: the columns or the labels have other sums. {_WAY_OUT}."
            )

    def get(self, name: str) -> Part | None:
        """A part, if it was kept."""
        return self._parts.get(name)

    def keep(self, part: str, values: Mapping[str, Any], so_far: tuple[int, float]) -> None:
        """Keep a part, in place of one of the same name, and write the file."""
        self._parts[part] = {key: np.array(value) for key, value in values.items()}
        self._parts[_SO_FAR] = {"passes": np.array(so_far[0]), "seconds": np.array(so_far[1])}
        arrays: dict[str, Any] = {
            f"{name}/{key}": array for name, part in self._parts.items() for key, array in part.items()
        }
        try:
            with self._partial.open("wb") as file:
                np.savez(file, **{_FACTS: np.array(json.dumps(self._facts)), **arrays})
                file.flush()
                os.fsync(file.fileno())
            self._partial.replace(self.path)
        except OSError as error:
            raise CheckpointError(
                f"{self.path} was not written: {error.strerror or error}. Check its folder, permissions and the free "
                "space."
            ) from None

    def drop(self, *names: str) -> None:
        """Forget parts; the file follows when the next one is kept."""
        for name in names:
            self._parts.pop(name, None)

    def remove(self) -> None:
        """Remove the file: the fit is complete."""
        self._partial.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


def _read(path: Path) -> tuple[dict[str, str], dict[str, Part]]:
    parts: dict[str, Part] = {}
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            facts = json.loads(str(file[_FACTS]))
            for place in file.files:
                if place != _FACTS:
                    name, _, key = place.rpartition("/")
                    parts.setdefault(name, {})[key] = file[place]
        return {str(name): str(value) for name, value in facts.items()}, parts
    except PermissionError:
        raise CheckpointError(f"{path} cannot be read. Check its permissions.") from None
    # Whatever a damaged or foreign file makes NumPy and zipfile raise.
    except (OSError, ValueError, KeyError, AttributeError, EOFError, IndexError, zipfile.BadZipFile, zlib.error):
        raise CheckpointError(f"{path} is damaged, or is not the checkpoint of a fit. {_WAY_OUT}.") from None


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
