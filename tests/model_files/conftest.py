"""What no file may cause, whoever wrote it."""

import sys
import tracemalloc
from contextlib import contextmanager

import pytest

# What reads a file is imported here: to import is to run code.
import propense.model_files.codec
import propense.model_files.foreign  # noqa: F401

# An audit hook stays for the life of the process, so it listens only while asked to.
_FORBIDDEN = {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class", "socket.connect"}
_FORBIDDEN |= {"os.mkdir", "os.remove", "os.rename", "exec"}
_HEARD: list[tuple[str, object]] | None = None


def _listen(event, arguments):
    writes = event == "open" and isinstance(arguments[1], str) and not set(arguments[1]).isdisjoint("wax+")
    if _HEARD is not None and (event in _FORBIDDEN or writes):
        _HEARD.append((event, arguments))


sys.addaudithook(_listen)


@contextmanager
def _watched():
    global _HEARD
    _HEARD = []
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        heard, _HEARD = _HEARD, None
        tracemalloc.stop()
    assert heard == []
    assert peak < 64 * 2**20


@pytest.fixture(scope="session")
def watched():
    """A context in which nothing may be run or written, and no memory taken that the file does not account for."""
    return _watched
