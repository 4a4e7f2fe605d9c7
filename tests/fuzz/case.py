"""One input of a fuzzer, and what may come of it."""

import functools
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

import typer.main

from command import call

# Typer reads the options of every command from its functions again for each call, which takes most of the time of one.
typer.main.get_command = functools.cache(typer.main.get_command)

# What a case may take: so many bytes for each byte of its files, and these in addition; and seconds.
PER_BYTE, ALLOWANCE, SECONDS = 50, 300 * 10**6, 20.0


@dataclass(frozen=True)
class Case:
    """Files, by name, and what a user would do with them, in a folder of their own."""

    files: dict[str, bytes]
    use: Callable[[], None]

    @property
    def size(self):
        return sum(map(len, self.files.values()))


def command(*arguments):
    """Run a command of propense: it must end well, or with one error in our own words. Whether it ended well."""
    ended = call(*arguments)
    lines = ended.stderr.splitlines()
    errors = [line for line in lines if not line.startswith("Note: ")]
    fine = not errors if ended.returncode == 0 else len(errors) == 1 and errors[0].startswith("Error: ")
    assert ended.returncode in (0, 2), f"exit status {ended.returncode}: {arguments}\n{ended.stderr}"
    assert fine, f"foreign words, exit status {ended.returncode}: {arguments}\n{ended.stderr}"
    raw = {sign for sign in ended.stdout + ended.stderr if unicodedata.category(sign) == "Cc" and sign not in "\n\t"}
    assert not raw, f"control characters {raw}: {arguments}"
    return ended.returncode == 0
