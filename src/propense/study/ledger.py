"""What has been measured: one SQLite file. Reopening it is resuming."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Self

from propense.errors import LedgerError
from propense.study.measure import Record
from propense.study.plan import Cell

__all__ = ["Ledger"]

# Marks the file as ours in SQLite's header ("prop"), and its layout.
_APPLICATION, _LAYOUT = 0x70726F70, 1
# Seconds that one who opens or writes waits for the others.
_PATIENCE = 30.0
_CELL = ("dataset", "mechanism", "frequency", "method", "repeat", "protocol", "seed")
_SCORES = tuple(each.name for each in fields(Record))
_COLUMNS = ("key", *_CELL, *_SCORES)


class Ledger:
    """The records of one or more studies, each under the digest of its cell.

    Parameters
    ----------
    path : Path
        The file; made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerError(f"{self.path} cannot be made: {error}.") from None
        with self._told("opened"):
            self._open()

    def _open(self) -> None:
        """Open the file, and make it if it is new."""
        give_up = monotonic() + _PATIENCE
        while True:
            # Autocommit: each record is a transaction of its own, whole on disk or not there.
            self._file = sqlite3.connect(self.path, isolation_level=None, timeout=_PATIENCE)
            try:
                # With a write-ahead log a killed run loses nothing; only the machine's fall may cost the last records.
                self._file.execute("PRAGMA synchronous = NORMAL")
                if not self._is_ours():
                    self._make()
                return
            except sqlite3.OperationalError as error:
                self._file.close()
                # SQLite does not wait by itself where another process is turning the same new file to its log.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > give_up:
                    raise
                sleep(0.01)

    def _is_ours(self) -> bool:
        """Whether the tables are there; a foreign or later file is refused."""
        # In this order: who finds the tables, which another run may just have made, finds their marks too.
        (tables,) = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = self._file.execute("PRAGMA application_id").fetchone()
        (layout,) = self._file.execute("PRAGMA user_version").fetchone()
        if tables and application != _APPLICATION:
            raise LedgerError(f"{self.path} is an SQLite file of another program. Give the ledger another name.")
        if tables and layout != _LAYOUT:
            raise LedgerError(
                f"{self.path} has layout {layout}, written by another version of propense; this has {_LAYOUT}."
            )
        return bool(tables)

    def _make(self) -> None:
        """A new ledger, made by one of those that open it at the same time."""
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("BEGIN IMMEDIATE")
        if not self._is_ours():
            self._file.execute(f"CREATE TABLE records (key TEXT PRIMARY KEY, {', '.join(_COLUMNS[1:])})")
            self._file.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._file.execute(f"PRAGMA user_version = {_LAYOUT}")
        self._file.execute("COMMIT")

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """What SQLite finds wrong, in our words; only a file that is no ledger is to be moved away."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                words = f"{self.path} is no ledger of propense, or damaged: {error}. Move it away."
            else:
                words = f"{self.path} cannot be {what}: {error}. What was recorded so far is kept."
            raise LedgerError(words) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, cell: Cell, record: Record) -> None:
        """Keep a record, in place of a failure of the same cell."""
        about = (cell.dataset, cell.mechanism, cell.frequency, cell.method.name, cell.repeat, cell.protocol, cell.seed)
        marks = ", ".join("?" * len(_COLUMNS))
        with self._told("written"):
            self._file.execute(
                f"INSERT OR REPLACE INTO records ({', '.join(_COLUMNS)}) VALUES ({marks})",
                (cell.key, *about, *astuple(record)),
            )

    def keys(self, *, failed: bool) -> set[str]:
        """The cells that were measured, or those that failed."""
        with self._told("read"):
            cursor = self._file.execute(f"SELECT key FROM records WHERE error IS {'NOT' * failed} NULL")
            return {key for (key,) in cursor}

    def rows(self, cells: Iterable[Cell] | None = None) -> list[dict[str, Any]]:
        """Records as plain rows, in the order of the cells where those are given."""
        with self._told("read"):
            cursor = self._file.execute(f"SELECT {', '.join(_COLUMNS)} FROM records ORDER BY rowid")
            found = {values[0]: dict(zip(_COLUMNS[1:], values[1:], strict=True)) for values in cursor}
        if cells is None:
            return list(found.values())
        return [found[cell.key] for cell in cells if cell.key in found]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Hold the ledger for one run; a second is refused. A killed run lets go by itself."""
        # SQLite's own lock on a file beside it: the system drops it with the process, however that ends.
        lock = f"{self.path}.lock"
        try:
            held = sqlite3.connect(lock, isolation_level=None, timeout=0.0)
        except sqlite3.OperationalError as error:
            raise LedgerError(f"{lock} cannot be made: {error}. A run needs a folder it may write to.") from None
        with closing(held):
            try:
                held.execute("BEGIN EXCLUSIVE")
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                    words = f"{self.path} is in use by another run. Wait for it, or give another ledger."
                else:
                    words = f"{lock} cannot be written: {error}. A run needs a folder it may write to."
                raise LedgerError(words) from None
            yield
