"""`propense datasets`: list, describe and download data sets."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from propense.cli._json import Json, print_json
from propense.cli._printing import say

__all__ = ["datasets"]

datasets = typer.Typer(
    no_args_is_help=True, help="List, describe or download data sets: those of the JERM paper, and nhanes."
)

Name = Annotated[str, typer.Argument(help="A name from `propense datasets list`.")]


@datasets.command("list")
def list_datasets(json: Json = False) -> None:
    """List the data sets with their sizes, and whether they are on this machine."""
    from rich.table import Table

    from propense.cli._console import Console
    from propense.datasets import describe, is_available, names
    from propense.datasets.home import data_home
    from propense.datasets.nhanes_table import TASKS, nhanes_path

    if json:
        paper = [{**asdict(describe(name)), "available": is_available(name)} for name in names()]
        tasks = [
            {"name": "nhanes", "task": task.name, "n": task.n, "p": len(task.features), "labelled": task.labelled}
            | {"positives": task.positives, "available": nhanes_path().is_file()}
            for task in TASKS.values()
        ]
        print_json("datasets list", {"home": data_home(), "datasets": paper, "natural": tasks})
        return
    table = Table(title=f"Data sets in {data_home()}")
    for column in ("name", "rows", "columns", "positives", "downloaded"):
        table.add_column(column, justify="left" if column in ("name", "downloaded") else "right")
    for name in names():
        entry = describe(name)
        here = "with scikit-learn" if name == "wdbc" else "yes" if is_available(name) else "no"
        table.add_row(name, str(entry.n), str(entry.p), str(entry.positives), here)
    Console().print(table)
    natural = Table(title="Labels and classes that were observed, not simulated")
    for column in ("name", "task", "rows", "columns", "labelled", "positives", "downloaded"):
        natural.add_column(column, justify="left" if column in ("name", "task", "downloaded") else "right")
    here = "yes" if nhanes_path().is_file() else "no"
    for task in TASKS.values():
        counts = (task.n, len(task.features), task.labelled, task.positives)
        natural.add_row("nhanes", task.name, *map(str, counts), here)
    Console().print(natural)


@datasets.command("describe")
def describe_dataset(name: Name, json: Json = False) -> None:
    """Describe a data set: size, positives, source, licence and citation."""
    from propense.datasets import describe

    if json:
        print_json("datasets describe", _nhanes_facts() if name == "nhanes" else asdict(describe(name)))
        return
    if name == "nhanes":
        _describe_nhanes()
        return
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


def _nhanes_facts() -> dict[str, Any]:
    """The health survey in plain values."""
    from propense.datasets.nhanes import ACCESS, AGREEMENT, CITATION
    from propense.datasets.nhanes_files import ADDRESS
    from propense.datasets.nhanes_table import ROWS, TASKS

    tasks = [{**vars(task), "n": task.n} for task in TASKS.values()]
    facts = {"name": "nhanes", "rows": sum(ROWS.values()), "tasks": tasks, "access": ACCESS, "source": ADDRESS}
    return {**facts, "licence": AGREEMENT, "citation": CITATION}


def _describe_nhanes() -> None:
    """Describe the health survey, task by task."""
    from propense.datasets.nhanes import ACCESS, AGREEMENT, CITATION
    from propense.datasets.nhanes_files import ADDRESS
    from propense.datasets.nhanes_table import ROWS, TASKS

    say(f"     name  nhanes (US National Health and Nutrition Examination Survey, {min(ROWS)} to {max(ROWS) + 1})")
    say(f"     rows  {sum(ROWS.values())} adults who were examined")
    for task in TASKS.values():
        say(f"     task  {task.name}: {task.n} rows, {task.labelled} labelled, {task.positives} positive")
        say(f"           labelled: {task.label}; positive: {task.truth}")
        say(f"           {len(task.features)} columns, without those that define the class: {', '.join(task.defining)}")
    say(f"   access  {', '.join(ACCESS)}: columns of access to care, for propensity_features")
    say(f"   source  {ADDRESS}")
    say(f"  licence  public use. {AGREEMENT}")
    say(f" citation  {CITATION}")


@datasets.command("fetch")
def fetch(
    names_wanted: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Names of data sets. Default: the tables of the JERM paper, without its images."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Download data sets that are not yet on this machine, into PROPENSE_DATA or the user's cache."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

    from propense.cli._console import Console
    from propense.datasets import describe, load, load_nhanes, names
    from propense.datasets.nhanes import AGREEMENT

    wanted = names_wanted or [name for name in names() if not describe(name).images]
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    sources: dict[str, str] = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:
        for name in wanted:
            if name == "nhanes":
                progress.console.print(AGREEMENT, soft_wrap=True)
            else:
                describe(name)
            task = progress.add_task(name, total=None)

            def show(size: int, task: TaskID = task) -> None:
                progress.update(task, completed=size)

            data = load_nhanes(progress=show) if name == "nhanes" else load(name, progress=show)
            progress.update(task, total=1, completed=1, visible=False)
            progress.console.print(f"{name}: {data.source}", soft_wrap=True)
            sources[name] = str(data.source)
    if json:
        print_json("datasets fetch", {"datasets": sources})
