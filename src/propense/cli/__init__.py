"""The command `propense`: parse, call, print."""

import sys

from propense.errors import PropenseError

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from propense.cli._app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit("The propense command needs typer and rich: pip install 'propense[cli]'")
    try:
        app()
    except PropenseError as error:
        sys.exit(f"{type(error).__name__}: {error}")
