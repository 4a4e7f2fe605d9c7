"""The records of a study in one SQLite file. To reopen it is to resume the study."""

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

# Written to SQLite's header: "prop", which marks the file as ours, and the version of its layout.
_APPLICATION, _LAYOUT = 0x70726F70, 1
# Seconds to wait for other processes when opening or writing.
_TIMEOUT = 30.0
_CELL = ("dataset", "mechanism", "frequency", "method", "repeat", "protocol", "seed")
_SCORES = tuple(each.name for each in fields(Record))
_COLUMNS = ("key", *_CELL, *_SCORES)


class Ledger:
    """The records of one or more studies. The key of a record is the digest of its cell.

    Parameters
    ----------
    path : Path
        The file. It is created if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerError(f"{self.path} cannot be created: {error}.") from None
        with self._translate_errors("opened"):
            self._open()

    def _open(self) -> None:
        """Open the file, and create it if it is new."""
        give_up = monotonic() + _TIMEOUT
        while True:
            # Autocommit: each record is one transaction, written whole or not at all.
            self._file = sqlite3.connect(self.path, isolation_level=None, timeout=_TIMEOUT)
            try:
                # With a write-ahead log a killed run loses nothing; a power failure may cost the last records.
                self._file.execute("PRAGMA synchronous = NORMAL")
                if not self._is_ours():
                    self._create()
                return
            except sqlite3.OperationalError as error:
                self._file.close()
                # SQLite does not wait while another process switches the same new file to its write-ahead log.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > give_up:
                    raise
                sleep(0.01)

    def _is_ours(self) -> bool:
        """Whether the tables exist. Raises if the file belongs to another program or another version."""
        # Tables first: another run may just have created them, and then the marks are there too.
        (tables,) = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = self._file.execute("PRAGMA application_id").fetchone()
        (layout,) = self._file.execute("PRAGMA user_version").fetchone()
        if tables and application != _APPLICATION:
            raise LedgerError(f"{self.path} is an SQLite file of another program. Choose another name for the ledger.")
        if tables and layout != _LAYOUT:
            raise LedgerError(
                f"{self.path} has layout {layout}, from another version of propense; this version reads {_LAYOUT}."
            )
        return bool(tables)

    def _create(self) -> None:
        """Create the tables, unless another process that opened the file at the same time has done so."""
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("BEGIN IMMEDIATE")
        if not self._is_ours():
            self._file.execute(f"CREATE TABLE records (key TEXT PRIMARY KEY, {', '.join(_COLUMNS[1:])})")
            self._file.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._file.execute(f"PRAGMA user_version = {_LAYOUT}")
        self._file.execute("COMMIT")

    @contextmanager
    def _translate_errors(self, what: str) -> Iterator[None]:
        """Raise SQLite's errors as LedgerError. Only a file that is not a ledger has to be moved away."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                words = f"{self.path} is not a ledger of propense, or is damaged: {error}. Move it away."
            else:
                words = f"{self.path} cannot be {what}: {error}. The records so far are kept."
            raise LedgerError(words) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, cell: Cell, record: Record) -> None:
        """Store a record. It replaces an earlier one of the same cell."""
        about = (cell.dataset, cell.mechanism, cell.frequency, cell.method.name, cell.repeat, cell.protocol, cell.seed)
        marks = ", ".join("?" * len(_COLUMNS))
        with self._translate_errors("written"):
            self._file.execute(
                f"INSERT OR REPLACE INTO records ({', '.join(_COLUMNS)}) VALUES ({marks})",
                (cell.key, *about, *astuple(record)),
            )

    def keys(self, *, failed: bool) -> set[str]:
        """The keys of the cells that were measured, or of those that failed."""
        with self._translate_errors("read"):
            cursor = self._file.execute(f"SELECT key FROM records WHERE error IS {'NOT' * failed} NULL")
            return {key for (key,) in cursor}

    def rows(self, cells: Iterable[Cell] | None = None) -> list[dict[str, Any]]:
        """Records as dictionaries: all of them, or those of the given cells in their order."""
        with self._translate_errors("read"):
            cursor = self._file.execute(f"SELECT {', '.join(_COLUMNS)} FROM records ORDER BY rowid")
            found = {values[0]: dict(zip(_COLUMNS[1:], values[1:], strict=True)) for values in cursor}
        if cells is None:
            return list(found.values())
        # With the method's name in the plan: older records of published variants have a shorter one.
        return [found[cell.key] | {"method": cell.method.name} for cell in cells if cell.key in found]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Lock the ledger for one run, so that a second one is refused. A killed run releases the lock."""
        # SQLite's lock on a second file: the operating system drops it with the process, however that ends.
        lock = f"{self.path}.lock"
        try:
            held = sqlite3.connect(lock, isolation_level=None, timeout=0.0)
        except sqlite3.OperationalError as error:
            raise LedgerError(f"{lock} cannot be created: {error}. A run needs a folder it may write to.") from None
        with closing(held):
            try:
                held.execute("BEGIN EXCLUSIVE")
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                    words = f"{self.path} is in use by another run. Wait until it ends, or use another ledger."
                else:
                    words = f"{lock} cannot be written: {error}. A run needs a folder it may write to."
                raise LedgerError(words) from None
            yield
