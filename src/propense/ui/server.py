"""Start the server, keep it until it is interrupted, and end it cleanly."""

import asyncio
import html
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from propense.errors import InvalidOption
from propense.ui.app import Server
from propense.ui.folder import WorkFolder

__all__ = ["Running", "default_folder", "running", "serve"]

# The first port that is tried if none is given, and how many after it.
_PORT, _TRIES = 8765, 20
# Seconds for requests that are being answered when the server ends.
_GRACE = 3


@dataclass(frozen=True)
class Running:
    """A server that answers.

    Attributes
    ----------
    port : int
    token : str
    thread : Thread
    """

    port: int
    token: str
    thread: threading.Thread

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"


def default_folder() -> Path:
    """Where jobs are kept if no folder is given."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home).expanduser() / "propense" / "serve"


def serve(
    folder: Path, *, port: int | None = None, browser: bool = True, limit: int, say: Callable[[str], None]
) -> None:
    """Serve the pages on 127.0.0.1 until the process is interrupted.

    Parameters
    ----------
    folder : Path
        Where jobs are kept.
    port : int, default=None
        None means the first free one from 8765 on.
    browser : bool, default=True
        Whether to open the page.
    limit : int
        Bytes of an upload.
    say : callable
        Prints a line.
    """
    with running(folder, port=port, limit=limit) as server:
        say(f"propense serves on {server.url}")
        say(f"Jobs are kept in {folder}. Nothing leaves this machine. Press Ctrl-C to end.")
        with _opened(folder, server.url) if browser else nullcontext():
            # In short turns: a signal that the system hands to another thread is seen when this one is in Python.
            try:
                while server.thread.is_alive():
                    server.thread.join(0.2)
            except KeyboardInterrupt:
                say("Ending. Jobs that were being fitted can be run again.")
                raise


@contextmanager
def running(folder: Path, *, port: int | None = None, limit: int = 1 << 30) -> Iterator[Running]:
    """A server in a thread, inside `with`."""
    work = WorkFolder(folder)
    try:
        with _listening(port) as listener:
            number, token = listener.getsockname()[1], secrets.token_urlsafe(32)
            server = Server(work, token=token, port=number, limit=limit)
            config = uvicorn.Config(
                server.app,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE,
                h11_max_incomplete_event_size=64 << 10,
                http="h11",
                ws="none",
                loop="asyncio",
            )
            web = uvicorn.Server(config)
            thread = threading.Thread(target=lambda: asyncio.run(web.serve([listener])), daemon=True)
            try:
                server.reader.warm()
                thread.start()
                yield Running(number, token, thread)
            finally:
                web.should_exit = True
                server.close()
                if thread.ident is not None:
                    thread.join(_GRACE + 5)
    finally:
        work.close()


def _listening(port: int | None) -> socket.socket:
    """A socket that only this machine reaches."""
    tried = range(_PORT, _PORT + _TRIES) if port is None else [port]
    for number in tried:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if os.name != "nt":
            # On Windows this would let another program listen on the same port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", number))
            listener.listen(128)
        except OSError as error:
            listener.close()
            problem = error.strerror
        else:
            return listener
    which = f"Port {port}" if port is not None else f"No port from {_PORT} to {_PORT + _TRIES - 1}"
    raise InvalidOption(f"{which} can be used: {problem}. Give another as --port.")


@contextmanager
def _opened(folder: Path, url: str) -> Iterator[None]:
    """Open a file that leads to the address: the command line of a browser can be seen by others, the file cannot."""
    door = folder.resolve() / "open.html"
    place = html.escape(url, quote=True)
    with suppress(OSError):
        door.unlink(missing_ok=True)
    descriptor = os.open(door, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(
            f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={place}"><a href="{place}">propense</a>\n'
        )
    try:
        with suppress(webbrowser.Error):
            webbrowser.open(door.as_uri())
        yield
    finally:
        door.unlink(missing_ok=True)
