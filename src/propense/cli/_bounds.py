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


def bounds(
    table: Table,
    model: ModelFile,
    spread: Annotated[
        str,
        typer.Option(
            "--spread",
            help="How many times harder to label the hardest positives may be than those of the top rows, the rows to "
            "which the model gives the highest chance of a label. 1 means labels at random.",
        ),
    ] = "1,1.5,2,3,5",
    purity: Annotated[
        str | None,
        typer.Option(
            "--purity",
            help="The share of the top rows that is positive. Without it, both 1 and 0.8, or only 1 if the labels "
            "contradict 0.8.",
        ),
    ] = None,
    checked: Annotated[
        str | None,
        typer.Option(
            "--checked",
            help="46/78: of 78 rows drawn at random among the unlabelled top rows and checked, 46 are positive. It "
            "replaces --purity.",
        ),
    ] = None,
    at_most: Annotated[
        float | None,
        typer.Option(
            "--at-most",
            help="Say how much harder labelling would have to be before more than this many per cent of the rows could "
            "be positive.",
        ),
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
    """Give the range of the share of positive rows, if labelling differs between positives by no more than a factor."""
    from propense.cli._fit_progress import show_steps
    from propense.tables import bound_table

    if not 50.0 <= confidence < 100.0:
        raise InvalidOption(f"--confidence {confidence:g}: give per cent, from 50 to below 100, such as 95.")
    if at_most is not None and not 0.0 < at_most <= 100.0:
        raise InvalidOption(f"--at-most {at_most:g}: give per cent of the rows, above 0 and at most 100, such as 30.")
    given = {
        "spread": _numbers("--spread", spread),
        "purity": None if purity is None else _numbers("--purity", purity),
        "checked": None if checked is None else _counts(checked),
        "confidence": confidence / 100.0,
    }
    if method is not None:
        find_method(method)
    fitted = load_model(model)
    source = open_table(table, format=format, sheet=sheet, encoding=encoding, expected=fitted.spelling)
    with show_steps() as doing:
        rows = source.read()
        doing("Computing the range under the assumptions")
        found = bound_table(fitted, rows, where=source.where, decimal=decimal, **given)
    say(*said_of(source))
    prior = found.estimate if at_most is None else at_most / 100.0
    if json:
        print_json("bounds", _as_result(found, prior))
    else:
        say(*str(found).splitlines(), *([] if at_most is None else [found.robustness_words(prior)]))


def _numbers(option: str, given: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in given.split(","))
    except ValueError:
        raise InvalidOption(f"{option} {given}: pass numbers with commas between them, such as 1,0.8 or 2.") from None


def _counts(given: str) -> tuple[int, int]:
    found = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", given)
    if found is None:
        raise InvalidOption(f"--checked {given}: pass how many are positive and how many were checked, such as 46/78.")
    return int(found[1]), int(found[2])


def _as_result(found: "Bounds", prior: float) -> dict[str, Any]:
    """The bounds in plain values; of the positives, a list for each spread with a number for each purity."""
    return {
        "labelled": found.labelled,
        "top": {"rows": found.top_rows, "score": found.top_score, "labelled": found.top_share},
        "spread": found.spread,
        "purity": found.purity,
        "purity_limits": found.purity_limits,
        "positives": {name: getattr(found, name) for name in ("low", "high", "low_limit", "high_limit")},
        "model": found.estimate,
        "robustness": {"positives": prior, "spread": found.robustness(prior)},
        "confidence": found.confidence,
    }
