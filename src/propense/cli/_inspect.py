"""`propense inspect`: what is in a model file."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from propense.cli._flags import with_flags
from propense.cli._json import Json, print_json
from propense.cli._methods import find_method
from propense.cli._options import Method
from propense.cli._printing import say

__all__ = ["inspect"]

# The facts of a model file whose names are not plain words.
_FACTS = {
    "n_features": "number of features",
    "feature_names": "features",
    "kinds": "kinds of columns",
    "spelling": "table written with",
}
# How an audit of a file that has none is shown.
_NO_AUDIT = "none; the model is as it was fitted"


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A model file.")],
    method: Method = None,
    json: Json = False,
) -> None:
    """Show what is in a model file: method, estimates, columns that matter, versions, and notes on the fit."""
    from propense.model_files import inspect as inspect_file

    if method is not None:
        find_method(method)
    facts = inspect_file(file)
    numbers, effects = _learned(file)
    if json:
        about = facts["about"] if isinstance(facts["about"], dict) else {}
        shown = None if effects is None else {"title": effects.title, "head": effects.head, "lines": effects.lines}
        print_json(
            "inspect",
            {**facts, "audit": facts.get("audit"), **numbers, "effects": shown}
            | {"configuration": about.get("configuration")},
        )
        return
    doubts = facts.pop("doubts")
    about = facts.pop("about")
    toml = about.get("configuration") if isinstance(about, dict) else None
    if isinstance(about, dict):
        about = {name: value for name, value in about.items() if name != "configuration"}
    if "kinds" in facts:
        facts["kinds"] = {name: "true/false" if kind == "truth" else kind for name, kind in facts["kinds"].items()}
        facts["audit"] = facts.get("audit", _NO_AUDIT)
    for name, value in {**facts, **_in_shares(numbers), "about": about}.items():
        if value not in (None, [], {}):
            say(f"{_FACTS.get(name, name) + ':':<20} {_in_words(value)}")
    for doubt in doubts:
        say(f"Note: {with_flags(doubt)}")
    if effects is not None and effects.lines:
        _show(effects)
    if isinstance(toml, str):
        say("The options of the fit, for propense fit --config:", *(f"  {line}" for line in toml.splitlines()[1:]))


def _learned(file: Path) -> tuple[dict[str, Any], Any]:
    """The estimates and the largest coefficients of the model."""
    from propense.cli._results import model_numbers
    from propense.model_files import load
    from propense.tables import TableModel
    from propense.tables.effects import column_effects

    with warnings.catch_warnings():
        # That it was written by another version is said by whatever uses the model.
        warnings.simplefilter("ignore")
        model = load(file)
    if not isinstance(model, TableModel):
        return model_numbers(getattr(model, "steps", [(None, model)])[-1][1]), None
    return {**model_numbers(model.estimator), "unlabelled": _unlabelled(model.label)}, column_effects(model)


def _unlabelled(label: Any) -> str:
    """How an unlabelled row is recognised."""
    several = getattr(label, "labels", None)
    if several is not None:
        return f"{', '.join(f'{each.column} = {each.negative}' for each in several)}; empty: not looked at"
    return "empty" if label.negative is None else f"{label.negative} or empty"


def _in_shares(numbers: dict[str, Any]) -> dict[str, str | None]:
    words = {"prior": "share of positives", "label_frequency": "positives labelled"}
    shown = {words[name]: _share(numbers[name]) for name in words}
    return {"unlabelled": numbers.get("unlabelled"), **shown, "ranges": numbers.get("range")}


def _share(found: dict[str, Any] | None) -> str:
    if found is None:
        return "left open: too little was learned"
    if found["low"] is None:
        return f"{found['estimate']:.1%} (the method gives no range)"
    if found["low"] == found["high"]:
        return f"{found['estimate']:.1%} (as was given)"
    return f"{found['estimate']:.1%} ({found['low']:.1%} to {found['high']:.1%})"


def _show(effects: Any) -> None:
    from rich.table import Table

    from propense.cli._console import Console

    table = Table(title=effects.title, title_justify="left")
    for place, column in enumerate(effects.head):
        table.add_column(column, justify="right" if place else "left", overflow="fold")
    for line in effects.lines:
        table.add_row(*line)
    Console().print(table, soft_wrap=True)


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={inner!r}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
