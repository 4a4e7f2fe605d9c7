"""The commands and their options."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from propense.cli._audit import audit
from propense.cli._bounds import bounds
from propense.cli._compare import compare
from propense.cli._datasets import datasets
from propense.cli._fit import fit
from propense.cli._inspect import inspect
from propense.cli._json import Json, print_error, print_json
from propense.cli._methods import methods
from propense.cli._printing import harmless
from propense.cli._score import score
from propense.cli._serve import serve
from propense.cli._study import study

__all__ = ["app"]


def _hint(message: str) -> str:
    """What was probably meant by a word that no option takes: the rest of a name that the shell has split."""
    if "unexpected extra argument" not in message:
        return ""
    return '. Names with spaces need quotes, such as --label "Confirmed fraud".'


class _Commands(TyperGroup):
    """The commands, whose usage errors quote arguments, such as the names of files that a shell found."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            # A usage error. Its class is typer's own or click's, depending on the version of typer.
            if isinstance(getattr(error, "message", None), str):
                words = f"{error.message}{_hint(error.message)}"  # type: ignore[attr-defined]
                error.message = harmless(words)  # type: ignore[attr-defined]
                print_error("UsageError", error.format_message())  # type: ignore[attr-defined]
            raise


app = typer.Typer(
    name="propense",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


for command in (fit, score, compare, bounds, inspect, methods, serve):
    app.command()(command)
app.add_typer(audit, name="audit")
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
    """Estimate which rows of a table are positive when only some of the positives are labelled."""


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="The random seed of the labels.", min=0, max=2**32 - 1)] = 0,
    json: Json = False,
) -> None:
    """Hide most labels of scikit-learn's breast cancer data, and see which methods find the malignant tumours."""
    from propense.cli._demo import run_demo, show_demo

    found = run_demo(seed)
    if json:
        print_json("demo", vars(found))
        return
    show_demo(found)
