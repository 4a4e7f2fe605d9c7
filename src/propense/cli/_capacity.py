"""`--capacity` and the costs of `propense fit`: how many rows to review, and what to expect of them."""

from typing import TYPE_CHECKING, Annotated

import typer

from propense.errors import InvalidOption

if TYPE_CHECKING:
    from propense.tables import Capacity

__all__ = ["CapacityRows", "CostAlarm", "CostMiss", "check_costs", "describe_capacity", "list_length"]

CapacityRows = Annotated[
    int | None,
    typer.Option(
        "--capacity",
        min=1,
        help="How many rows you can review. Shows how many positives to expect among them, and lists that many rows.",
    ),
]
CostMiss = Annotated[
    float | None,
    typer.Option("--cost-miss", help="The cost of a positive row that is not reviewed; needs --cost-alarm."),
]
CostAlarm = Annotated[
    float | None,
    typer.Option(
        "--cost-alarm", help="The cost of reviewing a negative row. With both costs, the cheapest list is found."
    ),
]

_DEFAULT = 50


def check_costs(miss: float | None, alarm: float | None) -> None:
    """Raise an error, before a fit, unless both costs are given, or none."""
    for option, cost in (("--cost-miss", miss), ("--cost-alarm", alarm)):
        if (miss is None) != (alarm is None) and cost is None:
            raise InvalidOption(f"The cheapest list needs both costs. Give {option} too.")
        if cost is not None and not 0.0 < cost < float("inf"):
            raise InvalidOption(f"{option} {cost:g} is not a cost: a number above 0.")


def list_length(
    top: int | None, rows: int | None, costs: tuple[float | None, float | None], found: "Capacity | None"
) -> int:
    """How many rows to list: as asked, as many as can be reviewed, or the cheapest number."""
    if top is not None or rows is not None:
        return top or rows or _DEFAULT
    miss, alarm = costs
    if miss is None or alarm is None or found is None or found.unpromised:
        return _DEFAULT
    return max(found.cheapest(miss, alarm).length, 1)


def describe_capacity(
    found: "Capacity", rows: int | None, miss: float | None, alarm: float | None, promised: int | None = None
) -> list[str]:
    """What to expect of a list of this length, the cheapest list, and how many rows it takes to find round numbers.

    What a list of `promised` rows holds has been said already.
    """
    if found.unpromised:
        return [str(found)]
    lines = [] if rows is None else [found.about_cut(rows) if rows == promised else found.about_length(rows)]
    if miss is not None and alarm is not None:
        lines.append(found.about_costs(miss, alarm))
    return [*lines, *str(found).splitlines()]
