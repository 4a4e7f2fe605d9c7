"""Text from outside (names, cells, paths, model files, plans) on the terminal, where it must not act."""

import sys

from propense._text import harmless

__all__ = ["harmless", "json_wanted", "say"]


def json_wanted() -> bool:
    """Whether the command was called with --json. Known also where its arguments could not be read."""
    given = sys.argv[1:]
    return "--json" in (given[: given.index("--")] if "--" in given else given)


def say(*lines: str) -> None:
    """Print each line as it is, except for control characters; on standard error if standard output is for JSON."""
    for line in lines:
        print(harmless(line), file=sys.stderr if json_wanted() else sys.stdout)
