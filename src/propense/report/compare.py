"""The page of a comparison: what several methods say of one table, and what that means."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import ClassVar

from propense._representation import Sheet
from propense.plots import ComparisonDisplay
from propense.report.page import Figure, software, to_svg
from propense.tables import Comparison, describe_comparison

__all__ = ["ComparisonReport", "gather_comparison"]


@dataclass(frozen=True)
class ComparisonReport:
    """All that the page shows."""

    template: ClassVar[str] = "compare.html"
    scripts: ClassVar[tuple[str, ...]] = ("page.js",)
    title: str
    meaning: list[str]
    figure: Figure
    summary: Sheet
    matrices: list[Sheet]
    assumptions: list[tuple[str, str]]
    facts: list[tuple[str, str]]
    configuration: str = ""


def gather_comparison(found: Comparison, title: str, configuration: str = "") -> ComparisonReport:
    """Collect what the page of a comparison shows.

    Parameters
    ----------
    found : Comparison
        What `propense.tables.compare_table` returned.
    title : str
    configuration : str, default=""
        What repeats the comparison, as TOML.
    """
    return ComparisonReport(
        title=title,
        meaning=[
            # The page has a section of assumptions.
            line.replace(" What they assume:", " What they assume is said below.")
            for line in describe_comparison(found)
            if not line.startswith("- ")
        ],
        figure=to_svg("Estimates and lists", ComparisonDisplay(found)),
        summary=_summary(found),
        matrices=[found.matrix(name) for name in ("overlap", "agreement", "correlation")],
        assumptions=[(each.name, " ".join(each.assumes)) for each in found.results if each.assumes],
        facts=[
            ("rows", f"{found.rows:,}" + (f" of {found.rows_of_table:,}" if found.rows < found.rows_of_table else "")),
            ("seconds", ", ".join(f"{each.name} {each.seconds:.1f}" for each in found.results if not each.failure)),
            ("made", f"{datetime.now(UTC):%Y-%m-%d}, {software()}"),
        ],
        configuration=configuration,
    )


def _summary(found: Comparison) -> Sheet:
    """A line for each method; that it doubts its own fit is said here, and why above."""
    sheet, doubting = found.summary(), {each.name for each in found.results if each.doubts}
    lines = [[*line[:-1], "yes: see above" if line[0] in doubting else "–"] for line in sheet.lines]
    return replace(sheet, head=[*sheet.head[:-1], "doubts its own fit"], lines=lines)
