"""The console of every command."""

from typing import Any

import rich.console
from rich.text import Text

from propense.cli._printing import harmless

__all__ = ["Console"]


class Console(rich.console.Console):
    """A console of rich that prints text as it is: without markup, emoji names and control characters."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Every string passes here, also those in tables."""
        return super().render_str(harmless(text), **{**options, "markup": False, "emoji": False})
