"""Score a table on disk batch by batch: every row with its three numbers, or the list of rows to look at first."""

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
from propense.tables.files import TableFile, TableWriter, need_arrow
from propense.tables.model import ADDED, Scores, TableModel, scores_of

__all__ = ["Scored", "score_file"]


@dataclass(frozen=True)
class Scored:
    """What was written.

    Attributes
    ----------
    rows, labelled : int
        Read, and how many of them carry the label.
    positives : float
        How many are expected to be positive, the labelled among them.
    listed : int
        Rows written.
    hits : float
        How many of the unlabelled rows written are expected to be positive.
    seconds : float
    unseen : dict of str to int
        Columns with cells that hold a level, or nothing, as never in fit: they count as the most frequent level.
    """

    rows: int
    labelled: int
    positives: float
    listed: int
    hits: float
    seconds: float
    unseen: dict[str, int]


def score_file(
    model: TableModel,
    source: TableFile,
    out: Path,
    *,
    top: int | None = None,
    tell: Callable[[int], None] | None = None,
) -> Scored:
    """Write the table with `posterior`, `propensity` and `hidden`, in its order; or the `top` unlabelled rows.

    Rows whose label column, where the table has one, says that they are labelled are not listed among the top.

    Parameters
    ----------
    model : TableModel
    source : TableFile
    out : Path
        Written whole or not at all; its name tells the format.
    top : int, default=None
        How many rows to list; None writes all.
    tell : callable, default=None
        Told after every batch how many rows are done.

    Returns
    -------
    Scored
    """
    out = Path(out)
    _check(model, source, out, top)
    start = time.perf_counter()
    rows = labelled = listed = 0
    positives = hits = 0.0
    best = _Best(top) if top is not None else None
    unseen: Counter[str] = Counter()
    with write_atomically(out, InvalidTable) as path, _Output(path, out.name, source) as output:
        for batch in source.batches():
            matrix = model.schema.encode(source.plain(batch), str(source.path), rows)
            unseen.update(_unseen(model, matrix))
            scores = scores_of(model.estimator, model.prepare(matrix))
            known = _labelled(model, batch, str(source.path), rows)
            scored = _beside(batch, scores)
            rows, labelled = rows + batch.num_rows, labelled + int(known.sum())
            positives += float(np.where(known, 1.0, scores.hidden).sum())
            if best is None:
                output.write(scored)
                listed, hits = rows, hits + float(scores.hidden[~known].sum())
            else:
                best.add(scored, scores.hidden, ~known)
            if tell:
                tell(rows)
        if not rows:
            raise InvalidTable(f"{source.path} holds no rows.")
        if best is not None:
            output.write(best.rows)
            listed, hits = best.rows.num_rows, float(best.hidden.sum())
    return Scored(rows, labelled, positives, listed, hits, time.perf_counter() - start, dict(unseen))


class _Best:
    """The unlabelled rows of largest h seen so far, the largest first, earlier rows before later ones of the same h."""

    def __init__(self, top: int) -> None:
        self._top = top
        self.rows: Any = None
        self.hidden: NDArray[np.float64] = np.empty(0)

    def add(self, batch: Any, hidden: NDArray[np.float64], wanted: NDArray[np.bool_]) -> None:
        """Take in a batch."""
        arrow = need_arrow()
        index = np.flatnonzero(wanted)
        index = index[np.argsort(-hidden[index], kind="stable")[: self._top]]
        candidates = arrow.Table.from_batches([batch.take(arrow.array(index))])
        both = candidates if self.rows is None else arrow.concat_tables([self.rows, candidates])
        hidden = np.concatenate([self.hidden, hidden[index]])
        order = np.argsort(-hidden, kind="stable")[: self._top]
        self.rows, self.hidden = both.take(arrow.array(order)).combine_chunks(), hidden[order]


class _Output:
    """A writer made when the first rows tell the schema."""

    def __init__(self, path: Path, name: str, source: TableFile) -> None:
        self._path, self._name, self._source = path, name, source
        self._writer: TableWriter | None = None

    def __enter__(self) -> "_Output":
        return self

    def write(self, rows: Any) -> None:
        """Append a batch or a table."""
        arrow = need_arrow()
        try:
            if self._writer is None:
                # A semicolon or a mark in the table's first line is what its owner's spreadsheet wants.
                usual = self._source.separator in (",", "\t")
                self._writer = TableWriter(
                    self._path,
                    self._name,
                    rows.schema,
                    separator=None if usual else self._source.separator,
                    marked=self._source.marked,
                )
            for batch in rows.to_batches() if isinstance(rows, arrow.Table) else [rows]:
                self._writer.write(batch)
        except arrow.ArrowException as error:
            raise InvalidTable(f"{self._name} cannot be written: {error}") from None

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()


def _check(model: TableModel, source: TableFile, out: Path, top: int | None) -> None:
    model.schema.check(source.columns, str(source.path))
    if top is not None and isinstance(model.estimator, Naive):
        raise InvalidOption("The naive method finds nobody hidden, so it has no list. Fit another --method.")
    taken = [name for name in ADDED if name in source.columns]
    if taken:
        raise InvalidTable(f"{source.path} already has a column {taken[0]!r}, which would be written. Rename it.")
    if out.exists() and out.samefile(source.path):
        raise InvalidTable(f"{out} is the table itself, which is not written over. Give another --out.")


def _labelled(model: TableModel, batch: Any, where: str, first_row: int) -> NDArray[np.bool_]:
    """Who carries the label, where the table says so."""
    if model.label.column not in batch.schema.names:
        return np.zeros(batch.num_rows, dtype=bool)
    return model.label.read(batch.column(model.label.column), where, first_row)


def _unseen(model: TableModel, matrix: NDArray[np.float64]) -> dict[str, int]:
    """How many cells of each category hold no level that the model knows."""
    counts = ((column.name, int((matrix[:, j] < 0).sum())) for j, column in _categories(model))
    return {name: count for name, count in counts if count}


def _categories(model: TableModel) -> list[tuple[int, Any]]:
    return [(j, column) for j, column in enumerate(model.schema.columns) if column.kind == "category"]


def _beside(batch: Any, scores: Scores) -> Any:
    arrow = need_arrow()
    for name in ADDED:
        batch = batch.append_column(name, arrow.array(getattr(scores, name)))
    return batch
