"""Score a table on disk in batches: write every row with its three scores, or the list of rows to review first."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._files import is_part_of, write_atomically
from propense.errors import InvalidOption, InvalidTable
from propense.estimators import Naive
from propense.tables.cells import check_decimal, row_ids, take_rows
from propense.tables.drift import Drift, DriftWatch
from propense.tables.files import TableFile, TableWriter, check_output, need_arrow
from propense.tables.fitted_rows import are_among, hash_ids, hash_values
from propense.tables.folder import TableFolder
from propense.tables.model import ADDED, Scores, TableModel, review_order
from propense.tables.promise import TOO_LITTLE, Promise, add_up, too_little_learned
from propense.tables.reasons import model_reasons
from propense.tables.review import NO_LIST, two_digits
from propense.tables.spelling import DecimalSign
from propense.tables.verdicts import NO, OPEN, YES

__all__ = ["Scored", "score_file"]

# Where the facts of a row have its use in the fit, and its slopes.
_USED, _SLOPES = 4, 5
# The column that a list adds in addition to the scores.
_WHY = "why"


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
    promise : Promise
        How many of the unlabelled rows written are expected to be positive. Print it.
    seconds : float
    fitted : int or None
        How many rows were used in the fit: they have the id, or else the values, of such a row. None if that is not
        known.
    held_out : int
        How many of these were scored by models that have not seen them. The scores of the others are too certain.
    known_positive, known_negative : int
        How many unlabelled rows an audit found to be positive, and negative. They are not listed.
    new_levels : dict of str to int
        By column, the number of cells with a category, or an empty cell, that did not occur in the fit. They are
        treated as the most frequent category.
    decimal : {".", ","} or None
        The decimal sign of the table, if it is another than that of the table of the fit.
    drift : Drift
        Which columns have moved since the fit. Print it.
    """

    rows: int
    labelled: int
    positives: float
    listed: int
    promise: Promise
    seconds: float
    fitted: int | None
    new_levels: dict[str, int]
    held_out: int = 0
    known_positive: int = 0
    known_negative: int = 0
    decimal: str | None = None
    drift: Drift = field(default_factory=lambda: Drift(0, checked=False))


