"""The verdicts that a reviewer marks, each saved at once."""

import json
import os
import threading
from pathlib import Path

__all__ = ["WORDS", "Marks"]

# What may be marked; "" takes a mark back.
WORDS = ("yes", "no", "?", "")


class Marks:
    """A journal of marks, a line for each: the last one of a row counts, and a line that was cut off does not.

    Marks of other rows never touch each other, whatever tab they come from.

    Parameters
    ----------
    path : Path
    count : int
        How many rows there are.
    """

    _lock = threading.Lock()

    def __init__(self, path: Path, count: int) -> None:
        self._path, self.count = path, count

    def read(self) -> list[str]:
        """The word of each row; "" where there is none."""
        words = [""] * self.count
        if not self._path.exists():
            return words
        for line in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                row, word = json.loads(line)
            except (ValueError, TypeError):
                continue
            if isinstance(row, int) and 0 <= row < self.count and word in WORDS:
                words[row] = word
        return words

    def mark(self, row: int, word: str, seen: str) -> str | None:
        """Save a mark. If the row has another mark by now than the page showed, that one is returned, and stays."""
        with Marks._lock:
            now = self.read()[row]
            if now not in (seen, word):
                return now
            if now != word:
                self._append(row, word)
        return None

    def _append(self, row: int, word: str) -> None:
        with self._path.open("ab") as file:
            # A line break first, if the server was killed within the last line.
            start = b"\n" if file.tell() and not self._ends_well() else b""
            file.write(start + json.dumps([row, word]).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _ends_well(self) -> bool:
        with self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"
