"""`propense inspect`: what is in a model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from propense.cli._printing import say

__all__ = ["inspect"]

# The facts of a model file whose names are not plain words.
_FACTS = {
    "n_features": "number of features",
    "feature_names": "features",
    "kinds": "kinds of columns",
    "spelling": "table written with",
}


def inspect(file: Annotated[Path, typer.Argument(metavar="FILE", help="A model file.")]) -> None:
    """Show what is in a model file: method, parameters, columns, date, versions, and notes on the fit."""
    from propense.model_files import inspect as inspect_file

    facts = inspect_file(file)
    doubts = facts.pop("doubts")
    if "kinds" in facts:
        facts["kinds"] = {name: "true/false" if kind == "truth" else kind for name, kind in facts["kinds"].items()}
    for name, value in facts.items():
        if value not in (None, [], {}):
            say(f"{_FACTS.get(name, name) + ':':<20} {_in_words(value)}")
    for doubt in doubts:
        say(f"Note: {doubt}")


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={inner!r}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
