"""The command `propense`: parse, call, print."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from propense.cli._app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit("The propense command needs typer and rich: pip install 'propense[cli]'")
    app()
