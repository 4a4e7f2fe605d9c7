"""`propense serve`: the same job on a local page."""

from pathlib import Path
from typing import Annotated

import typer

from propense.cli._printing import harmless

__all__ = ["serve"]


def serve(
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="The port. Default: the first free one from 8765 on.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", help="Where tables and results are kept. Default: propense/serve in your data folder."
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address; do not open a browser.")
    ] = False,
    upload_limit: Annotated[
        int, typer.Option("--upload-limit", min=1, help="The largest file that can be chosen on the page, in MB.")
    ] = 1000,
) -> None:
    """Fit tables, read reports and check rows in the browser, on this machine alone. Ctrl-C ends it."""
    from propense.ui import check_extra

    check_extra()
    from propense.ui.server import default_folder
    from propense.ui.server import serve as run

    # At once, also where the output is a file: whoever starts the server waits for the address.
    run(
        default_folder() if folder is None else folder,
        port=port,
        browser=not no_browser,
        limit=upload_limit << 20,
        say=lambda line: print(harmless(line), flush=True),
    )
