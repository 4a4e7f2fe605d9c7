"""The command `propense`: parse, call, print."""

import io
import os
import sys

from propense.cli._flags import with_flags
from propense.errors import PropenseError

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what it needs; what is wrong is one line and exit status 2."""
    try:
        from propense.cli._app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit("The propense command needs typer and rich: pip install 'propense[cli]'")
    for stream in (sys.stdout, sys.stderr):
        # A terminal or a file of another encoding gets a question mark for ≤, not a crash.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except PropenseError as error:
        # One line, whatever a table's cells have put into it.
        print(f"{type(error).__name__}: {' '.join(with_flags(str(error)).split())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell, and Python's last flush must not try.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
