"""Results as one JSON object on standard output, for scripts; words and errors stay on standard error."""

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from propense.cli._printing import harmless, say

__all__ = ["Json", "json_wanted", "note", "plain", "print_error", "print_json"]

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output; messages go to standard error.")
]


def json_wanted() -> bool:
    """Whether the command was called with --json. Known also where its arguments could not be read."""
    given = sys.argv[1:]
    return "--json" in (given[: given.index("--")] if "--" in given else given)


def note(*lines: str) -> None:
    """Print lines next to the result: on standard error if the result is JSON."""
    if not json_wanted():
        say(*lines)
        return
    for line in lines:
        print(harmless(line), file=sys.stderr)


def print_json(command: str, result: Mapping[str, Any]) -> None:
    """Print a result: its command, the version, and its own keys. ASCII, so that any terminal and file can hold it."""
    from propense import __version__

    print(json.dumps({"command": command, "version": __version__, **plain(result)}, allow_nan=False))


def print_error(kind: str, message: str) -> None:
    """Print an error as the JSON object that stands for the result, if JSON is wanted."""
    if json_wanted():
        print(json.dumps({"error": {"kind": kind, "message": message}}, allow_nan=False))


def plain(value: Any) -> Any:
    """A value in what JSON has: None for what is not a finite number, text for paths, lists for arrays."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset | range):
        return [plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return str(value)
