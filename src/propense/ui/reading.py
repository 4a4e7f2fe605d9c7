"""How a table is read: which sheet of a workbook, or in which encoding a text is; and the page that asks."""

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from propense.errors import PropenseError
from propense.ui.folder import Job, read_json, write_json
from propense.ui.words import in_fields

if TYPE_CHECKING:
    from propense.ui.app import Server

__all__ = ["ENCODINGS", "ReadingPages", "describe_reading", "paths_of"]

# The encodings that the page offers, in words. Any other can be converted by the program that wrote the file.
ENCODINGS = {
    "cp1252": "Western European (Windows, cp1252)",
    "cp1250": "Central European (Windows, cp1250)",
    "cp1251": "Cyrillic (Windows, cp1251)",
    "cp1253": "Greek (Windows, cp1253)",
    "cp1254": "Turkish (Windows, cp1254)",
    "cp1257": "Baltic (Windows, cp1257)",
    "cp850": "Western European (DOS, cp850)",
    "mac_roman": "Western European (old Mac, mac_roman)",
    "koi8_r": "Russian (koi8_r)",
    "shift_jis": "Japanese (shift_jis)",
    "gb18030": "Chinese (gb18030)",
    "big5": "Chinese, traditional (big5)",
    "euc_kr": "Korean (euc_kr)",
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
}


class ReadingPages:
    """The pages that ask how the table of a job is to be read."""

    def __init__(self, server: "Server") -> None:
        self._server = server

    def routes(self) -> list[Route]:
        """Their address."""
        return [Route("/job/{id}/reading", self._reading, methods=["GET", "POST"])]

    def look(self, job: Job) -> dict[str, Any]:
        """What is seen of the columns of a job's table, in the words of the page."""
        seen: dict[str, Any] = self._server.reader.ask("look", job.table)
        seen["problem"] = in_fields(seen["problem"], paths_of(job))
        for each in seen["columns"]:
            each["problem"] = in_fields(each["problem"], paths_of(job))
        return seen

    def show(self, job: Job, seen: dict[str, Any], problem: str, status: int = 200) -> Response:
        """The page, with what is wrong so far."""
        chosen = read_json(job.folder / "reading.json") or {}
        names = {name: name for name in (seen.get("encoding"), chosen.get("encoding")) if name} | ENCODINGS
        return self._server.show(
            "reading.html",
            status=status,
            job=job,
            seen=seen,
            problem=problem,
            sheet=seen["sheets"].index(seen["sheet"]) if seen.get("sheet") in seen["sheets"] else None,
            encoding=chosen.get("encoding") or seen.get("encoding") or "",
            encodings=names,
            done=job.result is not None,
        )

    async def _reading(self, request: Request) -> Response:
        job = self._server.find(request)
        seen = job.columns
        if not can_choose(seen):
            return RedirectResponse(f"/job/{job.id}/columns", 303)
        if request.method == "GET":
            return self.show(job, seen, seen.get("problem", ""))
        form = await self._server.form(request)
        return await run_in_threadpool(self._choose, job, seen, form)

    def _choose(self, job: Job, seen: dict[str, Any], form: Any) -> Response:
        """Read the table as was chosen; a job that is done stays, and a copy of it is read."""
        if self._server.runner.progress(job.folder)["state"] in ("queued", "running"):
            raise HTTPException(409, "This job is being fitted, perhaps from another tab. Stop it first.")
        reading = _read_form(form, seen)
        there = job if job.result is None else self._server.folder.again(job)
        before = read_json(there.folder / "reading.json") or {}
        write_json(there.folder / "reading.json", reading)
        try:
            found = self.look(there)
            problem = found["problem"]
        except PropenseError as error:
            found, problem = {}, in_fields(str(error), paths_of(there))
        if problem:
            if there is job:
                write_json(job.folder / "reading.json", before)
            else:
                self._server.folder.delete(there)
            return self.show(job, seen, problem, 400)
        write_json(there.folder / "columns.json", found)
        # What was said of the other columns no longer holds.
        (there.folder / "status.json").unlink(missing_ok=True)
        if there is not job:
            there = self._server.folder.keep(there)
        return RedirectResponse(f"/job/{there.id}/columns", 303)


def can_choose(seen: dict[str, Any]) -> bool:
    """Whether a table could be read in another way."""
    return len(seen.get("sheets", ())) > 1 or bool(seen.get("text"))


def describe_reading(seen: dict[str, Any]) -> str:
    """How a table was read, if it could have been read in another way that somebody may want; empty if not."""
    if len(seen.get("sheets", ())) > 1 and seen.get("sheet"):
        return f"Read from the sheet {seen['sheet']!r}, one of {len(seen['sheets'])}."
    encoding = seen.get("encoding")
    return "" if encoding in (None, "utf-8") else f"Its letters were read as {ENCODINGS.get(encoding, encoding)}."


def paths_of(job: Job) -> dict[str, str]:
    """What messages should call the table of a job."""
    return {str(job.table): job.name, job.table.name: job.name}


def _read_form(form: Any, seen: dict[str, Any]) -> dict[str, str]:
    """The sheet, by its place, since names may hold anything, or the encoding; anything else counts as not chosen."""
    place, encoding = form.get("sheet", ""), form.get("encoding", "")
    if isinstance(place, str) and place.isascii() and place.isdigit() and len(place) < 7:
        sheets = seen.get("sheets", [])
        return {"sheet": sheets[int(place)]} if int(place) < len(sheets) else {}
    known = isinstance(encoding, str) and encoding in {*ENCODINGS, seen.get("encoding")}
    return {"encoding": encoding} if encoding and known else {}
