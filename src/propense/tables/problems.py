"""All that is wrong with the columns of a table, in one message."""

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from propense.errors import InvalidInput, InvalidTable

__all__ = ["Problems", "unknown_column"]

# Problems that a message spells out.
_SHOWN = 10


class Problems:
    """Collects errors about a table, to raise them together.

    Parameters
    ----------
    where : str
        The name of the table.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.found: list[InvalidInput] = []

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep an error that is raised inside."""
        try:
            yield
        except InvalidInput as error:
            self.found.append(error)

    def raise_any(self) -> None:
        """Raise the error that was found, or one error for all of them."""
        if len(self.found) == 1:
            raise self.found[0]
        if not self.found:
            return
        words = [
            f"({number}) {str(error).removeprefix(self.where).lstrip(', ')}"
            for number, error in enumerate(self.found[:_SHOWN], 1)
        ]
        more = len(self.found) - _SHOWN
        rest = f" And {more} more." if more > 0 else ""
        raise InvalidTable(f"{self.where} has {len(self.found)} problems: {' '.join(words)}{rest}") from None


def unknown_column(name: str, option: str, columns: Sequence[str], where: str, *, listed: bool) -> InvalidTable:
    """The error about a column that does not exist, with the one that was probably meant, or the columns there are."""
    meant = _meant(name, columns)
    words = f"{where} has no column {name!r} ({option}=)."
    if meant is not None:
        return InvalidTable(f"{words} Did you mean {meant!r}?")
    if not listed:
        return InvalidTable(words)
    return InvalidTable(
        f"{words} Its columns: {', '.join(map(repr, columns[:20]))}{' …' if len(columns) > 20 else ''}."
    )


def _meant(name: str, columns: Sequence[str]) -> str | None:
    """The column whose name is nearest, if one is near."""
    plain = {_plain(each): each for each in reversed(columns)}
    if len(columns) > 5000 or len(name) > 200:
        return plain.get(_plain(name))
    near = difflib.get_close_matches(_plain(name), list(plain), 1, 0.75)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    """Letters and digits in lower case: Patient-ID and patient_id are the same."""
    return "".join(sign for sign in name.lower() if sign.isalnum()) or name
