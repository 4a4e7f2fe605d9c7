"""The commands and their options."""

from typing import Annotated

import typer

from propense.cli._datasets import datasets
from propense.cli._study import study
from propense.cli._table import fit, inspect, methods, score

__all__ = ["app"]

app = typer.Typer(
    name="propense",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


for command in (fit, score, inspect, methods):
    app.command()(command)
app.add_typer(study, name="study")
app.add_typer(datasets, name="datasets")


def _print_version(wanted: bool) -> None:
    if wanted:
        from propense import __version__

        print(f"propense {__version__}")
        raise typer.Exit


@app.callback()
def propense(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Learn which rows are positive, and which positives get labelled, from positive and unlabelled data."""


@app.command()
def demo(seed: Annotated[int, typer.Option(help="The random seed of the labels.", min=0)] = 0) -> None:
    """Hide most labels of scikit-learn's breast cancer data, and find the malignant tumours again."""
    from propense.cli._demo import run_demo, show_demo

    show_demo(run_demo(seed))
