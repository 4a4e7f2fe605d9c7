"""Score a table on disk in batches: write every row with its three scores, or the list of rows to review first."""

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._files import write_atomically
from propense.errors import InvalidOption, InvalidTable
from propense.estimators import Naive
from propense.tables.cells import check_decimal, normalise_decimals, row_ids, take_rows
from propense.tables.files import TableFile, TableWriter, need_arrow
from propense.tables.fitted_rows import are_among, hash_ids, hash_values
from propense.tables.model import ADDED, Scores, TableModel, scores_of

__all__ = ["Scored", "score_file"]


@dataclass(frozen=True)
class Scored:
    """What was read and written.

    Attributes
    ----------
    rows, labelled : int
        Rows read, and how many of them are labelled.
    positives : float
        How many rows are expected to be positive, including the labelled ones.
    listed : int
        Rows written.
    hits : float
        How many of the unlabelled rows written are expected to be positive.
    seconds : float
    fitted : int or None
        How many rows were used in the fit: they have the id, or else the values, of such a row. Their scores are too
        certain. None if that is not known.
    new_levels : dict of str to int
        By column, the number of cells with a category, or an empty cell, that did not occur in the fit. They are
        treated as the most frequent category.
    """

    rows: int
    labelled: int
    positives: float
    listed: int
    hits: float
    seconds: float
    fitted: int | None
    new_levels: dict[str, int]


