"""Connect to a Dask cluster."""

from collections.abc import Iterator
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
        raise MissingExtra("Dask is not installed. Install it: pip install 'propense[dask]'.") from None
    if address == "local":
        with LocalCluster(dashboard_address=None) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        # Try a client that is not the default first: a default client without a scheduler would break later Dask calls.
        Client(address, timeout=_PATIENCE, set_as_default=False).close()
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidOption(f"dask={address!r}: no scheduler answers there ({error}).") from None
    with client:
        yield client
