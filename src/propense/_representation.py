"""Results as a person reads them: text for a terminal, HTML for a notebook, and where the documentation is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

__all__ = ["SITE", "Readable", "Sheet", "as_html", "documentation_of"]

# The address of the documentation, without a slash at its end. Empty until there is one: nothing links to nowhere.
SITE = ""

_LONGEST = 60
_CELL = "text-align: {way}; padding: .15rem .6rem; border-bottom: 1px solid rgba(128, 128, 128, .35)"
_BLOCK = "margin: .4rem 0; max-width: 60rem; line-height: 1.45"


@dataclass(frozen=True)
class Sheet:
    """A small table: its title, the names of its columns, and its lines, all as text; the first column names a line."""

    title: str
    head: Sequence[str]
    lines: Sequence[Sequence[str]] = field(default_factory=list)


class Readable:
    """A result with a text, a short line, and HTML for notebooks.

    A subclass has ``__str__``, the text in full; ``_headline()``, the line of ``repr()``; and, if it has numbers to lay
    out, ``_sheets()``. Its dataclass is made with ``repr=False``.
    """

    def _headline(self) -> str:
        """The result in one line, without the name of its class."""
        return str(self).partition("\n")[0]

    def _sheets(self) -> Sequence[Sheet]:
        """Its numbers as tables, for HTML."""
        return ()

    def __repr__(self) -> str:
        words = _harmless(self._headline())
        return f"<{type(self).__name__}: {words if len(words) <= 2 * _LONGEST else words[: 2 * _LONGEST - 1] + '…'}>"

    def _repr_html_(self) -> str:
        return as_html(type(self).__name__, str(self).splitlines(), self._sheets())


def as_html(title: str, lines: Sequence[str], sheets: Sequence[Sheet] = ()) -> str:
    """A title, paragraphs and tables as HTML that needs no style sheet; every text is escaped."""
    parts = [f"<strong>{_text(title)}</strong>"]
    parts += [f'<p style="{_BLOCK}">{_text(line)}</p>' for line in lines if line.strip()]
    parts += [_table(sheet) for sheet in sheets if sheet.lines]
    return f'<div class="propense">{"".join(parts)}</div>'


def documentation_of(name: str, site: str | None = None) -> str:
    """The address of the page of a public name, such as ``propense.JERM``; empty if there is no site."""
    home = SITE if site is None else site
    return f"{home.rstrip('/')}/reference/generated/{name}.html" if home else ""


def _table(sheet: Sheet) -> str:
    ways = ["left"] + ["right"] * (len(sheet.head) - 1)
    head = "".join(_cell("th", way, text) for way, text in zip(ways, sheet.head, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell('td', way, text) for way, text in zip(ways, line, strict=True))}</tr>"
        for line in sheet.lines
    )
    caption = f'<caption style="text-align: left; font-weight: 600">{_text(sheet.title)}</caption>' * bool(sheet.title)
    style = "border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums"
    return f'<table style="{style}">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(tag: str, way: str, text: str) -> str:
    return f'<{tag} style="{_CELL.format(way=way)}">{_text(text)}</{tag}>'


def _text(words: str) -> str:
    return escape(_harmless(words))


def _harmless(words: str) -> str:
    """Without characters that act on a terminal, or turn the direction of a text."""
    return "".join(
        each if each.isprintable() else " " if each.isspace() else each.encode("unicode_escape").decode()
        for each in words
    )