def score_file(
    model: TableModel,
    source: TableFile,
    out: Path,
    *,
    top: int | None = None,
    decimal: str | None = None,
    defuse: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Scored:
    """Write the table with the columns `posterior`, `propensity` and `hidden`, or only its `top` unlabelled rows.

    The label column, if the table has one, shows which rows are labelled. Without it all rows are unlabelled.

    Parameters
    ----------
    model : TableModel
    source : TableFile
    out : Path
        The file to write, whole or not at all. The format follows from its name.
    top : int, default=None
        How many rows to write, those most likely to be positive first. None writes all rows in their order.
    decimal : {".", ","}, default=None
        The decimal sign of numbers written as text. None means a point.
    defuse : bool, default=False
        Whether a CSV file gets an apostrophe before every text and column name that begins with =, +, - or @ and is not
        a number. Spreadsheets run such cells as formulas.
    progress : callable, default=None
        Called after every batch with the number of rows done.

    Returns
    -------
    Scored
    """
    out = Path(out)
    _check(model, source, out, top, decimal)
    start = time.perf_counter()
    rows = labelled = listed = fitted = 0
    positives = hits = 0.0
    best = _Best(top) if top is not None else None
    new_levels: Counter[str] = Counter()
    # If the source has semicolons or a byte order mark, so does the output: for the same spreadsheet.
    separator = None if source.separator in (",", "\t") else source.separator
    with (
        write_atomically(out, InvalidTable) as path,
        TableWriter(path, separator=separator, marked=source.marked, defuse=defuse) as output,
    ):
        for batch in source.batches():
            cells = normalise_decimals(batch, model.schema.names, decimal)
            read = model.schema.read(cells, str(source.path), rows)
            matrix = model.schema.encode(read)
            new_levels.update(_new_levels(model, matrix))
            fitted += _count_fitted(model, batch, matrix, str(source.path))
            # Where numbers are too large, one error says so.
            with np.errstate(over="ignore", invalid="ignore"):
                scores = scores_of(model.estimator, model.features_of(read))
            _check_scores(scores, str(source.path), rows)
            known = _labelled(model, batch, str(source.path), rows)
            scored = _with_scores(batch, scores)
            rows, labelled = rows + batch.num_rows, labelled + int(known.sum())
            positives += float(np.where(known, 1.0, scores.hidden).sum())
            if best is None:
                output.write(scored)
                listed, hits = rows, hits + float(scores.hidden[~known].sum())
            else:
                best.add(scored, scores.hidden, ~known, str(source.path))
            if progress:
                progress(rows)
        if not rows:
            raise InvalidTable(f"{source.path} has no rows.")
        if best is not None:
            output.write(best.rows)
            listed, hits = best.rows.num_rows, float(best.hidden.sum())
    known_rows = model.fitted_rows is not None and (model.id is None or model.id in source.columns)
    return Scored(
        rows,
        labelled,
        positives,
        listed,
        hits,
        time.perf_counter() - start,
        fitted if known_rows else None,
        dict(new_levels),
    )


class _Best:
    """The rows with the largest h so far, in decreasing order; rows with the same h keep their order."""

    def __init__(self, top: int) -> None:
        self._top = top
        self.rows: Any = None
        self.hidden: NDArray[np.float64] = np.empty(0)

    def add(self, batch: Any, hidden: NDArray[np.float64], wanted: NDArray[np.bool_], where: str) -> None:
        """Add the wanted rows of a batch."""
        arrow = need_arrow()
        index = np.flatnonzero(wanted)
        index = index[np.argsort(-hidden[index], kind="stable")[: self._top]]
        candidates = arrow.Table.from_batches([take_rows(batch, arrow.array(index), where)])
        both = candidates if self.rows is None else arrow.concat_tables([self.rows, candidates])
        hidden = np.concatenate([self.hidden, hidden[index]])
        order = np.argsort(-hidden, kind="stable")[: self._top]
        self.rows, self.hidden = both.take(arrow.array(order)).combine_chunks(), hidden[order]


def _check(model: TableModel, source: TableFile, out: Path, top: int | None, decimal: str | None) -> None:
    check_decimal(decimal)
    model.schema.check(source.columns, str(source.path))
    if top is not None and isinstance(model.estimator, Naive):
        raise InvalidOption(
            "The naive method treats unlabelled rows as negatives and cannot list rows to review. Fit another method."
        )
    taken = [name for name in ADDED if name in source.columns]
    if taken:
        raise InvalidTable(f"{source.path} already has a column {taken[0]!r}, which scoring would add. Rename it.")
    if os.path.exists(out) and out.samefile(source.path):
        raise InvalidTable(f"{out} is the table itself, which is not overwritten. Choose another file.")


def _check_scores(scores: Scores, where: str, first_row: int) -> None:
    """Refuse to write a score that is not a number, as coefficients near the limits of float64 give."""
    for name in ADDED:
        wrong = np.flatnonzero(np.isnan(getattr(scores, name)))
        if len(wrong):
            row = first_row + int(wrong[0]) + 1
            raise InvalidTable(
                f"{where}, column {name!r}, row {row}: the model gives a score that is not a number. "
                "Check the numbers in that row, or fit the model again."
            )


def _labelled(model: TableModel, batch: Any, where: str, first_row: int) -> NDArray[np.bool_]:
    """Which rows are labelled; none if there is no label column."""
    if model.label.column not in batch.schema.names:
        return np.zeros(batch.num_rows, dtype=bool)
    return model.label.read(batch.column(model.label.column), where, first_row)


def _count_fitted(model: TableModel, batch: Any, matrix: NDArray[np.float64], where: str) -> int:
    """How many rows are remembered as rows of the fit."""
    if model.fitted_rows is None or (model.id is not None and model.id not in batch.schema.names):
        return 0
    hashes = hash_values(matrix) if model.id is None else hash_ids(row_ids(batch, model.id, where))
    return int(are_among(model.fitted_rows, hashes).sum())


def _new_levels(model: TableModel, matrix: NDArray[np.float64]) -> dict[str, int]:
    """How many cells of each category are not a level of the fit."""
    categories = [(j, column.name) for j, column in enumerate(model.schema.columns) if column.kind == "category"]
    counts = {name: int((matrix[:, j] < 0).sum()) for j, name in categories}
    return {name: count for name, count in counts.items() if count}


def _with_scores(batch: Any, scores: Scores) -> Any:
    arrow = need_arrow()
    for name in ADDED:
        batch = batch.append_column(name, arrow.array(getattr(scores, name)))
    return batch
