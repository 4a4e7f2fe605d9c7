import io
import os
import secrets
import shutil
import signal
import subprocess
import sys

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("pyarrow")

from pyarrow import csv

from clinic import make_clinic
from local_page import Person
from propense.ui.server import running

# The places of the columns of the table.
PATIENT, SMOKER, REPORTED = 0, 4, 6


def pytest_collection_modifyitems(items):
    """A fit takes more than a second."""
    for item in items:
        if "fitted" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def table():
    out = io.BytesIO()
    csv.write_csv(make_clinic(200)[0], out)
    return out.getvalue()


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("serve") / "work"


@pytest.fixture(scope="session")
def server(work):
    with running(work, port=0, limit=2 << 20) as found:
        yield found


@pytest.fixture
def person(server):
    return Person(server)


@pytest.fixture(scope="session")
def fitted(server, table):
    """The id of a job that is done."""
    person = Person(server)
    job = person.job_of(person.upload("clinic.csv", table))
    answer = person.post(f"/job/{job}/columns", label=REPORTED, id=PATIENT, learners="linear", scar_test="no", top=10)
    assert answer.status == 200, answer.error
    assert person.wait(f"/job/{job}")["state"] == "done"
    return job


@pytest.fixture
def copied(fitted, work):
    """A job of its own that is done: jobs are folders."""
    id = secrets.token_hex(8)
    shutil.copytree(work / fitted, work / id)
    return id


class Command:
    """`propense serve` as a process, with what `Person` needs."""

    def __init__(self, folder):
        code = "from propense.cli import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "serve", "--no-browser", "--port", str(self._free()), "--folder", str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self.said = self.process.stdout.readline()
        self.token = self.said.strip().partition("token=")[2]
        self.port = int(self.said.partition("127.0.0.1:")[2].partition("/")[0])

    def _free(self):
        import socket

        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            return found.getsockname()[1]

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.process.communicate(timeout=600)


@pytest.fixture
def serve(tmp_path):
    """Start the command on a folder of the test."""
    started = []

    def start():
        started.append(Command(tmp_path / "work"))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate()
