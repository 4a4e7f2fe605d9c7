"""What `propense fit` prints."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from propense.estimators import PUClassifier
from propense.tables import Grouping, TableFit

__all__ = ["show_fit"]

# Columns shown under "who is under-labelled".
_SHOWN = 5
# Columns named of each kind.
_NAMED = 12


def show_fit(found: TableFit, name: str) -> None:
    """Rows and columns, the method beside the naive baseline, who is under-labelled, and what to beware of."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    n, labelled = found.counts.rows, found.counts.labelled
    said = "" if found.model is None else f" ({found.model.label})"
    console.print(f"{name}: {n:,} rows, {labelled:,} labelled{said}.")
    for kind, words in (("number", "numbers"), ("truth", "true/false"), ("category", "categories")):
        names = [column.name for column in found.schema.columns if column.kind == kind]
        if names:
            shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
            console.print(f"  {words}: {shown}")
    console.print(_estimates(found))
    console.print(_under_labelled(found.groups[:_SHOWN], found.estimator.label_frequency_))
    if isinstance(found.estimator, PUClassifier):
        console.print(str(found.estimator.diagnosis_))
    if found.scar is not None:
        console.print(f"Labels at random? {found.scar} ({found.scar.rows:,} rows were looked at.)")
    for note in found.notes:
        console.print(f"Note: {note}")


def _estimates(found: TableFit) -> Table:
    n, labelled = found.counts.rows, found.counts.labelled
    table = Table(title="How many are positive?")
    table.add_column("")
    table.add_column("unlabelled taken for negative (naive)", justify="right")
    table.add_column(type(found.estimator).__name__, justify="right")
    estimator = found.estimator
    cut = "the prior" if estimator.decision == "balanced" else "½"
    for words, naive, ours in (
        ("positives", _share(labelled, n), _share(estimator.prior_ * n, n)),
        ("of them labelled", "100 %", _percent(estimator.label_frequency_)),
        ("hidden among the unlabelled", "0", f"{found.counts.hidden:,.0f}"),
        (
            f"called positive: posterior above {cut}",
            f"{found.counts.naive_positive:,}",
            f"{found.counts.positive:,}",
        ),
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
            names = [Text(words, overflow="ellipsis") for words in (grouping.column, least.name, most.name)]
            table.add_row(names[0], names[1], _percent(least.frequency), names[2], _percent(most.frequency))
    return table


def _share(count: float, of: int) -> str:
    return f"{count:,.0f} ({100 * count / of:.0f} %)"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
