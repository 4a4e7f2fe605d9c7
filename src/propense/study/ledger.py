"""The records of a study in one SQLite file. To reopen it is to resume the study."""

import hashlib
import json
import math
import reprlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Self

from propense.errors import LedgerError
from propense.study.measure import Record
from propense.study.plan import Cell

__all__ = ["Ledger"]

# Written to SQLite's header: "prop", which marks the file as ours, and the version of its layout. Layout 1 has no
# checksums; it is read as it is, and the next record that is written adds them. Layout 3 has a column for the further
# measures of natural labels, and the first of them that is written adds it: other ledgers stay as they are.
_APPLICATION, _LAYOUT, _WITHOUT_CHECKSUMS, _WITH_MORE = 0x70726F70, 2, 1, 3
# Seconds to wait for other processes when opening or writing.
_TIMEOUT = 30.0
# The smallest page of an SQLite file, in bytes.
_SMALLEST = 512
_CELL = ("dataset", "mechanism", "frequency", "method", "repeat", "protocol", "seed")
_SCORES = tuple(each.name for each in fields(Record) if each.name != "more")
_COLUMNS = ("key", *_CELL, *_SCORES)
_TEXTS = ("key", "dataset", "mechanism", "method", "protocol", "error")
_COUNTS = ("repeat", "seed", "rounds", "converged")
_SHARES = ("frequency", "balanced_accuracy", "accuracy", "auc", "f1")


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
            raise LedgerError(f"{self.path} cannot be created: {error}. Choose a folder you may write to.") from None
        with self._translate_errors("opened"):
            self._open()

    def _open(self) -> None:
        """Open the file, and create it if it is new."""
        if self.path.is_file() and 0 < self.path.stat().st_size < _SMALLEST:
            # SQLite would take the file for a new one that another process keeps locked.
            raise self._damage("the file is too short")
        give_up = monotonic() + _TIMEOUT
        name, frozen = str(self.path), False
        while True:
            # Autocommit: each record is one transaction, written whole or not at all.
            self._file = sqlite3.connect(name, uri=frozen, isolation_level=None, timeout=_TIMEOUT)
            try:
                # With a write-ahead log a killed run loses nothing; a power failure may cost the last records.
                self._file.execute("PRAGMA synchronous = NORMAL")
                if not self._is_ours():
                    self._create()
                return
            except sqlite3.OperationalError as error:
                self._file.close()
                if error.sqlite_errorcode == sqlite3.SQLITE_CANTOPEN and self.path.is_file() and not frozen:
                    # In a folder that cannot be written, SQLite reads a write-ahead log only if it may assume that no
                    # one else writes; without a log no run is active.
                    name, frozen = f"{self.path.resolve().as_uri()}?immutable=1", True
                    self._check_log()
                    continue
                # SQLite does not wait while another process switches the same new file to its write-ahead log.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > give_up:
                    raise
                sleep(0.01)

    def _check_log(self) -> None:
        """Raise if some records are not in the file itself yet."""
        log = Path(f"{self.path.resolve()}-wal")
        if log.exists() and log.stat().st_size:
            raise LedgerError(
                f"{self.path} cannot be opened: some of its records are in {log}, and the folder cannot be written. "
                "Copy both files to another folder."
            )

    def _is_ours(self) -> bool:
        """Whether the tables exist. Raises if the file belongs to another program or another version."""
        # Tables first: another run may just have created them, and then the marks are there too.
        (tables,) = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = self._file.execute("PRAGMA application_id").fetchone()
        layout = self._layout()
        if tables and application != _APPLICATION:
            raise LedgerError(f"{self.path} is an SQLite file of another program. Choose another name for the ledger.")
        if tables and layout not in (_LAYOUT, _WITHOUT_CHECKSUMS, _WITH_MORE):
            raise LedgerError(
                f"{self.path} has layout {layout}, from a later version of propense; this version reads layouts up to "
                f"{_WITH_MORE}. Upgrade propense, or choose another name for the ledger."
            )
        return bool(tables)

    def _layout(self) -> int:
        (layout,) = self._file.execute("PRAGMA user_version").fetchone()
        return int(layout)

    def _create(self) -> None:
        """Create the tables, unless another process that opened the file at the same time has done so."""
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("BEGIN IMMEDIATE")
        if not self._is_ours():
            self._file.execute(f"CREATE TABLE records (key TEXT PRIMARY KEY, {', '.join(_COLUMNS[1:])}, checksum)")
            self._file.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._file.execute(f"PRAGMA user_version = {_LAYOUT}")
        self._file.execute("COMMIT")

    @contextmanager
    def _translate_errors(self, what: str) -> Iterator[None]:
        """Raise SQLite's errors as LedgerError. Only a file that is not a ledger has to be moved away."""
        try:
            yield
        except UnicodeDecodeError:
            # SQLite quotes the damaged bytes in its own message.
            raise self._damage("its text is not UTF-8") from None
        except sqlite3.DatabaseError as error:
            words = " ".join(str(error).split())
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise self._damage(words) from None
            raise LedgerError(f"{self.path} cannot be {what}: {words}. The records so far are kept.") from None

    def _damage(self, words: str) -> LedgerError:
        return LedgerError(f"{self.path} is not a ledger of propense, or is damaged: {words}. Move it away.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, cell: Cell, record: Record) -> None:
        """Store a record. It replaces an earlier one of the same cell."""
        about = (cell.dataset, cell.mechanism, cell.frequency, cell.method.name, cell.repeat, cell.protocol, cell.seed)
        values: dict[str, Any] = dict(zip(_COLUMNS, (cell.key, *about, *astuple(record)[:-1]), strict=True))
        if record.more is not None:
            values["more"] = json.dumps(record.more)
        with self._translate_errors("written"):
            if self._layout() == _WITHOUT_CHECKSUMS:
                self._add_checksums()
            if "more" in values and self._layout() != _WITH_MORE:
                self._add_more()
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            self._file.execute(
                f"INSERT OR REPLACE INTO records ({names}, checksum) VALUES ({marks}, ?)",
                (*values.values(), _checksum(list(values.values()))),
            )

    def _add_more(self) -> None:
        """Bring a ledger to the layout that has a column for further measures."""
        with self._changing():
            # Another process may just have done so.
            if self._layout() != _WITH_MORE:
                self._file.execute("ALTER TABLE records ADD COLUMN more")
                self._file.execute(f"PRAGMA user_version = {_WITH_MORE}")

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Change the layout, all of it or nothing."""
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._file.execute("COMMIT")
        except BaseException:
            self._file.execute("ROLLBACK")
            raise

    def _add_checksums(self) -> None:
        """Bring an older ledger to the layout that has checksums."""
        with self._changing():
            # Another process may just have done so.
            if self._layout() == _WITHOUT_CHECKSUMS:
                sums = [(_checksum(list(values.values())), key) for key, values in self._records().items()]
                self._file.execute("ALTER TABLE records ADD COLUMN checksum")
                self._file.executemany("UPDATE records SET checksum = ? WHERE key = ?", sums)
                self._file.execute(f"PRAGMA user_version = {_LAYOUT}")

    def _records(self) -> dict[str, dict[str, Any]]:
        """All records by key, in the order in which they were written. Raises if any is not as it was written."""
        with self._translate_errors("read"):
            # SQLite itself finds lost and repeated records, but not other values in their place.
            (state,) = self._file.execute("PRAGMA integrity_check(1)").fetchone()
            if state != "ok":
                raise self._damage(state.splitlines()[-1])
            checksum = "NULL" if self._layout() == _WITHOUT_CHECKSUMS else "checksum"
            more = "more" if self._layout() == _WITH_MORE else "NULL"
            found = self._file.execute(f"SELECT {', '.join(_COLUMNS)}, {more}, {checksum} FROM records ORDER BY rowid")
            records = {}
            for number, (*values, further, digest) in enumerate(found, start=1):
                record = dict(zip(_COLUMNS, values, strict=True))
                # Records without further measures have the checksum that they always had.
                values += [] if further is None else [further]
                for name, value in record.items():
                    if not _is_valid(name, value):
                        raise self._damage(f"record {number} has {name}={reprlib.repr(value)}")
                if checksum != "NULL" and digest != _checksum(values):
                    raise self._damage(f"record {number} does not match its checksum")
                records[record["key"]] = record | self._read_more(further, number)
        return records

    def _read_more(self, further: Any, number: int) -> dict[str, float]:
        """The further measures of a record, by name."""
        if further is None:
            return {}
        try:
            measures = json.loads(further)
        except (TypeError, ValueError, RecursionError):
            measures = None
        if not isinstance(measures, dict) or not all(isinstance(each, int | float) for each in measures.values()):
            raise self._damage(f"record {number} has more={reprlib.repr(further)}")
        clash = measures.keys() & {*_COLUMNS}
        if clash:
            raise self._damage(f"record {number} has {min(clash)} twice")
        return measures

    def keys(self) -> tuple[set[str], set[str]]:
        """The keys of the cells that were measured, and of those that failed."""
        records = self._records()
        failed = {key for key, record in records.items() if record["error"] is not None}
        return records.keys() - failed, failed

    def rows(self, cells: Iterable[Cell] | None = None) -> list[dict[str, Any]]:
        """Records as dictionaries: all of them, or those of the given cells in their order."""
        found = self._records()
        for record in found.values():
            del record["key"]
        if cells is None:
            return list(found.values())
        rows = []
        for cell in cells:
            mine = found.get(cell.key)
            if mine is None:
                continue
            # With the method's name in the plan: older records of published variants have a shorter one.
            row = mine | {"method": cell.method.name}
            other = [name for name in _CELL if name != "method" and row[name] != getattr(cell, name)]
            if other:
                raise self._damage(f"{other[0]}={row[other[0]]!r} does not fit the key of its record")
            rows.append(row)
        return rows

    @contextmanager
    def running(self) -> Iterator[None]:
        """Lock the ledger for one run, so that a second one is refused. A killed run releases the lock."""
        # SQLite's lock on a second file: the operating system drops it with the process, however that ends.
        # The file's own name: another name, by a symbolic link, would make another lock.
        lock = f"{self.path.resolve()}.lock"
        names = self.path.stat().st_nlink
        if names > 1:
            # Each name would have a lock and a write-ahead log of its own, and SQLite would damage the file.
            raise LedgerError(
                f"{self.path} is one file under {names} names (hard links), so another run would go unnoticed. Copy it "
                "to a new file, and use that."
            )
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


def _checksum(values: Sequence[Any]) -> str:
    """A digest of a record's values, as SQLite returns them: truth values as 0 and 1, NaN as NULL."""
    stored = [int(value) if isinstance(value, bool) else value for value in values]
    stored = [None if isinstance(value, float) and math.isnan(value) else value for value in stored]
    return hashlib.sha256(json.dumps(stored).encode()).hexdigest()


def _is_valid(name: str, value: Any) -> bool:
    """Whether a column of a record may hold this value."""
    if value is None:
        # Natural labels have no frequency of their own choice.
        return name in _SCORES or name == "frequency"
    if name in _TEXTS:
        return isinstance(value, str)
    if name in _COUNTS:
        return isinstance(value, int)
    return isinstance(value, int | float) and (name not in _SHARES or 0 <= value <= 1)
