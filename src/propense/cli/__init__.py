"""The command `propense`: parse, call, print."""

import io
import os
import sys

from propense.cli._flags import with_flags
from propense.cli._printing import harmless
from propense.cli._signals import ended_by_signals
from propense.errors import PropenseError

__all__ = ["main"]


def main() -> None:
    """Run the command line. An error is one line on standard error and exit status 2; with --json, an object too."""
    try:
        from propense.cli._app import app
        from propense.cli._json import print_error
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit('The propense command needs typer and rich: pip install "propense[cli]"')
    for stream in (sys.stdout, sys.stderr):
        # A terminal or file with another encoding shows ? for ≤ instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        with ended_by_signals():
            app()
    except PropenseError as error:
        # On one line, even if it quotes cells with line breaks.
        words = " ".join(with_flags(str(error)).split())
        print(f"Error: {harmless(words)}", file=sys.stderr)
        print_error(type(error).__name__, words)
        sys.exit(2)
    except KeyboardInterrupt:
        print_error("Interrupted", "The command was stopped.")
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of the output has gone, and Python must not fail when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        # A name that is too long, a folder that may not be read, or no room for what is printed.
        if error.strerror is None:
            raise
        if error.filename is None:
            print(f"Error: the output cannot be printed: {error.strerror}.", file=sys.stderr)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        else:
            words = f"{harmless(str(error.filename))}: {error.strerror}. Check the name and permissions."
            print(f"Error: {words}", file=sys.stderr)
            print_error("OSError", words)
        sys.exit(2)
