"""The pages of audits: draw rows, mark verdicts, use them."""

import re
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from propense.errors import PropenseError
from propense.ui.files import download
from propense.ui.folder import Job, read_json, write_json
from propense.ui.forms import read_number
from propense.ui.marks import WORDS, Marks
from propense.ui.runner import Work
from propense.ui.words import in_fields

if TYPE_CHECKING:
    from propense.ui.app import Server

__all__ = ["AuditPages"]

# Rows on a page, and the most that are drawn at once.
_PAGE, _MOST = 25, 5000
_FILES = {
    "corrected": ("corrected.propense", "corrected.propense"),
    "list": ("list.csv", "corrected-list.csv"),
    "scored": ("scored.csv", "corrected-scored.csv"),
}


class AuditPages:
    """The audits of all jobs."""

    def __init__(self, server: "Server") -> None:
        self._server = server

    def routes(self) -> list[Route]:
        """Their addresses."""
        here = "/job/{id}/audits/{number}"
        return [
            Route("/job/{id}/audits", self._draw, methods=["POST"]),
            Route(here, self._audit),
            Route(f"{here}/marks", self._mark, methods=["POST"]),
            Route(f"{here}/use", self._use, methods=["POST"]),
            Route(f"{here}/stop", self._stop, methods=["POST"]),
            Route(f"{here}/status", self._status),
            Route(f"{here}/files/{{name}}", self._file),
        ]

    @staticmethod
    def summary(folder: Path) -> dict[str, Any]:
        """What the page of a result says of an audit."""
        words = _marks(folder).read()
        result = read_json(folder / "results" / "audit.json")
        return {
            "number": int(folder.name),
            "rows": len(words),
            "marked": sum(map(bool, words)),
            "result": result,
            "stale": result is not None and result.get("words") != words,
        }

    def _find(self, request: Request) -> tuple[Job, Path]:
        job, number = self._server.find(request), request.path_params["number"]
        folder = job.folder / "audits" / number
        if not re.fullmatch(r"[1-9][0-9]{0,5}", number) or folder not in job.audits:
            raise HTTPException(404, "There is no such audit.")
        return job, folder

    async def _draw(self, request: Request) -> Response:
        job = self._server.find(request)
        form = await self._server.form(request)
        try:
            size = read_number("How many rows to check", str(form.get("size", "")).strip()[:20], _MOST)
            folder = await run_in_threadpool(self._make, job, size)
        except PropenseError as error:
            words = in_fields(str(error), {str(job.table): job.name})
            audits = [self.summary(each) for each in job.audits]
            return self._server.show("result.html", status=400, job=job, result=job.result, audits=audits, error=words)
        return RedirectResponse(f"/job/{job.id}/audits/{folder.name}", 303)

    def _make(self, job: Job, size: int) -> Path:
        """Draw rows: with the model as the verdicts of the last audit have corrected it, if there was one."""
        if job.result is None:
            raise HTTPException(409, "The fit is not done yet.")
        before = job.audits
        if before and self.summary(before[-1])["result"] is None:
            raise HTTPException(409, "Use the verdicts of the last audit before drawing more rows.")
        model = before[-1] / "results" / "corrected.propense" if before else job.folder / "results" / "model.propense"
        number = int(before[-1].name) + 1 if before else 1
        home = job.folder / "audits"
        home.mkdir(exist_ok=True)
        # Listed once it is whole; two tabs draw two folders, and the second finds the place taken.
        folder = home / f".new-{secrets.token_hex(4)}"
        folder.mkdir()
        options = {"size": size, "seed": 0, "top": job.options.get("top"), "columns": None}
        options["decimal"] = job.options.get("decimal")
        try:
            count = self._server.reader.ask(
                "draw", job.table, name=job.name, folder=str(folder), model=str(model), options=options
            )
            facts = {"model": str(model.relative_to(job.folder)), "count": count, **options}
            write_json(folder / "draw.json", facts)
            folder.rename(home / str(number))
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise HTTPException(409, "Rows were drawn in another tab at the same time. Reload the page.") from None
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return home / str(number)

    async def _audit(self, request: Request) -> Response:
        job, folder = self._find(request)
        progress = self._server.runner.progress(folder)
        if progress["state"] in ("queued", "running"):
            address = f"/job/{job.id}/audits/{folder.name}"
            return self._server.show("progress.html", job=job, progress=progress, address=address, title=job.name)
        wanted = request.query_params.get("page", "")
        return self._show(
            job, folder, int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 6 else None
        )

    def _show(self, job: Job, folder: Path, number: int | None, conflict: tuple[int, str] | None = None) -> Response:
        drawn = read_json(folder / "rows.json")
        words = _marks(folder).read()
        pages = max(-(-len(words) // _PAGE), 1)
        first_open = next((row for row, word in enumerate(words) if not word), 0)
        number = min(max(number or first_open // _PAGE + 1, 1), pages)
        shown = range((number - 1) * _PAGE, min(number * _PAGE, len(words)))
        last = max((row for row, word in enumerate(words) if word), default=-1)
        status = self._server.runner.progress(folder)
        return self._server.show(
            "audit.html",
            status=409 if conflict else 200,
            job=job,
            address=f"/job/{job.id}/audits/{folder.name}",
            drawn=drawn,
            words=words,
            shown=shown,
            number=number,
            pages=pages,
            skipped=sum(not word for word in words[: last + 1]),
            conflict=conflict,
            summary=self.summary(folder),
            final=folder != job.audits[-1],
            error=status.get("error", "") if status["state"] in ("failed", "stopped") else "",
        )

    async def _mark(self, request: Request) -> Response:
        job, folder = self._find(request)
        form = await self._server.form(request)
        plain = request.headers.get("accept") != "application/json"
        marks = _marks(folder)
        row, word, seen = (str(form.get(name, "")) for name in ("row", "verdict", "seen"))
        if not (row.isascii() and row.isdigit() and len(row) < 7 and int(row) < marks.count):
            raise HTTPException(400, "There is no such row in this audit.")
        if word not in WORDS or seen not in WORDS:
            raise HTTPException(400, "A verdict is positive, negative or undecided.")
        if folder != job.audits[-1]:
            raise HTTPException(409, "More rows were drawn since, so these verdicts can no longer be changed.")
        other = await run_in_threadpool(marks.mark, int(row), word, seen)
        if not plain:
            words = marks.read()
            facts = {"verdict": words[int(row)], "marked": sum(map(bool, words)), "conflict": other is not None}
            return JSONResponse(facts, 409 if other is not None else 200)
        if other is not None:
            return self._show(job, folder, int(row) // _PAGE + 1, (int(row), other))
        there = f"/job/{job.id}/audits/{folder.name}?page={int(row) // _PAGE + 1}#row-{row}"
        return RedirectResponse(there, 303)

    async def _use(self, request: Request) -> Response:
        job, folder = self._find(request)
        await self._server.form(request)
        await run_in_threadpool(self._correct, job, folder)
        return RedirectResponse(f"/job/{job.id}/audits/{folder.name}", 303)

    def _correct(self, job: Job, folder: Path) -> None:
        if folder != job.audits[-1]:
            raise HTTPException(409, "More rows were drawn since, so these verdicts can no longer be used alone.")
        words = _marks(folder).read()
        if not {"yes", "no"} & set(words):
            raise HTTPException(409, "No row is marked positive or negative yet. Mark some rows first.")
        options = job.options
        arguments = {
            "folder": str(folder),
            "table": str(job.table),
            "name": job.name,
            "model": str(job.folder / read_json(folder / "draw.json")["model"]),
            "words": words,
            "decimal": options.get("decimal"),
            "defuse": bool(options.get("defuse")),
            "top": int(options.get("top") or 50),
        }
        self._server.runner.submit(Work(folder, "correct", arguments, {str(job.table): job.name}))

    async def _stop(self, request: Request) -> Response:
        job, folder = self._find(request)
        await self._server.form(request)
        await run_in_threadpool(self._server.runner.stop, folder)
        return RedirectResponse(f"/job/{job.id}/audits/{folder.name}", 303)

    async def _status(self, request: Request) -> Response:
        return JSONResponse(self._server.runner.progress(self._find(request)[1]))

    async def _file(self, request: Request) -> Response:
        job, folder = self._find(request)
        name = request.path_params["name"]
        if name == "check":
            path = await run_in_threadpool(self._write_check, job, folder)
            return download(path, f"{job.stem}-audit-{folder.name}.csv", "text/csv")
        if name not in _FILES:
            raise HTTPException(404, "There is no such file.")
        file, end = _FILES[name]
        return download(folder / "results" / file, f"{job.stem}-{end}")

    def _write_check(self, job: Job, folder: Path) -> Path:
        """The file of the audit, as propense audit draw writes it, with the verdicts marked so far."""
        words, out = _marks(folder).read(), folder / "check.csv"
        self._server.reader.ask(
            "verdicts",
            job.table,
            drawn=str(folder / "drawn.arrow"),
            words=words,
            out=str(out),
            decimal=job.options.get("decimal"),
            defuse=bool(job.options.get("defuse")),
            answered=False,
        )
        return out


def _marks(folder: Path) -> Marks:
    """The verdicts of an audit."""
    return Marks(folder / "marks.jsonl", int(read_json(folder / "draw.json")["count"]))
