"""`propense bounds`: what the labels of a table leave open."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from propense.cli._json import Json, print_json
from propense.cli._methods import find_method
from propense.cli._options import Decimal, Encoding, Format, Method, ModelFile, Sheet, Table, load_model
from propense.cli._printing import say
from propense.cli._streams import open_table, said_of
from propense.errors import InvalidOption

if TYPE_CHECKING:
    from propense.inference import Bounds

__all__ = ["bounds"]

_NUMBER = r"([-+]?[\d.]+(?:[eE][-+]?\d+)?)"
_RANGE = re.compile(f"{_NUMBER}(?:[-,]{_NUMBER})?")


def bounds(
    table: Table,
    model: ModelFile,
    propensity: Annotated[
        str | None,
        typer.Option(
            "--propensity",
            help="Assume that a positive is labelled with a chance in this range: 0.2-0.9, or 0.2 for at least 0.2.",
        ),
    ] = None,
    odds_ratio: Annotated[
        float | None,
        typer.Option(
            "--odds-ratio",
            help="Assume that the odds of a label, chance / (1 - chance), differ by at most this factor between any "
            "two positives.",
        ),
    ] = None,
    departure: Annotated[
        float | None,
        typer.Option(
            "--departure",
            help="Assume that the odds of a label are within this factor of those of the model: with 2, they are from "
            "half of them to twice them.",
        ),
    ] = None,
    rising: Annotated[
        bool,
        typer.Option(
            "--rising",
            help="Assume that of two positives, the one that the model holds more likely to be positive is labelled at "
            "least as often.",
        ),
    ] = False,
    clearest: Annotated[
        float | None,
        typer.Option(
            "--clearest",
            help="Assume that of the rows that the model holds most likely to be positive, at least this share is.",
        ),
    ] = None,
    correlation: Annotated[
        str | None,
        typer.Option(
            "--correlation",
            help="Assume that something that no column shows affects both being positive and being labelled. Give the "
            "correlation of the two effects: 0.3 for at most 0.3 in either direction, or a range: 0-0.5.",
        ),
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", help="A column whose values are groups, for ranges by group.")
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", help="How often the limits should hold, in per cent.")
    ] = 95.0,
    json: Json = False,
    decimal: Decimal = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    format: Format = None,
    method: Method = None,
) -> None:
    """Give the range of the number of positive rows that follows from your assumptions about the labels alone."""
    from propense.cli._fit_progress import show_steps
    from propense.tables import bound_table

    if not 50.0 <= confidence < 100.0:
        raise InvalidOption(f"--confidence {confidence:g}: give per cent, from 50 to below 100, such as 95.")
    given = {
        "propensity": _range("--propensity", propensity),
        "odds_ratio": odds_ratio,
        "departure": departure,
        "rising": rising,
        "clearest": clearest,
        "correlation": _range("--correlation", correlation),
        "confidence": confidence / 100.0,
    }
    if method is not None:
        find_method(method)
    fitted = load_model(model)
    source = open_table(table, format=format, sheet=sheet, encoding=encoding, expected=fitted.spelling)
    with show_steps() as doing:
        rows = source.read()
        doing("Computing the range under the assumptions")
        found = bound_table(fitted, rows, group=group, where=source.where, decimal=decimal, **given)
    say(*said_of(source))
    if json:
        print_json("bounds", _as_result(found))
    else:
        say(*str(found).splitlines())


def _range(option: str, given: str | None) -> Any:
    """A number, or two with a dash or a comma between them; a dash before a number is its sign."""
    if given is None:
        return None
    found = _RANGE.fullmatch(given.replace("–", "-").replace(" ", ""))
    try:
        numbers = [] if found is None else [float(part) for part in found.groups() if part is not None]
    except ValueError:
        numbers = []
    if not numbers:
        raise InvalidOption(f"{option} {given}: pass a number or a range, such as 0.2 or 0.2-0.9.")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _as_result(found: "Bounds") -> dict[str, Any]:
    """The bounds in plain values."""
    pair = _pair
    groups = [
        {
            "group": name,
            "positives": pair(found.prior_by_group[name], found.prior_limits_by_group[name]),
            "labelled": pair(found.propensity_by_group[name], found.propensity_limits_by_group[name]),
        }
        for name in found.prior_by_group
    ]
    value = found.robustness_value
    return {
        "labelled": found.labelled,
        "positives": pair(found.prior, found.prior_limits),
        "model": found.estimate,
        "assumptions": list(found.assumptions),
        "contradicted": found.contradicted,
        "robustness": {"halved": value.halved, "doubled": value.doubled},
        "groups": groups,
        "confidence": found.confidence,
    }


def _pair(ends: tuple[float, float], limits: tuple[float, float]) -> dict[str, float]:
    names = ("low", "high", "low_limit", "high_limit")
    return dict(zip(names, (*ends, *limits), strict=True))
