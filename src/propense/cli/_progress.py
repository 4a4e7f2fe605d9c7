"""The progress of a study: a bar on a terminal, or a line every half minute in a log."""

import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from propense.cli._console import Console
from propense.study import Cell, Record, RunProgress

__all__ = ["ProgressBar"]

# Seconds between two lines of a log.
_PAUSE = 30.0


class ProgressBar:
    """Shows the records done, the rate, the time left and the failures, inside `with progress.bar`."""

    def __init__(self, console: Console, total: int) -> None:
        self._console, self._total = console, total
        self._done = self._failed = self._before = 0
        self._start = self._logged = time.monotonic()
        columns = (
            TextColumn("records"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[failed]} failed"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self.bar = Progress(*columns, console=console, speed_estimate_period=120, disable=not console.is_terminal)
        self._task = self.bar.add_task("records", total=total, failed=0, rate="")

    def on_start(self, before: RunProgress) -> None:
        """Start from the records of earlier runs."""
        self._done = self._before = before.done
        self._failed = before.failed
        self._start = time.monotonic()
        self.bar.update(self._task, completed=before.done, failed=before.failed)

    def on_record(self, _: Cell, record: Record) -> None:
        """Count one more record."""
        self._done += 1
        self._failed += record.error is not None
        now = time.monotonic()
        rate = (self._done - self._before) / max(now - self._start, 1e-9)
        self.bar.update(self._task, advance=1, failed=self._failed, rate=f"{rate:.1f}/s")
        if not self._console.is_terminal and now - self._logged >= _PAUSE:
            self._logged = now
            left = (self._total - self._done) / rate / 60.0
            self._console.print(
                f"{self._done} of {self._total} records, {rate:.1f}/s, {left:.0f} min left, {self._failed} failed",
                soft_wrap=True,
            )