def score_file(
    model: TableModel,
    source: TableFile | TableFolder,
    out: Path,
    *,
    top: int | None = None,
    decimal: str | None = None,
    defuse: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Scored:
    """Write the table with the columns `posterior`, `propensity` and `hidden`, or only its `top` unlabelled rows.

    The rows of a list also have a column `why`: which columns speak for them. Its scores have two digits, from 0.01
    to 0.99.

    The label column, if the table has one, shows which rows are labelled. Without it all rows are unlabelled.

    Parameters
    ----------
    model : TableModel
    source : TableFile or TableFolder
    out : Path
        The file to write, whole or not at all. The format follows from its name.
    top : int, default=None
        How many rows to write, those most likely to be positive first. None writes all rows in their order.
    decimal : {".", ","}, default=None
        The decimal sign of numbers written as text. None means the one that they show, or else that of the table of the
        fit. A CSV file gets the same sign.
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
    rows = labelled = fitted = held_out = 0
    positives, audited = 0.0, np.zeros(2, dtype=int)
    best = None if top is None else _Best(top)
    # Of the unlabelled rows that are written: what the promise needs, and how many have scores that are too certain.
    sums: Any = 0.0
    used_listed = 0
    new_levels: Counter[str] = Counter()
    sign = model.decimal_sign(decimal, source.where)
    numbers = [column.name for column in model.schema.columns if column.kind == "number"]
    watch = DriftWatch(model.schema, model.seen)
    with (
        write_atomically(out, InvalidTable) as path,
        TableWriter.like(path, source, defuse=defuse, decimal=sign.sign, numbers=numbers) as output,
    ):
        for batch in source.batches():
            cells = sign.points(batch, model.schema.names)
            if sign.sign is not None:
                output.decimal = sign.sign
            read = model.schema.read(cells, source.where, rows)
            matrix = model.schema.encode(read)
            new_levels.update(_new_levels(model, matrix))
            watch.add(matrix)
            used = _used_in_fit(model, batch, matrix, source.where)
            known = model.label.read_table(batch, source.where, rows)
            # Where numbers are too large, one error says so.
            with np.errstate(over="ignore", invalid="ignore"):
                scores, held = model.score_read(batch, read, source.where)
            _check_scores(scores, source.where, rows)
            said = np.where(known, OPEN, model.verdicts(batch, read, source.where, rows))
            sure = said != OPEN
            audited += np.array([(said == YES).sum(), (said == NO).sum()])
            scored = _with_scores(batch, scores)
            rows, labelled, fitted = rows + batch.num_rows, labelled + int(known.sum()), fitted + int(used.sum())
            held_out, used = held_out + int((used & held).sum()), used & ~held
            positives += float(np.where(known, 1.0, np.where(sure, said, scores.hidden)).sum())
            ends = np.full((batch.num_rows, 2), np.nan) if scores.hidden_range is None else scores.hidden_range
            slopes = np.empty((batch.num_rows, 0)) if scores.slopes is None else scores.slopes
            facts = np.column_stack([review_order(model.estimator, scores), scores.hidden, ends, used & ~sure, slopes])
            if best is None:
                output.write(scored)
                # What an audit found is certain.
                facts[sure, 1:4], facts[sure, _SLOPES:] = said[sure, np.newaxis], 0.0
                sums, used_listed = sums + _add_up(facts[~known]), used_listed + int(facts[~known, _USED].sum())
            else:
                # Rows with a verdict need no review.
                best.add(scored, facts, ~known & ~sure, source.where)
            if progress:
                progress(rows)
        if not rows:
            raise InvalidTable(f"{source.where} has no rows. Check that it is the right file, and that it was saved.")
        if best is not None:
            output.write(_with_reasons(model, _rounded(best.rows), sign, source.where))
            sums, used_listed = _add_up(best.facts), int(best.facts[:, _USED].sum())
    drift = watch.result()
    return Scored(
        rows=rows,
        labelled=labelled,
        positives=positives,
        listed=rows if best is None else best.rows.num_rows,
        promise=_promise(model, sums, used_listed, drift),
        fitted=fitted if _remembers(model, source.columns) else None,
        seconds=time.perf_counter() - start,
        new_levels=dict(new_levels),
        held_out=held_out,
        known_positive=int(audited[0]),
        known_negative=int(audited[1]),
        decimal=sign.sign if sign.differs else None,
        drift=drift,
    )


class _Best:
    """The first rows to review so far; `facts`: order, h, its range, use in the fit, slopes of h."""

    def __init__(self, top: int) -> None:
        self._top = top
        self.rows: Any = None
        self.facts: Any = None

    def add(self, batch: Any, facts: NDArray[np.float64], wanted: NDArray[np.bool_], where: str) -> None:
        """Add the wanted rows of a batch; rows that are alike keep their order."""
        arrow = need_arrow()
        index = np.flatnonzero(wanted)
        index = index[np.argsort(-facts[index, 0], kind="stable")[: self._top]]
        candidates = arrow.Table.from_batches([take_rows(batch, arrow.array(index), where)])
        both = candidates if self.rows is None else arrow.concat_tables([self.rows, candidates])
        facts = facts[index] if self.facts is None else np.concatenate([self.facts, facts[index]])
        order = np.argsort(-facts[:, 0], kind="stable")[: self._top]
        self.rows, self.facts = both.take(arrow.array(order)).combine_chunks(), facts[order]


def _add_up(facts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([add_up(facts[:, 1], facts[:, 2:4]), facts[:, _SLOPES:].sum(axis=0)])


def _promise(model: TableModel, sums: NDArray[np.float64], used: int, drift: Drift) -> Promise:
    """What the rows that were added up promise; `used` of them have scores that are too certain."""
    if drift.much:
        return Promise.of(sums[:5], drift.reason)
    audit = getattr(model.estimator, "audit_", None)
    if audit is not None:
        # Its chances agree with verdicts on such rows.
        return Promise.of_audit(sums[:5], sums[5:], audit.covariance)
    if too_little_learned(model.estimator):
        return Promise.of(sums, TOO_LITTLE)
    return Promise.of(sums, f"{used:,} of them were used in the fit" if used else "")


def _remembers(model: TableModel, columns: list[str]) -> bool:
    """Whether rows of the fit can be recognised in a table with these columns."""
    return model.fitted_rows is not None and (model.id is None or model.id in columns)


def _check(model: TableModel, source: TableFile | TableFolder, out: Path, top: int | None, decimal: str | None) -> None:
    check_decimal(decimal)
    model.schema.check(source.columns, source.where)
    if top is not None and isinstance(model.estimator, Naive):
        raise InvalidOption(NO_LIST)
    taken = [name for name in (*ADDED, *([] if top is None else [_WHY])) if name in source.columns]
    if taken:
        raise InvalidTable(f"{source.where} already has a column {taken[0]!r}, which scoring would add. Rename it.")
    check_output(out, len(source.columns) + len(ADDED), 0 if top is None else top)
    if is_part_of(out, source.path):
        whole = "a part of the table" if source.path.is_dir() else "the table itself"
        raise InvalidTable(f"{out} is {whole}, which is not overwritten. Choose another file.")


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


def _used_in_fit(model: TableModel, batch: Any, matrix: NDArray[np.float64], where: str) -> NDArray[np.bool_]:
    """Which rows are remembered as rows of the fit."""
    if model.fitted_rows is None or not _remembers(model, batch.schema.names):
        return np.zeros(batch.num_rows, dtype=bool)
    hashes = hash_values(matrix) if model.id is None else hash_ids(row_ids(batch, model.id, where))
    return are_among(model.fitted_rows, hashes)


def _new_levels(model: TableModel, matrix: NDArray[np.float64]) -> dict[str, int]:
    """How many cells of each category are not a level of the fit."""
    categories = [(j, column.name) for j, column in enumerate(model.schema.columns) if column.kind == "category"]
    counts = {name: int((matrix[:, j] < 0).sum()) for j, name in categories}
    return {name: count for name, count in counts.items() if count}


def _with_reasons(model: TableModel, rows: Any, sign: DecimalSign, where: str) -> Any:
    """The rows of a list with the column that says why they are in it."""
    cells = sign.points(rows, model.schema.names)
    matrix = model.schema.encode(model.schema.read(cells, where))
    words = [str(each) for each in model_reasons(model, rows, matrix)]
    return rows.append_column(_WHY, need_arrow().array(words, need_arrow().string()))


def _rounded(rows: Any) -> Any:
    """The rows of a list with scores as those of a fit have them. Their order keeps what the digits lose."""
    for place, name in enumerate(rows.column_names):
        if name in ADDED:
            scores = two_digits(rows.column(place).to_numpy(zero_copy_only=False))
            rows = rows.set_column(place, name, need_arrow().array(scores))
    return rows


def _with_scores(batch: Any, scores: Scores) -> Any:
    arrow = need_arrow()
    for name in ADDED:
        batch = batch.append_column(name, arrow.array(getattr(scores, name)))
    return batch
