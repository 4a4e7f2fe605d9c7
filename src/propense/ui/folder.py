"""Jobs on disk: a folder for each, with its table, options, state and results.

Everything is written whole or not at all, and nothing of a job is anywhere else. So a server that is killed loses
nothing, and a job that is deleted is gone.
"""

import json
import os
import re
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from propense._files import write_atomically
from propense._text import harmless
from propense.errors import InvalidOption, InvalidTable
from propense.tables.files import SUFFIXES
from propense.tables.formats.names import format_of

__all__ = ["Job", "WorkFolder", "read_json", "write_json"]

_ID = re.compile(r"[0-9a-f]{16}")
# What a server that was killed may have left half done.
_UNFINISHED = (
    ".new-*",
    ".deleted-*",
    ".partial-*",
    "*/.partial-*",
    "*/.run",
    "*/audits/*/.partial-*",
    "*/audits/.new-*",
    "*/audits/*/.run",
)
_LONGEST = 100


def read_json(path: Path) -> Any:
    """What a file holds; None if there is none, or if it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path: Path, value: Any) -> None:
    """Replace a file, whole or not at all."""
    with write_atomically(path, InvalidOption) as partial:
        partial.write_text(json.dumps(value), encoding="utf-8")


@dataclass(frozen=True)
class Job:
    """One table, and what is made of it.

    Attributes
    ----------
    folder : Path
    name : str
        What the user's file is called. It is shown, and never used as a path.
    table : Path
        The table.
    made : float
        When it was uploaded, in seconds.
    """

    folder: Path
    name: str
    table: Path
    made: float

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def stem(self) -> str:
        """The name without its end, for the names of downloads."""
        end = next((each for each in sorted(SUFFIXES, key=len, reverse=True) if self.name.lower().endswith(each)), "")
        bare = re.sub(r"[^\w.-]+", "_", self.name[: len(self.name) - len(end)]).strip("._")
        return bare[:60] or "table"

    @property
    def columns(self) -> dict[str, Any]:
        """What was seen of the columns."""
        return dict(read_json(self.folder / "columns.json") or {"columns": [], "rows": 0})

    @property
    def options(self) -> dict[str, Any]:
        """What was chosen."""
        return dict(read_json(self.folder / "options.json") or {})

    @property
    def result(self) -> dict[str, Any] | None:
        """What the fit found."""
        found = read_json(self.folder / "results" / "result.json")
        return found if isinstance(found, dict) else None

    @property
    def status(self) -> dict[str, Any]:
        """Where the fit stands: {"state": "new", "queued", "running", "done", "failed" or "stopped", …}."""
        return dict(read_json(self.folder / "status.json") or {"state": "new"})

    @property
    def audits(self) -> list[Path]:
        """The folders of its audits, in their order."""
        found = [
            each for each in self.folder.glob("audits/*") if each.name.isdigit() and (each / "rows.json").is_file()
        ]
        return sorted(found, key=lambda each: int(each.name))


class WorkFolder:
    """The folder of all jobs, which one server uses at a time.

    Parameters
    ----------
    path : Path
        It is made if it is not there, for its owner only.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = (self.path / "lock").open("a+")
        except OSError as error:
            raise InvalidOption(
                f"The work folder {self.path} cannot be used: {error.strerror}. Give another as --folder."
            ) from None
        if not _locked(self._lock):
            self._lock.close()
            raise InvalidOption(
                f"The work folder {self.path} is used by another propense serve. End that one, or pass --folder."
            )
        for pattern in _UNFINISHED:
            for each in self.path.glob(pattern):
                shutil.rmtree(each, ignore_errors=True)
        for path in (*self.path.glob("*/status.json"), *self.path.glob("*/audits/*/status.json")):
            status = read_json(path)
            if isinstance(status, dict) and status.get("state") in ("queued", "running"):
                write_json(path, {**status, "state": "stopped", "error": "The server was ended before it was done."})

    def close(self) -> None:
        """Let another server use the folder."""
        self._lock.close()

    def jobs(self) -> list[Job]:
        """All jobs, the newest first."""
        found = [self.job(each.name) for each in self.path.iterdir() if each.is_dir()]
        return sorted((each for each in found if each is not None), key=lambda each: (-each.made, each.id))

    def job(self, id: str) -> Job | None:
        """The job with this id."""
        folder = self.path / id
        if not _ID.fullmatch(id) or not folder.is_dir():
            return None
        facts = read_json(folder / "job.json")
        tables = [each for each in folder.glob("table.*") if each.is_file()]
        if not isinstance(facts, dict) or not tables:
            return None
        return Job(folder, str(facts.get("name")), tables[0], float(facts.get("made") or 0.0))

    def begin(self, name: str) -> Job:
        """A job that is not yet listed, without its table; an error if the name does not end as a table's does."""
        bare = re.split(r"[\\/]", name)[-1].encode("utf-8", "replace").decode()
        shown = harmless(bare)[-_LONGEST:] or "table"
        end = next((each for each in sorted(SUFFIXES, key=len, reverse=True) if shown.lower().endswith(each)), None)
        if end is None:
            raise InvalidTable(_refusal(shown))
        folder = self.path / f".new-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        made = time.time()
        write_json(folder / "job.json", {"name": shown, "made": made})
        return Job(folder, shown, folder / f"table{end}", made)

    def again(self, job: Job) -> Job:
        """A copy of a job without its results, so that other options lose nothing. It is not yet listed."""
        other = self.begin(job.name)
        try:
            # The table is never changed, so both may share it.
            os.link(job.table, other.table)
        except OSError:
            shutil.copyfile(job.table, other.table)
        for name in ("columns.json", "options.json", "reading.json"):
            if (job.folder / name).is_file():
                shutil.copyfile(job.folder / name, other.folder / name)
        return other

    def keep(self, job: Job) -> Job:
        """List a job that was begun."""
        folder = job.folder.with_name(job.folder.name.removeprefix(".new-"))
        job.folder.rename(folder)
        return Job(folder, job.name, folder / job.table.name, job.made)

    def delete(self, job: Job) -> None:
        """Remove everything of a job, begun or listed."""
        gone = job.folder.with_name(f".deleted-{secrets.token_hex(8)}")
        with suppress(OSError):
            # At once, so that no half of it is ever listed.
            job.folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)


def _refusal(name: str) -> str:
    """Why a file with this name cannot be a table, and what to do."""
    try:
        format_of(Path(name), name)
    except InvalidTable as error:
        # Here the name is all that shows the format.
        return str(error).partition(" If it is another name,")[0]
    return f"{name}: the name must end with {', '.join(SUFFIXES)}."


def _locked(file: IO[str]) -> bool:
    """Whether this process has the file for itself, until it closes it or ends."""
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(0)
            getattr(msvcrt, "locking")(file.fileno(), getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
