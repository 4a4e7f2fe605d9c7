"""What `propense fit` prints."""

from collections import Counter

from rich.console import Console
from rich.table import Table

from propense.tables import Grouping, TableFit

__all__ = ["show_fit"]

# Columns shown under "who is under-labelled".
_SHOWN = 5


def show_fit(found: TableFit, name: str) -> None:
    """Rows and columns, the method beside the naive baseline, who is under-labelled, and what to beware of."""
    console = Console(highlight=False)
    n, labelled = len(found.labelled), int(found.labelled.sum())
    kinds = Counter(column.kind for column in found.schema.columns)
    words = {"number": "numbers", "truth": "true/false", "category": "categories"}
    columns = ", ".join(f"{count} {words[kind]}" for kind, count in kinds.items())
    console.print(f"{name}: {n:,} rows, {labelled:,} labelled; {sum(kinds.values())} columns: {columns}.", markup=False)
    console.print(_estimates(found))
    console.print(_under_labelled(found.groups[:_SHOWN], found.estimator.label_frequency_))
    for note in found.notes:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)


def _estimates(found: TableFit) -> Table:
    n, labelled = len(found.labelled), int(found.labelled.sum())
    table = Table(title="How many are positive?")
    table.add_column("")
    table.add_column("unlabelled taken for negative (naive)", justify="right")
    table.add_column(type(found.estimator).__name__, justify="right")
    estimator = found.estimator
    for words, naive, ours in (
        ("positives", _share(labelled, n), _share(estimator.prior_ * n, n)),
        ("of them labelled", "100 %", f"{estimator.label_frequency_:.0%}".replace("%", " %")),
        ("hidden among the unlabelled", "0", f"{float(found.scores.hidden[~found.labelled].sum()):,.0f}"),
        ("rows called positive", f"{int(found.naive_positive.sum()):,}", f"{int(found.positive.sum()):,}"),
    ):
        table.add_row(words, naive, ours)
    return table


def _under_labelled(groupings: list[Grouping], overall: float) -> Table:
    title = f"Who is under-labelled? Share of the positives that is labelled ({100 * overall:.0f} % in all)"
    table = Table(title=title, min_width=len(title))
    for column in ("column", "least labelled", "", "most labelled", ""):
        table.add_column(column, justify="right" if column == "" else "left")
    for grouping in groupings:
        # A group without a positive to speak of has no share to speak of.
        groups = sorted((g for g in grouping.groups if g.positives >= 1), key=lambda g: g.frequency)
        if len(groups) > 1:
            least, most = groups[0], groups[-1]
            cells = (grouping.column, least.name, f"{least.frequency:.0%}", most.name, f"{most.frequency:.0%}")
            table.add_row(*(cell.replace("%", " %") if cell.endswith("%") else cell for cell in cells))
    return table


def _share(count: float, of: int) -> str:
    return f"{count:,.0f} ({100 * count / of:.0f} %)"
