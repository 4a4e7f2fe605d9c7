"""The progress of fits on a terminal: a line that goes when they are done. With Dask, a log gets lines too."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from propense.cli._console import Console
from propense.cli._printing import harmless

__all__ = ["fit_in_words", "show_passes", "show_progress", "show_steps"]

# Seconds between two lines of a log, as of a study.
_PAUSE = 30.0


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


@contextmanager
def show_passes() -> Iterator[Callable[[str, int, float], None]]:
    """What `fit_folder` calls, inside `with`: a line on a terminal; in a log, a line every half minute."""
    console, logged = Console(stderr=True), time.monotonic()

    def log(stage: str, passes: int, seconds: float) -> None:
        nonlocal logged
        if time.monotonic() - logged >= _PAUSE:
            logged = time.monotonic()
            console.print(f"{_in_passes(stage, passes)}, {seconds:.0f} s", soft_wrap=True)

    if not console.is_terminal:
        yield log
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Reading the table")
        yield lambda stage, passes, _: bar.update(task, description=harmless(_in_passes(stage, passes)))


def _in_passes(stage: str, passes: int) -> str:
    return f"Fitting: {stage or 'reading'}, {passes} {'pass' if passes == 1 else 'passes'} over the rows"
