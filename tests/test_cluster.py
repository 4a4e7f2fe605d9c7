"""A cluster is found by its address, or Dask is left as it was."""

import gc
import logging
import re
import socket
import subprocess
import sys
import threading

import pytest

pytest.importorskip("distributed")

import dask
import pyarrow as pa
from pyarrow import parquet

from command import call
from propense import _cluster
from propense._cluster import on_dask
from propense.errors import InvalidOption

# A client that found no scheduler leaves tasks behind, which are collected here and not in another test.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


MALFORMED = [
    "nonsense",
    "nonsense://x",
    "",
    "tcp://",
    "tcp://127.0.0.1",
    "127.0.0.1:x",
    ":8786",
    "127.0.0.1:99999",
    "127.0.0.1:0",
    "127.0.0.1:-1",
    "::1:8786",
    "tcp://[::1",
    "tcp://tcp://x",
]


@pytest.mark.parametrize("address", MALFORMED)
def test_a_malformed_address_is_refused_without_a_client(address, monkeypatch):
    def connect(*arguments, **options):
        pytest.fail("a client was made")

    monkeypatch.setattr("distributed.Client", connect)
    words = re.escape(f"dask={address!r}: no scheduler has such an address")
    with pytest.raises(InvalidOption, match=words), on_dask(address):
        pass


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "[::1]:8786", "tls://a.b:1", "ws://a.b/c", "inproc://1/2/3"]
)
def test_a_possible_address_is_not_malformed(address):
    _cluster._check(address)


def test_a_malformed_address_is_one_line(tmp_path):
    parquet.write_table(pa.table({"x": [1.0, 2.0], "y": [0, 1]}), tmp_path / "t.parquet")
    status, _, err = call("fit", tmp_path / "t.parquet", "--label", "y", "--dask", "nonsense")
    assert (status, len(err.splitlines())) == (2, 1)
    assert err.startswith("Error: --dask 'nonsense': no scheduler has such an address")


@pytest.mark.slow
def test_a_local_cluster_opens_no_dashboard():
    code = """
import socket, warnings
from propense._cluster import on_dask
if __name__ == "__main__":
    with on_dask("local") as client:
        assert client.submit(abs, -1).result() == 1
        scheduler = client.cluster.scheduler
        with socket.socket() as try_it:
            print(scheduler.http_server.port, try_it.connect_ex(("127.0.0.1", scheduler.http_server.port)) != 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    port, closed = done.stdout.split()
    assert (port != "8787", closed) == (True, "True")
    # Dask's nanny writes of workers that end slowly on a busy machine.
    assert [line for line in done.stderr.splitlines() if "distributed.nanny" not in line] == []


@pytest.mark.slow
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1"])
def test_a_missing_scheduler_is_an_error_and_leaves_dask_as_it_was(address, monkeypatch):
    monkeypatch.setattr(_cluster, "_PATIENCE", 0.5)
    before = dask.config.get("scheduler", None)
    for _ in range(2):
        with pytest.raises(InvalidOption, match=f"dask={address!r}: no scheduler answers there"), on_dask(address):
            pass
    assert dask.config.get("scheduler", None) == before
    gc.collect()
    assert dask.config.get("scheduler", None) == before


def test_another_service_at_the_address_is_an_error_at_once():
    """Its first eight bytes, as the length of a message, would be 3 exabytes."""

    def answer(listener):
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            while connection.recv(1024):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, args=[listener])
        thread.start()
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(InvalidOption, match=f"dask={address!r}: no scheduler answers there"), on_dask(address):
            pass
        thread.join()


@pytest.mark.slow
def test_an_interrupt_quiets_dask_and_goes_on_to_the_caller(workers, monkeypatch):
    loggers = [logging.getLogger(name) for name in ("asyncio", "distributed")]
    for each in loggers:
        monkeypatch.setattr(each, "level", logging.WARNING)
    with pytest.raises(KeyboardInterrupt), on_dask(workers.scheduler_address):
        raise KeyboardInterrupt
    assert [each.level for each in loggers] == [logging.CRITICAL] * 2
    for each in loggers:
        each.setLevel(logging.WARNING)
