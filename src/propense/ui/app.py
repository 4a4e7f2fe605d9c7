"""The pages of the server, and what their forms do."""

import shutil
import sys
import traceback
from hmac import compare_digest
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from propense.errors import InvalidTable, PropenseError
from propense.ui.audit_pages import AuditPages
from propense.ui.files import job_file, report_of
from propense.ui.folder import Job, WorkFolder, write_json
from propense.ui.forms import ROLES, Choice, read_choice
from propense.ui.guard import Guard
from propense.ui.pages import page, static
from propense.ui.process import Reader
from propense.ui.reading import ReadingPages, describe_reading, paths_of
from propense.ui.runner import Runner, Work
from propense.ui.words import in_fields, place_of

__all__ = ["Server"]

_FIELDS = 20_000
_MEGABYTE = 1 << 20


class Server:
    """The application, and what it works with.

    Parameters
    ----------
    folder : WorkFolder
    token : str
    port : int
    limit : int
        Bytes of an upload.
    """

    def __init__(self, folder: WorkFolder, *, token: str, port: int, limit: int) -> None:
        self.folder, self._limit = folder, limit
        self.reader, self.runner = Reader(folder.path / "log.txt"), Runner()
        audits, self._readings = AuditPages(self), ReadingPages(self)
        routes = [
            Route("/", self._start),
            Route("/upload", self._upload, methods=["POST"]),
            Route("/static/{name}", self._static),
            Route("/job/{id}", self._job),
            Route("/job/{id}/columns", self._columns, methods=["GET", "POST"]),
            Route("/job/{id}/status", self._status),
            Route("/job/{id}/run", self._run, methods=["POST"]),
            Route("/job/{id}/stop", self._stop, methods=["POST"]),
            Route("/job/{id}/delete", self._delete, methods=["GET", "POST"]),
            Route("/job/{id}/report", self._report),
            Route("/job/{id}/files/{name}", self._file),
            *self._readings.routes(),
            *audits.routes(),
        ]
        handlers: Any = {HTTPException: self._refused, PropenseError: self._refused, Exception: self._fault}
        self.app = Guard(
            Starlette(routes=routes, exception_handlers=handlers), token=token, port=port, limit=limit + _MEGABYTE
        )

    def close(self) -> None:
        """Stop what is being done."""
        self.runner.close()
        self.reader.close()

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page, with what all of them need."""
        return page(template, status=status, form_token=self.app.form_token, **values)

    def find(self, request: Request) -> Job:
        """The job that an address names."""
        job = self.folder.job(request.path_params["id"])
        if job is None:
            raise HTTPException(404, "There is no such job. Perhaps it was deleted.")
        return job

    async def form(self, request: Request) -> Any:
        """The form that was sent, from a page of this server."""
        if request.scope.get("propense.too_large"):
            raise HTTPException(413, self._too_large if request.url.path == "/upload" else "The form is too large.")
        try:
            form = await request.form(max_files=1, max_fields=_FIELDS)
        except ClientDisconnect:
            raise HTTPException(400, "The upload was cut off. Try again.") from None
        except HTTPException:
            raise HTTPException(400, "The form cannot be read. Go back and try again.") from None
        given = form.get("form_token")
        if not isinstance(given, str) or not compare_digest(given.encode(), self.app.form_token.encode()):
            await form.close()
            raise HTTPException(
                403, "This form is not from this server, or from before it was started. Reload the page."
            )
        return form

    @property
    def _too_large(self) -> str:
        return (
            f"The file is larger than {self._limit / _MEGABYTE:,.0f} MB, the limit for uploads. Start propense serve "
            "with a larger --upload-limit, or use propense fit, which reads the file where it is."
        )

    async def _start(self, request: Request, error: str = "", status: int = 200) -> Response:
        jobs = await run_in_threadpool(self.folder.jobs)
        states = [(job, self.runner.progress(job.folder)["state"]) for job in jobs]
        return self.show("start.html", status=status, jobs=states, error=error, limit=self._limit)

    async def _upload(self, request: Request) -> Response:
        try:
            form = await self.form(request)
            file = form.get("table")
            try:
                if not isinstance(file, UploadFile) or not file.filename:
                    raise HTTPException(400, "Choose a file first.")
                job = await run_in_threadpool(self._keep, file)
            finally:
                await form.close()
        except HTTPException as problem:
            if problem.status_code == 403:
                raise
            return await self._start(request, problem.detail, problem.status_code)
        except PropenseError as problem:
            return await self._start(request, in_fields(str(problem)), 400)
        return RedirectResponse(f"/job/{job.id}/columns", 303)

    def _keep(self, file: UploadFile) -> Job:
        """The job of an uploaded table; nothing of it is left if the table cannot be read."""
        job = self.folder.begin(str(file.filename))
        try:
            size = file.size or 0
            if size > self._limit:
                raise InvalidTable(self._too_large)
            if size > shutil.disk_usage(self.folder.path).free:
                raise InvalidTable(f"{job.name}: there is not enough room on the disk of the work folder.")
            with job.table.open("wb") as out:
                shutil.copyfileobj(file.file, out)
            write_json(job.folder / "columns.json", self._readings.look(job))
            return self.folder.keep(job)
        except PropenseError as error:
            self.folder.delete(job)
            raise InvalidTable(in_fields(str(error), paths_of(job))) from None
        except BaseException:
            self.folder.delete(job)
            raise

    async def _static(self, request: Request) -> Response:
        found = static(request.path_params["name"])
        if found is None:
            raise HTTPException(404, "There is no such page.")
        return found

    async def _job(self, request: Request) -> Response:
        job = self.find(request)
        progress = self.runner.progress(job.folder)
        if progress["state"] == "new":
            return RedirectResponse(f"/job/{job.id}/columns", 303)
        result = job.result
        if progress["state"] == "done" and result is not None:
            audits = [AuditPages.summary(each) for each in job.audits]
            return self.show("result.html", job=job, result=result, audits=audits, error="")
        return self.show("progress.html", job=job, progress=progress, address=f"/job/{job.id}", title=job.name)

    async def _status(self, request: Request) -> Response:
        return JSONResponse(self.runner.progress(self.find(request).folder))

    async def _columns(self, request: Request) -> Response:
        job = self.find(request)
        seen = job.columns
        if seen.get("problem"):
            return self._readings.show(job, seen, seen["problem"])
        if request.method == "POST":
            form = await self.form(request)
            return await run_in_threadpool(self._choose, job, form)
        choice = Choice.of(job.options, [each["name"] for each in seen["columns"]])
        status = job.status
        if status["state"] == "failed" and status.get("error"):
            names = [each["name"] for each in seen["columns"]]
            choice.errors = {place_of(status["error"], names, job.options): status["error"]}
        return self._show_columns(job, seen, choice)

    def _show_columns(self, job: Job, seen: dict[str, Any], choice: Choice) -> Response:
        done = job.result is not None
        return self.show(
            "columns.html",
            status=400 if choice.errors else 200,
            job=job,
            seen=seen,
            choice=choice,
            roles=ROLES,
            reading=describe_reading(seen),
            done=done,
        )

    def _choose(self, job: Job, form: Any) -> Response:
        """Check what was chosen and queue the fit; a job that is done stays, and a copy of it is fitted."""
        seen = job.columns
        names = [each["name"] for each in seen["columns"]]
        choice = read_choice(form, len(names))
        options: dict[str, Any] = {}
        try:
            options = choice.options(names)
            self.reader.ask("check", job.table, name=job.name, options=options)
        except PropenseError as error:
            place = place_of(str(error), names, options)
            choice.errors = {place: in_fields(str(error), paths_of(job))}
            return self._show_columns(job, seen, choice)
        if self.runner.progress(job.folder)["state"] in ("queued", "running"):
            raise HTTPException(409, "This job is being fitted, perhaps from another tab. Stop it first.")
        if job.result is not None:
            other = self.folder.again(job)
            write_json(other.folder / "options.json", options)
            job = self.folder.keep(other)
        else:
            write_json(job.folder / "options.json", options)
        self._submit(job)
        return RedirectResponse(f"/job/{job.id}", 303)

    def _submit(self, job: Job) -> None:
        arguments = {"folder": str(job.folder), "table": str(job.table), "name": job.name}
        self.runner.submit(Work(job.folder, "fit", arguments, paths_of(job)))

    async def _run(self, request: Request) -> Response:
        job = self.find(request)
        await self.form(request)
        if not job.options:
            return RedirectResponse(f"/job/{job.id}/columns", 303)
        if job.result is None:
            await run_in_threadpool(self._submit, job)
        return RedirectResponse(f"/job/{job.id}", 303)

    async def _stop(self, request: Request) -> Response:
        job = self.find(request)
        await self.form(request)
        await run_in_threadpool(self.runner.stop, job.folder)
        return RedirectResponse(f"/job/{job.id}", 303)

    async def _delete(self, request: Request) -> Response:
        job = self.find(request)
        if request.method == "GET":
            return self.show("delete.html", job=job)
        await self.form(request)
        await run_in_threadpool(self._remove, job)
        return RedirectResponse("/", 303)

    def _remove(self, job: Job) -> None:
        for folder in (job.folder, *job.audits):
            self.runner.stop(folder)
        self.folder.delete(job)

    async def _report(self, request: Request) -> Response:
        return report_of(self.find(request))

    async def _file(self, request: Request) -> Response:
        return job_file(self.find(request), request.path_params["name"])

    async def _refused(self, request: Request, error: Exception) -> Response:
        """One line, on a page or for a script."""
        status = error.status_code if isinstance(error, HTTPException) else 400
        words = error.detail if isinstance(error, HTTPException) else in_fields(str(error))
        if request.headers.get("accept") == "application/json":
            return JSONResponse({"error": words}, status)
        return self.show("error.html", status=status, words=words)

    async def _fault(self, request: Request, error: Exception) -> Response:
        """What nobody expected: one line, and the details in a file. The address is noted without its token."""
        log = self.folder.path / "log.txt"
        with log.open("a", encoding="utf-8") as file:
            print(f"{request.method} {request.url.path}", file=file)
            traceback.print_exception(error, file=file)
        words = f"Something went wrong that should not: {type(error).__name__}. Details: {log}"
        print(words, file=sys.stderr)
        return self.show("error.html", status=500, words=words)
