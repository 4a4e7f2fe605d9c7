"""The file of an unfinished fit: the parts that it has finished, and whose they are. No code, as in model files."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.errors import CheckpointError, ModelFileError

__all__ = ["FILES", "Checkpoint", "Part"]

# The fact that holds a digest of files.
FILES = "files"

Part = dict[str, NDArray[Any]]

_WAY_OUT = "Delete it to start from the beginning, or name another file"
# Sums of the same rows in other blocks differ by rounding.
_ROUNDING = 1e-9


class Checkpoint:
    """The finished parts of one fit, in a file that is replaced whole after each of them.

    Parameters
    ----------
    path : Path
        Read if it exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._facts: dict[str, str] | None = None
        self._parts: dict[str, Part] = {}
        # Of a process that was killed while it wrote.
        self._partial = path.with_name(f"{path.name}.partial")
        if path.exists():
            self._facts, self._parts = _read(path)

    @property
    def is_new(self) -> bool:
        """Whether there was no file."""
        return self._facts is None

    def claim(self, facts: Mapping[str, str]) -> None:
        """Refuse the file if it belongs to another fit; `facts` are what makes a fit this one."""
        if self._facts is None:
            self._facts = dict(facts)
            return
        for name, now in facts.items():
            before = self._facts.setdefault(name, now)
            if before != now:
                what = f"{name} was {_short(before)} and is {_short(now)} now" if name != FILES else "the files changed"
                raise CheckpointError(f"{self.path} belongs to another fit: {what}. {_WAY_OUT}.")

    def claim_sums(self, name: str, sums: NDArray[np.float64]) -> None:
        """Refuse the file if its sums over the rows are not these, up to rounding."""
        found = self.get(name)
        if found is None:
            self.keep({name: {"sums": sums}})
        elif found["sums"].shape != sums.shape or not np.allclose(found["sums"], sums, _ROUNDING, _ROUNDING):
            raise CheckpointError(
                f"{self.path} belongs to another fit: the columns or the labels have other sums. {_WAY_OUT}."
            )

    def get(self, name: str) -> Part | None:
        """A part, if it was kept."""
        return self._parts.get(name)

    def keep(self, parts: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep parts, in place of those of the same names, and write the file."""
        from propense.model_files.container import to_bytes

        for name, values in parts.items():
            self._parts[name] = {key: _plain(value) for key, value in values.items()}
        arrays = [array for part in self._parts.values() for array in part.values()]
        outline = {name: list(part) for name, part in self._parts.items()}
        header = {"checkpoint": self._facts or {}, "parts": outline}
        try:
            with self._partial.open("wb") as file:
                file.write(to_bytes(header, arrays))
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


def _plain(value: Any) -> NDArray[Any]:
    array = np.array(value)
    # Row numbers are of the machine's own integers.
    return array.astype(np.int64) if array.dtype.kind in "iu" and array.dtype != np.uint8 else array


def _read(path: Path) -> tuple[dict[str, str], dict[str, Part]]:
    from propense.model_files.container import from_bytes, read_file

    try:
        contents = from_bytes(read_file(path), str(path))
    except ModelFileError:
        raise CheckpointError(f"{path} is damaged, or is not a checkpoint of a fit. {_WAY_OUT}.") from None
    facts, outline = contents.header.get("checkpoint"), contents.header.get("parts")
    if not isinstance(facts, dict) or not isinstance(outline, dict):
        raise CheckpointError(f"{path} is a model file, and not a checkpoint of a fit. Name another file.")
    arrays = iter(contents.arrays)
    try:
        parts = {name: {key: next(arrays) for key in keys} for name, keys in outline.items()}
    except (StopIteration, TypeError, RuntimeError):
        raise CheckpointError(f"{path} is damaged: it has too few arrays. {_WAY_OUT}.") from None
    return {str(name): str(value) for name, value in facts.items()}, parts


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
