"""What `propense fit` prints."""

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from propense.cli._console import Console
from propense.cli._printing import harmless, say
from propense.cli._streams import STANDARD, name_of
from propense.tables import (
    GroupComparison,
    GroupShare,
    Headline,
    ReviewList,
    TableFit,
    advise_audit,
    conclude,
    describe_groups,
    describe_learning,
    headline,
    suggest_columns,
)
from propense.tables.schema import in_words

__all__ = ["show_fit"]

# Columns in the table of groups, and columns named for each kind.
_SHOWN, _NAMED = 5, 12
_KINDS = {
    "number": "numbers",
    "truth": "true/false",
    "date": "dates, in days",
    "duration": "durations, in days",
    "category": "categories",
}


def show_fit(
    found: TableFit,
    table: Path,
    model: Path | None = None,
    listed: ReviewList | None = None,
    decimal: str | None = None,
) -> None:
    """Print the columns, the estimates, under-labelled groups, what was learned, what the list promises, and notes."""
    console = Console()
    label = "" if found.model is None else f" ({found.model.label})"
    say(f"{name_of(table)}: {found.counts.rows:,} rows, {found.counts.labelled:,} labelled{label}.")
    for kind, words in _KINDS.items():
        names = [in_words(column) for column in found.schema.columns if column.kind == kind]
        if names:
            shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
            say(f"  {words}: {shown}")
    quoted, conclusion = headline(found), conclude(found)
    say(str(quoted))
    console.print(_estimates(found, quoted), soft_wrap=True)
    say("Rows predicted positive are those above the probability in brackets; they are not a count of the positives.")
    if conclusion.differing:
        console.print(_under_labelled(conclusion.differing[:_SHOWN]), soft_wrap=True)
    say(*describe_groups(found))
    say(*describe_learning(found))
    if (suggestion := suggest_columns(found)) is not None:
        say(str(suggestion))
    if conclusion.test:
        say(f"Labels at random? {conclusion.test}")
    for note in found.notes:
        say(f"Note: {note}")
    if listed is not None:
        say(str(listed.promise))
    # An audit reads a file, not a folder.
    if (advice := advise_audit(found)) is not None and not table.is_dir() and table != STANDARD:
        saved = " (fit --model FILE saves the model)" if model is None else ""
        say(advice.with_command(str(table), "FILE" if model is None else str(model), decimal) + saved)


def _estimates(found: TableFit, quoted: Headline) -> Table:
    n, labelled = found.counts.rows, found.counts.labelled
    estimator, balanced = found.estimator, found.estimator.decision == "balanced"
    table = Table(title="How many rows may be positive?")
    table.add_column("")
    table.add_column("naive: unlabelled = negative", justify="right")
    table.add_column(type(estimator).__name__, justify="right")
    unknown = "not known" if quoted.unquoted else ""
    counted = f"{quoted.middle:,.0f}, without a range" if quoted.without_range else unknown
    table.add_row(
        "positive rows", f"{labelled:,} ({quoted.percent(labelled)})", counted or f"{quoted.positives} ({quoted.share})"
    )
    if not unknown and not quoted.certain:
        table.add_row("  middle of that range", "", f"{quoted.middle:,.0f} ({quoted.percent(quoted.middle)})")
    table.add_row("positives that are labelled", "100%", unknown or quoted.frequency)
    table.add_row("positives without a label", "0", unknown or quoted.hidden)
    cuts = [quoted.percent(n * (model.prior_ if balanced else 0.5)) for model in (found.naive, estimator)]
    counts = found.counts.naive_positive, found.counts.positive
    cells = [f"{count:,} (probability > {cut})" for count, cut in zip(counts, cuts, strict=True)]
    if unknown and not quoted.without_range and balanced:
        # The cut is the share that is not known.
        cells[1] = unknown
    table.add_row("rows predicted positive", *cells)
    return table


def _under_labelled(compared: Sequence[GroupComparison]) -> Table:
    title = "Which groups are under-labelled? How often positives are labelled, compared with all (1 = as often)"
    table = Table(title=title, min_width=len(title))
    for column in ("column", "least often", "", "most often", ""):
        table.add_column(column, justify="right" if column == "" else "left")
    for each in compared:
        names = [
            Text(harmless(words), overflow="ellipsis")
            for words in (each.column, each.lowest.group.name, each.highest.group.name)
        ]
        table.add_row(names[0], names[1], _ratio(each.lowest), names[2], _ratio(each.highest))
    return table


def _ratio(share: GroupShare) -> str:
    return f"{share.ratio:.2f} ({share.ratio_low:.2f} to {share.ratio_high:.2f})"
