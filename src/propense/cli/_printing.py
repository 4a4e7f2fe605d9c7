"""Text from outside (names, cells, paths, model files, plans) on the terminal, where it must not act."""

from propense._text import harmless

__all__ = ["harmless", "say"]


def say(*lines: str) -> None:
    """Print each line as it is, except for control characters."""
    for line in lines:
        print(harmless(line))
