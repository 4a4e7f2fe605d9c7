"""`propense methods`: the methods by name, and what each says about itself."""

import os
import sys
from typing import Annotated, Any

import typer

from propense.cli._completion import complete_methods
from propense.cli._json import Json, print_json

__all__ = ["find_method", "methods"]


def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Describe this method only: a name of the list, or your own class.",
            autocompletion=complete_methods,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the methods by the names that propense fit and study plans use, or describe one of them."""
    from rich.table import Table as Shown

    from propense.cli._console import Console
    from propense.estimators import known_methods
    from propense.estimators._description import summary

    if json:
        named = known_methods() if name is None else {name: find_method(name)}
        print_json("methods", {"methods": [_facts(each, *found) for each, found in named.items()]})
        return
    console = Console()
    if name is not None:
        console.print(*_describe_method(name), sep="\n")
        return
    shown = Shown()
    for head in ("method", "what it does"):
        shown.add_column(head, no_wrap=head == "method")
    for each, (method, parameters) in known_methods().items():
        variant = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
        shown.add_row(each, f"{method.__name__}({variant})" if variant else summary(method).replace("`", ""))
    console.print(shown)
    print(
        "y: the probability that a row is positive. e, the propensity: the probability that a positive row is labelled."
    )
    print("propense methods NAME describes one method: its assumptions, input, parameters and paper.")


def _facts(name: str, method: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """What a method says about itself, in plain values."""
    from propense.estimators._description import reference, summary

    about, estimator = method.description, method(**parameters)
    return {
        "name": name,
        "class": method.__name__,
        "summary": summary(method).replace("`", ""),
        "separates": about.separates,
        "assumes": about.assumes,
        "needs": about.needs,
        "takes": [each for each in about.takes if each != "known negatives" or estimator._takes_negatives()],
        "parameters": estimator.get_params(),
        "reference": reference(method),
    }


def _describe_method(name: str) -> list[str]:
    """What a method says about itself, in lines."""
    from propense.estimators._description import reference, summary

    method, parameters = find_method(name)
    about, estimator = method.description, method(**parameters)
    facts = {
        "y and e are separated by": about.separates,
        "assumes": "".join(f"\n  - {each}" for each in about.assumes),
        "needs": about.needs,
        "takes": ", ".join(each for each in about.takes if each != "known negatives" or estimator._takes_negatives()),
        "parameters": ", ".join(f"{key}={value!r}" for key, value in estimator.get_params().items()),
        "reference": reference(method),
    }
    lines = [f"{words}: {value}".replace(": \n", ":\n") for words, value in facts.items() if value]
    return "\n".join([f"{name} ({method.__name__}): {summary(method).replace('`', '')}", *lines]).splitlines()


def find_method(name: str) -> Any:
    """The method of a name; the module of a class of the user's own is looked for in this folder too."""
    from propense.estimators import find_method as find

    if "." in name and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    return find(name)
