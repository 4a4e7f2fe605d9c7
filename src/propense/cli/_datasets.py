"""`propense datasets`: list, describe and download data sets."""

from typing import Annotated

import typer

from propense.cli._printing import say

__all__ = ["datasets"]

datasets = typer.Typer(no_args_is_help=True, help="List, describe or download the twenty data sets of the paper.")

Name = Annotated[str, typer.Argument(help="A name from `propense datasets list`.")]


@datasets.command("list")
def list_datasets() -> None:
    """List the data sets with their sizes, and whether they are on this machine."""
    from rich.table import Table

    from propense.cli._console import Console
    from propense.datasets import describe, is_available, names
    from propense.datasets.home import data_home

    table = Table(title=f"Data sets in {data_home()}")
    for column in ("name", "rows", "columns", "positives", "downloaded"):
        table.add_column(column, justify="left" if column in ("name", "downloaded") else "right")
    for name in names():
        entry = describe(name)
        here = "with scikit-learn" if name == "wdbc" else "yes" if is_available(name) else "no"
        table.add_row(name, str(entry.n), str(entry.p), str(entry.positives), here)
    Console().print(table)


@datasets.command("describe")
def describe_dataset(name: Name) -> None:
    """Describe a data set: size, positives, source, licence and citation."""
    from propense.datasets import describe

    entry = describe(name)
    for label, value in (
        ("name", f"{entry.name} ({entry.title} in the paper)"),
        ("rows", f"{entry.n}, {entry.positives} positive: {entry.rule}"),
        ("columns", f"{entry.p}{' features of ResNet-18 in the paper' * entry.images}, {entry.scaling} in the paper"),
        ("source", f"OpenML {entry.openml_id}"),
        ("licence", entry.licence),
        ("citation", entry.citation),
    ):
        say(f"{label:>9}  {value}")


@datasets.command("fetch")
def fetch(
    names_wanted: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Names of data sets; all tables, but no images, unless given."),
    ] = None,
) -> None:
    """Download data sets that are not yet on this machine, into PROPENSE_DATA or the user's cache."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from propense.cli._console import Console
    from propense.datasets import describe, load, names

    wanted = names_wanted or [name for name in names() if not describe(name).images]
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        for name in wanted:
            describe(name)
            task = progress.add_task(name, total=None)
            data = load(name, progress=lambda size, task=task: progress.update(task, completed=size))  # type: ignore[misc]
            progress.update(task, total=1, completed=1, visible=False)
            progress.console.print(f"{name}: {data.source}", soft_wrap=True)
