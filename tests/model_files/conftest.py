"""What no file may cause, whoever wrote it, and files taken apart and put together again."""

import encodings.zlib_codec  # noqa: F401
import io
import json
import sys
import tracemalloc
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest

# What reads a file is imported here: to import is to run code.
import propense.model_files.codec
import propense.model_files.sklearn_parts
import propense.tables  # noqa: F401

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


@dataclass
class Archive:
    """The header or schema of a zip archive, and its arrays as bytes, by name."""

    header: dict
    arrays: dict[str, bytes]
    name: str = "model.json"
    compression: int = zipfile.ZIP_DEFLATED
    more: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, data, name="model.json", **options):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {each: archive.read(each) for each in archive.namelist()}
        return cls(json.loads(members.pop(name)), members, name, **options)

    def packed(self, text=None):
        """The bytes of the archive, with right checksums."""
        out = io.BytesIO()
        header = json.dumps(self.header).encode() if text is None else text
        with zipfile.ZipFile(out, "w", self.compression) as archive:
            for name, member in {self.name: header, **self.arrays, **self.more}.items():
                archive.writestr(name, member)
        return out.getvalue()

    def read(self, name):
        return np.load(io.BytesIO(self.arrays[name]))

    def write(self, name, array, **options):
        out = io.BytesIO()
        np.save(out, array, **options)
        self.arrays[name] = out.getvalue()


@pytest.fixture(scope="session")
def archive():
    return Archive
