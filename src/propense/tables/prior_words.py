"""The share of positives as people write it: a share, a range, or either for each group."""

import re
from typing import Any

from propense.errors import InvalidOption

__all__ = ["read_prior"]

# A name and a share, up to the next comma; names may hold commas and equals signs themselves.
_GROUP = re.compile(r"(?P<name>.+?)=(?P<share>[^,=]+)(?:,|$)")
# 0,15 at the beginning of a share; no range begins with 0.
_DECIMAL_COMMA = re.compile(r"(?:^|[=–-])\s*0?,\d")


def read_prior(given: str | None, option: str = "--prior") -> float | tuple[float, float] | dict[str, Any] | None:
    """A share, two with a comma or a dash between them, or NAME=SHARE,NAME=SHARE; errors call it `option`."""
    if given is None:
        return None
    if _DECIMAL_COMMA.search(given):
        raise InvalidOption(f"{option} {given}: write shares with a decimal point, such as 0.15 or 0.1-0.2.")
    if "=" not in given:
        return _share(given, given, option)
    found: dict[str, Any] = {}
    place = 0
    while place < len(given):
        part = _GROUP.match(given, place)
        if part is None:
            raise _error(given, option)
        name, place = part["name"].strip(), part.end()
        if name in found:
            raise InvalidOption(f"{option} {given}: the group {name!r} is named twice. Leave out one.")
        found[name] = _share(part["share"], given, option)
    return found


def _share(text: str, given: str, option: str) -> float | tuple[float, float]:
    try:
        return float(text)
    except ValueError:
        pass
    low, _, high = text.replace("–", "-").replace(",", "-").partition("-")
    try:
        return float(low), float(high)
    except ValueError:
        raise _error(given, option) from None


def _error(given: str, option: str) -> InvalidOption:
    return InvalidOption(
        f"{option} {given}: pass a share such as 0.15, a range such as 0.1-0.2, or either for each group, such as "
        "f=0.12,m=0.15-0.2."
    )
