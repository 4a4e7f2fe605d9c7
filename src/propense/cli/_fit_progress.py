"""The progress of fits on a terminal: a line that goes when they are done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from propense.cli._console import Console
from propense.cli._printing import harmless

__all__ = ["fit_in_words", "show_progress", "show_steps"]


def fit_in_words(what: str, done: int, total: int) -> str:
    """What `fit_table` is doing."""
    return "Testing whether labels are at random" if what == "test" else f"Fitting: {done} of {total} models"


@contextmanager
def show_progress(in_words: Callable[[str, int, int], str]) -> Iterator[Callable[[str, int, int], None] | None]:
    """What `fit_table` or `compare_table` calls, inside `with`; None if standard error is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Reading the table")
        yield lambda what, done, total: bar.update(task, description=harmless(in_words(what, done, total)))


@contextmanager
def show_steps() -> Iterator[Callable[[str], None]]:
    """Say in one line what is being done, first that the table is read; nothing if this is not a terminal."""
    with show_progress(lambda what, done, total: what) as progress:
        yield lambda what: None if progress is None else progress(what, 0, 0)
