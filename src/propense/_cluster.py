"""A Dask cluster, by its address."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from propense.errors import InvalidOption, MissingExtra

__all__ = ["on_dask"]

# Seconds to wait for a scheduler.
_PATIENCE = 10


@contextmanager
def on_dask(address: str) -> Iterator[Any]:
    """A Dask client of the scheduler at an address, or of processes on this machine where that is "local"."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingExtra("Dask is not installed. Install it: pip install 'propense[dask]'.") from None
    if address == "local":
        with LocalCluster(dashboard_address=None) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        # Knock first: a client that finds nobody would stay the one that Dask asks for whatever comes later.
        Client(address, timeout=_PATIENCE, set_as_default=False).close()
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidOption(f"dask={address!r}: no scheduler answers there ({error}).") from None
    with client:
        yield client
