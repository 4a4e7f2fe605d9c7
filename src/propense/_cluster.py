"""Connect to a Dask cluster."""

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from propense.errors import InvalidOption, MissingExtra

__all__ = ["on_dask"]

# Seconds to wait for a scheduler.
_PATIENCE = 10


@contextmanager
def on_dask(address: str) -> Iterator[Any]:
    """A client of the Dask scheduler at an address, or of processes on this machine if the address is "local"."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingExtra('Dask is not installed. Install it: pip install "propense[dask]".') from None
    if address == "local":
        # dashboard_address=None does not close the scheduler's HTTP server: it then listens on port 8787.
        closed = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
        with LocalCluster(**closed) as cluster, Client(cluster) as client:
            cluster.scheduler.http_server.stop()
            with _quiet_when_interrupted():
                yield client
        return
    _check(address)
    try:
        # Greet first: a client without a scheduler would break later Dask calls, and wait at the end of Python. In a
        # thread, because a notebook has a running loop in this one.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _greet(address)).result()
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError, MemoryError) as error:
        # MemoryError: the first bytes of another service, read as the length of a message.
        raise InvalidOption(f"dask={address!r}: no scheduler answers there ({error}).") from None
    with client, _quiet_when_interrupted():
        yield client


@contextmanager
def _quiet_when_interrupted() -> Iterator[None]:
    """Once the user interrupts, keep out of the log that Dask no longer waits for results and loses its workers."""
    try:
        yield
    except KeyboardInterrupt:
        for name in ("asyncio", "distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        raise


async def _greet(address: str) -> None:
    """Connect to an address and exchange Dask's greeting."""
    from distributed import Security
    from distributed.comm import connect

    comm = await connect(address, timeout=_PATIENCE, **Security().get_connection_args("client"))
    await comm.close()


def _check(address: str) -> None:
    """Refuse a malformed address at once: a client that is given one waits for 20 seconds at the end of Python."""
    from distributed.comm.addressing import parse_address, parse_host_port
    from distributed.comm.registry import get_backend

    try:
        scheme, place = parse_address(address)
        get_backend(scheme)
        if scheme in ("tcp", "tls", "ucx"):
            host, port = parse_host_port(place)
            if not host or not 0 < port < 2**16:
                raise ValueError("it needs a host, and a port from 1 to 65535")
    except ValueError as error:
        raise InvalidOption(
            f"dask={address!r}: no scheduler has such an address ({error}). Use one such as tcp://127.0.0.1:8786."
        ) from None
