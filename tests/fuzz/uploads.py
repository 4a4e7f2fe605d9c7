"""Damaged tables under hostile names, uploaded to a running `propense serve`."""

from contextlib import ExitStack
from functools import cache, partial
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.case import Case
from fuzz.damage import damaged, pick
from fuzz.more_tables import make_lines, make_workbook
from fuzz.tables import make_table
from local_page import Person
from propense.ui.server import running

_NAMES = (
    *(
        "t",
        "../../../t",
        "..\\..\\t",
        "/etc/t",
        "C:\\t",
        "~/t",
        "t\x00",
        "<script>alert(1)</script>",
        "=cmd|' /C'!A0",
        ".",
    ),
    *(
        "'\"><img src=x onerror=alert(1)>",
        "{{ 7*7 }}",
        "%2e%2e%2ft",
        "t;rm -rf x",
        "ﷺ" * 30,
        "\u202egpj",
        "a" * 300,
        "",
    ),
)
_ENDS = (".exe", "", ".CSV", ".csv.", ".parquet.csv", ".xlsx", ".html", ".csv\n", ".csv/")
_LIMIT = 4 << 20


def make_upload(rng):
    """A table, a workbook or JSON lines, damaged once more or not, with a name that may be anything."""
    make = (make_table, make_table, make_workbook, make_lines)[int(rng.integers(4))]
    ((name, data),) = make(rng).files.items()
    end = name.removeprefix("t") if rng.random() < 0.85 else pick(rng, _ENDS)
    if rng.random() < 0.1:
        data = damaged(data, rng) if rng.random() < 0.9 else data * (_LIMIT // max(len(data), 1) + 1)
    shown = pick(rng, _NAMES) + end
    return Case({"upload": data}, partial(_use, shown))


def _use(name):
    person, work = _server()
    answer = person.upload(name.replace("\n", "%0A").replace("\x00", "%00"), Path("upload").read_bytes())
    if answer.status == 303:
        job = person.job_of(answer)
        page = person.get(f"/job/{job}/columns")
        assert page.status == 200, f"{page.status}: {page.words}"
        # If it must be asked about, any answer is a page of columns or one line.
        for answer in [{"sheet": "0"}, {"encoding": "cp1252"}, {"encoding": "utf-16"}] if page.error else []:
            read = person.post(f"/job/{job}/reading", **answer)
            assert (read.status == 400) == bool(read.error), f"{read.status}: {read.words}"
            assert "should not" not in read.error, read.error
            assert str(work) not in read.text, "a path of the server is shown"
        assert person.post(f"/job/{job}/delete").status == 200
    else:
        assert answer.status in (400, 413), f"{answer.status}: {answer.words}"
        assert answer.error, f"no line says what is wrong: {answer.words}"
        page = answer
    assert "should not" not in page.error, page.error
    assert "<script>" not in page.text, "a name or cell was taken for code"
    assert "<img" not in page.text, "a name or cell was taken for code"
    assert "Traceback" not in page.text, page.words
    assert str(work) not in page.text, "a path of the server is shown"
    left = {each.name for each in work.iterdir()} - {"lock", "log.txt"}
    assert not left, f"left over: {left}"
    processes = [each for task in Path("/proc/self/task").glob("*/children") for each in task.read_text().split()]
    assert len(processes) <= 1, f"processes are left: {processes}"


@cache
def _server():
    """A server in this process, which ends with it."""
    stack = ExitStack()
    work = Path(stack.enter_context(TemporaryDirectory())) / "work"
    person = Person(stack.enter_context(running(work, port=0, limit=_LIMIT)))
    Finalize(None, stack.close, exitpriority=10)
    return person, work
