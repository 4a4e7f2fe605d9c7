"""What can be downloaded, by name: a name is looked up in a table and never used as a path."""

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from propense.ui.folder import Job
from propense.ui.guard import REPORT_POLICY

__all__ = ["download", "job_file", "report_of"]

_BINARY = "application/octet-stream"
_FILES = {
    "list": ("list.csv", "list.csv", "text/csv"),
    "model": ("model.propense", "model.propense", _BINARY),
    "report": ("report.html", "report.html", _BINARY),
    "scored": ("scored.csv", "scored.csv", "text/csv"),
}


def job_file(job: Job, name: str) -> Response:
    """A result of a fit, to keep."""
    if name not in _FILES:
        raise HTTPException(404, "There is no such file.")
    file, end, kind = _FILES[name]
    return download(job.folder / "results" / file, f"{job.stem}-{end}", kind)


def download(path: Path, name: str, kind: str = _BINARY) -> Response:
    """A file that the browser saves under this name."""
    if not path.is_file():
        raise HTTPException(404, "There is no such file.")
    return FileResponse(path, media_type=kind, filename=name)


def report_of(job: Job) -> Response:
    """The report, to look at, kept away from the pages of the server."""
    path = job.folder / "results" / "report.html"
    if not path.is_file():
        raise HTTPException(404, "There is no report.")
    return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": REPORT_POLICY})
