"""Rows to review first: the unlabelled rows of fit that are most likely to be positive."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._files import write_atomically
from propense._representation import Readable, Sheet, as_html
from propense.errors import InvalidOption, InvalidTable
from propense.estimators import Naive
from propense.tables.capacity import keep_to_headline, why_unpromised
from propense.tables.cells import take_rows
from propense.tables.files import TableFile, TableWriter, check_output
from propense.tables.fit import TableFit
from propense.tables.folder import TableFolder
from propense.tables.model import ADDED, review_order
from propense.tables.promise import Promise, add_up, too_little_learned
from propense.tables.reasons import RowReasons, row_reasons

__all__ = ["NO_LIST", "ReviewList", "check_list", "list_rows", "two_digits", "write_list"]

NO_LIST = "The naive method treats unlabelled rows as negatives and cannot list rows to review. Fit another method."
# Rows that a notebook shows.
_SHOWN = 10
# The columns that a list adds to a table.
_ADDED = ("rank", "hidden", "hidden_low", "hidden_high", "why")


@dataclass(frozen=True, repr=False)
class ReviewList(Readable):
    """Unlabelled rows of fit, the most likely positives first.

    Attributes
    ----------
    rows : int ndarray of shape (n_listed,)
        Where the rows are in the table, from 0.
    hidden : ndarray of shape (n_listed,), or None
        h(x), the chance that the row is positive; None if too little was learned to give one.
    hidden_range : ndarray of shape (n_listed, 2), or None
        The range of h(x), if there is one.
    promise : Promise
        How many of the rows are expected to be positive. Print it. Its range does not contradict that of all rows: no
        list holds more positives than there may be, and all unlabelled rows hold at least the fewest.
    reasons : tuple of RowReasons
        Why each of the rows is in the list; empty if that cannot be said.
    """

    rows: NDArray[np.intp]
    hidden: NDArray[np.float64] | None
    hidden_range: NDArray[np.float64] | None
    promise: Promise
    reasons: tuple[RowReasons, ...] = ()

    def __str__(self) -> str:
        lines = [str(self.promise), *("  ".join(f"{cell:>12}" for cell in line) for line in self._lines()[1:])]
        return "\n".join([lines[0], "  ".join(f"{cell:>12}" for cell in self._lines()[0]), *lines[1:]])

    def _headline(self) -> str:
        return f"{len(self.rows):,} rows to review first. {self.promise}"

    def _lines(self) -> list[list[str]]:
        """The names of the columns, and the first rows; rows are numbered from 1, as in reports."""
        head = [
            "rank",
            "row",
            *(["chance"] * (self.hidden is not None)),
            *(["range"] * (self.hidden_range is not None)),
        ]
        lines = [head]
        for place, row in enumerate(self.rows[:_SHOWN]):
            line = [str(place + 1), str(row + 1)]
            if self.hidden is not None:
                line.append(f"{two_digits(self.hidden[place]):.2f}")
            if self.hidden_range is not None:
                line.append("{:.2f} to {:.2f}".format(*two_digits(self.hidden_range[place])))
            lines.append(line)
        return lines

    def _sheets(self) -> list[Sheet]:
        head, *lines = self._lines()
        more = f", the first {_SHOWN} of {len(self.rows):,}" if len(self.rows) > _SHOWN else ""
        return [Sheet(f"Rows to review first{more}", head, lines)]

    def _repr_html_(self) -> str:
        return as_html("ReviewList", [str(self.promise)], self._sheets())

    def take(self, table: Any, where: str = "the table") -> Any:
        """The rows, from the Arrow table that was fitted, with the columns rank, hidden, its range, and why.

        hidden_low and hidden_high are empty if the method gives no range, and so is hidden if too little was learned.
        """
        import pyarrow as pa

        _check_names(table.column_names, where)
        out = take_rows(table, pa.array(self.rows), where)
        unknown = np.full(len(self.rows), np.nan)
        hidden = unknown if self.hidden is None else two_digits(self.hidden)
        low, high = (unknown, unknown) if self.hidden_range is None else two_digits(self.hidden_range.T)
        for name, values in zip(_ADDED, (np.arange(1, len(self.rows) + 1), hidden, low, high), strict=False):
            out = out.append_column(name, pa.array(values, from_pandas=True))
        words = pa.array([str(each) for each in self.reasons], pa.string())
        return out.append_column(_ADDED[-1], words if self.reasons else pa.nulls(len(self.rows), pa.string()))


def two_digits(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """As in reports, from 0.01 to 0.99: no estimate is surer."""
    return np.asarray(chances.clip(0.01, 0.99).round(2))


def list_rows(found: TableFit, top: int = 50, table: Any = None) -> ReviewList:
    """The unlabelled rows of a fit that are most likely to be positive, and how many of them should be.

    `PUClassifier` scores each row by models that have not seen it. A method that does not, such as `JERM`, gives a list
    too, but promises no number.

    Parameters
    ----------
    found : TableFit
        What `fit_table` returned.
    top : int, default=50
        How many rows to list.
    table : pyarrow.Table, default=None
        The table that was fitted, for reasons that quote its texts as they are.

    Returns
    -------
    ReviewList

    Examples
    --------
    >>> from propense.tables import TableFile, fit_table, list_rows
    >>> table = TableFile("patients.csv").read()  # doctest: +SKIP
    >>> review = list_rows(fit_table(table, "reported", id="patient"), 50)  # doctest: +SKIP
    >>> print(review.promise)  # doctest: +SKIP
    >>> review.take(table).to_pandas()  # doctest: +SKIP
    """
    if isinstance(found.estimator, Naive):
        raise InvalidOption(NO_LIST)
    unlabelled = np.flatnonzero(~found.labelled)
    order = review_order(found.estimator, found.scores)[unlabelled]
    rows = unlabelled[np.argsort(-order, kind="stable")[:top]]
    hidden, ends = found.scores.hidden[rows], found.scores.hidden_range
    ends, why = None if ends is None else ends[rows], tuple(row_reasons(found, rows, table))
    promise = _promise(found, rows, hidden, ends)
    rows = found.in_table(rows)
    if too_little_learned(found.estimator):
        return ReviewList(rows, None, None, promise, why)
    return ReviewList(rows, hidden, ends, promise, why)


def _promise(found: TableFit, rows: NDArray[np.intp], hidden: NDArray[np.float64], ends: Any) -> Promise:
    """How many of the rows are expected to be positive."""
    sums, audit = add_up(hidden, ends), getattr(found.estimator, "audit_", None)
    if audit is not None and found.scores.slopes is not None:
        promise = Promise.of_audit(sums, found.scores.slopes[rows].sum(axis=0), audit.covariance)
    else:
        promise = replace(Promise.of(sums, why_unpromised(found)), audited=audit is not None)
    low, high = keep_to_headline(found, promise.rows, promise.low, promise.high)
    return replace(promise, low=float(low), high=float(high))


def write_list(
    review: ReviewList,
    table: Any,
    source: TableFile | TableFolder,
    out: Path,
    *,
    defuse: bool = False,
    decimal: str | None = None,
    numbers: Sequence[str] = (),
) -> None:
    """Write a list to a file, in the format of its name.

    Parameters
    ----------
    review : ReviewList
    table : pyarrow.Table
        The table that was fitted.
    source : TableFile or TableFolder
        Where it came from: a CSV file gets the separator of a CSV file.
    out : Path
    defuse : bool, default=False
        As in `score_file`.
    decimal : {".", ","}, default=None
        The decimal sign of a CSV file. None means a comma where semicolons separate the cells, and a point elsewhere.
    numbers : list of str, default=()
        Columns of text that hold numbers. Excel gets them as numbers.
    """
    with (
        write_atomically(Path(out), InvalidTable) as path,
        TableWriter.like(path, source, defuse=defuse, decimal=decimal, numbers=numbers) as output,
    ):
        output.write(review.take(table, source.where))


def check_list(method: type, columns: list[str], out: Path, where: str, top: int = 50) -> None:
    """Raise an error before a fit if its list could not be made or written."""
    if issubclass(method, Naive):
        raise InvalidOption(NO_LIST)
    _check_names(columns, where)
    check_output(Path(out), len(columns) + len(_ADDED), top)


def _check_names(columns: list[str], where: str) -> None:
    if not set(_ADDED) & set(columns):
        return
    # Those that only scoring adds would be the next error.
    taken = [name for name in columns if name in {*_ADDED, *ADDED}]
    if len(taken) == 1:
        raise InvalidTable(f"{where} has a column {taken[0]!r}, which the list would add. Rename it.")
    names = ", ".join(map(repr, taken))
    raise InvalidTable(f"{where} has the columns {names}, which the list or scoring would add. Rename them.")
