"""Messages of the library for the command line: Python arguments become flags."""

import re

__all__ = ["with_flags"]

_ARGUMENT = re.compile(
    r"\b(label|positive|id|drop|categorical|decimal|prior|scar_test|dask|jobs)="
    r"(?P<value>\[(?P<item>'[^']*'|\"[^\"]*\")\]|(?=['\"\w]))?"
)


def with_flags(message: str) -> str:
    """The message with ``drop=['x']`` written ``--drop 'x'``, and ``prior=`` written ``--prior``."""
    message = message.replace("scar_test=False", "--no-scar-test").replace("scar_test=True", "--scar-test")
    return _ARGUMENT.sub(_flag, message)


def _flag(match: re.Match[str]) -> str:
    flag = f"--{match[1].replace('_', '-')}"
    return flag if match["value"] is None else f"{flag} {match['item'] or ''}"
