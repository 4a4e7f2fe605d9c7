"""The command `propense` in this process: what a user sees, without the seconds that a new Python takes to start."""

import contextlib
import io
import os
import sys
from typing import NamedTuple
from unittest import mock

from propense.cli import main


class Ended(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def call(*arguments, cwd=".", together=False, **environment):
    """Exit status, standard output, standard error, which may go into the same text as standard output."""
    out = io.StringIO()
    err = out if together else io.StringIO()
    status = 0
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "argv", ["propense", *map(str, arguments)]),
        # Under `python -m pytest`, the command would be called "python -m propense".
        mock.patch.object(sys.modules["__main__"], "__package__", None),
        mock.patch.object(sys, "path", [*sys.path]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
    return Ended(status, out.getvalue(), "" if together else err.getvalue())
