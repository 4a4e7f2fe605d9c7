"""Text from outside (names, cells, paths, model files, plans) on the terminal, where it must not act."""

import re
import sys

__all__ = ["harmless", "json_wanted", "say"]

# Control characters, with the escape that starts a terminal's commands; line separators; characters that reverse text.
_ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    r"""The text on one line with its control characters spelt out: ``\x1b`` is the escape character, ``\n`` a break."""
    return _ACTING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def json_wanted() -> bool:
    """Whether the command was called with --json. Known also where its arguments could not be read."""
    given = sys.argv[1:]
    return "--json" in (given[: given.index("--")] if "--" in given else given)


def say(*lines: str) -> None:
    """Print each line as it is, except for control characters; on standard error if standard output is for JSON."""
    for line in lines:
        print(harmless(line), file=sys.stderr if json_wanted() else sys.stdout)
