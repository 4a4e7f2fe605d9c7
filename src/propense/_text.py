"""Text from outside (names, cells, paths, model files, plans) where it is shown and must not act; names in a list."""

import re
from collections.abc import Sequence

__all__ = ["harmless", "listed"]

# Control characters, with the escape that starts a terminal's commands; line separators; characters that reverse text.
_ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    r"""The text on one line with its control characters spelt out: ``\x1b`` is the escape character, ``\n`` a break."""
    return _ACTING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
