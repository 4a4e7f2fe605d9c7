"""The progress of a fit on a terminal: a line that goes when the fit is done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from propense.cli._console import Console

__all__ = ["show_progress"]


@contextmanager
def show_progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """What `fit_table` calls, inside `with`; None if standard error is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Reading the table")

        def show(what: str, done: int, total: int) -> None:
            fits = f"Fitting: {done} of {total} models"
            bar.update(task, description="Testing whether labels are at random" if what == "test" else fits)

        yield show
