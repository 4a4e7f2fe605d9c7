"""What `propense fit` prints."""

from pathlib import Path

from rich.table import Table
from rich.text import Text

from propense.cli._console import Console
from propense.cli._printing import harmless, say
from propense.cli._streams import STANDARD, name_of
from propense.tables import (
    Group,
    Grouping,
    ReviewList,
    TableFit,
    advise_audit,
    describe_groups,
    describe_learning,
    suggest_columns,
)

__all__ = ["show_fit"]

# Columns in the table of groups, and columns named for each kind.
_SHOWN, _NAMED = 5, 12
_KINDS = {"number": "numbers", "truth": "true/false", "date": "dates", "category": "categories"}


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
        names = [column.name for column in found.schema.columns if column.kind == kind]
        if names:
            shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
            say(f"  {words}: {shown}")
    console.print(_estimates(found), soft_wrap=True)
    console.print(_under_labelled(found.groups[:_SHOWN], found.estimator.label_frequency_), soft_wrap=True)
    say(*describe_groups(found))
    say(*describe_learning(found))
    if (suggestion := suggest_columns(found)) is not None:
        say(str(suggestion))
    if found.scar is not None:
        say(f"Labels at random? {found.scar} {found.scar.rows:,} rows were tested.")
    for note in found.notes:
        say(f"Note: {note}")
    if listed is not None:
        say(str(listed.promise))
    # An audit reads a file, not a folder.
    if (advice := advise_audit(found)) is not None and not table.is_dir() and table != STANDARD:
        command = advice.commands(str(table), "FILE" if model is None else str(model), decimal)[0]
        say(f"{str(advice).rstrip('.')}: {command}{' (fit --model FILE saves the model)' if model is None else ''}")


def _estimates(found: TableFit) -> Table:
    n, labelled = found.counts.rows, found.counts.labelled
    estimator, balanced = found.estimator, found.estimator.decision == "balanced"
    table = Table(title="How many rows are positive?")
    table.add_column("")
    table.add_column("naive: unlabelled = negative", justify="right")
    table.add_column(type(estimator).__name__, justify="right")
    table.add_row("positive rows, estimated", _share(labelled, n), _share(estimator.prior_ * n, n))
    hidden, frequency = f"{found.counts.hidden:,.0f}", _percent(estimator.label_frequency_)
    if found.prior_range is not None and found.prior_range[0] == found.prior_range[1]:
        table.add_row("  range", "", "none: the share was given")
    elif found.prior_range is not None:
        low, high = (max(n * share, labelled) for share in found.prior_range)
        table.add_row("  range", "", f"{low:,.0f} to {high:,.0f} ({low / n:.0%} to {high / n:.0%})")
        hidden = f"{hidden} ({low - labelled:,.0f} to {high - labelled:,.0f})"
        frequency = f"{frequency} ({labelled / high:.0%} to {labelled / low:.0%})"
    table.add_row("positives that are labelled", "100%", frequency)
    table.add_row("positives without a label", "0", hidden)
    cuts = [_percent(model.prior_ if balanced else 0.5) for model in (found.naive, estimator)]
    counts = found.counts.naive_positive, found.counts.positive
    cells = [f"{count:,} (probability > {cut})" for count, cut in zip(counts, cuts, strict=True)]
    table.add_row("rows predicted positive", *cells)
    return table


def _under_labelled(groupings: list[Grouping], overall: float) -> Table:
    title = f"Which groups are under-labelled? Share of the positives that are labelled ({_percent(overall)} overall)"
    table = Table(title=title, min_width=len(title))
    for column in ("column", "lowest share", "", "highest share", ""):
        table.add_column(column, justify="right" if column == "" else "left")
    for grouping in groupings:
        # The share is meaningless in a group with less than one expected positive.
        groups = sorted((g for g in grouping.groups if g.positives >= 1), key=lambda g: g.frequency)
        if len(groups) > 1:
            least, most = groups[0], groups[-1]
            names = [Text(harmless(words), overflow="ellipsis") for words in (grouping.column, least.name, most.name)]
            table.add_row(names[0], names[1], _labelled(least), names[2], _labelled(most))
    return table


def _labelled(group: Group) -> str:
    ends = group.frequency_range
    return _percent(group.frequency) + ("" if ends is None else f" ({ends[0]:.0%} to {ends[1]:.0%})")


def _share(count: float, of: int) -> str:
    return f"{count:,.0f} ({count / of:.0%})"


def _percent(share: float) -> str:
    return f"{share:.0%}"
